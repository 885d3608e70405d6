"""The named datasets: their sizes, protocols and files. Nothing is loaded here."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Literal

from girl.errors import InputError

#: How predicted classes are scored: the fraction of correct ones, or the area under the ROC curve of two classes.
Metric = Literal["accuracy", "AUC"]

_SPLITS = tuple(f"split_0.6_0.2_{i}.npz" for i in range(10))


@dataclass(frozen=True)
class Entry:
    """Size, task, protocols and files of a dataset."""

    name: str
    family: str
    """Which reader its raw files need."""
    description: str
    nodes: int
    edges: int
    """Directed edges: an undirected one counts twice."""
    features: int
    classes: int
    protocols: tuple[str, ...]
    """The one with the fewest labels first."""
    folder: str = ""
    """The folder of its raw files, below the cache and below a mirror; empty if no file is needed."""
    files: tuple[str, ...] = ()
    """The files in that folder."""
    splits_folder: str = ""
    """The folder of further splits, which are optional."""
    splits_files: tuple[str, ...] = ()
    multilabel: bool = False
    inductive: bool = False
    edges_exact: bool = True
    """Whether another number of edges means that a file is damaged."""
    stand_in: bool = False
    """Whether `girl datasets make-stand-in` can make a random graph of the same shape."""
    graphs: int = 0
    """The number of graphs with labels; 0 if nodes have the labels."""
    metric: Metric = "accuracy"
    """How classes are scored; with ``multilabel`` it is micro-F1 instead."""


def _planetoid(name: str, nodes: int, edges: int, features: int, classes: int, protocols: tuple[str, ...]) -> Entry:
    low = name.lower()
    ends = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return Entry(
        low, "planetoid", "papers that cite each other, bags of words", nodes, edges, features, classes, protocols,
        folder=f"{name}/raw",
        files=tuple(f"ind.{low}.{end}" for end in ends),
        splits_folder=f"{name}/geom-gcn/raw",
        splits_files=tuple(f"{low}_{split}" for split in _SPLITS),
    )  # fmt: skip


_CITATION = ("public", "full", "random-10-10-80", "random-60-20-20", "geom-gcn")
_RANDOM = ("random-10-10-80", "random-60-20-20")
_GEOM = ("geom-gcn", "random-60-20-20")
_RANDOM_MANY = ("random-60-20-20", "random-10-10-80")
_WEB = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
_REDDIT = "posts in 41 communities, connected if the same user commented on both"
_PPI = tuple(f"{s}_{f}" for s in ("train", "valid", "test") for f in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy"))  # noqa: E501  # fmt: skip


def _ogb_files(split: str) -> tuple[str, ...]:
    raw = ("edge", "node-feat", "node-label", "num-node-list")
    return (*(f"raw/{f}.csv.gz" for f in raw), *(f"split/{split}/{s}.csv.gz" for s in ("train", "valid", "test")))


def _tu(name: str, description: str, graphs: int, nodes: int, edges: int, features: int) -> Entry:
    """A set of graphs of two classes, from the TUDataset collection."""
    return Entry(
        name.lower(), "tu", description, nodes, edges, features, 2, ("10-fold",), graphs=graphs,
        folder=f"TUDataset/{name}/raw",
        files=tuple(f"{name}_{end}.txt" for end in ("A", "graph_indicator", "graph_labels", "node_labels")),
    )  # fmt: skip


def _airports(name: str, nodes: int, edges: int) -> Entry:
    return Entry(
        f"{name}-airports", "airports", "airports with a flight between them, by activity; features are one-hot ids",
        nodes, edges, nodes, 4, _RANDOM_MANY,
        folder=f"{name}/raw",
        files=(f"{name}-airports.edgelist", f"labels-{name}-airports.txt"),
    )  # fmt: skip


def _webkb(name: str, edges: int, nodes: int = 183) -> Entry:
    return Entry(
        name, "webkb", "web pages of a university", nodes, edges, 1_703, 5, _GEOM,
        folder=f"{name}/raw",
        files=(*_WEB, *(f"{name}_{split}" for split in _SPLITS)),
    )  # fmt: skip


def _college(name: str, nodes: int, edges: int, features: int) -> Entry:
    return Entry(
        name, "facebook", "friends at a college, by gender; their profiles, one-hot", nodes, edges, features, 2,
        ("random-60-20-20",),
        folder=f"{name}/raw",
        files=("data.mat",),
    )  # fmt: skip


_USA = _airports("usa", 1_190, 13_599)

_ENTRIES = (
    _planetoid("Cora", 2_708, 10_556, 1_433, 7, _CITATION),
    _planetoid("CiteSeer", 3_327, 9_104, 3_703, 6, _CITATION),
    _planetoid("PubMed", 19_717, 88_648, 500, 3, _CITATION),
    Entry("dblp", "citation-full", "papers that cite each other, bags of words", 17_716, 105_734, 1_639, 4, _RANDOM,
          folder="dblp/raw", files=("dblp.npz",)),
    Entry("photo", "amazon", "products bought together, words of their reviews", 7_650, 238_162, 745, 8, _RANDOM,
          folder="Photo/raw", files=("amazon_electronics_photo.npz",)),
    Entry("computers", "amazon", "products bought together, words of their reviews", 13_752, 491_722, 767, 10, _RANDOM,
          folder="Computers/raw", files=("amazon_electronics_computers.npz",)),
    Entry("cs", "coauthor", "authors who wrote together, keywords", 18_333, 163_788, 6_805, 15, _RANDOM,
          folder="CS/raw", files=("ms_academic_cs.npz",)),
    Entry("physics", "coauthor", "authors who wrote together, keywords", 34_493, 495_924, 8_415, 5, _RANDOM,
          folder="Physics/raw", files=("ms_academic_phy.npz",)),
    Entry("wikics", "wikics", "articles on computer science, mean word vectors", 11_701, 431_726, 300, 10,
          ("public", *_RANDOM), folder="WikiCS/raw", files=("data.json",), edges_exact=False, stand_in=True),
    Entry("reddit", "reddit", _REDDIT, 232_965, 114_615_892, 602, 41, ("public",), folder="Reddit/raw",
          files=("reddit_data.npz", "reddit_graph.npz"), inductive=True, stand_in=True),
    Entry("reddit2", "reddit2", f"{_REDDIT}; a sparser graph", 232_965, 23_213_838, 602, 41, ("public",),
          folder="Reddit2/raw", files=("adj_full.npz", "feats.npy", "class_map.json", "role.json"), inductive=True,
          stand_in=True),
    Entry("ppi", "ppi", "proteins of 24 tissues, a graph each", 56_944, 1_587_264, 50, 121, ("public",),
          folder="PPI/raw", files=_PPI, multilabel=True, inductive=True, edges_exact=False, stand_in=True),
    Entry("ogbn-arxiv", "ogb", "papers and the papers they cite, split by year", 169_343, 1_166_243, 128, 40, ("ogb",),
          folder="ogbn_arxiv", files=_ogb_files("time"), stand_in=True),
    Entry("ogbn-products", "ogb", "products bought together, split by sales", 2_449_029, 123_718_280, 100, 47, ("ogb",),
          folder="ogbn_products", files=_ogb_files("sales_ranking"), stand_in=True),
    _webkb("texas", 325),
    _webkb("cornell", 298),
    _webkb("wisconsin", 515, 251),
    Entry("actor", "actor", "actors on the same page, its keywords", 7_600, 30_019, 932, 5, _GEOM, folder="Actor/raw",
          files=(*_WEB, *(f"film_{split}" for split in _SPLITS))),
    Entry("minesweeper", "heterophilous", "cells of a grid, mine or not; numbers of mines nearby, half unknown",
          10_000, 78_804, 7, 2, ("official",), folder="minesweeper/raw", files=("minesweeper.npz",), metric="AUC"),
    Entry("squirrel-filtered", "heterophilous", "linked articles, by traffic, without duplicates; their nouns",
          2_223, 93_996, 2_089, 5, ("official",), folder="squirrel_filtered/raw", files=("squirrel_filtered.npz",)),
    Entry("chameleon-filtered", "heterophilous", "linked articles, by traffic, without duplicates; their nouns",
          890, 17_708, 2_325, 5, ("official",), folder="chameleon_filtered/raw", files=("chameleon_filtered.npz",)),
    Entry("tolokers", "heterophilous", "people who did the same tasks, banned or not; how they work", 11_758, 1_038_000,
          10, 2, ("official",), folder="tolokers/raw", files=("tolokers.npz",), metric="AUC"),
    _college("amherst41", 2_235, 181_908, 1_193),
    _college("reed98", 962, 37_624, 745),
    _college("johnshopkins55", 5_180, 373_172, 2_406),
    _USA,
    replace(_USA, name="usa-airports-structural", features=41, description="the same graph; features are degrees, "
            "return probabilities and eigenvectors, without labels"),
    _airports("brazil", 131, 1_074),
    _airports("europe", 399, 5_995),
    _tu("NCI1", "molecules, active against cancer or not, by their atoms", 4_110, 122_747, 265_506, 37),
    _tu("PROTEINS", "proteins, enzymes or not, by their secondary structure", 1_113, 43_471, 162_088, 3),
    _tu("DD", "proteins, enzymes or not, by their amino acids", 1_178, 334_925, 1_686_092, 89),
    _tu("MUTAG", "molecules, mutagenic or not, by their atoms", 188, 3_371, 7_442, 7),
    Entry("digits", "digits", "scikit-learn's handwritten digits, each with its 10 nearest", 1_797, 24_680, 64, 10,
          _RANDOM_MANY),
)  # fmt: skip

#: Every dataset by name.
DATASETS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def find(name: str) -> Entry:
    """The dataset called ``name``; case, dashes and underscores do not matter."""
    plain = {_plain(entry.name): entry for entry in DATASETS.values()}
    if (entry := plain.get(_plain(name))) is not None:
        return entry
    close = [plain[key].name for key in difflib.get_close_matches(_plain(name), list(plain), n=3, cutoff=0.6)]
    # A part of a name ("arxiv", "airports") is far from the full name by edit distance.
    close += [
        e.name for key, e in plain.items() if len(_plain(name)) > 2 and _plain(name) in key and e.name not in close
    ]
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise InputError(f"{name}: no dataset of that name; {hint}`girl datasets` lists them all")
