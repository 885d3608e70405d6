"""A graph, or a set of them, with what is known about it: what is handed from the data room to all others."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor
from torch_geometric.data import Data

from girl.errors import InputError

#: Train, validation and test masks, n × k: one column for each of k splits.
Masks = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class NodeDataset:
    """A graph whose nodes carry labels, or a set of graphs that do, and the splits that its authors fixed.

    Several graphs are their disjoint union: messages cannot pass between them. Where the nodes carry the labels (PPI)
    nothing else changes, and every split is a set of nodes; where the graphs do (NCI1), ``data.graph`` says which graph
    a node is of, ``y`` has an entry for each graph, and every split is a set of graphs.
    """

    name: str
    """As :func:`girl.datasets.load` knows it, such as ``cora``."""
    data: Data
    """``x`` (n × d; CSR where most entries are zero, else dense), ``edge_index`` (2 × m), ``y`` (n, or n × c for
    several labels at once; class -1 means unknown); of a set of graphs, ``graph`` (n)."""
    classes: int
    multilabel: bool = False
    inductive: bool = False
    """Training, of the encoder too, sees the training nodes and the edges among them only."""
    fixed: dict[str, Masks] = field(default_factory=dict)
    """Splits that come with the data, by protocol."""
    protocols: tuple[str, ...] = ()
    """The protocols that make sense here, the field's low-label one first."""
    stand_in: bool = False
    """A random graph of the same shape and raw format, not the data itself."""

    @property
    def graphs(self) -> int:
        """How many graphs carry labels; 0 if nodes do."""
        return len(self.data.y) if "graph" in self.data else 0

    def check_nodes(self, what: str) -> None:
        """Complain if it is a set of graphs, where ``what`` is for the nodes of one."""
        if self.graphs:
            raise InputError(
                f"{self.name}: given a set of {self.graphs:,} graphs, expected a graph whose nodes carry the labels: "
                f"{what} is for those"
            )

    @property
    def title(self) -> str:
        """The name for tables; a stand-in says so."""
        return f"{self.name} (stand-in)" if self.stand_in else self.name
