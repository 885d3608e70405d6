from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import torch

from girl.evaluation.label_probe import classes_of, interval
from girl.evaluation.neighborhood import GIRL, UNTRAINED
from girl.evaluation.quality import measure


def noise(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def test_labels_are_read_off_what_holds_them(blobs):
    h, y = blobs(300, 6, classes=3, spread=0.3)
    names = [None if i % 10 == 0 else f"class {c}" for i, c in enumerate(y.tolist())]
    found = measure(h, torch.zeros(2, 0), untrained=noise(300, 6), labels=names).probed
    assert found is not None
    assert found.classes == ["class 0", "class 1", "class 2"]
    assert found.nodes == 270
    ours, blind = found.accuracy[GIRL], found.accuracy[UNTRAINED]
    assert ours.mean > 0.95
    assert ours.low <= ours.mean <= ours.high <= 1
    assert blind.low < found.frequent + 0.1
    assert found.gain[UNTRAINED].low > 0.3
    confusion = np.array(found.confusion)
    assert confusion.trace() / confusion.sum() == pytest.approx(ours.mean, abs=0.01)


def test_rare_classes_are_left_out_and_counted(blobs):
    h, y = blobs(200, 6, classes=2, spread=0.3)
    names = ["once", "few", "few", *y[3:].tolist()]
    found = measure(h, torch.zeros(2, 0), labels=[str(name) for name in names]).probed
    assert found is not None
    assert (found.classes, found.rare, found.nodes) == (["0", "1"], 2, 197)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (None, "No column"),
        ([None] * 120, "is none"),
        (["a"] * 120, "is one"),
        ([f"v{i}" for i in range(120)], "120 different values"),
        ([0.5 * i for i in range(120)], "different values"),
        ([[1, 2]] * 120, "lists"),
    ],
)
def test_what_is_no_class_is_not_probed_and_said(labels, reason):
    found = measure(noise(120, 4), torch.zeros(2, 0), labels=labels)
    assert found.probed is None
    assert reason in found.unprobed


@pytest.mark.parametrize(
    ("labels", "codes", "names"),
    [
        ([10, 2, None, 2], [1, 0, -1, 0], ["2", "10"]),
        ([1.0, float("nan"), 0.0], [1, -1, 0], ["0", "1"]),
        ([True, False, None], [1, 0, -1], ["false", "true"]),
        (pl.Series(["b", "a", None]), [1, 0, -1], ["a", "b"]),
        (pl.Series(["b", "a", "b"], dtype=pl.Categorical), [1, 0, 1], ["a", "b"]),
    ],
)
def test_classes_are_in_the_order_of_their_values(labels, codes, names):
    found, called = classes_of(labels)
    assert found.tolist() == codes
    assert called == names


def test_intervals_allow_for_shared_nodes():
    scores = [0.8, 0.82, 0.84, 0.86]
    plain, shared = interval(scores, 0, 0, 1), interval(scores, 1 / 3, 0, 1)
    assert plain.mean == shared.mean == pytest.approx(0.83)
    assert shared.high - shared.low == pytest.approx((plain.high - plain.low) * math.sqrt(1 + 4 / 3))
    assert interval([0.99, 1.0], 1, 0, 1).high == 1
