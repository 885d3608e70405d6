"""Samples X in chunks: sums over chunks, and one buffer for the gradient of X.

Autograd would allocate a matrix of the size of X for every chunk, one for the landmarks and one for the bandwidth, and
then add them up. Here each use of X adds its gradient to one buffer, so that the backward pass needs the memory of X
only once.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from girl.kernel.distributed import Communicator
from girl.kernel.precision import wide_dtype, working_dtype

#: X is far from the origin if the squared norm of its mean row exceeds this fraction of its mean squared norm. Below,
#: products of rows that are not centred lose at most one of float32's seven digits, and sums of squares lose two.
FAR_FROM_ORIGIN = 0.99
#: Sums of squares are taken over at most this many rows at a time.
SQUARE_SUM_ROWS = 8192

#: ``function(index, chunks, shared)``: the sums over one chunk, from that chunk of every source and the shared tensors.
ChunkFunction = Callable[[int, Sequence[Tensor], Sequence[Tensor]], tuple[Tensor, ...]]


class _GradientBuffer:
    """The gradient of X, allocated when its first part arrives. It refers to no autograd graph and keeps none alive."""

    def __init__(self, x: Tensor) -> None:
        self._shape, self._dtype, self._device = x.shape, working_dtype(x), x.device
        self._tensor: Tensor | None = None

    def tensor(self) -> Tensor:
        if self._tensor is None:
            self._tensor = torch.zeros(self._shape, dtype=self._dtype, device=self._device)
        return self._tensor

    def add(self, gradient: Tensor) -> None:
        """Add a gradient of all rows."""
        if self._tensor is None:
            # It was allocated for X alone, so it becomes the buffer. If not contiguous, it may be a view: copy it.
            self._tensor = gradient.to(self._dtype, copy=not gradient.is_contiguous())
        else:
            self._tensor.add_(gradient)

    def add_rows(self, gradient: Tensor, index: Tensor) -> None:
        """Add the gradient of ``x[index]``."""
        self.tensor().index_add_(0, index, gradient.to(self._dtype))

    def add_square_sum(self, gradient: Tensor, x: Tensor, center: Tensor, chunk_size: int) -> None:
        """Add the gradient of the sum of squared distances of the rows of x from ``center``."""
        factor = 2 * gradient
        for rows, into in zip(x.split(chunk_size), self.tensor().split(chunk_size), strict=True):
            into.addcmul_(rows.to(center.dtype), factor).sub_(center * factor)

    def pop(self) -> Tensor:
        """Return the gradient and start anew, for another backward through the same graph."""
        full, self._tensor = self.tensor(), None
        return full


class _Release(torch.autograd.Function):
    """A zero that every use of X depends on. Its backward runs after theirs and returns the buffer as X's gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, buffer: _GradientBuffer) -> Tensor:
        ctx.buffer, ctx.dtype = buffer, x.dtype
        return x.new_zeros(())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.buffer.pop().to(ctx.dtype), None


class _Use(torch.autograd.Function):
    """``value``, computed from X. The backward calls ``add_gradient(gradient, *saved)`` in place of returning it."""

    @staticmethod
    def forward(ctx: Any, token: Tensor, value: Tensor, add_gradient: Callable[..., None], *saved: Tensor) -> Tensor:
        ctx.add_gradient = add_gradient
        ctx.save_for_backward(*saved)
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        ctx.add_gradient(grads[0], *ctx.saved_tensors)
        return grads[0].new_zeros(()), None, None, *[None] * len(ctx.saved_tensors)


