r"""Sums over the rows of all processes, so that each process gets the loss of the global batch.

The loss depends on the rows only through sums over them (:mod:`girl.kernel.regression`). Added over processes, these
sums give the exact loss of all rows together. The messages have the size of :math:`\Phi^\top\Phi` and
:math:`\Phi^\top Y`, whatever the number of rows.

Every process holds the same loss, and the backward of :meth:`Communicator.sum` adds the gradients of all processes. So
the gradient at a process's rows is the number of processes times the derivative of the loss. *Average* the gradients of
parameters over processes, as ``DistributedDataParallel`` does, to get the gradient of the global batch.
"""

from collections.abc import Sequence
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, communicator: "Communicator", *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.communicator = communicator
        return communicator.all_reduce(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, *ctx.communicator.all_reduce(*grads)


class Communicator:
    """Collective operations among the processes that share a batch.

    Args:
        group: a torch.distributed process group. All its processes must compute the same losses in the same order.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self.group = group
        self.rank: int = dist.get_rank(group)
        self.world_size: int = dist.get_world_size(group)
        self.bytes_sent = 0
        """Bytes that this process has put into sums or broadcast so far."""

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self  # a process group is a connection and cannot be copied

    def all_reduce(self, *tensors: Tensor, op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> tuple[Tensor, ...]:
        """Elementwise sums (or another ``op``) over processes, without gradients; one message per floating type."""
        results: dict[int, Tensor] = {}
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            positions = [i for i, tensor in enumerate(tensors) if tensor.dtype == dtype]
            message = torch.cat([tensors[i].detach().reshape(-1) for i in positions])
            dist.all_reduce(message, op, self.group)
            self.bytes_sent += message.nbytes
            parts = message.split([tensors[i].numel() for i in positions])
            results |= {i: part.view(tensors[i].shape) for i, part in zip(positions, parts, strict=True)}
        return tuple(results[i] for i in range(len(tensors)))

    def sum(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Elementwise sums over processes, differentiable."""
        return _Sum.apply(self, *tensors)

    def mean_row(self, x: Tensor) -> Tensor:
        """The mean row (m) of the matrices x (n x m) of all processes, without a gradient."""
        total, count = self.all_reduce(x.sum(0), x.new_tensor([float(len(x))]))
        return total / count

    def total_rows(self, rows: int, device: torch.device) -> int:
        """The number of rows on all processes; ``rows`` is the number on this one."""
        return int(self.all_reduce(torch.tensor([rows], device=device))[0])

    def partition(self, total: int) -> list[slice]:
        """``range(total)`` cut into one slice per process, of about equal lengths."""
        size = self.world_size
        return [slice(total * rank // size, total * (rank + 1) // size) for rank in range(size)]

    def broadcast_parts(self, parts: Sequence[Tensor]) -> None:
        """Fill ``parts`` in place: part r is copied from process r to all others."""
        for rank, part in enumerate(parts):
            if part.numel():
                dist.broadcast(part, group=self.group, group_src=rank)
        self.bytes_sent += parts[self.rank].nbytes

    def broadcast_generator(self, generator: torch.Generator | None, device: torch.device) -> torch.Generator:
        """A generator in the state of process 0's, so that all processes draw the same numbers.

        Process 0 gets its own generator back: after the draws it is where a single process's would be. If
        ``generator`` is None, the seed is drawn from torch's global generator.
        """
        if generator is None:
            seed = torch.randint(2**62, (1,), device=device)
            dist.broadcast(seed, group=self.group, group_src=0)
            return torch.Generator(device).manual_seed(int(seed))
        state = generator.get_state().to(device)
        dist.broadcast(state, group=self.group, group_src=0)
        self.bytes_sent += state.nbytes
        return generator if self.rank == 0 else torch.Generator(generator.device).set_state(state.cpu())
