"""A user's own graph, or set of graphs, from files to embeddings and a report: what ``girl embed`` does."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor

from girl.api.report import REPORT
from girl.console import phase
from girl.errors import InputError
from girl.evaluation.quality import measure_run
from girl.graph.compact import compact
from girl.graph.structure import LARGE, STRUCTURES, Structure, StructureEncoding
from girl.nn.encoder import shared
from girl.reporting.page import write_report
from girl.reporting.run_report import report_data_from_memory, save_report_inputs
from girl.tables.embeddings import as_table, check_output, write_embeddings
from girl.tables.encoding import Encoding
from girl.tables.user_graph import InputSettings, UserGraph, read_user_graph, user_graph_of
from girl.tables.user_graph_set import read_user_graphs, user_graphs_of
from girl.training.distributed import ALONE, World
from girl.training.loop import Resume
from girl.training.recipe import Recipe, find_recipe
from girl.training.run import Run, batch_of, device_of, load_run, pretrain, save_run

#: A table, or the file that it is in.
Source = Path | str | pl.DataFrame

#: Width of the encoder for a user's graph: half a kilobyte for each node. The recipes of the tables are wider.
HIDDEN = 128
#: Nodes of a METIS part of a large graph, and the steps that training takes at most.
PART, STEPS = 20_000, 200
#: Graphs with more nodes than this are trained in METIS parts: one pass is then many steps, at the price of one.
WHOLE = 100_000


@dataclass(frozen=True)
class Embedded:
    """Embeddings of a graph's nodes, or of the graphs of a set, and all that they came from."""

    graph: UserGraph
    vectors: NDArray[np.floating[Any]]
    """n × k, a row for each of ``graph.ids``."""
    run: Run
    folder: Path | None = None
    """The run's folder."""
    report: Path | None = None

    @property
    def ids(self) -> pl.Series:
        """The nodes, or the graphs of a set, as they were given."""
        return self.graph.ids

    def table(self) -> pl.DataFrame:
        """The id and a column for each dimension."""
        return as_table(self.ids, self.vectors)


