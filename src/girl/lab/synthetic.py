"""The paper's synthetic experiments, where ρ(Y|X) is known, and one that the paper lacks.

Each draw gives samples X, targets Y and the *oracle* of that very draw, the root mean square of Y - E[Y|X], against
which an estimator is judged: the difference to the theoretical value would also count the luck of the draw.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import Progress

from girl.kernel.bandwidth import squared_width
from girl.kernel.chunks import ChunkedRows
from girl.kernel.estimate import estimate_rho
from girl.kernel.features import kernel_matrix
from girl.kernel.smoother import Clamp, Projection, Ridge, Smoother
from girl.lab.provenance import provenance
from girl.lab.published import table

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Samples, targets and the truth, for one or more columns of targets."""

    x: Array  # n × d
    y: Array  # n × m
    noise: Array  # n × m, Y - E[Y|X]
    widen: float = 1.0  # the released code multiplies its bandwidth by this

    @property
    def oracle(self) -> Array:
        """The root mean square of the noise that was drawn, for each column."""
        return np.sqrt((self.noise**2).mean(0))


@dataclass(frozen=True)
class Experiment:
    """A family of problems along one axis."""

    axis: str
    values: tuple[float | str, ...]
    theory: tuple[float, ...]
    draw: Callable[[np.random.Generator, int], Sequence[Problem]]


def _one_dimension(rng: np.random.Generator, n: int) -> Sequence[Problem]:
    x = rng.normal(size=(n, 1))
    z, w = np.sign(x) * x**2, x**2
    known = np.zeros_like(x)
    return (
        Problem(z, x, known),
        Problem(w, x, x),  # E[X|W] = 0: the sign is lost
        Problem(x, np.hstack([z, w]), np.hstack([known, known])),
    )


_NOISE = tuple(round(-1 + 0.1 * step, 1) for step in range(21))


def _hundred_dimensions(rng: np.random.Generator, n: int) -> Sequence[Problem]:
    x = rng.normal(size=(n, 100))
    noise = rng.normal(size=(n, 100)).sum(1, keepdims=True) * np.array(_NOISE)
    return (Problem(x, x.sum(1, keepdims=True) + noise, noise, widen=5.0),)


_CORRELATION = (*(round(0.05 * step, 2) for step in range(20)), 0.99)


def _correlated(rng: np.random.Generator, n: int) -> Sequence[Problem]:
    alpha = np.array(_CORRELATION)
    x = rng.normal(size=(n, 1))
    noise = np.sqrt(1 - alpha**2) * rng.normal(size=(n, 1))
    return (Problem(x, alpha * x + noise, noise),)


_DIMENSION = (1, 2, 4, 16, 64, 256)


def _independent(rng: np.random.Generator, n: int) -> Sequence[Problem]:
    problems = []
    for dimension in _DIMENSION:
        y = rng.normal(size=(n, 1))
        problems.append(Problem(rng.normal(size=(n, dimension)), y, y))
    return problems


EXPERIMENTS = {
    "table_1d": Experiment(
        "quantity", tuple(row["quantity"] for row in table("synthetic_1d")), (0.0, 1.0, 0.0, 0.0), _one_dimension
    ),
    "dimension_100": Experiment("alpha", _NOISE, tuple(10 * abs(a) for a in _NOISE), _hundred_dimensions),
    "mutual_information": Experiment(
        "alpha", _CORRELATION, tuple(float(np.sqrt(1 - a * a)) for a in _CORRELATION), _correlated
    ),
    "independence": Experiment("dimension", _DIMENSION, (1.0,) * len(_DIMENSION), _independent),
}

#: In-sample and leave-one-out smoothers shown beside the paper's and ours; one eigendecomposition serves them all.
SMOOTHERS: dict[str, tuple[Smoother, bool]] = {
    "paper": (Clamp(), False),
    "projection": (Projection(), False),
    "ridge_insample": (Ridge(), False),
    "ridge_loo": (Ridge(), True),
}


