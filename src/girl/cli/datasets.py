"""`girl datasets`: list, fetch and export the named graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.table import Table

from girl.cli.app import DATA, OUT, RUN, console, say

if TYPE_CHECKING:
    from girl.datasets.dataset import NodeDataset

datasets = App(name="datasets", help="The named graphs: list them, fetch or export one, or make a stand-in for one.")

Name = Annotated[str, Parameter(group=DATA)]
DataRoot = Annotated[Path | None, Parameter(group=DATA)]
Mirror = Annotated[Path | None, Parameter(group=DATA)]

# Of the laboratory: imported only when it is run.
datasets.command(
    "girl.lab.commands.stand_in:make_stand_in",
    help="Put a random graph of the same shape and format in the place of a dataset that is not available.",
)


@datasets.default
def show(*, data_root: DataRoot = None, mirror: Mirror = None) -> None:
    """List the named graphs, and where each would come from.

    Args:
        data_root: folder of fetched data; GIRL_DATA, or the user's cache folder, if not given.
        mirror: folder of raw files to copy from; GIRL_MIRROR if not given.
    """
    from girl.datasets import DATASETS
    from girl.datasets.cache import availability, mirror_root
    from girl.files import cache_root

    root, source = cache_root(data_root), mirror_root(mirror)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # fits into 80 columns with the longest name
    table.add_column("name", no_wrap=True)
    for heading in ("nodes", "edges", "features", "task"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("protocols")
    table.add_column("source")
    for entry in DATASETS.values():
        sizes = (_short(count) for count in (entry.nodes, entry.edges, entry.features))
        task = f"{entry.classes} {'labels' if entry.multilabel else 'classes'}"
        table.add_row(entry.name, *sizes, task, " ".join(entry.protocols), availability(entry, root, source))
    console.print(table)
    inductive = ", ".join(entry.name for entry in DATASETS.values() if entry.inductive)
    say("classes: accuracy (minesweeper: AUC); labels, several per node: micro-F1; 10-fold: sets of graphs")
    say(f"inductive: {inductive}")
    say(f"cache: {root}, mirror: {source or 'none'}")


@datasets.command
def fetch(
    name: Name,
    /,
    *,
    again: Annotated[bool, Parameter(group=RUN, negative="")] = False,
    data_root: DataRoot = None,
    mirror: Mirror = None,
) -> None:
    """Bring a dataset into the cache, from the mirror or by download.

    Args:
        name: as `girl datasets` lists it.
        again: fetch it again, and replace the cached copy (damaged, or a stand-in) once it is complete.
        data_root: folder of fetched data; GIRL_DATA, or the user's cache folder, if not given.
        mirror: folder of raw files to copy from; GIRL_MIRROR if not given.
    """
    from girl import datasets as named

    dataset = named.fetch(name, data_root, mirror, again=again)
    _print(dataset)
    if dataset.stand_in and not again:
        say(f"`girl datasets fetch {dataset.name} --again` looks for the real data")


@datasets.command
def export(
    name: Name,
    /,
    *,
    out: Annotated[Path | None, Parameter(group=OUT)] = None,
    data_root: DataRoot = None,
    mirror: Mirror = None,
) -> None:
    """Write a dataset as the files that `girl embed` reads: OUT/edges.csv and OUT/nodes.parquet.

    Of a set of graphs also OUT/graphs.csv, with the graphs' labels.

    Args:
        name: as `girl datasets` lists it.
        out: folder for the files; by default one of the dataset's name.
        data_root: folder of fetched data; GIRL_DATA, or the user's cache folder, if not given.
        mirror: folder of raw files to copy from; GIRL_MIRROR if not given.
    """
    from girl import datasets as named
    from girl.tables import export_graph

    dataset = named.load(name, data_root, mirror)
    edges, nodes, *graphs = export_graph(dataset.data, out or Path(dataset.name))
    _print(dataset)
    more = "".join(f" --graph graph --graphs {path}" for path in graphs)
    say(f"next: girl embed {edges} --nodes {nodes}{more} --label label")


def _print(dataset: NodeDataset) -> None:
    data = dataset.data
    graphs = f"{dataset.graphs:,} graphs, " if dataset.graphs else ""
    say(
        f"{dataset.title}: {graphs}{data.x.shape[0]:,} nodes, {data.edge_index.shape[1]:,} edges, "
        f"{data.x.shape[1]:,} features, {dataset.classes} classes; protocols {', '.join(dataset.protocols)}",
    )


def _short(count: int) -> str:
    """Three digits or four: 2708, 11.7k, 124M."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if count >= 10 * size or count >= 10**6:
            return f"{count / size:.3g}{unit}"
    return str(count)