def recipe_for(nodes: int) -> Recipe:
    """The default recipe for a user's graph of this size."""
    values: dict[str, Any] = {"hidden": HIDDEN, "normalise": "none"}  # scales were set when columns were encoded
    if nodes > WHOLE:
        clusters = round(nodes / PART)
        values |= {"clusters": clusters, "epochs": max(1, min(20, STEPS // clusters)), "save_every": 1}
    if nodes > LARGE:
        values |= {"target_rank": 64}
    return Recipe().with_values(values)


def embed(
    edges: Path | str | pl.DataFrame,
    nodes: Source | Sequence[Source] | None = None,
    *,
    graphs: Source | None = None,
    out: Path | str | None = None,
    folder: Path | str | None = None,
    model: Path | str | None = None,
    settings: InputSettings | None = None,
    structure: Structure = "auto",
    recipe: str | Recipe = "auto",
    options: dict[str, Any] | None = None,
    half: bool = False,
    report: bool = True,
    resume: Resume = "auto",
    device: str = "auto",
    console: Console | None = None,
    world: World = ALONE,
) -> Embedded:
    """Embeddings of a graph that is given as an edge list and, maybe, a node table; or of a set of graphs.

    A set is a folder of files, or tables with a column that says which graph a row belongs to (``settings.graph``);
    there is then a row for each graph.

    Args:
        edges: a file, a table in memory, or a folder with a file for each graph.
        nodes: a file or table with a row for each node, or several; without it, features come from the graph itself.
        graphs: of a set, a file or table with a row for each graph, in the order that is wanted: labels for the report.
        out: file for the embeddings; its suffix says which kind.
        folder: the run's folder (model, config, history, report); nothing is kept without it.
        model: folder of an earlier run, whose model is used instead of training one.
        settings: which columns are what.
        structure: columns made from the graph itself: roles (degrees, returning walks), positions (eigenvectors), both,
            none, or auto: both if there are no other features. Of a set of graphs, roles or none.
        recipe: auto (by the size of the graph; of a set, graphs), a shipped recipe, a file or a
            :class:`~girl.training.recipe.Recipe`.
        options: settings that override the recipe's.
        half: whether the embeddings are written as 16-bit floats.
        report: whether a report is written to the folder.
        resume: go on with an interrupted run (auto), or start anew (never).
        device: cpu, cuda or auto.
        console: where to say what is going on; None says nothing.
        world: the processes that work together; the first one writes.
    """
    if structure not in STRUCTURES:
        raise InputError(f"structure: given {structure!r}, expected one of {', '.join(STRUCTURES)}")
    folder = None if folder is None else Path(folder)
    if out is None and folder is not None:
        out = folder / "embeddings.parquet"
    out = None if out is None else Path(out)
    if out is not None:
        check_output(out)
    known = None if model is None else load_run(Path(model))
    if known is not None and "input" not in known.about:
        raise InputError(f"{model}: its graph was a named dataset, expected a run of `girl embed`")
    with phase(console, "reading"):
        graph = _read(edges, nodes, graphs, settings or InputSettings(), known)
    with phase(console, "features"):
        saved = None if known is None else known.about["input"]["structure"]
        before = None if saved is None else StructureEncoding.from_dict(saved)
        graph, made = with_structure(graph, structure, before, replay=known is not None)
    data = graph.data
    if known is None:
        full = _recipe(recipe, options or {}, graph)
        whole = batch_of(data, full.encoder, device_of(device))
        about = {
            "input": {
                "encoding": None if graph.encoding is None else graph.encoding.to_dict(),
                "structure": None if made is None else made.to_dict(),
                "directed": graph.directed,
            }
            | ({"graphs": True} if graph.is_set else {}),
        }
        run = pretrain(whole, full, out=folder, resume=resume, about=about, console=console, world=world)
    else:
        if options or recipe != "auto":
            raise InputError("model: given together with settings of a recipe, expected one or the other")
        run = known
        whole = batch_of(data, run.recipe.encoder, device_of(device))
        run.method.to(whole.x.device)
    with phase(console, "embedding"), shared(run.method, world.ranks):
        vectors = (run.embed(whole) if run.vectors is None else run.vectors).cpu().numpy()
        if half:
            vectors = vectors.astype(np.float16)
    if not world.first:
        return Embedded(graph, vectors, run, folder)
    made_report = None
    if out is not None:
        with phase(console, "writing"):
            write_embeddings(out, graph.ids, vectors, graph.table)
    if folder is not None and out is not None:
        with phase(console, "measuring"):
            if known is not None:
                save_run(run, folder)
            labels = None if graph.label is None else graph.table[graph.label]
            quality = measure_run(run, vectors, data, whole, labels)
            report_data = report_data_from_memory(graph, vectors, run, quality, folder.name, out)
            save_report_inputs(folder, report_data)
        if report:
            with phase(console, "report"):
                made_report = folder / REPORT
                write_report(made_report, report_data)
    return Embedded(graph, vectors, run, folder, made_report)


def _read(
    edges: Source,
    nodes: Source | Sequence[Source] | None,
    graphs: Source | None,
    settings: InputSettings,
    known: Run | None,
) -> UserGraph:
    several = settings.graph is not None or (isinstance(edges, Path | str) and Path(edges).is_dir())
    if graphs is not None and not several:
        raise InputError(
            "--graphs: given a table of graphs for one graph; name the column that says which graph a row belongs to "
            "by --graph, or give a folder of graphs"
        )
    encoding = None
    if known is not None:
        settings = replace(settings, directed=known.about["input"]["directed"])
        saved = known.about["input"]["encoding"]
        encoding = None if saved is None else Encoding.from_dict(saved)
        trained, asked = (
            "a set of graphs" if one else "one graph" for one in (known.about["input"].get("graphs", False), several)
        )
        if trained != asked:
            raise InputError(f"model: it was trained on {trained}, given {asked}, expected the same; train on this one")
    tables = [] if nodes is None else [nodes] if isinstance(nodes, Path | str | pl.DataFrame) else list(nodes)
    frames = [table for table in tables if isinstance(table, pl.DataFrame)]
    if isinstance(edges, pl.DataFrame):
        if len(frames) < len(tables):
            raise InputError("nodes: given a file for edges in memory, expected tables in memory too")
        if not several:
            return user_graph_of(edges, frames, settings, encoding)
        if not isinstance(graphs, pl.DataFrame | None):
            raise InputError("graphs: given a file for edges in memory, expected a table in memory too")
        return user_graphs_of(edges, frames, graphs, settings, encoding)
    paths = [Path(table) for table in tables if isinstance(table, Path | str)]
    if len(paths) < len(tables):
        raise InputError(f"nodes: given a table in memory for edges in {edges}, expected files too")
    if not several:
        return read_user_graph(Path(edges), paths, settings, encoding)
    if isinstance(graphs, pl.DataFrame):
        raise InputError(f"graphs: given a table in memory for edges in {edges}, expected a file too")
    return read_user_graphs(Path(edges), paths, None if graphs is None else Path(graphs), settings, encoding)


def with_structure(
    graph: UserGraph, structure: Structure, known: StructureEncoding | None = None, *, replay: bool = False
) -> tuple[UserGraph, StructureEncoding | None]:
    """The graph with the columns that its structure gives, and how they were made.

    Args:
        graph: what was read.
        structure: which columns.
        known: how they were made of the graph that a model was trained on.
        replay: whether they are to be made as ``known`` says: none, if that is None.
    """
    data, n = graph.data, graph.data.num_nodes
    of = data.graph if graph.is_set else None
    if replay:
        made = known
        if made is None:
            return graph, None
        columns = made.apply(data.edge_index, n, graph.directed, graph=of)
    else:
        usual: Structure = "roles" if graph.is_set else "both"
        wanted = (usual if data.x is None else "none") if structure == "auto" else structure
        if wanted == "none":
            if data.x is None:
                which = "roles" if graph.is_set else "roles, positions or both"
                raise InputError(f"structure: given none for a graph without features, expected {which}")
            return graph, None
        made, columns, _ = StructureEncoding.fit(wanted, data.edge_index, n, graph.directed, data.edge_weight, graph=of)
    counts = graph.counts | {"columns from the graph itself": columns.shape[1]}
    data = copy(data)
    data.x = _beside(data.x, columns)
    return replace(graph, data=data, counts=counts), made


def _beside(x: Tensor | None, columns: NDArray[np.float32]) -> Tensor:
    if x is None:
        return torch.from_numpy(columns)
    if x.layout == torch.strided:
        return torch.cat([x, torch.from_numpy(columns)], dim=1)
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    known = scipy.sparse.csr_matrix(parts, shape=tuple(x.shape))
    return compact(scipy.sparse.hstack([known, scipy.sparse.csr_matrix(columns)], format="csr"))


def _recipe(recipe: str | Recipe, options: dict[str, Any], graph: UserGraph) -> Recipe:
    if recipe == "auto":
        base = find_recipe("graphs") if graph.is_set else recipe_for(graph.data.num_nodes)
    else:
        base = recipe if isinstance(recipe, Recipe) else find_recipe(recipe)
        base = base.with_values({"normalise": "none"})
    return base.with_values({"directed": graph.directed} | options, "options")