def smoother_columns(problem: Problem) -> dict[str, Array]:
    """ρ̂ of every column of the targets by each of :data:`SMOOTHERS`, on the exact kernel matrix."""
    rows, y = ChunkedRows(torch.from_numpy(problem.x)), torch.from_numpy(problem.y)
    eigenvalues, vectors = torch.linalg.eigh(kernel_matrix(rows, squared_width(rows, "mean") * problem.widen))
    coordinate, squares = vectors.T @ y, vectors.square()
    found = {}
    for name, (smoother, leave_one_out) in SMOOTHERS.items():
        left = smoother.residual_weights(eigenvalues)
        residual = vectors @ (left.unsqueeze(1) * coordinate)
        if leave_one_out:
            residual = residual / (squares @ left).unsqueeze(1)
        found[name] = residual.square().mean(0).sqrt().numpy()
    return found


def run_draw(name: str, index: int, seed: int, samples: int) -> dict[str, list[float]]:
    """All estimates and oracles of one draw of one experiment, a value for each point of its axis."""
    torch.set_num_threads(1)  # one draw, one core: the same bits however many processes share the draws
    rng = np.random.default_rng([seed, list(EXPERIMENTS).index(name), index])
    found: dict[str, list[float]] = {}
    for problem in EXPERIMENTS[name].draw(rng, samples):
        columns = smoother_columns(problem)
        columns["ours"] = np.array(estimate_rho(problem.x, problem.y).columns)
        columns["oracle"] = problem.oracle
        for key, values in columns.items():
            found.setdefault(key, []).extend(float(value) for value in values)
    return found


def run(draws: int = 20, samples: int = 1000, seed: int = 0, jobs: int = -1) -> dict[str, Any]:
    """All four experiments: mean and spread over draws of each estimate, and mean absolute errors to the oracle."""
    started = time.perf_counter()
    tasks = [(name, index) for name in EXPERIMENTS for index in range(draws)]
    with Progress(transient=True) as progress:
        bar = progress.add_task("synthetic", total=len(tasks))
        found: dict[str, list[dict[str, list[float]]]] = {name: [] for name in EXPERIMENTS}
        results = joblib.Parallel(n_jobs=jobs, return_as="generator")(
            joblib.delayed(run_draw)(name, index, seed, samples) for name, index in tasks
        )
        for (name, _), result in zip(tasks, results, strict=True):
            found[name].append(result)
            progress.advance(bar)
    body = {name: _summary(EXPERIMENTS[name], found[name]) for name in EXPERIMENTS}
    for row, quantity in zip(table("synthetic_1d"), range(4), strict=True):
        published = body["table_1d"].setdefault("published", {"mean": [], "std": []})
        published["mean"].append(float(row["estimate"]))
        published["std"].append(float(row["std"]))
        assert row["quantity"] == EXPERIMENTS["table_1d"].values[quantity]
    return {
        "experiment": "synthetic",
        "settings": {"draws": draws, "samples": samples, "seed": seed},
        "seconds": round(time.perf_counter() - started, 1),
        "provenance": provenance(),
        **body,
    }


def _summary(experiment: Experiment, draws: list[dict[str, list[float]]]) -> dict[str, Any]:
    value: dict[str, Any] = {
        "axis": experiment.axis,
        "values": list(experiment.values),
        "theory": list(experiment.theory),
    }
    oracle = np.array([draw["oracle"] for draw in draws])
    error = {}
    for key in draws[0]:
        estimates = np.array([draw[key] for draw in draws])
        value[key] = {"mean": estimates.mean(0).tolist(), "std": estimates.std(0).tolist()}
        if key != "oracle":
            error[key] = float(np.abs(estimates - oracle).mean())
    value["mean_absolute_error"] = error
    value["ratio_to_paper"] = error["ours"] / error["paper"]
    return value
