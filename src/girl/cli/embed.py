"""`girl embed` and `girl report`: a user's own graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import DATA, OUT, RUN, console, say
from girl.cli.options import (
    NO_BANDS,
    NO_GRAPH_ENCODER,
    NO_INPUT,
    NO_OBJECTIVE,
    NO_TRAIN,
    BandOptions,
    GraphEncoderOptions,
    InputOptions,
    ObjectiveOptions,
    TrainOptions,
    given,
)


def embed(
    edges: Annotated[Path, Parameter(group=DATA)],
    /,
    *,
    nodes: Annotated[list[Path] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    graphs: Annotated[Path | None, Parameter(group=DATA)] = None,
    model: Annotated[Path | None, Parameter(group=DATA)] = None,
    structure: Annotated[Literal["auto", "none", "roles", "positions", "both"], Parameter(group=DATA)] = "auto",
    out: Annotated[Path | None, Parameter(group=OUT)] = None,
    run: Annotated[Path | None, Parameter(group=OUT)] = None,
    half: Annotated[bool, Parameter(group=OUT, negative="")] = False,
    report: Annotated[bool, Parameter(group=OUT)] = True,
    recipe: Annotated[str, Parameter(group=RUN)] = "auto",
    resume: Annotated[Literal["auto", "never"], Parameter(group=RUN)] = "auto",
    device: Annotated[str, Parameter(group=RUN)] = "auto",
    reading: Annotated[InputOptions, Parameter(name="*")] = NO_INPUT,  # type: ignore[valid-type]
    bands: Annotated[BandOptions, Parameter(name="*")] = NO_BANDS,  # type: ignore[valid-type]
    encoder: Annotated[GraphEncoderOptions, Parameter(name="*")] = NO_GRAPH_ENCODER,  # type: ignore[valid-type]
    objective: Annotated[ObjectiveOptions, Parameter(name="*")] = NO_OBJECTIVE,  # type: ignore[valid-type]
    train: Annotated[TrainOptions, Parameter(name="*")] = NO_TRAIN,  # type: ignore[valid-type]
) -> None:
    """Embed your own graph: an edge list and, optionally, a node table in; vectors and a report out.

    For example `girl embed edges.csv --nodes nodes.csv --label group --out embeddings.parquet`. If it is
    interrupted, the same command continues it. Labels are for the report only: training never sees them.

    For many graphs, such as molecules, each graph gets a vector: give a folder with a file for each (`girl embed
    molecules/`), or tables with a column that says which graph a row belongs to (`girl embed edges.csv --nodes
    nodes.csv --graph molecule --graphs molecules.csv --label mutagenic`).

    Args:
        edges: CSV, TSV, Parquet, JSON lines (also .gz), .npz of scipy, GraphML, GML, or .pt of torch_geometric; or a
            folder of such files, each a graph.
        nodes: a table with a row for each node, or several of the same nodes; without it, features come from the graph
            itself.
        graphs: for many graphs, a table with a row for each: their order, and labels for the report.
        model: folder of an earlier run, whose model is used instead of training one.
        structure: columns computed from the graph itself: roles (degrees, returning walks), positions (eigenvectors),
            both, none, or auto: both if there are no other features. For many graphs, roles or none.
        out: file for the embeddings: .parquet, .csv, .tsv, .npy or .h5ad; by default RUN/embeddings.parquet.
        run: the run's folder (model, config, history, report); by default runs/EDGES, named as the file or folder.
        half: write 16-bit floats.
        report: write RUN/report.html.
        recipe: auto (the default), encoder, graphs (an encoder for many graphs), paper, or a TOML, YAML or JSON file.
            Options override it.
        resume: continue an interrupted run (auto), or start again (never).
        device: cpu, cuda or auto.
        reading: which columns are what.
        bands: settings of the bands that override the recipe.
        encoder: settings of the encoder that override the recipe.
        objective: settings of the objective that override the recipe.
        train: settings of the training that override the recipe.
    """
    from girl.api.embed import embed as embed_graph
    from girl.tables import InputSettings

    folder = run or Path("runs") / (edges.name or edges.resolve().name).split(".")[0]
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in given(reading).items()}
    result = embed_graph(
        edges,
        nodes,
        graphs=graphs,
        out=out,
        folder=folder,
        model=model,
        settings=InputSettings(**values),
        structure=structure,
        recipe=recipe,
        options=given(bands, encoder, objective, train),
        half=half,
        report=report,
        resume=resume,
        device=device,
        verbose=console,
    )
    table = Table("what was read", "", title=str(edges))
    for name, value in result.graph.counts.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    console.print(table)
    for note in result.graph.notes:
        say(f"note: {note}")
    rows, columns = result.vectors.shape
    where = out or folder / "embeddings.parquet"
    say(f"embeddings: {where} ({rows:,} × {columns})")
    other = "other graphs" if result.graph.is_set else "another graph"
    say(f"model: {folder} (embed {other} with --model {folder})")
    if result.report is not None:
        say(f"report: {result.report} (opens in any browser)")


def report(
    run: Annotated[Path, Parameter(group=DATA)],
    /,
    *,
    out: Annotated[Path | None, Parameter(group=OUT)] = None,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
) -> None:
    """Write the report on a run: one HTML file with a map of the embedding, that opens offline.

    Args:
        run: a folder that `girl embed`, `girl pretrain` or `girl demo` wrote.
        out: the report's file; by default RUN/report.html.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.
    """
    from girl.api.report import report as write

    path = write(run, out=out, data_root=data_root, mirror=mirror)
    say(f"report: {path} (opens in any browser)")
