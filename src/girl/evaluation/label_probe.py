"""How well a linear classifier predicts labels from each representation, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
import scipy.stats
import torch
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from torch import Tensor

from girl.errors import InputError
from girl.evaluation.design_matrix import row_selector, sample
from girl.evaluation.logistic import logistic_path
from girl.evaluation.metrics import accuracy, summarize
from girl.evaluation.neighborhood import GIRL
from girl.evaluation.probe import C_GRID, smoothed_argmax
from girl.splits import Split

#: What a row of an embedding represents.
Unit = Literal["node", "graph"]

#: At most this many labelled nodes (or graphs) are used, in this many random splits.
MAX_LABELLED = 2000
SPLITS = 10

#: Full decades of the probe's grid without the largest C, which cost most and are hardly ever best.
COARSE_C_GRID = C_GRID[:11:2]

#: A smaller class cannot be split in three; a column with more values holds numbers, not classes.
MIN_CLASS_SIZE, MAX_CLASSES = 5, 100


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class LabelProbe:
    """Test scores of linear classifiers on several representations of the same nodes."""

    accuracy: dict[str, Interval]
    """By representation."""
    gain: dict[str, Interval]
    """By baseline: the accuracy of GIRL minus that of the baseline, paired by split."""
    majority: float
    """The accuracy of always predicting the most frequent class."""
    classes: list[str]
    confusion: list[list[int]]
    """Test nodes of all splits, by true class (rows) and class predicted from the embedding (columns)."""
    nodes: int
    splits: int
    rare: int
    """Number of classes left out because they have too few nodes."""


def encode_classes(labels: pl.Series | Sequence[object]) -> tuple[NDArray[np.int64], list[str]]:
    """Labels as integers in the order of their values, -1 where missing, and the names of the classes.

    Raises:
        InputError: the labels are not classes.
    """
    series = labels if isinstance(labels, pl.Series) else pl.Series(labels, strict=False)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError("the label holds lists or records, not one class for each row")
    if series.dtype.is_float():
        series = series.fill_nan(None)
        numbers = series.drop_nulls()
        if bool((numbers == numbers.round()).all()) and bool((numbers.abs() < 2**53).all()):
            series = series.cast(pl.Int64)
    values = series.drop_nulls().unique().sort()
    if len(values) > MAX_CLASSES:
        raise InputError(f"the label has {len(values):,} different values, too many for classes")
    names = values.cast(pl.String).to_list()
    codes = series.cast(pl.String).replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64)
    return codes.fill_null(-1).to_numpy().copy(), names


def probe_labels(
    representations: Mapping[str, Tensor], labels: pl.Series | Sequence[object] | None, seed: int, unit: Unit
) -> tuple[LabelProbe | None, str]:
    """Predict the labels from each representation on the same splits; or None and the reason why not."""
    if labels is None:
        return None, "No label column was given."
    try:
        codes, names = encode_classes(labels)
    except InputError as error:
        return None, f"No classifier was fitted: {error}."
    nodes = np.flatnonzero(codes >= 0)
    nodes = nodes[sample(len(nodes), MAX_LABELLED, seed).numpy()]
    counts = np.bincount(codes[nodes], minlength=len(names))
    used = np.flatnonzero(counts >= MIN_CLASS_SIZE)
    if len(used) < 2:
        return None, (
            f"No classifier was fitted: it needs at least two classes with at least {MIN_CLASS_SIZE} labelled {unit}s "
            f"each, and there {'is one' if len(used) else 'is none'}."
        )
    nodes = nodes[np.isin(codes[nodes], used)]
    y = torch.from_numpy(np.searchsorted(used, codes[nodes]))
    rows = {name: row_selector(h)(torch.from_numpy(nodes)) for name, h in representations.items()}
    scores: dict[str, list[float]] = {name: [] for name in rows}
    confusion = np.zeros((len(used), len(used)), dtype=np.int64)
    for split in _stratified_splits(y, seed):
        for name, h in rows.items():
            predicted = _predict(h, y, split)
            scores[name].append(accuracy(predicted, y[split.test]))
            if name == GIRL:
                confusion += confusion_matrix(y[split.test], predicted, labels=np.arange(len(used)))
    ratio = len(split.test) / len(split.train)
    gains = {name: np.subtract(scores[GIRL], values).tolist() for name, values in scores.items() if name != GIRL}
    return LabelProbe(
        accuracy={name: confidence_interval(values, ratio, 0, 1) for name, values in scores.items()},
        gain={name: confidence_interval(values, ratio, -1, 1) for name, values in gains.items()},
        majority=float(counts[used].max() / len(nodes)),
        classes=[names[index] for index in used],
        confusion=confusion.tolist(),
        nodes=len(nodes),
        splits=SPLITS,
        rare=len(np.unique(codes[codes >= 0])) - len(used),
    ), ""


def confidence_interval(scores: Sequence[float], ratio: float, lowest: float, highest: float) -> Interval:
    r"""The mean of scores on random splits of the same nodes, and its 95 % confidence interval.

    Splits share nodes, so their scores vary less than those of new nodes would: the variance of the mean is
    :math:`(1/J + n_{test}/n_{train})s^2` (Nadeau and Bengio 2003), not :math:`s^2/J`.

    Args:
        scores: the score of each of J splits.
        ratio: the number of test nodes divided by the number of training nodes.
        lowest: the lowest value possible.
        highest: the highest.
    """
    summary = summarize(scores)
    if summary.std is None:
        return Interval(summary.mean, lowest, highest)
    half = float(scipy.stats.t.ppf(0.975, summary.count - 1)) * summary.std * math.sqrt(1 / summary.count + ratio)
    return Interval(summary.mean, max(summary.mean - half, lowest), min(summary.mean + half, highest))


def _stratified_splits(y: Tensor, seed: int) -> Iterator[Split]:
    """Random splits of 60, 20 and 20 percent of each class."""
    for index in range(SPLITS):
        state = seed * SPLITS + index
        rest, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=state)
        train, val = train_test_split(rest, test_size=0.25, stratify=y[rest], random_state=state)
        yield Split(*map(torch.from_numpy, (train, val, test)))


def _predict(h: Tensor, y: Tensor, split: Split) -> Tensor:
    """Classes of the test nodes, predicted with the C that is best on validation nodes."""
    rows = row_selector(h)
    models = list(logistic_path(rows(split.train), y[split.train], COARSE_C_GRID))
    val = rows(split.val)
    best = smoothed_argmax([accuracy(model(val).argmax(1), y[split.val]) for model in models])
    return models[best](rows(split.test)).argmax(1)
