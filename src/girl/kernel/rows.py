"""The samples, handed out in parts, with the gradients of all parts gathered in one buffer.

Autograd would make a matrix of the size of X for every part, one more for the landmarks taken from it and one for the
bandwidth, and then add them up. Here each part adds its gradient to the one buffer when its turn comes, so that the way
back through X needs the memory of X once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from girl.kernel.distributed import Ranks
from girl.kernel.precision import wide, working

#: Rows are far from the origin if the mean row's squared length is more than this share of the rows' mean one. Nearer,
#: not centring them first costs a digit of the products and two of the sums of squares, of the seven that there are.
FAR = 0.99


class _Sink:
    """The buffer, made when the first gradient arrives. It knows no graph, so that it can keep none alive."""

    def __init__(self, x: Tensor) -> None:
        self._shape, self._dtype, self._device = x.shape, working(x), x.device
        self._buffer: Tensor | None = None

    def buffer(self) -> Tensor:
        if self._buffer is None:
            self._buffer = torch.zeros(self._shape, dtype=self._dtype, device=self._device)
        return self._buffer

    def add(self, gradient: Tensor) -> None:
        """Add a gradient of all rows."""
        if self._buffer is None:
            # The feature map made it for this place only: unless it is a view of something smaller, it can be had.
            self._buffer = gradient.to(self._dtype, copy=not gradient.is_contiguous())
        else:
            self._buffer.add_(gradient)

    def empty(self) -> Tensor:
        """The buffer, given away: another way back through the same graph starts anew."""
        full, self._buffer = self.buffer(), None
        return full


class _Root(torch.autograd.Function):
    """A scalar on which every part depends: its way back comes after all of theirs, and hands over the buffer."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sink: _Sink) -> Tensor:
        ctx.sink, ctx.dtype = sink, x.dtype
        return x.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.sink.empty().to(ctx.dtype), None


class _All(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, token: Tensor, x: Tensor, sink: _Sink) -> Tensor:
        ctx.sink = sink
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        ctx.sink.add(grads[0])
        return grads[0].new_zeros(()), None, None


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, token: Tensor, x: Tensor, sink: _Sink, index: Tensor) -> Tensor:
        ctx.sink = sink
        ctx.save_for_backward(index)
        return x[index]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None, None]:
        buffer = ctx.sink.buffer()
        buffer.index_add_(0, ctx.saved_tensors[0], grads[0].to(buffer.dtype))
        return grads[0].new_zeros(()), None, None, None


