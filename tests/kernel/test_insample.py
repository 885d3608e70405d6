"""In-sample ridge residuals in one step."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girl.kernel.insample import ridge_sums
from girl.kernel.loss import KRLoss


@settings(deadline=None)
@given(
    n=st.integers(1, 12),
    r=st.integers(1, 12),
    m=st.integers(1, 4),
    weight=st.floats(0.01, 10),
    seed=st.integers(0, 2**32),
)
def test_gradient_is_that_of_finite_differences(n: int, r: int, m: int, weight: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    y = torch.randn(n, m, generator=generator, dtype=torch.float64, requires_grad=True)
    features = torch.randn(n, r, generator=generator, dtype=torch.float64, requires_grad=True)
    share = torch.rand(m, generator=generator, dtype=torch.float64)  # columns weigh differently
    assert torch.autograd.gradcheck(lambda y, phi: ridge_sums(y, phi, weight) @ share, (y, features))


@settings(deadline=None)
@given(n=st.integers(1, 12), r=st.integers(1, 12), weight=st.floats(0.01, 10), seed=st.integers(0, 2**32))
def test_sums_are_those_of_the_fit_written_out(n: int, r: int, weight: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    y = torch.randn(n, 3, generator=generator, dtype=torch.float64)
    features = torch.randn(n, r, generator=generator, dtype=torch.float64)
    smooth = features @ torch.linalg.inv(features.T @ features + weight * torch.eye(r, dtype=y.dtype)) @ features.T
    expected = (y - smooth @ y).square().sum(0)
    torch.testing.assert_close(ridge_sums(y, features, weight), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("features", ["fourier", "nystrom"])
@pytest.mark.parametrize("root", [True, False])
def test_one_step_and_chunks_agree(features: str, root: bool) -> None:
    """The steps that chunks go through know nothing of the short way: value and all gradients must be the same."""
    found = []
    for chunk in (None, 17):
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(60, 5, generator=generator, dtype=torch.float64, requires_grad=True)
        first = torch.randn(60, 3, generator=generator, dtype=torch.float64, requires_grad=True)
        second = torch.randn(60, 2, generator=generator, dtype=torch.float64, requires_grad=True)
        loss = KRLoss(features=features, rank=16, residual="insample", root=root, chunk=chunk)  # type: ignore[arg-type]
        value = loss(x, first, second, generator=generator)
        found.append([value, *torch.autograd.grad(value, (x, first, second))])
    torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-12)
