from __future__ import annotations

import pytest
import torch

from girl.evaluation.design_matrix import Design, take


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_products_are_those_of_the_centred_and_scaled_matrix(shape, layout):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(shape, generator=generator, dtype=torch.float64).add(0.3).round()
    design = Design(x.to_sparse_csr() if layout == "csr" else x)
    centred = x - x.mean(0)
    centred /= centred.square().sum(1).mean().sqrt()
    w, g = torch.rand(3, shape[1]).double(), torch.rand(3, shape[0]).double()
    torch.testing.assert_close(design.times(w), w @ centred.T)
    torch.testing.assert_close(design.turned(g), g @ centred)
    gram = centred @ centred.T if shape[0] < shape[1] else centred.T @ centred
    torch.testing.assert_close(design.gram(), gram)


@pytest.mark.parametrize("x", [torch.zeros(4, 3), torch.full((4, 3), 0.1)])
def test_a_constant_matrix_has_scale_one(x):
    assert Design(x).scale == 1
    assert Design(x.to_sparse_csr()).scale == 1


def test_rows_are_taken_from_both_layouts():
    x = torch.arange(12.0).view(4, 3)
    at = torch.tensor([2, 0])
    assert torch.equal(take(x)(at), x[at])
    assert torch.equal(take(x.to_sparse_csr())(at).to_dense(), x[at])
