"""The interface of all methods to the training loop, and a method's entry in the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from girl.graph.features import Features
from girl.graph.graph import Graph
from girl.kernel.distributed import Ranks
from girl.nn.encoder import Pooling

if TYPE_CHECKING:
    from girl.methods.memory import MemoryEstimate


@dataclass(frozen=True)
class Batch:
    """A graph, a set of graphs as their disjoint union, or a part of either."""

    x: Features
    graph: Graph
    nodes: Tensor | None = None
    """Which nodes of the training graph these are; all of them if None."""
    graphs: Tensor | None = None
    """Of a set of graphs, which of them each node is of (n), sorted."""
    count: int = 0
    """How many graphs the set has."""

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.graph.nodes

    def of(self, whole: Tensor) -> Tensor:
        """Rows of a matrix of the whole training graph that belong to this batch."""
        return whole if self.nodes is None else whole[self.nodes]

    def part(self, nodes: Tensor) -> Batch:
        """The batch of some nodes and the edges among them. Graphs keep their numbers, also where none is left."""
        graphs = None if self.graphs is None else self.graphs[nodes]
        return Batch(self.x.rows(nodes), self.graph.subgraph(nodes), nodes, graphs, self.count)

    def chosen(self, nodes: Tensor) -> Batch:
        """The batch of all nodes of some graphs, which are numbered anew."""
        part = self.part(nodes)
        if part.graphs is None:
            return part
        kept, graphs = torch.unique(part.graphs, return_inverse=True)
        return replace(part, graphs=graphs, count=len(kept))

    def pooled(self, h: Tensor, readout: Pooling) -> Tensor:
        """Rows of the graphs (count × k) from rows of their nodes (n × k); zero for a graph without nodes."""
        assert self.graphs is not None
        out = h.new_zeros(self.count, h.shape[1])
        index = self.graphs.unsqueeze(1).expand_as(h)
        match readout:
            case "sum":
                return out.index_add(0, self.graphs, h)
            case "mean":
                sizes = torch.bincount(self.graphs, minlength=self.count).clamp(min=1)
                return out.index_add(0, self.graphs, h) / sizes.unsqueeze(1)
            case "max":
                return out.scatter_reduce(0, index, h, "amax", include_self=False)

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        nodes = None if self.nodes is None else self.nodes.to(device)
        graphs = None if self.graphs is None else self.graphs.to(device)
        return Batch(self.x.to(device), self.graph.to(device), nodes, graphs, self.count)


class Method(nn.Module, ABC):
    """A self-supervised method, as the training loop sees it: a module with a loss and embeddings.

    Only :meth:`losses` and :meth:`embed` must be written. All randomness must come from the given generator, so that a
    resumed run ends in the same bits as an uninterrupted one. ``data`` is the whole training graph, or set of graphs;
    ``batch`` a part of it.
    """

    shares_prepared = False
    """Whether other processes can take over what :meth:`prepare` computed, by :meth:`load_prepared`."""

    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Called once before the first step, also of a resumed run: the same arguments must give the same result."""

    def prepared(self) -> dict[str, Tensor]:
        """What :meth:`prepare` computed, dense or CSR, if ``shares_prepared``."""
        return {}

    def load_prepared(self, tensors: dict[str, Tensor]) -> None:
        """Take what :meth:`prepared` gave in another process, in place of :meth:`prepare`."""

    def distribute(self, ranks: Ranks) -> None:
        """Called before :meth:`prepare` if every batch is split over several processes.

        Gradients are averaged over processes in any case, so a loss that is a mean over nodes has nothing to do here.
        """

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate | None:
        """The memory that training takes in batches of ``batch_nodes`` nodes; None if unknown."""
        return None

    @abstractmethod
    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The terms of the loss by name; a step minimizes their sum. No terms: the batch is skipped."""

    def after_step(self, progress: float) -> None:
        """Called after each step of the optimizer; ``progress`` is the fraction of training that is over."""

    def after_epoch(self, batches: Callable[[], Iterator[Batch]], generator: torch.Generator) -> None:
        """Called after each epoch; ``batches()`` iterates over the batches of another epoch."""

    def score(self, data: Batch) -> float | None:
        """A validation score after an epoch, if there is one: training then ends with the best epoch's weights."""
        return None

    def observe(self, data: Batch, epoch: int) -> dict[str, float]:
        """Values to record in the history after an epoch (counted from 1)."""
        return {}

    def finish(self, data: Batch) -> Tensor:
        """Called once after the last step; returns the embeddings of the training graph."""
        return self.embed(data)

    @abstractmethod
    def embed(self, data: Batch) -> Tensor:
        """The embeddings of all nodes of a graph (n × k), without gradients. Does not change the method."""
