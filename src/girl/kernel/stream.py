"""Sums over chunks of rows that hold one chunk at a time, forward and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from girl.kernel.rows import Rows

#: ``function(index, parts, shared)``: the sums of one chunk, from its part of every source and what all chunks share.
ChunkFunction = Callable[[int, Sequence[Tensor], Sequence[Tensor]], tuple[Tensor, ...]]


class _Stream(torch.autograd.Function):
    """Forward without a graph; the way back makes the graph of a chunk, goes through it and drops it.

    torch's checkpointing would do the same arithmetic, but keeps the nodes of all chunks alive together: small blocks
    between large freed ones, which fragment the heap until it has grown to several times the inputs.
    """

    @staticmethod
    def forward(ctx: Any, function: ChunkFunction, sources: Sequence[Rows], *tensors: Tensor) -> tuple[Tensor, ...]:
        shared = tensors[len(sources) :]
        ctx.function, ctx.sources = function, sources
        ctx.save_for_backward(*shared)
        total: tuple[Tensor, ...] = ()
        for index in range(sources[0].chunks):
            found = function(index, [source.piece(index) for source in sources], shared)
            total = found if not total else tuple(a + b for a, b in zip(total, found, strict=True))
        return total

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        shared = [t.detach().requires_grad_(t.requires_grad) for t in ctx.saved_tensors]
        sources: Sequence[Rows] = ctx.sources
        into: list[Tensor | None] = [None] * len(shared)
        for index in range(sources[0].chunks):
            parts = [source.piece(index).requires_grad_(source.wants) for source in sources]
            with torch.enable_grad():
                found = ctx.function(index, parts, shared)
            leaves = [t for t in (*parts, *shared) if t.requires_grad]
            carried = [(out, grad) for out, grad in zip(found, grads, strict=True) if out.requires_grad]
            outs, flows = zip(*carried, strict=True)
            flow = iter(torch.autograd.grad(outs, leaves, flows, allow_unused=True))
            for source, part in zip(sources, parts, strict=True):
                if part.requires_grad:
                    source.gather(index, next(flow))
            for position, tensor in enumerate(shared):
                if tensor.requires_grad:
                    into[position] = _plus(into[position], next(flow))
        return None, None, *(grads[0].new_zeros(()) for _ in sources), *into


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    if a is None or b is None:
        return b if a is None else a
    return a.add_(b) if a.is_contiguous() else a + b


def stream(function: ChunkFunction, sources: Sequence[Rows], shared: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The elementwise sum of ``function`` over all chunks of ``sources``, differentiable in sources and shared."""
    tokens = (source.token for source in sources)
    return _Stream.apply(function, sources, *tokens, *shared)
