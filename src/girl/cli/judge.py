"""`girl judge`: which representation of a graph is best, without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import DATA, RUN, console, say
from girl.cli.options import NO_INPUT, InputOptions, given


def judge(
    graph: Annotated[str, Parameter(group=DATA)],
    /,
    *,
    nodes: Annotated[list[Path] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    representations: Annotated[list[str] | None, Parameter(group=RUN, consume_multiple=True, negative="")] = None,
    rows: Annotated[int, Parameter(group=RUN)] = 3000,
    repeats: Annotated[int, Parameter(group=RUN)] = 3,
    seed: Annotated[int, Parameter(group=RUN)] = 0,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    reading: Annotated[InputOptions, Parameter(name="*")] = NO_INPUT,  # type: ignore[valid-type]
) -> None:
    """Compare representations of a graph without labels, by how well they explain hidden columns and edges.

    A quarter of the feature columns and of the edges is hidden, each representation is made of the visible part, and
    kernel regression explains the hidden part from it. For example `girl judge edges.csv --nodes nodes.csv --label
    group`, or `girl judge cora --representations raw ppr default dgi`.

    Args:
        graph: an edge file, as for `girl embed`, or the name of a dataset.
        nodes: a table with a row for each node, or several of the same nodes.
        representations: raw, sgc, hops, ppr, positions, concatenated, untrained, default, encoder, or a method that
            `girl methods` lists; by default raw, sgc, ppr, positions, concatenated and default.
        rows: nodes at which the hidden part is explained, at most.
        repeats: how often columns and edges are hidden anew.
        seed: seed of what is hidden.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.
        reading: which columns are what.
    """
    from girl import datasets
    from girl.api.judge import judge as judge_one
    from girl.graph.hidden import TARGET_TEXT
    from girl.tables import InputSettings, read_graph

    options: dict[str, Any] = {"rows": rows, "repeats": repeats, "random_state": seed}
    if nodes is None and not Path(graph).exists():
        data: Any = datasets.load(graph, data_root, mirror).data
    else:
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in given(reading).items()}
        user_graph = read_graph(Path(graph), nodes, InputSettings(**values))
        data, options["directed"] = user_graph.data, user_graph.directed
    names = representations or ["raw", "sgc", "ppr", "positions", "concatenated", "default"]
    if data.x is None:
        names = representations or ["positions", "untrained", "default"]
    results = {name: judge_one(data, name, **options) for name in names}
    best = max(results, key=lambda name: results[name].score)
    first = results[names[0]]
    table = Table("representation", *(f"{TARGET_TEXT[name]}, %" for name in first.explained), "score", title=graph)
    for name, result in results.items():
        shares = [f"{100 * share:.1f} ± {100 * result.stderr[key]:.1f}" for key, share in result.explained.items()]
        table.add_row(name, *shares, f"{result.score:.3f}" + (" best" if name == best else ""))
    console.print(table)
    if first.note:
        say(first.note)
