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
from girl.console import console_of
from girl.errors import InputError
from girl.evaluation.quality import measure_run
from girl.graph.batch import Batch
from girl.graph.structure import STRUCTURES, Structure, StructureEncoding
from girl.kernel.sparse import to_csr_or_dense, to_scipy
from girl.nn.encoder import shared_encoders
from girl.reporting.page import write_report
from girl.reporting.run_report import report_data_from_memory, save_report_inputs
from girl.tables import (
    InputSettings,
    Source,
    TableEncoder,
    UserGraph,
    check_output,
    embedding_table,
    read_graph,
    read_graph_set,
    write_embeddings,
)
from girl.training.batch import make_batch
from girl.training.context import Context, Resume, open_context
from girl.training.recipe import Recipe
from girl.training.run import Run, load_run, pretrain, save_run


@dataclass(frozen=True)
class Embedded:
    """Embeddings of a graph's nodes, or of the graphs of a set, with the graph and the run."""

    graph: UserGraph
    vectors: NDArray[np.floating[Any]]
    """n × k, a row for each of ``graph.ids``."""
    run: Run
    folder: Path | None = None
    """The run's folder."""
    report: Path | None = None

    @property
    def ids(self) -> pl.Series:
        """The ids of the nodes, or of the graphs of a set, as given."""
        return self.graph.ids

    def table(self) -> pl.DataFrame:
        """The id and a column for each dimension."""
        return embedding_table(self.ids, self.vectors)


def embed(
    edges: Path | str | pl.DataFrame,
    nodes: Source | Sequence[Source] | None = None,
    *,
    graphs: Source | None = None,
    out: Path | str | None = None,
    folder: Path | str | None = None,
    model: Path | str | None = None,
    settings: InputSettings | dict[str, Any] | None = None,
    structure: Structure = "auto",
    recipe: str | Recipe = "auto",
    options: dict[str, Any] | None = None,
    half: bool = False,
    report: bool = True,
    resume: Resume = "auto",
    device: str = "auto",
    verbose: bool | Console = False,
) -> Embedded:
    """Embed a graph that is given as an edge list and, optionally, a node table; or embed a set of graphs.

    A set is a folder of files, or tables with a column that says which graph a row belongs to (``settings.graph``);
    the result then has a row for each graph.

    Args:
        edges: a file, a table in memory, or a folder with a file for each graph.
        nodes: a file or table with a row for each node, or several; without it, features come from the graph itself.
        graphs: for a set, a file or table with a row for each graph, in the order of the result; has labels.
        out: file for the embeddings; its suffix is the format.
        folder: the run's folder (model, config, history, report); nothing is written without it.
        model: folder of an earlier run, whose model is used instead of training one.
        settings: which columns are what, by the names of the command's options: ``{"label": "team", "since": "2020"}``.
        structure: further columns computed from the graph itself: roles (degrees, returning walks), positions
            (eigenvectors), both, none, or auto: both if an encoder is trained and there are no other features. The
            default recipe has bands for them. For a set of graphs, roles or none.
        recipe: auto (the default; or, if ``options`` has settings of an encoder, encoder, and for a set graphs), a
            shipped recipe, a file or a :class:`girl.Recipe`.
        options: settings that override the recipe's.
        half: whether to write the embeddings as 16-bit floats.
        report: whether to write a report to the folder.
        resume: continue an interrupted run (auto), or start again (never).
        device: cpu, cuda or auto.
        verbose: whether to print progress, or the console to print to.

    See Also:
        girl.GIRL: the same as a scikit-learn estimator.
    """
    if structure not in STRUCTURES:
        raise InputError(f"structure: given {structure!r}, expected one of {', '.join(STRUCTURES)}")
    folder = None if folder is None else Path(folder)
    path = Path(out) if out is not None else None if folder is None else folder / "embeddings.parquet"
    if path is not None:
        check_output(path)
    earlier = None if model is None else load_run(Path(model))
    if earlier is not None and "input" not in earlier.config:
        raise InputError(f"{model}: its graph was a named dataset, expected a run of `girl embed`")
    if earlier is not None and (options or recipe != "auto"):
        raise InputError("model: given together with settings of a recipe, expected one or the other")
    with open_context(device, console=console_of(verbose), folder=folder, resume=resume) as context:
        with context.phase("reading"):
            graph = _read(edges, nodes, graphs, InputSettings.of(settings), earlier)
        with context.phase("features"):
            saved = None if earlier is None else earlier.config["input"]["structure"]
            encoding = None if saved is None else StructureEncoding.from_dict(saved)
            chosen = _recipe(recipe, options or {}, graph) if earlier is None else earlier.recipe
            if structure == "auto" and not chosen.trains:
                structure = "none"  # positions and roles are bands
            graph, encoding = with_structure(graph, structure, encoding, earlier is not None, chosen.trains)
        if earlier is None:
            run, batch = _train(graph, encoding, chosen, context)
        else:
            run, batch = earlier, make_batch(graph.data, earlier.recipe.encoder, context.device)
            run.method.to(context.device)
            with context.phase("embedding"), shared_encoders(run.method, context.distributed.ranks):
                run.vectors = run.embed(batch)
        assert run.vectors is not None
        vectors = run.vectors.cpu().numpy()
        if half:
            vectors = vectors.astype(np.float16)
        result = Embedded(graph, vectors, run, folder)
        if path is None or not context.distributed.is_main:
            return result
        with context.phase("writing"):
            write_embeddings(path, graph.ids, vectors, graph.table)
        if folder is None:
            return result
        with context.phase("measuring"):
            if earlier is not None:
                save_run(run, folder)
            labels = None if graph.label is None else graph.table[graph.label]
            quality = measure_run(run, vectors, graph.data, batch, labels)
            report_data = report_data_from_memory(graph, vectors, run, quality, folder.name, path)
            save_report_inputs(folder, report_data)
        if not report:
            return result
        with context.phase("report"):
            write_report(folder / REPORT, report_data)
        return replace(result, report=folder / REPORT)


