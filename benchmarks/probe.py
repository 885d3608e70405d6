"""The linear probe beside scikit-learn's LogisticRegression, and micro-F1 beside its f1_score, in one run.

Writes results/bench/probe.json. Both fit all 15 values of C with a warm start, on the same standardized training rows.
``excess`` is the largest relative excess of scikit-learn's objective over ours: at its default tolerance, 1e-4, it
stops far from the optimum, at 1e-6 close to it. Times are seconds of one processor core.

    python benchmarks/probe.py            digits, Cora and CiteSeer: raw and propagated features
    python benchmarks/probe.py --quick    the digits alone, to see that it runs
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from torch import Tensor

from girl import datasets, splits
from girl.evaluation.baselines import BASELINES
from girl.evaluation.design_matrix import DesignMatrix, row_selector
from girl.evaluation.logistic import logistic_path
from girl.evaluation.metrics import micro_f1
from girl.evaluation.probe import C_GRID
from girl.files import write_json
from girl.lab.provenance import provenance

Matrix = NDArray[np.float64]


def objective(weight: Matrix, bias: Matrix, x: Matrix, y: Matrix, c: float) -> float:
    """What both minimise."""
    logits = x @ weight.T + bias
    losses = np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(y)), y]
    return float(c * losses.sum() + 0.5 * (weight**2).sum())


def seconds(task: Callable[[], object], repeats: int) -> float:
    """The median time of a task."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return statistics.median(times)


def scikit_learn_path(x: Matrix, y: Matrix, solver: str, tol: float) -> Iterator[tuple[Matrix, Matrix]]:
    """Weights and intercepts for each C."""
    model = LogisticRegression(solver=solver, warm_start=True, max_iter=3000, tol=tol)
    for c in C_GRID:
        model.C = c
        model.fit(x, y)
        yield model.coef_.copy(), model.intercept_.copy()


def compare_probes(rows: Tensor, y: Tensor, repeats: int, tolerances: tuple[float, ...]) -> dict[str, Any]:
    """Seconds of both, and how far scikit-learn's objective is above ours."""
    design = DesignMatrix(rows)
    dense = rows.to_dense() if rows.layout == torch.sparse_csr else rows
    x, classes = ((dense - design.mean) / design.scale).double().numpy(), y.numpy()
    ours = []
    for model in logistic_path(rows, y, C_GRID):
        weight = model.weight.double()
        bias = model.bias.double() + design.mean[0].double() @ weight
        ours.append(objective((weight * design.scale).T.numpy(), bias.numpy(), x, classes, model.c))
    result: dict[str, Any] = {"girl": seconds(lambda: list(logistic_path(rows, y, C_GRID)), repeats)}
    for solver in ("lbfgs", "newton-cg"):
        for tol in tolerances:
            path = list(scikit_learn_path(x, classes, solver, tol))
            theirs = [objective(*model, x, classes, c) for model, c in zip(path, C_GRID, strict=True)]
            result[f"{solver} {tol:g}"] = {
                "seconds": seconds(lambda: list(scikit_learn_path(x, classes, solver, tol)), repeats),  # noqa: B023
                "excess": max(their / our - 1 for their, our in zip(theirs, ours, strict=True)),
            }
    return result


def compare_f1(nodes: int, labels: int, repeats: int) -> dict[str, Any]:
    """Seconds of micro-F1 of random binary labels, as many as PPI's test nodes have."""
    generator = torch.Generator().manual_seed(0)
    y, predicted = (torch.rand(nodes, labels, generator=generator) > 0.7 for _ in range(2))
    return {
        "nodes": nodes,
        "labels": labels,
        "girl": seconds(lambda: micro_f1(predicted, y), repeats),
        "scikit_learn": seconds(lambda: f1_score(y.numpy(), predicted.numpy(), average="micro"), repeats),
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/bench/probe.json"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    torch.set_num_threads(1)
    repeats = 1 if arguments.quick else arguments.repeats
    result: dict[str, Any] = {"threads": 1, "repeats": repeats, "rows": []}
    digits = [("digits", "random-10-10-80"), ("digits", "random-60-20-20")]
    texts = [(name, protocol) for name in ("cora", "citeseer") for protocol in ("public", "random-10-10-80")]
    for name, protocol in digits[:1] if arguments.quick else digits + texts:
        dataset = datasets.load(name)
        train = splits.get(protocol).split(dataset, 0).train
        for baseline in ("raw",) if arguments.quick else ("raw", "sgc"):
            rows = row_selector(BASELINES[baseline](dataset.data))(train)
            times = compare_probes(rows, dataset.data.y[train], repeats, (1e-4, 1e-6))
            about = {"dataset": name, "protocol": protocol, "features": baseline, "shape": list(rows.shape)}
            result["rows"].append(about | times)
            print(result["rows"][-1], flush=True)
    result["micro_f1"] = compare_f1(500 if arguments.quick else 5524, 121, repeats)
    print(result["micro_f1"])
    write_json(arguments.out, result | {"provenance": provenance()})


if __name__ == "__main__":
    main()