class ChunkedRows:
    """The rows of ``x`` (n x d) in chunks.

    Args:
        x: n x d.
        chunk_size: rows of a chunk; by default one chunk holds all rows.
        communicator: if given, x is this process's part of the rows of all processes.
        failed: whether the rows of this process are invalid; ``num_failed`` counts such processes.
    """

    def __init__(
        self, x: Tensor, chunk_size: int | None = None, communicator: Communicator | None = None, failed: bool = False
    ) -> None:
        self.x = x.detach()
        self.requires_grad = x.requires_grad and torch.is_grad_enabled()
        self.chunk_size = chunk_size or max(x.shape[0], 1)
        self.communicator = communicator
        #: Rows on all processes, and on those before this one.
        self.total, self.offset, self.num_failed = len(x), 0, int(failed)
        if communicator is not None:
            self._exchange_statistics(communicator, failed)
        self._buffer = _GradientBuffer(x)
        #: The input of every use of X in the autograd graph.
        self.token: Tensor = _Release.apply(x, self._buffer)

    def _exchange_statistics(self, communicator: Communicator, failed: bool) -> None:
        """Send all that the processes need to know of each other's rows, in one message."""
        x, dtype = self.x, wide_dtype(self.x)
        counts = torch.zeros(communicator.world_size, dtype=dtype, device=x.device)
        counts[communicator.rank] = len(x)
        flag = torch.tensor([float(failed)], dtype=dtype, device=x.device)
        sums = (x.sum(0, dtype=dtype), self._square_norms(dtype))
        counts, flag, total, squares = communicator.all_reduce(counts, flag, *sums)
        sizes = [int(count) for count in counts]
        self.total, self.offset = sum(sizes), sum(sizes[: communicator.rank])
        self.num_failed = int(flag)
        # These replace the cached properties below, which are for a single process.
        self.center = (total / max(self.total, 1)).to(working_dtype(x))
        self.mean_squared_norm = (squares / max(self.total, 1)).to(working_dtype(x))

    def _square_norms(self, dtype: torch.dtype) -> Tensor:
        parts = self.x.split(min(self.chunk_size, SQUARE_SUM_ROWS))
        return torch.stack([torch.linalg.vector_norm(part, dtype=dtype).square() for part in parts]).sum()

    def __len__(self) -> int:
        return self.x.shape[0]

    @property
    def num_chunks(self) -> int:
        """The number of chunks; without rows, there is one empty chunk."""
        return max(-(-len(self) // self.chunk_size), 1)

    @cached_property
    def center(self) -> Tensor:
        """The mean row (d) over all processes, without a gradient."""
        return self.x.mean(0, dtype=working_dtype(self.x))

    @cached_property
    def mean_squared_norm(self) -> Tensor:
        """The mean squared norm of the rows over all processes, without a gradient."""
        return self._square_norms(self.center.dtype) / len(self)

    @cached_property
    def far_from_origin(self) -> bool:
        """Whether rows must be centred before products are taken, to keep their digits (:data:`FAR_FROM_ORIGIN`)."""
        return bool(self.center.square().sum() > FAR_FROM_ORIGIN * self.mean_squared_norm)

    @cached_property
    def mean_squared_deviation(self) -> Tensor:
        """The mean squared distance of the rows from their centre, differentiable."""
        x, center, size = self.x, self.center, min(self.chunk_size, SQUARE_SUM_ROWS)
        if not self.far_from_origin and self.communicator is None:
            value = (self.mean_squared_norm - center.square().sum()) * self.total
        else:
            value = torch.zeros((), dtype=center.dtype, device=x.device)
            for part in x.split(size):
                value += (part.to(center.dtype) - center).square_().sum()
        add_gradient = partial(self._buffer.add_square_sum, chunk_size=size)
        value = _Use.apply(self.token, value, add_gradient, x, center)
        return (value if self.communicator is None else self.communicator.sum(value)[0]) / self.total

    def all(self) -> Tensor:
        """All rows of this process, differentiable."""
        return _Use.apply(self.token, self.x, self._buffer.add)

    def take(self, index: Tensor) -> Tensor:
        """The rows with these numbers, counted over all processes, differentiable."""
        if self.communicator is None:
            return _Use.apply(self.token, self.x[index], self._buffer.add_rows, index)
        # Each process fills in the rows that it has and leaves the others zero; the sum has them all.
        local = ((index >= self.offset) & (index < self.offset + len(self))).nonzero().squeeze(1)
        rows = index[local] - self.offset
        taken = _Use.apply(self.token, self.x[rows], self._buffer.add_rows, rows)
        return self.communicator.sum(self.x.new_zeros(len(index), self.x.shape[1]).index_add(0, local, taken))[0]

    def chunk(self, index: int) -> Tensor:
        """Chunk ``index``, detached; :meth:`add_gradient` adds its gradient."""
        return self.x[index * self.chunk_size : (index + 1) * self.chunk_size]

    def add_gradient(self, index: int, gradient: Tensor | None) -> None:
        """Add the gradient of chunk ``index`` to that of X."""
        if gradient is not None:
            self._buffer.tensor()[index * self.chunk_size : (index + 1) * self.chunk_size].add_(gradient)

    def gather(self, y: Tensor) -> Tensor:
        """The rows of y (n x m, dense or CSR) of all processes as one dense matrix, in their order; differentiable."""
        assert self.communicator is not None
        local = y.to_dense() if y.layout != torch.strided else y
        positions = torch.arange(self.offset, self.offset + len(self), device=y.device)
        return self.communicator.sum(local.new_zeros(self.total, local.shape[1]).index_add(0, positions, local))[0]


class _SumOverChunks(torch.autograd.Function):
    """The forward records no graph; the backward builds the graph of one chunk, goes through it and drops it.

    torch's checkpointing does the same arithmetic but keeps the nodes of all chunks alive together: small blocks
    between large freed ones, which fragment the heap until it has grown to several times the inputs.
    """

    @staticmethod
    def forward(
        ctx: Any, function: ChunkFunction, sources: Sequence[ChunkedRows], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        shared = tensors[len(sources) :]
        ctx.function, ctx.sources = function, sources
        ctx.save_for_backward(*shared)
        total: tuple[Tensor, ...] = ()
        for index in range(sources[0].num_chunks):
            sums = function(index, [source.chunk(index) for source in sources], shared)
            total = sums if not total else tuple(a + b for a, b in zip(total, sums, strict=True))
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        shared = [t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
        sources: Sequence[ChunkedRows] = ctx.sources
        shared_grads: list[Tensor | None] = [None] * len(shared)
        for index in range(sources[0].num_chunks):
            chunks = [source.chunk(index).requires_grad_(source.requires_grad) for source in sources]
            with torch.enable_grad():
                sums = ctx.function(index, chunks, shared)
            inputs = [t for t in (*chunks, *shared) if t.requires_grad]
            outputs, output_grads = zip(
                *[(out, grad) for out, grad in zip(sums, grads, strict=True) if out.requires_grad], strict=True
            )
            input_grads = iter(torch.autograd.grad(outputs, inputs, output_grads, allow_unused=True))
            for source, chunk in zip(sources, chunks, strict=True):
                if chunk.requires_grad:
                    source.add_gradient(index, next(input_grads))
            for position, tensor in enumerate(shared):
                if tensor.requires_grad:
                    shared_grads[position] = _add(shared_grads[position], next(input_grads))
        return None, None, *(grads[0].new_zeros(()) for _ in sources), *shared_grads


def _add(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return b if a is None else a
    return a.add_(b) if a.is_contiguous() else a + b


def sum_over_chunks(
    function: ChunkFunction, sources: Sequence[ChunkedRows], shared: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The elementwise sum of ``function`` over all chunks of ``sources``, differentiable in sources and shared."""
    return _SumOverChunks.apply(function, sources, *(source.token for source in sources), *shared)
