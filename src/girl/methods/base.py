"""The interface of all methods to the training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from girl.graph.batch import Batch
from girl.kernel.distributed import Communicator
from girl.methods.memory import MemoryEstimate


class Method(nn.Module, ABC):
    """A self-supervised method, as the training loop sees it: a module with a loss and embeddings.

    Only :meth:`losses`, :meth:`embed` and :attr:`width` must be written. All randomness must come from the given
    generator, so that a resumed run ends in the same bits as an uninterrupted one. ``data`` is the complete training
    graph, or set of graphs; ``batch`` a part of it.
    """

    shares_prepared = False
    """Whether other processes can take over what :meth:`prepare` computed, by :meth:`load_prepared`."""

    @property
    def device(self) -> torch.device:
        """Where its weights and buffers are."""
        return next(chain(self.parameters(), self.buffers())).device

    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Called once before the first step, also of a resumed run: the same arguments must give the same result."""

    def prepared(self) -> dict[str, Tensor]:
        """What :meth:`prepare` computed, dense or CSR, if ``shares_prepared``."""
        return {}

    def load_prepared(self, tensors: dict[str, Tensor]) -> None:
        """Take what :meth:`prepared` gave in another process, in place of :meth:`prepare`."""

    def distribute(self, communicator: Communicator) -> None:
        """Called before :meth:`prepare` if every batch is split over several processes.

        Gradients are averaged over processes in any case, so a loss that is a mean over nodes has nothing to do here.
        """

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate | None:
        """The memory that training takes in batches of ``batch_nodes`` nodes; None if unknown."""
        return None

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns of an embedding."""

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

    def choices(self) -> dict[str, Any]:
        """What the method has chosen for the training graph, as JSON values; stored with the run."""
        return {}

    @abstractmethod
    def embed(self, data: Batch) -> Tensor:
        """The embeddings of all nodes of a graph (n × k), without gradients. Does not change the method."""
