from __future__ import annotations

import torch

from girl.graph.bands import LEARNED_COLUMNS
from girl.methods.learned import LearnedPart


def noise(m, d, seed=0):
    return torch.randn(m, d, generator=torch.Generator().manual_seed(seed))


def fitted(bands, scales, target):
    part = LearnedPart({name: band.shape[1] for name, band in bands.items()})
    share = part.fit(bands, scales, target, torch.Generator().manual_seed(0))
    return part, share


def columns(part, bands):
    return part(torch.stack([part.angles(name, bands[name]) for name in part.inputs]).sum(0))


def test_a_function_of_the_bands_is_explained_and_noise_is_not():
    bands = {"own": noise(1500, 3), "near": noise(1500, 4, seed=1)}
    scales = {"own": 1.0, "near": 0.5}
    _, share = fitted(bands, scales, bands["own"].sin())
    assert share > 0.7
    _, share = fitted(bands, scales, noise(1500, 5, seed=2))
    assert abs(share) < 0.05


def test_the_columns_are_the_prediction_up_to_a_rotation():
    bands = {"own": noise(1500, 2)}
    target = torch.stack([bands["own"][:, 0].sin(), bands["own"][:, 1] ** 2], 1)
    part, _ = fitted(bands, {"own": 1.0}, target)
    made = columns(part, bands)
    assert made.shape == (1500, LEARNED_COLUMNS)
    solution = torch.linalg.lstsq(made[:, :2], target - target.mean(0)).solution
    error = (made[:, :2] @ solution - (target - target.mean(0))).square().sum() / target.var(0).sum() / 1500
    assert error < 0.2


def test_classes_behind_independent_columns_are_read_off_the_prediction():
    """If columns are independent given a class, a prediction of some from the others is linear in the class."""
    classes = torch.randint(3, (3000,), generator=torch.Generator().manual_seed(3))
    centers = noise(3, 12, seed=4)
    visible = centers[classes][:, :6] + noise(3000, 6, seed=5)
    hidden = centers[classes][:, 6:] + noise(3000, 6, seed=6)
    part, _ = fitted({"own": visible}, {"own": 1.0}, hidden)
    made = columns(part, {"own": visible})[:, :2]  # three classes span two dimensions

    def accuracy(x):
        means = torch.stack([x[:1500][classes[:1500] == k].mean(0) for k in range(3)])
        return float((torch.cdist(x[1500:], means).argmin(1) == classes[1500:]).double().mean())

    assert accuracy(made) > accuracy(visible) - 0.01


def test_bands_without_a_scale_are_not_read():
    bands = {"own": noise(400, 3), "near": noise(400, 3, seed=1), "mid": torch.zeros(400, 2)}
    part, _ = fitted(bands, {"own": 1.0, "near": 0.0, "mid": 1.0}, noise(400, 2, seed=2))
    assert part.inputs == ["own"]
