"""What every method is to the training loop: a module with a loss for a batch and representations for a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from girl.graph.batch import Batch
from girl.kernel.distributed import Communicator


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
