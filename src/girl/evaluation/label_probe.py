"""What a linear classifier reads off representations: labels of nodes or of graphs, with confidence intervals."""

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
from torch import Tensor

from girl.errors import InputError
from girl.evaluation.design_matrix import sample, take
from girl.evaluation.logistic import logistic_path
from girl.evaluation.metrics import accuracy, summarise
from girl.evaluation.neighborhood import GIRL
from girl.evaluation.probe import STRENGTHS, choose
from girl.splits import Split

#: What a row of an embedding represents.
Unit = Literal["node", "graph"]

#: Labelled nodes (or graphs) that a classifier is fitted to and scored on, and how often they are shared out anew.
LABELLED = 2000
SPLITS = 10

#: Whole decades of the probe's strengths, without the weakest penalties: those cost most and are hardly ever best.
PENALTIES = STRENGTHS[:11:2]

#: Smaller classes cannot be trained, validated and tested; more classes than this are no classes but numbers.
LEAST, MOST = 5, 100


@dataclass(frozen=True)
class Interval:
    """A mean and its 95 % confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Probed:
    """What a linear classifier reads off representations of the same nodes."""

    accuracy: dict[str, Interval]
    """By representation."""
    gain: dict[str, Interval]
    """By control: how much better GIRL is, split by split."""
    frequent: float
    """The accuracy of always saying the most frequent class."""
    classes: list[str]
    confusion: list[list[int]]
    """Test nodes of all splits, by class (rows) and by what was read off the embedding (columns)."""
    nodes: int
    splits: int
    rare: int
    """Classes left out because they have too few nodes."""


def classes_of(labels: pl.Series | Sequence[object]) -> tuple[NDArray[np.int64], list[str]]:
    """Labels as numbers in the order of their values, -1 where unknown, and their names.

    Raises:
        InputError: they are no classes.
    """
    series = labels if isinstance(labels, pl.Series) else pl.Series(labels, strict=False)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise InputError("the label holds lists or records, not one class for each row")
    if series.dtype.is_float():
        series = series.fill_nan(None)
        whole = series.drop_nulls()
        if bool((whole == whole.round()).all()) and bool((whole.abs() < 2**53).all()):
            series = series.cast(pl.Int64)
    values = series.drop_nulls().unique().sort()
    if len(values) > MOST:
        raise InputError(f"the label has {len(values):,} different values, too many for classes")
    names = values.cast(pl.String).to_list()
    codes = series.cast(pl.String).replace_strict(names, range(len(names)), default=-1, return_dtype=pl.Int64)
    return codes.fill_null(-1).to_numpy().copy(), names


def probe_all(
    known: Mapping[str, Tensor], labels: pl.Series | Sequence[object] | None, seed: int = 0, unit: Unit = "node"
) -> tuple[Probed | None, str]:
    """Read labels off each representation with a linear classifier, on the same splits; or say why that cannot be."""
    if labels is None:
        return None, "No column was named as the label."
    try:
        codes, names = classes_of(labels)
    except InputError as error:
        return None, f"Nothing was classified: {error}."
    nodes = np.flatnonzero(codes >= 0)
    nodes = nodes[sample(len(nodes), LABELLED, seed).numpy()]
    counts = np.bincount(codes[nodes], minlength=len(names))
    kept = np.flatnonzero(counts >= LEAST)
    if len(kept) < 2:
        return None, (
            f"Nothing was classified: it takes two classes of at least {LEAST} known {unit}s each, and there "
            f"{'is one' if len(kept) else 'is none'}."
        )
    nodes = nodes[np.isin(codes[nodes], kept)]
    y = torch.from_numpy(np.searchsorted(kept, codes[nodes]))
    rows = {name: take(h)(torch.from_numpy(nodes)) for name, h in known.items()}
    scores: dict[str, list[float]] = {name: [] for name in rows}
    confusion = np.zeros((len(kept), len(kept)), dtype=np.int64)
    for split in _shares(y, seed):
        for name, h in rows.items():
            guessed = _read(h, y, split)
            scores[name].append(accuracy(guessed, y[split.test]))
            if name == GIRL:
                np.add.at(confusion, (y[split.test].numpy(), guessed.numpy()), 1)
    ratio = len(split.test) / len(split.train)
    return Probed(
        {name: interval(found, ratio, 0, 1) for name, found in scores.items()},
        {
            name: interval([ours - theirs for ours, theirs in zip(scores[GIRL], found, strict=True)], ratio, -1, 1)
            for name, found in scores.items()
            if name != GIRL
        },
        float(counts[kept].max() / len(nodes)),
        [names[at] for at in kept],
        confusion.tolist(),
        len(nodes),
        SPLITS,
        int((np.bincount(codes[codes >= 0], minlength=len(names)) > 0).sum()) - len(kept),
    ), ""


def interval(scores: Sequence[float], ratio: float, least: float, most: float) -> Interval:
    r"""The mean of scores on random splits of the same nodes, and its 95 % confidence interval.

    Splits share nodes, so their scores vary less than those of fresh nodes would: the variance of the mean is
    :math:`(1/J + n_{test}/n_{train})s^2` (Nadeau and Bengio 2003), not :math:`s^2/J`.

    Args:
        scores: one for each of J splits.
        ratio: test nodes for each training node.
        least: the lowest value possible.
        most: the highest.
    """
    found = summarise(scores)
    if found.std is None:
        return Interval(found.mean, least, most)
    half = float(scipy.stats.t.ppf(0.975, found.count - 1)) * found.std * math.sqrt(1 / found.count + ratio)
    return Interval(found.mean, max(found.mean - half, least), min(found.mean + half, most))


def _shares(y: Tensor, seed: int) -> Iterator[Split]:
    """Splits of 60, 20 and 20 percent of each class, so that the rarest too is trained and tested."""
    for index in range(SPLITS):
        rng = np.random.default_rng([seed, index])
        parts: list[list[NDArray[np.int64]]] = [[], [], []]
        for which in range(int(y.max()) + 1):
            members = rng.permutation(np.flatnonzero(y.numpy() == which))
            cuts = [round(0.6 * len(members)), round(0.8 * len(members))]
            for part, some in zip(parts, np.split(members, cuts), strict=True):
                part.append(some)
        train, val, test = (torch.from_numpy(np.sort(np.concatenate(part))) for part in parts)
        yield Split(train, val, test)


def _read(h: Tensor, y: Tensor, split: Split) -> Tensor:
    """Classes of the test nodes, read by the probe whose strength is best on validation."""
    rows = take(h)
    models = list(logistic_path(rows(split.train), y[split.train], PENALTIES))
    val = rows(split.val)
    best = choose([accuracy(model(val).argmax(1), y[split.val]) for model in models])
    return models[best](rows(split.test)).argmax(1)
