"""What every method is to the training loop: a module with a loss for a batch and representations for a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from girl.nn.features import Features
from girl.nn.graph import Graph


@dataclass(frozen=True)
class Batch:
    """A graph, or a part of one."""

    x: Features
    graph: Graph
    nodes: Tensor | None = None
    """Which nodes of the training graph these are; all of them if None."""

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.graph.nodes

    def of(self, whole: Tensor) -> Tensor:
        """Rows of a matrix of the whole training graph that belong to this batch."""
        return whole if self.nodes is None else whole[self.nodes]

    def part(self, nodes: Tensor) -> Batch:
        """The batch of some nodes and the edges among them."""
        return Batch(self.x.rows(nodes), self.graph.subgraph(nodes), nodes)

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        nodes = None if self.nodes is None else self.nodes.to(device)
        return Batch(self.x.to(device), self.graph.to(device), nodes)


class Method(nn.Module, ABC):
    """A self-supervised method: it owns its parameters, and every random choice comes from the given generator."""

    def prepare(self, whole: Batch, generator: torch.Generator) -> None:
        """See the whole training graph once, before the first step. Must give the same from the same state."""

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
