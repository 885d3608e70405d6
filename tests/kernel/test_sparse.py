from __future__ import annotations

import torch

from girl.kernel import sparse
from tests.helpers.samples import normal


def matrix():
    dense = normal(11, 6) * (normal(11, 6, seed=1) > 0.5)
    dense[4] = 0
    return dense


def test_rows_and_chunks():
    dense = matrix()
    y = dense.to_sparse_csr()
    assert torch.equal(sparse.rows(y, 2, 7).to_dense(), dense[2:7])
    assert torch.equal(torch.cat([part.to_dense() for part in sparse.chunks(y, 4)]), dense)


def test_transpose_and_squares():
    dense = matrix()
    assert torch.equal(sparse.transpose(dense.to_sparse_csr()).to_dense(), dense.T)
    assert torch.equal(sparse.squared(dense.to_sparse_csr()).to_dense(), dense**2)


def test_largest_entries():
    dense = matrix()
    dense[:, 2] = 0
    assert torch.equal(sparse.largest_entries(dense.to_sparse_csr()), dense.abs().amax(0))


def test_project_and_its_gradient():
    dense = matrix()
    y, features = dense.to_sparse_csr(), normal(11, 3, seed=2).requires_grad_()
    torch.testing.assert_close(sparse.project(features, y, sparse.transpose(y)), features.T @ dense)
    assert torch.autograd.gradcheck(lambda f: sparse.project(f, y, sparse.transpose(y)), features)
