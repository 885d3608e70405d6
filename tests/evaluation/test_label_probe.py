from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import torch

from girl.evaluation.label_probe import _stratified_splits, confidence_interval, encode_classes
from girl.evaluation.neighborhood import GIRL, UNTRAINED
from girl.evaluation.quality import measure


def noise(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def test_labels_are_predicted_from_a_representation_that_holds_them(blobs):
    h, y = blobs(300, 6, classes=3, std=0.3)
    names = [None if i % 10 == 0 else f"class {c}" for i, c in enumerate(y.tolist())]
    probe = measure(h, torch.zeros(2, 0, dtype=torch.int64), untrained=noise(300, 6), labels=names).label_probe
    assert probe is not None
    assert probe.classes == ["class 0", "class 1", "class 2"]
    assert probe.nodes == 270
    ours, noise_only = probe.accuracy[GIRL], probe.accuracy[UNTRAINED]
    assert ours.mean > 0.95
    assert ours.low <= ours.mean <= ours.high <= 1
    assert noise_only.low < probe.majority + 0.1
    assert probe.gain[UNTRAINED].low > 0.3
    confusion = np.array(probe.confusion)
    assert confusion.trace() / confusion.sum() == pytest.approx(ours.mean, abs=0.01)


def test_rare_classes_are_left_out_and_counted(blobs):
    h, y = blobs(200, 6, classes=2, std=0.3)
    names = ["once", "few", "few", *y[3:].tolist()]
    probe = measure(h, torch.zeros(2, 0, dtype=torch.int64), labels=[str(name) for name in names]).label_probe
    assert probe is not None
    assert (probe.classes, probe.rare, probe.nodes) == (["0", "1"], 2, 197)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (None, "No label column"),
        ([None] * 120, "is none"),
        (["a"] * 120, "is one"),
        ([f"v{i}" for i in range(120)], "120 different values"),
        ([0.5 * i for i in range(120)], "different values"),
        ([[1, 2]] * 120, "lists"),
    ],
)
def test_labels_that_are_not_classes_give_a_reason_instead_of_scores(labels, reason):
    result = measure(noise(120, 4), torch.zeros(2, 0, dtype=torch.int64), labels=labels)
    assert result.label_probe is None
    assert reason in result.no_label_probe


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
def test_classes_are_numbered_in_the_order_of_their_values(labels, codes, names):
    encoded, classes = encode_classes(labels)
    assert encoded.tolist() == codes
    assert classes == names


def test_intervals_are_wider_because_splits_share_nodes():
    scores = [0.8, 0.82, 0.84, 0.86]
    plain, shared = confidence_interval(scores, 0, 0, 1), confidence_interval(scores, 1 / 3, 0, 1)
    assert plain.mean == shared.mean == pytest.approx(0.83)
    assert shared.high - shared.low == pytest.approx((plain.high - plain.low) * math.sqrt(1 + 4 / 3))
    assert confidence_interval([0.99, 1.0], 1, 0, 1).high == 1


@pytest.mark.parametrize("sizes", [(5, 5), (5, 6, 40), (5,) * 100, (1995, 5)])
def test_every_class_is_trained_and_tested_in_every_split(sizes):
    y = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    splits = list(_stratified_splits(y, seed=1))
    assert len({tuple(split.test.tolist()) for split in splits}) > 1
    for split in splits:
        assert sorted(torch.cat([split.train, split.val, split.test]).tolist()) == list(range(len(y)))
        assert len(split.train) == pytest.approx(0.6 * len(y), abs=2)
        for part in (split.train, split.test):
            assert len(y[part].unique()) == len(sizes)
