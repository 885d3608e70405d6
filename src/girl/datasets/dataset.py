"""A named graph, or a set of graphs, with labels and splits."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor
from torch_geometric.data import Data

from girl.datasets.registry import Metric
from girl.errors import InputError

#: Train, validation and test masks, n × k: one column for each of k splits.
Masks = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class NodeDataset:
    """A graph with node labels, or a set of graphs with graph labels, and the splits published with it.

    A set of graphs is stored as their disjoint union: no messages pass between them. If nodes have the labels (PPI),
    nothing else changes. If graphs have the labels (NCI1), ``data.graph`` is the graph of each node, ``y`` has one
    entry per graph, and splits are sets of graphs.
    """

    name: str
    """The name for :func:`girl.datasets.load`, such as ``cora``."""
    data: Data
    """``x`` (n × d; CSR if most entries are zero, else dense), ``edge_index`` (2 × m), ``y`` (n, or n × c for
    several labels per node; class -1 is unknown); for a set of graphs also ``graph`` (n). Some also have
    ``column_group`` (d): feature columns with the same number encode one original column, such as a category."""
    classes: int
    multilabel: bool = False
    inductive: bool = False
    """Training, also of the encoder, uses only the training nodes and the edges among them."""
    fixed: dict[str, Masks] = field(default_factory=dict)
    """The splits published with the data, by protocol."""
    protocols: tuple[str, ...] = ()
    """The protocols in use for this dataset, the one with the fewest labels first."""
    stand_in: bool = False
    """Whether it is a random graph of the same shape and raw format, not the data itself."""
    metric: Metric = "accuracy"
    """How predicted classes are scored; with ``multilabel`` it is micro-F1 instead."""

    @property
    def graphs(self) -> int:
        """The number of graphs with labels; 0 if nodes have the labels."""
        return len(self.data.y) if "graph" in self.data else 0

    def check_nodes(self, purpose: str) -> None:
        """Raise InputError for a set of graphs, where ``purpose`` needs node labels."""
        if self.graphs:
            raise InputError(
                f"{self.name}: given a set of {self.graphs:,} graphs, expected a graph whose nodes carry the labels: "
                f"{purpose} is for those"
            )

    @property
    def title(self) -> str:
        """The name for tables, marked if it is a stand-in."""
        return f"{self.name} (stand-in)" if self.stand_in else self.name
