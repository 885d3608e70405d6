"""``girl.report``: the HTML report on a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girl import datasets, splits
from girl.errors import InputError
from girl.evaluation.quality import measure_run
from girl.reporting.page import write_report
from girl.reporting.report_data import ReportData
from girl.reporting.run_report import SUMMARY, dataset_labels, report_data_from_dataset, report_data_from_folder
from girl.training.batch import induced_batch, make_batch
from girl.training.run import Run, load_run

REPORT = "report.html"


def report(
    folder: Path | str,
    *,
    out: Path | str | None = None,
    data_root: Path | str | None = None,
    mirror: Path | str | None = None,
) -> Path:
    """Write the report on a run: one HTML file with a map of the embedding, which opens offline.

    Args:
        folder: a folder that :func:`girl.embed` or :func:`girl.pretrain` wrote.
        out: the report's file; by default ``report.html`` in the folder.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.

    Returns:
        The path of the report.
    """
    folder = Path(folder)
    run = load_run(folder)
    if (folder / SUMMARY).exists():
        data = report_data_from_folder(folder, run)
    else:
        data = _report_data_of_dataset(folder, run, data_root, mirror)
    path = folder / REPORT if out is None else Path(out)
    write_report(path, data)
    return path


def _report_data_of_dataset(
    folder: Path, run: Run, data_root: Path | str | None, mirror: Path | str | None
) -> ReportData:
    if "dataset" not in run.config:
        raise InputError(f"{folder}: holds a model but not the data it was trained on, expected a run of girl embed")
    if run.recipe.name not in ("girl", "bands", "graph-bands"):
        raise InputError(
            f"{folder}: given a run of {run.recipe.name}, expected one of GIRL; see girl evaluate {folder}"
        )
    dataset = datasets.load(run.config["dataset"], data_root, mirror)
    batch = make_batch(dataset.data, run.recipe.encoder)
    path = folder / "embeddings.npy"
    vectors = _saved_vectors(path, dataset.graphs or batch.num_nodes)
    if vectors is None:
        vectors = run.embed(batch).numpy()
    seen = None
    if dataset.inductive:
        split = splits.get(run.config["protocol"]).split(dataset, run.config["split"])
        seen = induced_batch(batch, split.train)
    quality = measure_run(run, vectors, dataset.data, batch, dataset_labels(dataset), seen)
    return report_data_from_dataset(dataset, vectors, run, quality, batch, path)


def _saved_vectors(path: Path, rows: int) -> NDArray[Any] | None:
    """The vectors in a file; None if it is missing or damaged."""
    try:
        vectors = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError):
        return None
    return np.array(vectors) if vectors.ndim == 2 and len(vectors) == rows and np.isfinite(vectors).all() else None
