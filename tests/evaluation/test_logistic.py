from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from girl.evaluation import logistic
from girl.evaluation.design_matrix import DesignMatrix
from girl.evaluation.logistic import logistic_path

C_GRID = [0.01, 0.1, 1.0, 10.0, 100.0]


def standardized(x):
    """Centred, and divided by one scale."""
    design = DesignMatrix(x)
    return ((x - design.mean) / design.scale).numpy(), design.scale


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (300, 8)])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("rotate", [True, False])
def test_it_converges_to_the_solution_of_scikit_learn(shape, layout, rotate, blobs, monkeypatch):
    if not rotate:
        monkeypatch.setattr(logistic, "MAX_ROTATED", 0)
    x, y = blobs(*shape)
    x = x.double()
    if layout == "csr":
        x = x.where(x > x.median(), 0.0)
    inputs = x.to_sparse_csr() if layout == "csr" else x
    rows, scale = standardized(x)
    for model in logistic_path(inputs, y, C_GRID):
        peer = LogisticRegression(C=model.c, tol=1e-8, max_iter=5000).fit(rows, y)
        probabilities = model(inputs).softmax(1).numpy()
        assert np.abs(probabilities - peer.predict_proba(rows)).max() < 1e-3
        assert np.abs(model.weight.T.numpy() * scale - peer.coef_).max() < 1e-3 * np.abs(peer.coef_).max()


def test_binary_labels_are_fitted_independently(blobs):
    x, _ = blobs(150, 12)
    x = x.double()
    y = (x[:, :3] + torch.randn(150, 3, generator=torch.Generator().manual_seed(0)) > x[:, :3].mean(0)).double()
    rows, _ = standardized(x)
    for model in logistic_path(x, y, C_GRID):
        probabilities = model(x).sigmoid().numpy()
        for label in range(3):
            peer = LogisticRegression(C=model.c, tol=1e-8, max_iter=5000).fit(rows, y[:, label])
            assert np.abs(probabilities[:, label] - peer.predict_proba(rows)[:, 1]).max() < 1e-3


def test_float32_agrees_with_float64(blobs, monkeypatch):
    x, y = blobs(400, 40)
    exact = list(logistic_path(x, y, C_GRID))
    monkeypatch.setattr(logistic, "SMALL", 0)
    for model, peer in zip(logistic_path(x, y, C_GRID), exact, strict=True):
        assert (model(x).softmax(1) - peer(x).softmax(1)).abs().max() < 5e-3


def test_scale_shift_and_rotation_change_nothing(blobs):
    x, y = blobs(80, 30)
    x = x.double()
    rotation = torch.linalg.qr(torch.randn(30, 30, generator=torch.Generator().manual_seed(1)).double()).Q
    moved = 1e-3 * x @ rotation - 17
    for one, two in zip(logistic_path(x, y, C_GRID), logistic_path(moved, y, C_GRID), strict=True):
        torch.testing.assert_close(one(x).softmax(1), two(moved).softmax(1), atol=1e-4, rtol=0)


def test_a_constant_representation_predicts_the_class_frequencies():
    y = torch.tensor([0, 0, 0, 1])
    (model,) = logistic_path(torch.full((4, 3), 2.0), y, [1.0])
    torch.testing.assert_close(model(torch.full((1, 3), 2.0)).softmax(1), torch.tensor([[0.75, 0.25]]))
