"""Render every table and figure of the documentation from results: ``python -m girl.lab.render RESULTS OUT``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from girl.files import write_text
from girl.lab import ablation as ablations
from girl.lab import checks as published_checks
from girl.lab import depth as depths
from girl.lab import graphs
from girl.lab import nodes as node_experiment
from girl.lab import objective as objectives
from girl.lab.cells import Cell, Results, cell_of
from girl.lab.markdown import figure_piece, not_yet
from girl.lab.nodes import METHODS
from girl.lab.nodes import cells as node_cells
from girl.lab.peers import as_chosen, both
from girl.lab.scores import Scores
from girl.lab.tables import ablation, checks, depth, methods, nodes, objective, paper, ranking
from girl.lab.tables import bench_girl_step as girl_bench
from girl.lab.tables import bench_methods as methods_bench
from girl.lab.tables import bench_regularizer as regularizer_bench
from girl.lab.tables import bench_scale as scale_bench
from girl.lab.tables import bench_sparse as sparse_bench
from girl.lab.tables.bench_kernel import draw_kernel_bench, facts, table_against, table_scaling
from girl.lab.tables.comparison import Arena
from girl.lab.tables.synthetic import draw_synthetic, table_1d, table_errors

#: Where GIRL is compared with other methods, and over how many seeds.
COMPARED = ("cora", "citeseer", "pubmed", "dblp", "photo", "texas", "actor", "usa-airports")
SEEDS = 5


def render(results: Path, out: Path) -> list[Path]:
    """Write the pieces that the pages include; returns what was written."""
    synthetic = _read(results / "synthetic.json")
    bench = _read(results / "bench" / "kernel.json")
    written = [*draw_synthetic(synthetic, out), draw_kernel_bench(bench, out)]
    settings = synthetic["settings"]
    pieces = {
        "synthetic_table": table_1d(synthetic),
        "synthetic_errors": table_errors(synthetic),
        "synthetic_settings": f"{settings['draws']} draws of {settings['samples']:,} samples each, seed "
        f"{settings['seed']}, {synthetic['seconds']:.0f} s in all.\n",
        "kernel_against": table_against(bench),
        "kernel_scaling": table_scaling(bench),
        "kernel_facts": facts(bench),
    }
    for file, (script, makers) in BENCHES.items():
        pieces |= _bench(results / "bench" / file, script, makers)
    pieces |= objective.pieces(_current(results / "objective", objectives.cells))
    done = _current(results / "checks", lambda names, seeds: published_checks.cells([], seeds))
    pieces["methods_checks"] = checks.table_checks(done, published_checks.published())
    parts = [_nodes(results / "nodes", out), _ablation(results / "ablation", out), _depth(results / "depth", out)]
    compared = {arena.name: _compared(arena, results) for arena in arenas()}
    pieces |= paper.pieces(compared)
    parts += [_methods(arena, compared[arena.name], out) for arena in arenas()]
    for texts, drawn in parts:
        pieces |= texts
        written += drawn
    for name, text in pieces.items():
        write_text(out / f"{name}.md", text)
        written.append(out / f"{name}.md")
    return written


def _bench(path: Path, script: str, makers: dict[str, Callable[[dict[str, Any]], str]]) -> dict[str, str]:
    """The pieces of a benchmark; each says what makes it, while there is nothing to make it from."""
    missing = not_yet(f"python benchmarks/{script}")
    result = _read(path) if path.exists() else None
    return {name: missing if result is None else make(result) or missing for name, make in makers.items()}


#: The benchmarks' files, the scripts that write them, and the pieces that are made of them.
BENCHES: dict[str, tuple[str, dict[str, Callable[[dict[str, Any]], str]]]] = {
    "girl.json": (
        "girl_step.py",
        {
            "girl_steps": girl_bench.table_steps,
            "girl_losses": girl_bench.table_losses,
            "girl_accuracy": girl_bench.table_accuracy,
            "girl_facts": girl_bench.facts,
        },
    ),
    "regularizer.json": (
        "regularizer.py",
        {"regularizer_table": regularizer_bench.table_regularizer, "regularizer_facts": regularizer_bench.facts},
    ),
    "sparse.json": (
        "sparse.py",
        {
            "sparse_products": sparse_bench.table_products,
            "sparse_eigenvectors": sparse_bench.table_eigenvectors,
            "sparse_facts": sparse_bench.facts,
        },
    ),
    "methods.json": (
        "methods.py",
        {"methods_epochs": methods_bench.table_epochs, "methods_epochs_facts": methods_bench.facts},
    ),
    "scale.json": (
        "scale.py",
        {
            "scale_stages": scale_bench.table_stages,
            "scale_facts": scale_bench.facts,
            "scale_processes": scale_bench.table_processes,
            "scale_model": scale_bench.table_model,
            "scale_rates": scale_bench.rates_told,
            "scale_larger": scale_bench.table_larger,
            "scale_larger_facts": scale_bench.larger_facts,
        },
    ),
}


def _nodes(folder: Path, out: Path) -> tuple[dict[str, str], list[Path]]:
    """The pieces of the node tables. A figure is a piece of text too, so that a page can stand without it."""
    cells = _current(folder, lambda names, seeds: node_cells(names, METHODS, seeds))
    drawn = nodes.draw_gains(Scores(cells), out)
    caption = "What training adds to the very same encoder, paired by seed. Left of the line it takes away."
    text = figure_piece("nodes_gains", "Gain of GIRL over its untrained encoder on each dataset", caption)
    return nodes.pieces(cells) | {"nodes_figure": text if drawn else nodes.NOT_YET}, [drawn] if drawn else []


def arenas() -> tuple[Arena, Arena]:
    """The comparisons with other methods, on nodes and on sets of graphs."""
    places = tuple((name, protocol) for name in COMPARED for protocol in node_experiment.PROTOCOLS[name])
    peers = node_experiment.peers()
    on_nodes = Arena(
        "nodes",
        "girl reproduce nodes --methods all",
        places,
        ("raw", "untrained"),
        ("girl", *peers),
    )
    on_graphs = Arena(
        "graphs",
        "girl reproduce graphs --methods all",
        tuple((name, "10-fold") for name in graphs.DATASETS),
        ("bag of nodes", "untrained"),
        ("girl", *graphs.peers()),
    )
    return on_nodes, on_graphs


def _compared(arena: Arena, results: Path) -> Scores:
    """The results of a comparison on all datasets, each method with the encoder that was chosen for it."""
    peers = [name for name in arena.methods if name != "girl"]
    rows = (*arena.controls, "girl", *both(peers))
    make = node_cells if arena.name == "nodes" else graphs.cells
    cells = _current(results / arena.name, lambda names, seeds: make(names, rows, seeds))
    # Other methods have as many seeds; means over more splits could not be compared.
    cells = as_chosen([cell for cell in cells if cell["seed"] < SEEDS], peers)
    return Scores(cells, "linear" if arena.name == "nodes" else "svm")


def _methods(arena: Arena, scores: Scores, out: Path) -> tuple[dict[str, str], list[Path]]:
    drawn = methods.draw_time(scores, arena, out)
    alt = f"Accuracy over time of training for each method, on {arena.name}"
    caption = "Up and to the left is better. Lines: what was reached on the way; markers: the end. Means over seeds."
    text = figure_piece(f"methods_{arena.name}", alt, caption) if drawn else not_yet(arena.command)
    found = methods.pieces(scores, arena) | {f"methods_{arena.name}_figure": text}
    ranked = ranking.draw_ranks(scores, arena, out)
    alt = f"Methods on an axis of mean ranks, on {arena.name}"
    caption = f"Methods under one bar are not told apart by these datasets (Nemenyi's test, {ranking.LEVEL:.0%})."
    text = figure_piece(f"ranks_{arena.name}", alt, caption) if ranked else not_yet(arena.command)
    found[f"ranks_{arena.name}_figure"] = text
    return found, [path for path in (drawn, ranked) if path]


def _ablation(folder: Path, out: Path) -> tuple[dict[str, str], list[Path]]:
    cells = _current(folder, ablations.cells)
    pieces, paths = ablation.pieces(cells), []
    caption = "Solid: GIRL. Dashed: the same encoder, untrained. Bars: standard deviation over seeds."
    for labels in nodes.LABELS:
        drawn = ablation.draw_ablation(Scores(cells), labels, out)
        alt = f"Accuracy over depth for each kind of layer, {nodes.LABELS[labels]}"
        text = figure_piece(f"ablation_{labels}", alt, caption)
        pieces[f"ablation_{labels}_figure"] = text if drawn else ablation.NOT_YET
        paths += [drawn] if drawn else []
    return pieces, paths


def _depth(folder: Path, out: Path) -> tuple[dict[str, str], list[Path]]:
    found = depth.DepthScores(_current(folder, depths.cells))
    pieces = {"depth_facts": depth.facts(found), "depth_table": depth.table_depth(found)}
    figures = {
        "depth": (depth.draw_depth, "Training and test accuracy over depth", "Bands: standard deviation of the test."),
        "depth_layers": (
            depth.draw_watched,
            "Share of the labels that each layer has lost, over training",
            "On validation nodes, by leave-one-out. Grey: epochs, from pale to dark.",
        ),
    }
    paths = []
    for name, (draw, alt, caption) in figures.items():
        drawn = draw(found, out)
        pieces[f"{name}_figure"] = figure_piece(name, alt, caption) if drawn else depth.NOT_YET
        paths += [drawn] if drawn else []
    return pieces, paths


def _current(folder: Path, make: Callable[[Sequence[str], int], list[Cell]]) -> list[dict[str, Any]]:
    """The results of the recipes as they are now: what an older one gave is of another experiment."""
    found = Results(folder).all()
    wanted = {cell.key for name in {row["dataset"] for row in found} for cell in make([name], _seeds(found))}
    return [row for row in found if cell_of(row).key in wanted]


def _seeds(rows: Sequence[dict[str, Any]]) -> int:
    return 1 + max(row["seed"] for row in rows)


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


if __name__ == "__main__":
    for path in render(Path(sys.argv[1]), Path(sys.argv[2])):
        print(path)
