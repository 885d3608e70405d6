"""The paper's synthetic experiments, where ρ(Y|X) is known, and one that the paper lacks.

Each draw gives samples X, targets Y and the *oracle* of this draw, the root mean square of Y - E[Y|X]. An estimator is
compared with the oracle: its difference to the theoretical value would also count the luck of the draw.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from girl.errors import InputError
from girl.files import write_json
from girl.kernel.bandwidth import squared_width
from girl.kernel.chunks import ChunkedRows
from girl.kernel.estimate import estimate_rho
from girl.kernel.features import kernel_matrix
from girl.kernel.smoother import Clamp, Projection, Ridge, Smoother
from girl.lab.experiment import Count, Experiment, check_jobs
from girl.lab.provenance import provenance
from girl.lab.published import table

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Samples and targets whose noise is known, for one or more columns of targets."""

    x: Array  # n × d
    y: Array  # n × m
    noise: Array  # n × m, Y - E[Y|X]
    widen: float = 1.0  # the released code multiplies its bandwidth by this

    @property
    def oracle(self) -> Array:
        """The root mean square of the noise that was drawn, for each column."""
        return np.sqrt((self.noise**2).mean(0))


@dataclass(frozen=True)
class Family:
    """A family of problems along one axis."""

    axis: str
    values: tuple[float | str, ...]
    theory: tuple[float, ...]
    draw: Callable[[np.random.Generator, int], Sequence[Problem]]
    """Of a generator and a number of samples; all columns of all problems are the points of the axis."""


def _one_dimension(rng: np.random.Generator, n: int) -> Sequence[Problem]:
    x = rng.normal(size=(n, 1))
    z, w = np.sign(x) * x**2, x**2
    no_noise = np.zeros_like(x)
    return (
        Problem(z, x, no_noise),
        Problem(w, x, x),  # E[X|W] = 0: the sign is lost
        Problem(x, np.hstack([z, w]), np.hstack([no_noise, no_noise])),
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


FAMILIES = {
    "table_1d": Family(
        "quantity", tuple(row["quantity"] for row in table("synthetic_1d")), (0.0, 1.0, 0.0, 0.0), _one_dimension
    ),
    "dimension_100": Family("alpha", _NOISE, tuple(10 * abs(a) for a in _NOISE), _hundred_dimensions),
    "mutual_information": Family(
        "alpha", _CORRELATION, tuple(float(np.sqrt(1 - a * a)) for a in _CORRELATION), _correlated
    ),
    "independence": Family("dimension", _DIMENSION, (1.0,) * len(_DIMENSION), _independent),
}

#: In-sample and leave-one-out smoothers shown beside the paper's and ours; one eigendecomposition serves them all.
SMOOTHERS: dict[str, tuple[Smoother, bool]] = {
    "paper": (Clamp(), False),
    "projection": (Projection(), False),
    "ridge_insample": (Ridge(), False),
    "ridge_loo": (Ridge(), True),
}


@dataclass(frozen=True, kw_only=True)
class Synthetic(Experiment):
    """The 1-D table, the 100-D figure, the mutual-information figure, and independent X and Y in 1 to 256 dimensions.

    Writes OUT/synthetic.json and, in OUT/synthetic, the figures.
    """

    name = "synthetic"
    default_jobs = -1

    draws: Count = 20
    """repetitions of each experiment."""
    samples: Count = 1000
    """rows in each draw."""
    seed: Count = 0
    """fixes every draw."""

    def run(self, out: Path, jobs: int, console: Console) -> None:
        """Compute all four experiments, save them and draw the figures."""
        from girl.lab.tables.synthetic import draw_synthetic

        for name, given, least in (("--draws", self.draws, 1), ("--samples", self.samples, 10)):
            if given < least:
                raise InputError(f"{name}: given {given}, expected at least {least}")
        check_jobs(jobs)
        result = self.estimates(jobs)
        write_json(out / "synthetic.json", result)
        summary = Table("experiment", "published estimator", "girl.rho", "ratio", title="mean absolute error")
        for name in FAMILIES:
            error = result[name]["mean_absolute_error"]
            ratio = result[name]["ratio_to_paper"]
            summary.add_row(name, f"{error['paper']:.4f}", f"{error['ours']:.4f}", f"{ratio:.3f}")
        console.print(summary)
        lines = [f"{result['seconds']} s. Numbers: {out / 'synthetic.json'}"]
        lines += [f"picture: {path}" for path in draw_synthetic(result, out / "synthetic")]
        console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)

    def render(self, results: Path, folder: Path) -> dict[str, str]:
        """The 1-D table, the errors, and three figures."""
        from girl.lab.tables import synthetic

        return synthetic.render(results / "synthetic.json", folder)

    def estimates(self, jobs: int = 1) -> dict[str, Any]:
        """Mean and standard deviation over draws of each estimate, and mean absolute errors to the oracle."""
        started = time.perf_counter()
        tasks = [(name, index) for name in FAMILIES for index in range(self.draws)]
        with Progress(transient=True) as progress:
            bar = progress.add_task("synthetic", total=len(tasks))
            draws: dict[str, list[dict[str, list[float]]]] = {name: [] for name in FAMILIES}
            estimates = joblib.Parallel(n_jobs=jobs, return_as="generator")(
                joblib.delayed(run_draw)(name, index, self.seed, self.samples) for name, index in tasks
            )
            for (name, _), estimate_of_draw in zip(tasks, estimates, strict=True):
                draws[name].append(estimate_of_draw)
                progress.advance(bar)
        body = {name: _summary(FAMILIES[name], draws[name]) for name in FAMILIES}
        published = table("synthetic_1d")
        assert tuple(row["quantity"] for row in published) == FAMILIES["table_1d"].values
        body["table_1d"]["published"] = {
            "mean": [float(row["estimate"]) for row in published],
            "std": [float(row["std"]) for row in published],
        }
        return {
            "experiment": "synthetic",
            "settings": {"draws": self.draws, "samples": self.samples, "seed": self.seed},
            "seconds": round(time.perf_counter() - started, 1),
            "provenance": provenance(),
            **body,
        }


