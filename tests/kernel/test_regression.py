"""The memory of the low-rank path, and its agreement with the exact path and with its own shortcut."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from girl import KRLoss
from girl.kernel.bandwidth import squared_width
from girl.kernel.chunks import ChunkedRows
from girl.kernel.features import nystrom_map
from girl.kernel.regression import exact_rho, lowrank_rho
from girl.kernel.smoother import Clamp, Projection, Ridge
from tests.helpers.samples import normal, seeded


class LargestAllocation(TorchDispatchMode):
    """Records the size, in elements, of the largest dense tensor that any operation allocates."""

    def __init__(self, *inputs: torch.Tensor) -> None:
        super().__init__()
        self.inputs = {tensor.untyped_storage().data_ptr() for tensor in inputs}
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            strided = isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided
            if strided and tensor.untyped_storage().data_ptr() not in self.inputs:
                self.elements = max(self.elements, tensor.numel())
        return out


@pytest.mark.parametrize("features", ["nystrom", "fourier"])
@pytest.mark.parametrize("smoother", ["ridge", "clamp", "projection"])
@pytest.mark.parametrize("residual", ["loo", "insample"])
@pytest.mark.parametrize("sparse", [False, True])
def test_no_n_times_n_and_no_n_times_m_matrix_is_allocated(features, smoother, residual, sparse):
    n, d, m, rank, chunk_size = 3000, 4, 200, 16, 250
    x = normal(n, d, dtype=torch.float32).requires_grad_()
    dense = normal(n, m, seed=1, dtype=torch.float32) * (normal(n, m, seed=2, dtype=torch.float32) > 2)
    y = dense.to_sparse_csr() if sparse else dense
    del dense
    loss = KRLoss("mean", features, rank, smoother, residual=residual, chunk_size=chunk_size)
    with LargestAllocation(x, *([] if sparse else [y])) as largest:
        loss(x, y, generator=seeded()).backward()
    # The residual of a chunk, or its stored entries, or the gradient of X.
    assert largest.elements <= max(chunk_size * m, n * d, m * rank * 4)
    if sparse:
        assert largest.elements < chunk_size * m


def test_the_allocation_of_the_exact_path_is_recorded():
    x, y = normal(50, 4), normal(50, 3, seed=1)
    with LargestAllocation(x, y) as largest:
        KRLoss(features="exact")(x, y)
    assert largest.elements >= 50 * 50


@pytest.mark.parametrize("smoother", [Ridge(1e-2), Clamp(), Projection(1e-2)])
@pytest.mark.parametrize("loo", [False, True])
@pytest.mark.parametrize("p", [1.5, 2.0])
def test_low_rank_with_all_rows_as_landmarks_equals_exact(smoother, loo, p):
    x, y = normal(20, 3), normal(20, 2, seed=1)
    rows = ChunkedRows(x)
    width = squared_width(rows, 1.5)
    features = nystrom_map(rows, width, 20, "uniform", torch.float64, seeded())
    exact = exact_rho(rows, [y], width, smoother, loo, p, True)
    torch.testing.assert_close(lowrank_rho(rows, [y], features, smoother, loo, p, True), exact, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("features", ["fourier", "nystrom"])
@pytest.mark.parametrize("root", [True, False])
def test_the_shortcut_for_insample_ridge_changes_neither_value_nor_gradient(features, root):
    results = []
    for chunk_size in (None, 17):  # the shortcut is for a single chunk
        generator = seeded()
        x = torch.randn(60, 5, generator=generator, dtype=torch.float64, requires_grad=True)
        first = torch.randn(60, 3, generator=generator, dtype=torch.float64, requires_grad=True)
        second = torch.randn(60, 2, generator=generator, dtype=torch.float64, requires_grad=True)
        loss = KRLoss(features=features, rank=16, residual="insample", root=root, chunk_size=chunk_size)
        value = loss(x, first, second, generator=generator)
        results.append([value, *torch.autograd.grad(value, (x, first, second))])
    torch.testing.assert_close(results[0], results[1], rtol=1e-9, atol=1e-12)
