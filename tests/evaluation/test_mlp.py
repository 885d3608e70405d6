from __future__ import annotations

import scipy.sparse
import torch

from girl.evaluation.mlp import fit_mlp
from girl.kernel.sparse import SparseMatrix, take_rows


def problem(n=90, d=40):
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(n, d, generator=generator) < 0.1).float()
    return x, torch.arange(n) % 3


def fit(x, y):
    rows = (lambda index: take_rows(x, index)) if x.layout == torch.sparse_csr else (lambda index: x[index])
    model, _ = fit_mlp(x, y, rows, lambda model: (0.5, -float(model(x).detach().square().mean())), 1e-3, 0)
    return model


def test_sparse_rows_train_the_same_model_as_dense_ones():
    x, y = problem()
    dense, sparse = fit(x, y), fit(x.to_sparse_csr(), y)
    torch.testing.assert_close(sparse(x), dense(x), rtol=1e-3, atol=1e-3)


def test_training_on_sparse_rows_never_transposes_them(monkeypatch):
    def fail(*_):
        raise AssertionError("the rows were transposed")

    x, y = problem()
    monkeypatch.setattr(SparseMatrix, "transpose", property(fail))
    monkeypatch.setattr(scipy.sparse.csr_matrix, "tocsc", fail)
    fit(x.to_sparse_csr(), y)
