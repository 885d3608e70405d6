"""Stand-ins: random graphs in the raw format of datasets that cannot be had, for trying everything but the numbers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse
from numpy.typing import NDArray

from girl.datasets import cache, raw
from girl.datasets.registry import DATASETS, Entry, find
from girl.errors import InputError
from girl.files import cache_root
from girl.lab.random_graph import feature_blocks, features, random_graph, random_split

#: Nodes to train, validate and test on, as published.
_SPLIT_SIZES = {
    "reddit": (153_431, 23_831, 55_703),
    "reddit2": (153_932, 23_699, 55_334),
    "ogbn-arxiv": (90_941, 29_799, 48_603),
    "ogbn-products": (196_615, 39_323, 2_213_091),
}


def make_stand_in(name: str, root: Path | str | None = None, scale: float = 1.0, seed: int = 0) -> Path:
    """Write a random graph of the same shape and raw format in the place of a dataset that is not available.

    Every load of it says ``stand_in=True``. Real data is never overwritten.

    Args:
        name: wikics, ppi, reddit, reddit2, ogbn-arxiv or ogbn-products.
        root: the cache folder.
        scale: fraction of the nodes and edges, up to 1.
        seed: fixes every random choice.

    Returns:
        The folder of its raw files.
    """
    entry, root = find(name), cache_root(root)
    if not entry.stand_in:
        able = ", ".join(e.name for e in DATASETS.values() if e.stand_in)
        raise InputError(
            f"{entry.name}: has no stand-in, only {able} have; `girl datasets fetch {entry.name}` brings it"
        )
    if not 0 < scale <= 1:
        raise InputError(f"scale: given {scale}, expected more than 0 and at most 1")
    if seed < 0:
        raise InputError(f"seed: given {seed}, expected a whole number of at least 0")
    folder = root / entry.folder
    found = cache.availability(entry, root, None)
    if found == "cached" or (found == "incomplete" and not raw.is_stand_in(entry, root)):
        what = "the real" if found == "cached" else "a part of the real"
        raise InputError(
            f"{folder}: {what} {entry.name} is in the cache and is not overwritten; "
            "choose another folder for the stand-in by --data-root"
        )
    with cache.scratch_folder(entry, root) as scratch:
        fresh = scratch / entry.folder
        fresh.mkdir(parents=True)
        nodes = max(round(entry.nodes * scale), 4 * entry.classes)
        _WRITERS[entry.family](entry, fresh, nodes, round(entry.edges * scale), np.random.default_rng(seed))
        _write_json(fresh / raw.MARKER, {"stand_in": True, "scale": scale, "seed": seed})
        cache.graph_path(entry, root).unlink(missing_ok=True)
        cache.install(entry, scratch, root, replace=True)  # of an older stand-in
    return folder


def _write_wikics(entry: Entry, folder: Path, nodes: int, edges: int, rng: np.random.Generator) -> None:
    graph = random_graph(nodes, edges // 2, entry.classes, rng)
    ends = np.searchsorted(graph.pairs[0], np.arange(1, nodes))
    test = rng.random(nodes) < 0.5
    train, stopping, validation = [], [], []
    for _ in range(20):
        draw = np.where(test, 1, rng.random(nodes))  # 5 %, 22.5 % and 22.5 % of all nodes
        train.append((draw < 0.1).tolist())
        stopping.append(((draw >= 0.1) & (draw < 0.55)).tolist())
        validation.append(((draw >= 0.55) & (draw < 1)).tolist())
    value = {
        "features": features(graph.labels, entry.features, entry.classes, rng).astype(float).round(4).tolist(),
        "labels": graph.labels.tolist(),
        "links": [part.tolist() for part in np.split(graph.pairs[1], ends)],
        "train_masks": train,
        "stopping_masks": stopping,
        "val_masks": validation,
        "test_mask": test.tolist(),
    }
    _write_json(folder / "data.json", value)


def _write_reddit(entry: Entry, folder: Path, nodes: int, edges: int, rng: np.random.Generator) -> None:
    graph = random_graph(nodes, edges // 2, entry.classes, rng)
    row, column = _both_directions(graph.pairs)
    adjacency = scipy.sparse.coo_matrix((np.ones(len(row), dtype=np.int8), (row, column)), shape=(nodes, nodes))
    scipy.sparse.save_npz(folder / "reddit_graph.npz", adjacency, compressed=False)
    del adjacency, row, column
    kind = np.empty(nodes, dtype=np.int64)
    for value, part in enumerate(random_split(nodes, _SPLIT_SIZES[entry.name], rng), start=1):
        kind[part] = value
    x = features(graph.labels, entry.features, entry.classes, rng)
    np.savez(folder / "reddit_data.npz", feature=x, label=graph.labels, node_types=kind)


def _write_reddit2(entry: Entry, folder: Path, nodes: int, edges: int, rng: np.random.Generator) -> None:
    graph = random_graph(nodes, edges // 2, entry.classes, rng)
    row, column = _both_directions(graph.pairs)
    adjacency = scipy.sparse.csr_matrix((np.ones(len(row), dtype=np.int8), (row, column)), shape=(nodes, nodes))
    np.savez(
        folder / "adj_full.npz",
        data=adjacency.data,
        indices=adjacency.indices,
        indptr=adjacency.indptr,
        shape=np.array(adjacency.shape),
    )
    del adjacency, row, column
    np.save(folder / "feats.npy", features(graph.labels, entry.features, entry.classes, rng))
    _write_json(folder / "class_map.json", {str(i): label for i, label in enumerate(graph.labels.tolist())})
    train, validation, test = random_split(nodes, _SPLIT_SIZES[entry.name], rng)
    _write_json(folder / "role.json", {"tr": train.tolist(), "va": validation.tolist(), "te": test.tolist()})


def _write_ppi(entry: Entry, folder: Path, nodes: int, edges: int, rng: np.random.Generator) -> None:
    """24 graphs of one size: 20 to train on, 2 to validate, 2 to test. Labels depend on a hidden class."""
    hidden, size = 16, nodes // 24
    graphs = [random_graph(size, edges // 48, hidden, rng) for _ in range(24)]
    classes = np.concatenate([graph.labels for graph in graphs])
    x = features(classes, entry.features, hidden, rng)
    odds = rng.beta(0.5, 1.5, size=(hidden, entry.classes))
    y = (rng.random((len(classes), entry.classes)) < odds[classes]).astype(np.int64)
    for split, first, last in (("train", 0, 20), ("valid", 20, 22), ("test", 22, 24)):
        starts = np.arange(last - first) * size
        # The class numbers the nodes of a graph from the smallest that has an edge: let the first one have one.
        pairs = [np.stack([starts, starts + 1])]
        pairs += [graph.pairs + start for graph, start in zip(graphs[first:last], starts, strict=True)]
        links = [{"source": a, "target": b} for a, b in np.concatenate(pairs, axis=1).T.tolist()]
        named = [{"id": node} for node in range((last - first) * size)]
        value = {"directed": False, "multigraph": False, "graph": {}, "nodes": named, "links": links}
        _write_json(folder / f"{split}_graph.json", value)
        rows = slice(first * size, last * size)
        np.save(folder / f"{split}_feats.npy", x[rows])
        np.save(folder / f"{split}_labels.npy", y[rows])
        np.save(folder / f"{split}_graph_id.npy", np.repeat(np.arange(first, last) + 1, size))


def _write_ogb(entry: Entry, folder: Path, nodes: int, edges: int, rng: np.random.Generator) -> None:
    """With the files that only the ``ogb`` package looks for, so that it takes the folder too."""
    pairs = edges // 2 if entry.name == "ogbn-products" else edges
    graph = random_graph(nodes, pairs, entry.classes, rng)
    raw, split = folder / "raw", folder / next(f for f in entry.files if f.startswith("split/")).rpartition("/")[0]
    raw.mkdir()
    split.mkdir(parents=True)
    flipped = rng.random(graph.pairs.shape[1]) < 0.5
    graph.pairs[:, flipped] = graph.pairs[::-1, flipped]
    _write_csv(raw / "edge.csv.gz", _blocks(graph.pairs.T))
    _write_csv(raw / "num-node-list.csv.gz", [np.array([[nodes]])])
    _write_csv(raw / "num-edge-list.csv.gz", [np.array([[graph.pairs.shape[1]]])])
    _write_csv(raw / "node-label.csv.gz", [graph.labels[:, None]])
    _write_csv(raw / "node-feat.csv.gz", feature_blocks(graph.labels, entry.features, entry.classes, rng))
    if entry.name == "ogbn-arxiv":
        _write_csv(raw / "node_year.csv.gz", [rng.integers(1990, 2021, size=(nodes, 1))])
    for name, part in zip(("train", "valid", "test"), random_split(nodes, _SPLIT_SIZES[entry.name], rng), strict=True):
        _write_csv(split / f"{name}.csv.gz", [part[:, None]])
    (folder / "RELEASE_v1.txt").touch()


_WRITERS: dict[str, Callable[[Entry, Path, int, int, np.random.Generator], None]] = {
    "wikics": _write_wikics,
    "reddit": _write_reddit,
    "reddit2": _write_reddit2,
    "ppi": _write_ppi,
    "ogb": _write_ogb,
}


def _both_directions(pairs: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Both directions of every pair, in half the memory."""
    low, high = pairs.astype(np.int32)
    return np.concatenate([low, high]), np.concatenate([high, low])


def _blocks(table: NDArray[np.int64], rows: int = 1 << 20) -> Iterable[NDArray[np.int64]]:
    return (table[start : start + rows] for start in range(0, len(table), rows))


def _write_csv(path: Path, blocks: Iterable[NDArray[Any]]) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        for block in blocks:
            table = pl.from_numpy(np.ascontiguousarray(block))
            file.write(table.write_csv(include_header=False, float_precision=4).encode("ascii"))


def _write_json(path: Path, value: Any) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(value, file, separators=(",", ":"))
