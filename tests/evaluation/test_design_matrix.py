from __future__ import annotations

import pytest
import torch

from girl.evaluation.design_matrix import DesignMatrix, row_selector, sample


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_products_equal_those_of_the_standardized_matrix(shape, layout):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(shape, generator=generator, dtype=torch.float64).add(0.3).round()
    design = DesignMatrix(x.to_sparse_csr() if layout == "csr" else x)
    centered = x - x.mean(0)
    centered /= centered.square().sum(1).mean().sqrt()
    w, g = torch.rand(3, shape[1]).double(), torch.rand(3, shape[0]).double()
    torch.testing.assert_close(design.times_transpose(w), w @ centered.T)
    torch.testing.assert_close(design.times(g), g @ centered)
    gram = centered @ centered.T if shape[0] < shape[1] else centered.T @ centered
    torch.testing.assert_close(design.gram(), gram)


@pytest.mark.parametrize("x", [torch.zeros(4, 3), torch.full((4, 3), 0.1)])
def test_a_constant_matrix_has_scale_one(x):
    assert DesignMatrix(x).scale == 1
    assert DesignMatrix(x.to_sparse_csr()).scale == 1


def test_rows_are_selected_from_dense_and_csr():
    x = torch.arange(12.0).view(4, 3)
    rows = torch.tensor([2, 0])
    assert torch.equal(row_selector(x)(rows), x[rows])
    assert torch.equal(row_selector(x.to_sparse_csr())(rows).to_dense(), x[rows])


def test_a_sample_is_sorted_without_repeats_and_depends_on_the_seed_only():
    assert torch.equal(sample(5, 10, 0), torch.arange(5))
    nodes = sample(1000, 100, 3)
    assert len(nodes) == 100
    assert bool((nodes.diff() > 0).all())
    assert torch.equal(nodes, sample(1000, 100, 3))
    assert not torch.equal(nodes, sample(1000, 100, 4))
