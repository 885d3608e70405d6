from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, special

from girl.errors import InputError
from girl.methods.bgcl import BGCL, BGCLSettings, kl_divergence
from tests.helpers.methods import build, seeded


def test_the_contrast_has_gradients_in_the_drop_rates(data):
    method = build(BGCL, BGCLSettings(samples=3), data)
    terms = method.losses(data, seeded())
    terms["contrast"].backward()
    assert (method.a.grad != 0).all()
    assert (method.b.grad != 0).all()
    assert terms["rates"] >= 0


@pytest.mark.parametrize(("a", "b"), [(1.5, 0.8), (0.7, 2.0), (3.0, 3.0)])
def test_kl_divergence_equals_the_integral(a, b):
    prior = 0.8

    def density(x):
        return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)

    def integrand(x):
        return density(x) * np.log(density(x) / (prior * x ** (prior - 1) / special.beta(1, 1)))

    expected, _ = integrate.quad(integrand, 0, 1)
    assert kl_divergence(torch.tensor(a), torch.tensor(b), prior).item() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("encoder", [{"conv": "sage"}, {"output": "layers"}])
def test_other_encoders_are_refused(encoder, data):
    with pytest.raises(InputError, match="BGCL"):
        build(BGCL, BGCLSettings(), data, **encoder)


def test_no_samples_are_refused():
    with pytest.raises(InputError, match="samples"):
        BGCLSettings(samples=0)
