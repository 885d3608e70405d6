from __future__ import annotations

import torch

from girl.kernel.rows import Rows
from tests.helpers.samples import normal


def use(rows):
    index = torch.tensor([3, 3, 0])
    return rows.all().sin().sum() + rows.take(index).cos().sum() + rows.mean_square**2


def test_every_way_out_meets_in_one_gradient():
    x = normal(10, 3)
    for chunk in (None, 4):
        assert torch.autograd.gradcheck(lambda a, chunk=chunk: use(Rows(a, chunk)), x.clone().requires_grad_())


def test_pieces_cover_the_rows():
    rows = Rows(normal(10, 3), 4)
    assert rows.chunks == 3
    assert torch.equal(torch.cat([rows.piece(index) for index in range(3)]), rows.x)


def test_gathered_gradients_reach_x():
    x = normal(10, 3).requires_grad_()
    rows = Rows(x, 4)
    rows.gather(2, torch.ones(2, 3).double())
    rows.token.backward()
    assert x.grad is not None
    assert float(x.grad.sum()) == 6.0
    assert float(x.grad[:8].abs().sum()) == 0.0
