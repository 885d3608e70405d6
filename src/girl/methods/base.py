"""What every method is to the training loop: a module with a loss for a batch and representations for a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from girl.graph.features import Features
from girl.graph.graph import Graph
from girl.kernel.distributed import Communicator
from girl.nn.encoder import Pooling


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


@dataclass(frozen=True)
class Needs:
    """Bytes that a method takes beyond the graph and its weights, about."""

    kept: float = 0.0
    """What is kept of all nodes from beginning to end."""
    preparing: float = 0.0
    """Beyond that while it is prepared."""
    step: float = 0.0
    """And in a step."""
    result: float = 0.0
    """The representations, and what is in memory while they are made."""


class Method(nn.Module, ABC):
    """A self-supervised method: it owns its parameters, and every random choice comes from the given generator."""

    def prepare(self, whole: Batch, generator: torch.Generator) -> None:
        """See the whole training graph once, before the first step. Must give the same from the same state."""

    hands_over = False
    """Whether what :meth:`prepare` makes can be handed to other processes, which then need not make it."""

    def prepared(self) -> dict[str, Tensor]:
        """What :meth:`prepare` made, dense or CSR, where it is handed over."""
        return {}

    def take_prepared(self, tensors: dict[str, Tensor]) -> None:
        """Take what :meth:`prepared` gave on another process, in place of :meth:`prepare`."""

    def share(self, ranks: Communicator) -> None:
        """Take each batch as this process's part of one that several have; before :meth:`prepare`.

        Gradients are averaged over processes in any case. That is all there is to it where a loss is a mean over
        nodes, and nothing is done here.
        """

    def needs(self, whole: Batch, nodes: int) -> Needs | None:
        """The memory that training on a graph takes, in batches of so many nodes; None if nobody has said."""
        return None

    @abstractmethod
    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Terms of the loss by name; their sum is what a step lowers."""

    def after_step(self, share: float) -> None:
        """What follows each step of the optimiser; ``share`` of all epochs are over. Nothing, for most methods."""

    def after_epoch(self, batches: Callable[[], Iterator[Batch]], generator: torch.Generator) -> None:
        """What follows each epoch; ``batches`` gives those of another. Nothing, for most methods."""

    def score(self, whole: Batch) -> float | None:
        """How good the method is after an epoch, by nodes that it is not trained on; None if nothing tells.

        Training then ends with the weights of the best epoch.
        """
        return None

    def observe(self, whole: Batch, epoch: int) -> dict[str, float]:
        """What is worth noting after an epoch (the first is 1) beside the loss, by name; nothing in most epochs."""
        return {}

    def finish(self, whole: Batch) -> Tensor:
        """See the whole training graph once more, after the last step; returns its representations, as :meth:`embed`.

        Must give the same from the same state.
        """
        return self.embed(whole)

    @abstractmethod
    def embed(self, whole: Batch) -> Tensor:
        """Representations of all nodes of a graph (n × k), without gradients."""
