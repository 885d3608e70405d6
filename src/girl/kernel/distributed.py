r"""Sums over the rows of all processes, by which each of them has the loss of the global batch.

Everything that ρ̂ needs of the rows is a sum over them (:mod:`girl.kernel.lowrank`). Summed over processes as well, the
loss is that of all their rows together, exactly; what travels is of the size of :math:`\Phi^\top\Phi` and
:math:`\Phi^\top Y`, whatever the number of rows.

Every process then holds the same loss, and :func:`Ranks.sum` goes back as it went: gradients are summed over processes.
What arrives at a process's own rows is so the number of processes times the derivative of that loss. It is meant to be
*averaged* with the others', as ``DistributedDataParallel`` does: the mean is the gradient of the global batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ranks: Ranks, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.ranks = ranks
        return ranks.constants(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, *ctx.ranks.constants(*grads)


class Ranks:
    """The processes that share a batch.

    Args:
        group: of torch.distributed. All of its processes must compute the same losses in the same order.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self.group = group
        self.rank: int = dist.get_rank(group)
        self.count: int = dist.get_world_size(group)
        self.sent = 0
        """Bytes that this process has sent so far: what it put into sums, and gave to others."""

    def __deepcopy__(self, memo: dict[int, object]) -> Ranks:
        return self  # a group is a connection, which has no copy

    def constants(self, *tensors: Tensor, largest: bool = False) -> tuple[Tensor, ...]:
        """Elementwise sums, or maxima, over all processes, constants to autograd; one message for each type."""
        found: dict[int, Tensor] = {}
        operation = dist.ReduceOp.MAX if largest else dist.ReduceOp.SUM
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            places = [place for place, tensor in enumerate(tensors) if tensor.dtype == dtype]
            message = torch.cat([tensors[place].detach().reshape(-1) for place in places])
            dist.all_reduce(message, operation, self.group)
            self.sent += message.numel() * message.element_size()
            pieces = message.split([tensors[place].numel() for place in places])
            found |= {place: piece.view(tensors[place].shape) for place, piece in zip(places, pieces, strict=True)}
        return tuple(found[place] for place in range(len(tensors)))

    def sum(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Elementwise sums over all processes, differentiable."""
        return _Sum.apply(self, *tensors)

    def mean(self, x: Tensor) -> Tensor:
        """The mean row over all processes' rows of x (n x m), a constant."""
        total, count = self.constants(x.sum(0), x.new_tensor([float(len(x))]))
        return total / count

    def sizes(self, rows: int, device: torch.device) -> list[int]:
        """The number of rows of every process."""
        own = torch.zeros(self.count, dtype=torch.int64, device=device)
        own[self.rank] = rows
        return [int(size) for size in self.constants(own)[0]]

    def bounds(self, total: int) -> list[int]:
        """Where the share of each process in some things begins, and where the last one ends; about equal."""
        return [total * rank // self.count for rank in range(self.count + 1)]

    def exchange(self, parts: Sequence[Tensor]) -> None:
        """Give every process the parts of all, in place: the r-th is right on the r-th process only, before."""
        for rank, part in enumerate(parts):
            if part.numel():
                dist.broadcast(part, dist.get_global_rank(self.group, rank), self.group)
        self.sent += parts[self.rank].numel() * parts[self.rank].element_size()

    def shared(self, generator: torch.Generator | None, device: torch.device) -> torch.Generator:
        """A generator that draws the same on every process: the first one's, from where it stands.

        The first process's own generator is left as if it had drawn by itself: what follows is what one process alone
        would have had. Without a generator, a number from torch's global one is the seed.
        """
        if generator is None:
            seed = torch.randint(2**62, (1,), device=device)
            dist.broadcast(seed, dist.get_global_rank(self.group, 0), self.group)
            return torch.Generator(device).manual_seed(int(seed))
        message = generator.get_state().to(device)
        dist.broadcast(message, dist.get_global_rank(self.group, 0), self.group)
        self.sent += message.numel()
        if self.rank == 0:
            return generator
        copy = torch.Generator(generator.device)
        copy.set_state(message.cpu())
        return copy
