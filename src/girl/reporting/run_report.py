"""From a run's folder to its report."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Data

from girl import datasets, splits
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.evaluation.baselines import bag_of_nodes
from girl.evaluation.label_probe import Interval, Probed, Unit
from girl.evaluation.neighborhood import Likeness
from girl.evaluation.quality import Quality, measure
from girl.files import replacing, write_json
from girl.graph.batch import Batch
from girl.graph.structure import LARGE
from girl.reporting.page import ReportData, write_report
from girl.tables import UserGraph, read_embeddings
from girl.training.batch import induced_batch, make_batch
from girl.training.run import Run, load_run, save_run
from girl.training.untrained import embed_untrained

#: What a run of a user's graph keeps beside the model, for the report.
NODES, EDGES, SUMMARY, QUALITY, REPORT = (
    "nodes.parquet",
    "edges.safetensors",
    "summary.json",
    "quality.json",
    "report.html",
)


def keep_inputs(
    folder: Path, graph: UserGraph, vectors: NDArray[Any], run: Run, whole: Batch, features: Tensor, out: Path
) -> None:
    """Keep what the report on a user's graph needs.

    Args:
        folder: the run's.
        graph: what was read.
        vectors: the embedding, n × k.
        run: the model and how it came to be.
        whole: the graph as the encoder saw it.
        features: what the encoder was given for each node.
        out: where the embedding was written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_run(run, folder)
    name = graph.ids.name or "id"
    table = graph.table.drop(name, strict=False).insert_column(0, graph.ids.alias(name))
    with replacing(folder / NODES) as beside:
        table.write_parquet(beside)
    sizes = graph_sizes(graph.data) if graph.is_set else None
    edges = {"edge_index": graph.data.edge_index.contiguous()} if sizes is None else sizes
    with replacing(folder / EDGES) as beside:
        save_file(edges, beside)
    labels = None if graph.label is None else graph.table[graph.label]
    # A second pass over a large graph for a control would double the time for one number of the report.
    control = embed_untrained(whole, run.recipe) if whole.num_nodes <= LARGE else None
    if graph.is_set:
        features = bag_of_nodes(features, graph.data.graph, graph.data.graphs)
    quality = measure(vectors, edges.get("edge_index"), features=features, untrained=control, labels=labels)
    write_json(folder / QUALITY, asdict(quality))
    summary = {"facts": graph.counts, "notes": graph.notes, "label": graph.label, "embeddings": str(out.resolve())}
    write_json(folder / SUMMARY, summary)


def graph_sizes(data: Data) -> dict[str, Tensor]:
    """How many nodes and edges each graph of a set has; both directions of an edge count once."""
    graphs = data.graphs if "graphs" in data else len(data.y)
    source, target = data.edge_index
    ends = torch.stack([torch.minimum(source, target), torch.maximum(source, target)])[:, source != target]
    edges = torch.unique(ends, dim=1)[0]
    return {
        "nodes": torch.bincount(data.graph, minlength=graphs),
        "edges": torch.bincount(data.graph[edges], minlength=graphs),
    }


def report_run(
    folder: Path,
    *,
    out: Path | None = None,
    vectors: NDArray[Any] | None = None,
    root: Path | None = None,
    mirror: Path | None = None,
) -> Path:
    """Write the report on a run, and return its path.

    Args:
        folder: of a run of ``girl embed`` or ``girl pretrain``.
        out: the report's file; by default ``report.html`` in the folder.
        vectors: the embedding, if it is at hand.
        root: where named datasets are kept.
        mirror: where they are copied from.
    """
    run = load_run(folder)
    made = _of_user(folder, run, vectors) if (folder / SUMMARY).exists() else _of_dataset(folder, run, root, mirror)
    path = out or folder / REPORT
    write_report(path, made)
    return path


def _of_user(folder: Path, run: Run, vectors: NDArray[Any] | None) -> ReportData:
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        quality = quality_of(json.loads((folder / QUALITY).read_text(encoding="utf-8")))
        table = pl.read_parquet(folder / NODES)
        tensors = {name: tensor.numpy() for name, tensor in load_file(folder / EDGES).items()}
        edges = None if quality.unit == "graph" else tensors["edge_index"]
        sizes = {name: tensors[name] for name in ("nodes", "edges")} if edges is None else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: not whole ({error}); give the same `girl embed` command again") from error
    path = Path(summary["embeddings"])
    if vectors is None:
        if not path.exists():
            raise InputError(f"{folder}: its embeddings were written to {path}, which is gone; embed the graph again")
        _, vectors = read_embeddings(path)
    ids = table.to_series(0)
    return ReportData(
        title=folder.name,
        facts=summary["facts"],
        notes=summary["notes"],
        ids=ids.cast(pl.String).to_list(),
        embedding=np.asarray(vectors, np.float32),
        edge_index=edges,
        columns=table.drop(ids.name),
        label=summary["label"],
        history=run.history.epochs,
        quality=quality,
        settings=run.recipe.to_dict(),
        usage=usage(path, ids.name, quality.unit),
        sizes=sizes,
    )


