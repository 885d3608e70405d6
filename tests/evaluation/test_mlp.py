from __future__ import annotations

import pytest
import scipy.sparse
import torch

from girl.evaluation import mlp
from girl.evaluation.design_matrix import DesignMatrix, row_selector
from girl.evaluation.mlp import MLP, fit_mlp
from girl.kernel.sparse import SparseMatrix


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_the_model_is_two_layers_on_standardized_rows(layout, blobs):
    x, _ = blobs(20, 6)
    inputs = x.to_sparse_csr() if layout == "csr" else x
    design = DesignMatrix(inputs)
    model = MLP(design, 3, torch.Generator().manual_seed(0))
    rows = (x - design.mean) / design.scale
    hidden = torch.nn.functional.elu(rows @ model.first + model.first_bias)
    torch.testing.assert_close(model(inputs), hidden @ model.second + model.second_bias, atol=1e-4, rtol=1e-4)


def test_gradients_of_sparse_and_dense_rows_are_the_same(blobs):
    x, y = blobs(20, 6)
    x = x.where(x > x.median(), 0.0)
    gradients = []
    for inputs in (x, x.to_sparse_csr()):
        model = MLP(DesignMatrix(inputs), 4, torch.Generator().manual_seed(0))
        torch.nn.functional.cross_entropy(model(inputs), y).backward()
        gradients.append(model.first.grad)
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-4)


def test_training_stops_early_and_returns_the_best_weights(blobs, monkeypatch):
    monkeypatch.setattr(mlp, "PATIENCE", 3)
    x, y = blobs(30, 6)
    scores = iter([(0.5, 0.0), (0.7, 0.0), (0.7, 0.1), (0.6, 0.0), (0.7, 0.05), (0.9, 0.0)])
    weights = []

    def score(model: MLP) -> tuple[float, float]:
        weights.append(model.first.detach().clone())
        return next(scores)

    model, best = fit_mlp(x, y, row_selector(x), score, 1e-3, seed=0)
    # The metric last improved at the second score; three scores later training stops. The third has the lower loss.
    assert len(weights) == 5
    assert best == (0.7, 0.1)
    assert torch.equal(model.first, weights[2])


def test_training_on_sparse_rows_never_transposes_them(blobs, monkeypatch):
    def fail(*_):
        raise AssertionError("the rows were transposed")

    x, y = blobs(90, 40)
    x = x.where(x > x.median(), 0.0).to_sparse_csr()
    monkeypatch.setattr(SparseMatrix, "transpose", property(fail))
    monkeypatch.setattr(scipy.sparse.csr_matrix, "tocsc", fail)
    fit_mlp(x, y, row_selector(x), lambda model: (0.5, 0.0), 1e-3, 0)