class _SquareSum(torch.autograd.Function):
    """The sum over rows of squared distances to the centre; ``known``, if given, is its value."""

    @staticmethod
    def forward(
        ctx: Any, token: Tensor, x: Tensor, sink: _Sink, center: Tensor, chunk: int, known: Tensor | None
    ) -> Tensor:
        ctx.sink, ctx.chunk = sink, chunk
        ctx.save_for_backward(x, center)
        if known is not None:
            return known.clone()
        total = torch.zeros(
            (), dtype=torch.float64 if center.dtype == torch.float64 else torch.float32, device=x.device
        )
        for rows in x.split(chunk):
            total += (rows.to(center.dtype) - center).square_().sum()
        return total.to(center.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, center = ctx.saved_tensors
        factor = 2 * grads[0]
        for rows, into in zip(x.split(ctx.chunk), ctx.sink.buffer().split(ctx.chunk), strict=True):
            into.addcmul_(rows.to(center.dtype), factor).sub_(center * factor)
        return grads[0].new_zeros(()), *[None] * 5


class Rows:
    """The rows of ``x`` (n x d), in chunks of ``chunk``; with ``ranks``, its own part of the rows of all processes."""

    def __init__(self, x: Tensor, chunk: int | None = None, ranks: Ranks | None = None, fault: bool = False) -> None:
        self.x = x.detach()
        self.wants = x.requires_grad and torch.is_grad_enabled()
        self.chunk = chunk or max(x.shape[0], 1)
        self.ranks = ranks
        #: Rows of all processes, and of those before this one; how many processes tell of a ``fault``.
        self.total, self.before, self.faults = len(x), 0, int(fault)
        if ranks is not None:
            self._meet(ranks, fault)
        self._sink = _Sink(x)
        #: The scalar on which parts depend in autograd's eyes.
        self.token: Tensor = _Root.apply(x, self._sink)

    def _meet(self, ranks: Ranks, fault: bool) -> None:
        """One message with all that processes must know of each other's rows before they can begin."""
        x = self.x
        sizes = torch.zeros(ranks.count, dtype=wide(x), device=x.device)
        sizes[ranks.rank] = len(x)
        told = torch.tensor([float(fault)], dtype=wide(x), device=x.device)
        lengths = [torch.linalg.vector_norm(part, dtype=wide(x)).square() for part in x.split(min(self.chunk, 8192))]
        message = ranks.constants(sizes, told, x.sum(0, dtype=wide(x)), torch.stack(lengths).sum())
        counts = [int(size) for size in message[0]]
        self.total, self.before, self.faults = sum(counts), sum(counts[: ranks.rank]), int(message[1])
        # Known without looking: the cached properties below are for one process alone.
        self.center = (message[2] / max(self.total, 1)).to(working(x))
        self.square = (message[3] / max(self.total, 1)).to(working(x))

    def __len__(self) -> int:
        return self.x.shape[0]

    @property
    def chunks(self) -> int:
        """How many chunks there are; of no rows, one that is empty."""
        return max(-(-len(self) // self.chunk), 1)

    @cached_property
    def center(self) -> Tensor:
        """The mean row of all processes, a constant."""
        return self.x.mean(0, dtype=working(self.x))

    @cached_property
    def square(self) -> Tensor:
        """The mean squared length of the rows of all processes, a constant."""
        chunk = min(self.chunk, 8192)
        sums = [torch.linalg.vector_norm(part, dtype=self.center.dtype).square() for part in self.x.split(chunk)]
        return torch.stack(sums).sum() / len(self)

    @cached_property
    def far(self) -> bool:
        """Whether the rows are so far from the origin that they must be centred before products of them are taken."""
        return bool(self.center.square().sum() > FAR * self.square)

    def all(self) -> Tensor:
        """All rows."""
        return _All.apply(self.token, self.x, self._sink)

    def take(self, index: Tensor) -> Tensor:
        """The rows with the given numbers, counted over all processes."""
        if self.ranks is None:
            return _Take.apply(self.token, self.x, self._sink, index)
        # Each process gives the ones that it has; the others' are zero in its sum.
        own = ((index >= self.before) & (index < self.before + len(self))).nonzero().squeeze(1)
        found = _Take.apply(self.token, self.x, self._sink, index[own] - self.before)
        return self.ranks.sum(self.x.new_zeros(len(index), self.x.shape[1]).index_add(0, own, found))[0]

    @cached_property
    def mean_square(self) -> Tensor:
        """The mean squared distance of the rows to their centre."""
        chunk = min(self.chunk, 8192)
        known = None
        if not self.far and self.ranks is None:
            known = (self.square - self.center.square().sum()) * self.total
        found: Tensor = _SquareSum.apply(self.token, self.x, self._sink, self.center, chunk, known)
        return (found if self.ranks is None else self.ranks.sum(found)[0]) / self.total

    def piece(self, index: int) -> Tensor:
        """The chunk ``index`` without a graph: what it does to the gradient is told by :meth:`gather`."""
        return self.x[index * self.chunk : (index + 1) * self.chunk]

    def gather(self, index: int, gradient: Tensor | None) -> None:
        """Add the gradient of chunk ``index``."""
        if gradient is not None:
            self._sink.buffer()[index * self.chunk : (index + 1) * self.chunk].add_(gradient)


def rows_of_all(x: Tensor, like: Rows) -> Tensor:
    """The rows of all processes below each other, in the order of the processes, differentiable; CSR becomes dense.

    Args:
        x: n x m, this process's part.
        like: the rows that those of ``x`` belong to.
    """
    assert like.ranks is not None
    own = x.to_dense() if x.layout != torch.strided else x
    place = torch.arange(like.before, like.before + len(like), device=x.device)
    return like.ranks.sum(own.new_zeros(like.total, own.shape[1]).index_add(0, place, own))[0]
