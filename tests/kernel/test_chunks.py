from __future__ import annotations

import pytest
import torch

from girl.kernel.chunks import ChunkedRows, sum_over_chunks
from tests.helpers.samples import normal


def all_uses(rows):
    index = torch.tensor([3, 3, 0])
    return rows.all().sin().sum() + rows.take(index).cos().sum() + rows.mean_squared_deviation**2


def test_the_gradients_of_all_uses_add_up():
    x = normal(10, 3)
    for size in (None, 4):
        assert torch.autograd.gradcheck(lambda a, size=size: all_uses(ChunkedRows(a, size)), x.clone().requires_grad_())


def test_gradients_far_from_the_origin():
    x = (normal(10, 3) + 100).requires_grad_()
    assert ChunkedRows(x, 4).far_from_origin
    assert torch.autograd.gradcheck(lambda a: ChunkedRows(a, 4).mean_squared_deviation, x)


def test_chunks_cover_the_rows():
    rows = ChunkedRows(normal(10, 3), 4)
    assert rows.num_chunks == 3
    assert torch.equal(torch.cat([rows.chunk(index) for index in range(3)]), rows.x)


def test_the_gradient_of_a_chunk_reaches_its_rows():
    x = normal(10, 3).requires_grad_()
    rows = ChunkedRows(x, 4)
    rows.add_gradient(2, torch.ones(2, 3).double())
    rows.token.backward()
    assert x.grad is not None
    assert float(x.grad.sum()) == 6.0
    assert float(x.grad[:8].abs().sum()) == 0.0


def test_statistics_are_those_of_the_matrix():
    x = normal(50, 3)
    rows = ChunkedRows(x, 7)
    torch.testing.assert_close(rows.center, x.mean(0))
    torch.testing.assert_close(rows.mean_squared_norm, x.square().sum(1).mean())
    torch.testing.assert_close(rows.mean_squared_deviation, (x - x.mean(0)).square().sum(1).mean())


def test_an_input_changed_in_place_before_backward_is_an_error():
    x = normal(10, 3).requires_grad_()
    hidden = x * 1
    value = ChunkedRows(hidden).mean_squared_deviation
    hidden.detach().zero_()
    with pytest.raises(RuntimeError, match="inplace"):
        value.backward()


def test_sum_over_chunks_is_the_plain_sum_in_value_and_gradient():
    def function(index, chunks, shared):
        return (chunks[0] @ shared[0]).sin().sum(0), (chunks[0] * chunks[1]).sum()

    def chunked(x, y, w):
        a, b = sum_over_chunks(function, [ChunkedRows(x, 4), ChunkedRows(y, 4)], [w])
        return a.square().sum() + b

    def plain(x, y, w):
        return (x @ w).sin().sum(0).square().sum() + (x * y).sum()

    inputs = [t.requires_grad_() for t in (normal(10, 3), normal(10, 3, seed=1), normal(3, 2, seed=2))]
    torch.testing.assert_close(chunked(*inputs), plain(*inputs))
    for result, expected in zip(
        torch.autograd.grad(chunked(*inputs), inputs), torch.autograd.grad(plain(*inputs), inputs), strict=True
    ):
        torch.testing.assert_close(result, expected)


def test_constant_sources_get_no_gradient():
    x, w = normal(10, 3), normal(3, 2, seed=2).requires_grad_()
    (total,) = sum_over_chunks(lambda _, chunks, shared: ((chunks[0] @ shared[0]).sum(),), [ChunkedRows(x, 3)], [w])
    total.backward()
    torch.testing.assert_close(w.grad, x.sum(0)[:, None].expand(3, 2))