def smoother_columns(problem: Problem) -> dict[str, Array]:
    """ρ̂ of every column of the targets by each of :data:`SMOOTHERS`, on the exact kernel matrix."""
    rows, y = ChunkedRows(torch.from_numpy(problem.x)), torch.from_numpy(problem.y)
    eigenvalues, vectors = torch.linalg.eigh(kernel_matrix(rows, squared_width(rows, "mean") * problem.widen))
    coordinate, squares = vectors.T @ y, vectors.square()
    columns = {}
    for name, (smoother, leave_one_out) in SMOOTHERS.items():
        left = smoother.residual_weights(eigenvalues)
        residual = vectors @ (left.unsqueeze(1) * coordinate)
        if leave_one_out:
            residual = residual / (squares @ left).unsqueeze(1)
        columns[name] = residual.square().mean(0).sqrt().numpy()
    return columns


def run_draw(name: str, index: int, seed: int, samples: int) -> dict[str, list[float]]:
    """All estimates and oracles of one draw of one experiment, a value for each point of its axis."""
    torch.set_num_threads(1)  # one draw, one core: the same bits however many processes share the draws
    rng = np.random.default_rng([seed, list(FAMILIES).index(name), index])
    estimates: dict[str, list[float]] = {}
    for problem in FAMILIES[name].draw(rng, samples):
        columns = smoother_columns(problem)
        columns["ours"] = np.array(estimate_rho(problem.x, problem.y).columns)
        columns["oracle"] = problem.oracle
        for key, values in columns.items():
            estimates.setdefault(key, []).extend(float(value) for value in values)
    return estimates


def _summary(family: Family, draws: list[dict[str, list[float]]]) -> dict[str, Any]:
    summary: dict[str, Any] = {"axis": family.axis, "values": list(family.values), "theory": list(family.theory)}
    oracle = np.array([draw["oracle"] for draw in draws])
    error = {}
    for key in draws[0]:
        estimates = np.array([draw[key] for draw in draws])
        summary[key] = {"mean": estimates.mean(0).tolist(), "std": estimates.std(0).tolist()}
        if key != "oracle":
            error[key] = float(np.abs(estimates - oracle).mean())
    return summary | {"mean_absolute_error": error, "ratio_to_paper": error["ours"] / error["paper"]}
