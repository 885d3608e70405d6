from __future__ import annotations

import torch

from girl.kernel.rows import Rows
from girl.kernel.stream import stream
from tests.helpers.samples import normal


def test_stream_is_the_plain_sum_in_value_and_gradient():
    def function(index, parts, shared):
        return (parts[0] @ shared[0]).sin().sum(0), (parts[0] * parts[1]).sum()

    def streamed(x, y, w):
        a, b = stream(function, [Rows(x, 4), Rows(y, 4)], [w])
        return a.square().sum() + b

    def plain(x, y, w):
        return (x @ w).sin().sum(0).square().sum() + (x * y).sum()

    leaves = [t.requires_grad_() for t in (normal(10, 3), normal(10, 3, seed=1), normal(3, 2, seed=2))]
    torch.testing.assert_close(streamed(*leaves), plain(*leaves))
    for found, expected in zip(
        torch.autograd.grad(streamed(*leaves), leaves), torch.autograd.grad(plain(*leaves), leaves), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_sources_that_want_no_gradient_get_none():
    x, w = normal(10, 3), normal(3, 2, seed=2).requires_grad_()
    (total,) = stream(lambda _, parts, shared: ((parts[0] @ shared[0]).sum(),), [Rows(x, 3)], [w])
    total.backward()
    torch.testing.assert_close(w.grad, x.sum(0)[:, None].expand(3, 2))