def _train(graph: UserGraph, encoding: StructureEncoding | None, recipe: Recipe, context: Context) -> tuple[Run, Batch]:
    """Train on a user's graph. The run's configuration has what is needed to read other graphs in the same way."""
    batch = make_batch(graph.data, recipe.encoder, context.device)
    inputs = {
        "encoding": None if graph.encoder is None else graph.encoder.to_dict(),
        "structure": None if encoding is None else encoding.to_dict(),
        "directed": graph.directed,
    }
    config = {"input": inputs | ({"graphs": True} if graph.is_set else {})}
    return pretrain(batch, recipe, context, config), batch


def _read(
    edges: Source,
    nodes: Source | Sequence[Source] | None,
    graphs: Source | None,
    settings: InputSettings,
    earlier: Run | None,
) -> UserGraph:
    several = settings.graph is not None or (isinstance(edges, Path | str) and Path(edges).is_dir())
    if graphs is not None and not several:
        raise InputError(
            "--graphs: given a table of graphs for one graph; name the column that says which graph a row belongs to "
            "by --graph, or give a folder of graphs"
        )
    encoder = None
    if earlier is not None:
        inputs = earlier.config["input"]
        settings = replace(settings, directed=inputs["directed"])
        encoder = None if inputs["encoding"] is None else TableEncoder.from_dict(inputs["encoding"])
        if inputs.get("graphs", False) != several:
            kinds = ("a set of graphs", "one graph")
            trained, given = kinds[::-1] if several else kinds
            raise InputError(f"model: it was trained on {trained}, given {given}, expected the same; train on this one")
    if several:
        return read_graph_set(edges, nodes, graphs, settings, encoder)
    return read_graph(edges, nodes, settings, encoder)


def with_structure(
    graph: UserGraph,
    structure: Structure,
    earlier: StructureEncoding | None = None,
    replay: bool = False,
    needs_features: bool = True,
) -> tuple[UserGraph, StructureEncoding | None]:
    """Append the columns that are computed from the graph itself; also return their encoding.

    Args:
        graph: the user's graph.
        structure: which columns.
        earlier: the encoding of the graph that a model was trained on; None if it had no such columns.
        replay: whether to repeat ``earlier`` in place of ``structure``.
        needs_features: whether a graph without any columns is an error.
    """
    data, n = graph.data, graph.data.num_nodes
    graph_id = data.graph if graph.is_set else None
    if replay:
        if earlier is None:
            return graph, None
        encoding, columns = earlier, earlier.apply(data.edge_index, n, graph.directed, graph_id=graph_id)
    else:
        if structure == "auto":
            structure = "none" if data.x is not None else "roles" if graph.is_set else "both"
        if structure == "none":
            if data.x is None and needs_features:
                expected = "roles" if graph.is_set else "roles, positions or both"
                raise InputError(f"structure: given none for a graph without features, expected {expected}")
            return graph, None
        encoding, columns, _ = StructureEncoding.fit(
            structure, data.edge_index, n, graph.directed, data.edge_weight, graph_id=graph_id
        )
    data = copy(data)
    if "column_group" in data:
        first = int(data.column_group.max()) + 1
        data.column_group = torch.cat([data.column_group, torch.arange(first, first + columns.shape[1])])
    data.x = _append_columns(data.x, columns)
    counts = graph.counts | {"columns from the graph itself": columns.shape[1]}
    return replace(graph, data=data, counts=counts), encoding


def _append_columns(x: Tensor | None, columns: NDArray[np.float32]) -> Tensor:
    if x is None:
        return torch.from_numpy(columns)
    if x.layout == torch.strided:
        return torch.cat([x, torch.from_numpy(columns)], dim=1)
    return to_csr_or_dense(scipy.sparse.hstack([to_scipy(x), scipy.sparse.csr_matrix(columns)], format="csr"))


def _recipe(recipe: str | Recipe, options: dict[str, Any], graph: UserGraph) -> Recipe:
    if isinstance(recipe, Recipe):
        base = recipe
    else:
        is_default = recipe in ("auto", "default")
        base = Recipe.default_for(options, graph.is_set) if is_default else Recipe.load(recipe)
    # Columns of a table were scaled when they were encoded.
    return base.with_values({"normalize": "none", "directed": graph.directed} | options, "options")
