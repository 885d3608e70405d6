from __future__ import annotations

import pytest
import scipy.sparse
import torch

from girl.kernel import sparse
from girl.kernel.sparse import SparseMatrix
from tests.helpers.samples import normal


def matrix(n=11, m=6):
    dense = normal(n, m) * (normal(n, m, seed=1) > 0.5)
    dense[4] = 0
    return dense


@pytest.mark.parametrize(("density", "layout"), [(0.05, torch.sparse_csr), (0.5, torch.strided)])
def test_the_layout_follows_the_density_and_the_entries_stay(density, layout):
    x = torch.rand(40, 30, generator=torch.Generator().manual_seed(0))
    x[torch.rand(40, 30, generator=torch.Generator().manual_seed(1)) > density] = 0
    for form in (x, scipy.sparse.csr_matrix(x.numpy())):
        converted = sparse.to_csr_or_dense(form)
        assert converted.layout == layout
        assert torch.equal(converted.to_dense() if layout == torch.sparse_csr else converted, x)


def test_scipy_shares_the_values():
    x = matrix().to_sparse_csr()
    shared = sparse.to_scipy(x)
    x.values().mul_(2)
    assert torch.equal(torch.from_numpy(shared.toarray()), x.to_dense())


def test_selected_rows_are_those_of_the_dense_matrix():
    dense = matrix()
    x = dense.to_sparse_csr()
    index = torch.tensor([3, 4, 3, 10, 0])
    assert torch.equal(sparse.slice_rows(x, 2, 7).to_dense(), dense[2:7])
    assert torch.equal(torch.cat([part.to_dense() for part in sparse.chunks(x, 4)]), dense)
    assert torch.equal(sparse.take_rows(x, index).to_dense(), dense[index])
    assert sparse.take_rows(x, index[:0]).shape == (0, 6)
    square = matrix(9, 9)
    part = torch.tensor([8, 0, 4, 5])
    assert torch.equal(sparse.submatrix(square.to_sparse_csr(), part).to_dense(), square[part][:, part])


def test_largest_entries():
    dense = matrix()
    dense[:, 2] = 0
    assert torch.equal(sparse.largest_entries(dense.to_sparse_csr()), dense.abs().amax(0))


@pytest.fixture(params=["as given", "with its transpose", "symmetric", "with other values"])
def operand(request):
    """A SparseMatrix and the dense matrix that it is."""
    dense = matrix(9, 9) if request.param == "symmetric" else matrix()
    match request.param:
        case "symmetric":
            dense = dense + dense.T
            return SparseMatrix(dense.to_sparse_csr(), symmetric=True), dense
        case "with its transpose":
            return SparseMatrix(dense.to_sparse_csr(), transpose=dense.T.contiguous().to_sparse_csr()), dense
        case "with other values":
            first = SparseMatrix(dense.to_sparse_csr())
            return first.with_values(first.values * 3), 3 * dense
    return SparseMatrix(dense.to_sparse_csr()), dense


@pytest.mark.parametrize("threads", [1, 8])
def test_products_and_both_derivatives_are_those_of_the_dense_matrix(operand, threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    ours, dense = operand
    n, m = dense.shape
    assert ours.shape == (n, m)
    for function, theirs in ((ours.__matmul__, dense), (ours.t_matmul, dense.T)):
        z = normal(theirs.shape[1], 3, seed=2).requires_grad_()
        torch.testing.assert_close(function(z), theirs @ z)
        assert torch.autograd.gradcheck(function, z)
        assert torch.autograd.gradgradcheck(lambda x, f=function: f(x).square(), z)
    torch.testing.assert_close(ours.transpose.to_dense(), dense.T.contiguous())


def test_rows_and_products_with_another_sparse_matrix(operand):
    ours, dense = operand
    index = torch.tensor([8, 0, 0])
    other = normal(dense.shape[1], 4, seed=5)
    torch.testing.assert_close(ours.rows(index) @ other, dense[index] @ other)
    torch.testing.assert_close(ours.matmul_sparse(SparseMatrix(other.to_sparse_csr())), dense @ other)


def test_the_transpose_is_never_computed_for_a_gradient_on_the_cpu(monkeypatch):
    def fail(*_):
        raise AssertionError("the matrix was transposed")

    monkeypatch.setattr(SparseMatrix, "transpose", property(fail))
    monkeypatch.setattr(scipy.sparse.csr_matrix, "tocsc", fail)
    ours, z = SparseMatrix(matrix().to_sparse_csr()), normal(6, 3, seed=2).requires_grad_()
    (ours @ z).sum().backward()
    torch.testing.assert_close(z.grad, matrix().T @ torch.ones(11, 3, dtype=z.dtype))


def test_the_pattern_of_the_transpose_is_computed_once_for_all_values(monkeypatch):
    calls = []
    tocsc = scipy.sparse.csr_matrix.tocsc
    monkeypatch.setattr(scipy.sparse.csr_matrix, "tocsc", lambda self, *a, **k: calls.append(1) or tocsc(self, *a, **k))
    first = SparseMatrix(matrix().to_sparse_csr())
    for factor in (1, 2, 3):
        other = first.with_values(factor * first.values)
        torch.testing.assert_close(other.transpose.to_dense(), factor * matrix().T.contiguous())
    assert len(calls) == 1