def _kept_vectors(path: Path, rows: int) -> NDArray[Any] | None:
    """The vectors in a file; None if they are not there as they were written."""
    try:
        found = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError):
        return None
    return np.array(found) if found.ndim == 2 and len(found) == rows and np.isfinite(found).all() else None


def _of_dataset(folder: Path, run: Run, root: Path | None, mirror: Path | None) -> ReportData:
    if "dataset" not in run.config:
        raise InputError(f"{folder}: holds a model but not what it was trained on, expected a run of girl embed")
    found = datasets.load(run.config["dataset"], root, mirror)
    if run.recipe.name != "girl":
        raise InputError(
            f"{folder}: given a run of {run.recipe.name}, expected one of GIRL; see girl evaluate {folder}"
        )
    whole = make_batch(found.data, run.recipe.encoder)
    path = folder / "embeddings.npy"
    vectors = _kept_vectors(path, found.graphs or whole.num_nodes)
    if vectors is None:
        vectors = run.embed(whole).numpy()
    part = whole
    if found.inductive:
        rule = splits.get(run.config["protocol"])
        part = induced_batch(whole, rule.split(found, run.config["split"]).train)
    labels = None
    if not found.multilabel:
        labels = pl.Series("label", [str(y) if y >= 0 else None for y in found.data.y.tolist()], pl.String)
    edges, features, sizes = found.data.edge_index, found.data.x, None
    if found.graphs:
        edges, features = None, bag_of_nodes(features, found.data.graph, found.graphs)
        sizes = {name: counts.numpy() for name, counts in graph_sizes(found.data).items()}
    quality = measure(
        vectors,
        edges,
        features=features,
        untrained=embed_untrained(whole, run.recipe, part) if whole.num_nodes <= LARGE else None,
        labels=labels,
    )
    return ReportData(
        title=found.title,
        facts=_facts(found, whole),
        notes=["This is a stand-in: a random graph of the same shape, not the data itself."] if found.stand_in else [],
        ids=[str(i) for i in range(len(vectors))],
        embedding=vectors,
        edge_index=None if edges is None else edges.numpy(),
        columns=pl.DataFrame() if labels is None else labels.to_frame(),
        label=None if labels is None else labels.name,
        history=run.history.epochs,
        quality=quality,
        settings=run.recipe.to_dict(),
        usage=usage(path, "id", quality.unit),
        sizes=sizes,
    )


def _facts(found: NodeDataset, whole: Batch) -> dict[str, int | float | str]:
    edges = whole.graph.adjacency.values().numel()
    return {
        "dataset": found.title,
        **({"graphs": found.graphs} if found.graphs else {}),
        "nodes": whole.num_nodes,
        "edges": edges // 2 if whole.graph.symmetric else edges,
        "features": whole.x.shape[1],
        "classes": found.classes,
        "isolated nodes": int((whole.graph.degree == 0).sum()),
    }


def usage(path: Path, name: str, unit: Unit = "node") -> str:
    """Lines of Python that read embeddings of this kind of file."""
    match path.suffix.lower():
        case ".npy":
            return f'import numpy as np\nvectors = np.load("{path.name}")  # a row for each {unit}'
        case ".h5ad":
            return f'import anndata\n{unit}s = anndata.read_h5ad("{path.name}")\nvectors = {unit}s.obsm["X_girl"]'
        case suffix:
            read = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}[suffix]
            more = ', separator="\\t"' if suffix == ".tsv" else ""
            return (
                f'import polars as pl\ntable = pl.{read}("{path.name}"{more})\n'
                f'ids, vectors = table["{name}"], table.drop("{name}").to_numpy()'
            )


def quality_of(values: dict[str, Any]) -> Quality:
    """What ``asdict`` made of a :class:`~girl.evaluation.quality.Quality`."""
    probed = values["probed"]
    if probed is not None:
        parts = {part: {name: Interval(**one) for name, one in probed[part].items()} for part in ("accuracy", "gain")}
        probed = Probed(**probed | parts)
    likeness = [Likeness(**one) for one in values["likeness"]]
    return Quality(**values | {"likeness": likeness, "chance": Likeness(**values["chance"]), "probed": probed})
