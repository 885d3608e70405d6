"""The content of a run's report: from memory, from a named dataset, or from the files in the run's folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from girl import store
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.evaluation.quality import Quality
from girl.files import replacing, write_json
from girl.graph.batch import Batch
from girl.reporting.report_data import ReportData
from girl.tables import UserGraph, read_embeddings
from girl.training.run import Run

#: Files that a run of a user's graph holds for its report, beside the model.
NODES, EDGES, SUMMARY, QUALITY = "nodes.parquet", "edges.safetensors", "summary.json", "quality.json"


def report_data_from_memory(
    graph: UserGraph, vectors: NDArray[Any], run: Run, quality: Quality, title: str, embeddings: Path
) -> ReportData:
    """The report's content for a user's graph.

    Args:
        graph: the user's graph or set of graphs.
        vectors: its embedding, n × k.
        run: the model and its training.
        quality: the measured quality of ``vectors``.
        title: the title of the page.
        embeddings: the file that ``vectors`` are written to.
    """
    name = graph.ids.name or "id"
    return ReportData(
        title=title,
        facts=graph.counts,
        notes=graph.notes,
        ids=graph.ids.alias(name),
        embedding=np.asarray(vectors, np.float32),
        edge_index=None if graph.is_set else graph.data.edge_index.numpy(),
        columns=graph.table.drop(name, strict=False),
        label=graph.label,
        history=run.history.epochs,
        quality=quality,
        settings=run.recipe.to_dict(),
        embeddings=embeddings.resolve(),
        sizes=graph_sizes(graph.data) if graph.is_set else None,
        choice=run.choice,
    )


def report_data_from_dataset(
    dataset: NodeDataset, vectors: NDArray[Any], run: Run, quality: Quality, batch: Batch, embeddings: Path
) -> ReportData:
    """The report's content for a named dataset; ``batch`` is its graph as the encoder sees it."""
    labels = dataset_labels(dataset)
    edges = batch.graph.adjacency.values().numel()
    facts: dict[str, int | float | str] = {
        "dataset": dataset.title,
        **({"graphs": dataset.graphs} if dataset.graphs else {}),
        "nodes": batch.num_nodes,
        "edges": edges // 2 if batch.graph.symmetric else edges,
        "features": batch.x.shape[1],
        "classes": dataset.classes,
        "isolated nodes": int((batch.graph.degree == 0).sum()),
    }
    stand_in = ["This is a stand-in: a random graph of the same shape, not the data itself."]
    return ReportData(
        title=dataset.title,
        facts=facts,
        notes=stand_in if dataset.stand_in else [],
        ids=pl.Series("id", range(len(vectors))),
        embedding=np.asarray(vectors, np.float32),
        edge_index=None if dataset.graphs else dataset.data.edge_index.numpy(),
        columns=pl.DataFrame() if labels is None else labels.to_frame(),
        label=None if labels is None else labels.name,
        history=run.history.epochs,
        quality=quality,
        settings=run.recipe.to_dict(),
        embeddings=embeddings,
        sizes=graph_sizes(dataset.data) if dataset.graphs else None,
        choice=run.choice,
    )


def save_report_inputs(folder: Path, data: ReportData) -> None:
    """Write what :func:`report_data_from_folder` reads, beside the model that is already in the run's folder."""
    with replacing(folder / NODES) as path:
        pl.DataFrame([data.ids, *data.columns.get_columns()]).write_parquet(path)
    arrays = {"edge_index": data.edge_index} if data.edge_index is not None else data.sizes or {}
    store.save(folder / EDGES, {name: torch.from_numpy(array) for name, array in arrays.items()})
    write_json(folder / QUALITY, asdict(data.quality))
    summary = {"facts": data.facts, "notes": data.notes, "label": data.label, "embeddings": str(data.embeddings)}
    write_json(folder / SUMMARY, summary)


def report_data_from_folder(folder: Path, run: Run) -> ReportData:
    """Read what :func:`save_report_inputs` wrote; ``run`` is the run in that folder."""
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        facts, notes, label, embeddings = (summary[key] for key in ("facts", "notes", "label", "embeddings"))
        quality = Quality.from_dict(json.loads((folder / QUALITY).read_text(encoding="utf-8")))
        table = pl.read_parquet(folder / NODES)
        arrays = {name: tensor.numpy() for name, tensor in store.load(folder / EDGES)[0].items()}
        edge_index = arrays["edge_index"] if quality.unit == "node" else None
        sizes = {name: arrays[name] for name in ("nodes", "edges")} if quality.unit == "graph" else None
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{folder}: incomplete ({error}); run the same `girl embed` command again") from error
    if not Path(embeddings).exists():
        raise InputError(f"{folder}: its embeddings were written to {embeddings}, which is gone; embed the graph again")
    _, vectors = read_embeddings(Path(embeddings))
    ids = table.to_series(0)
    return ReportData(
        title=folder.name,
        facts=facts,
        notes=notes,
        ids=ids,
        embedding=np.asarray(vectors, np.float32),
        edge_index=edge_index,
        columns=table.drop(ids.name),
        label=label,
        history=run.history.epochs,
        quality=quality,
        settings=run.recipe.to_dict(),
        embeddings=Path(embeddings),
        sizes=sizes,
        choice=run.choice,
    )


def dataset_labels(dataset: NodeDataset) -> pl.Series | None:
    """The labels of a dataset's nodes or graphs as text, null where missing; None if there are several per node."""
    if dataset.multilabel:
        return None
    return pl.Series("label", [str(y) if y >= 0 else None for y in dataset.data.y.tolist()], pl.String)


def graph_sizes(data: Data) -> dict[str, NDArray[np.int64]]:
    """The number of nodes and edges of each graph of a set; the two directions of an edge count once, loops do not."""
    graphs = data.graphs if "graphs" in data else len(data.y)
    source, target = data.edge_index
    ends = torch.stack([torch.minimum(source, target), torch.maximum(source, target)])[:, source != target]
    edges = torch.unique(ends, dim=1)[0]
    return {
        "nodes": torch.bincount(data.graph, minlength=graphs).numpy(),
        "edges": torch.bincount(data.graph[edges], minlength=graphs).numpy(),
    }
