"""What the low-rank path may allocate."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from girl import KRLoss
from tests.helpers.samples import normal, seeded


class Largest(TorchDispatchMode):
    """The largest new block of memory, in elements, that any operation makes."""

    def __init__(self, *inputs: torch.Tensor) -> None:
        super().__init__()
        self.known = {tensor.untyped_storage().data_ptr() for tensor in inputs}
        self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            strided = isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided
            if strided and tensor.untyped_storage().data_ptr() not in self.known:
                self.elements = max(self.elements, tensor.numel())
        return out


@pytest.mark.parametrize("features", ["nystrom", "fourier"])
@pytest.mark.parametrize("smoother", ["ridge", "clamp", "projection"])
@pytest.mark.parametrize("residual", ["loo", "insample"])
@pytest.mark.parametrize("sparse", [False, True])
def test_nothing_of_size_n_times_n_or_n_times_m_is_formed(features, smoother, residual, sparse):
    n, d, m, rank, chunk = 3000, 4, 200, 16, 250
    x = normal(n, d, dtype=torch.float32).requires_grad_()
    dense = normal(n, m, seed=1, dtype=torch.float32) * (normal(n, m, seed=2, dtype=torch.float32) > 2)
    y = dense.to_sparse_csr() if sparse else dense
    del dense
    loss = KRLoss("mean", features, rank, smoother, residual=residual, chunk=chunk)
    with Largest(x, *([] if sparse else [y])) as seen:
        loss(x, y, generator=seeded()).backward()
    # The chunk's residual, or its stored entries, or the gradient of X.
    assert seen.elements <= max(chunk * m, n * d, m * rank * 4)
    if sparse:
        assert seen.elements < chunk * m


def test_the_largest_block_would_be_seen():
    x, y = normal(50, 4), normal(50, 3, seed=1)
    with Largest(x, y) as seen:
        KRLoss(features="exact")(x, y)
    assert seen.elements >= 50 * 50
