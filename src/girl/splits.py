"""Protocols: rules that divide labelled nodes into training, validation and test sets, known by name.

A score without its protocol means nothing: on Cora a model gains more from ``public`` to ``full`` than most methods
differ by. All methods, baselines and table rows share one protocol object, and a split depends on the protocol and an
index alone: not on the method's seed, nor on earlier random draws.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import Tensor
from torch_geometric.utils import index_to_mask

from girl.datasets.dataset import Masks, NodeDataset
from girl.errors import InputError

__all__ = ["PROTOCOLS", "Protocol", "Split", "available", "get"]

#: Scores on random splits are means over this many, as is usual in the field.
RANDOM_SPLITS = 20

#: Folds of a set of graphs, and how often the graphs are shuffled.
FOLDS, SHUFFLES = 10, 5


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of labelled nodes, or of graphs: int64, sorted."""

    train: Tensor
    """Nodes that the probe is fitted to."""
    val: Tensor
    """Nodes that choose its regularization and every other hyper-parameter."""
    test: Tensor
    """Nodes that are scored, once."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of training, validation and test nodes."""
        return len(self.train), len(self.val), len(self.test)


class Protocol(ABC):
    """A rule that divides a dataset's labelled nodes, known by its name."""

    name: str
    num_splits = 1

    @abstractmethod
    def applies(self, dataset: NodeDataset) -> bool:
        """Whether the rule can be applied to the dataset."""

    @abstractmethod
    def _masks(self, dataset: NodeDataset, index: int) -> Masks:
        """Boolean masks of the training, validation and test nodes; unlabelled nodes may be among them."""

    def count(self, dataset: NodeDataset) -> int:
        """The number of splits that a complete result is averaged over."""
        self._check(dataset)
        return self.num_splits

    def split(self, dataset: NodeDataset, index: int = 0) -> Split:
        """The ``index``-th split: the same for every method, on every machine.

        With fixed splits the index wraps around: further seeds vary the encoder only.
        """
        if index < 0:
            raise InputError(f"index: given {index}, expected a split number of at least 0")
        self._check(dataset)
        has_label = labelled(dataset)
        return Split(*(torch.nonzero(mask & has_label).flatten() for mask in self._masks(dataset, index)))

    def splits(self, dataset: NodeDataset) -> Iterator[Split]:
        """All :meth:`count` splits, in order."""
        return (self.split(dataset, index) for index in range(self.count(dataset)))

    def _check(self, dataset: NodeDataset) -> None:
        if not self.applies(dataset):
            names = ", ".join(map(repr, available(dataset))) or "none"
            raise InputError(f"{dataset.name} has no {self.name!r} split; it has {names}")

    def __repr__(self) -> str:
        return f"<protocol {self.name}>"


class Fixed(Protocol):
    """Splits that come with the data, one for each column of its masks."""

    def __init__(self, name: str) -> None:
        self.name = self._source = name

    def applies(self, dataset: NodeDataset) -> bool:
        return self._source in dataset.fixed

    def count(self, dataset: NodeDataset) -> int:
        self._check(dataset)
        return max(mask.view(len(mask), -1).shape[1] for mask in dataset.fixed[self._source])

    def _masks(self, dataset: NodeDataset, index: int) -> Masks:
        # Some datasets have many training and validation sets but one test set: its one column serves every index.
        columns = (mask.view(len(mask), -1) for mask in dataset.fixed[self._source])
        train, val, test = (mask[:, index % mask.shape[1]].bool() for mask in columns)
        return train, val, test


class Full(Fixed):
    """The validation and test nodes of ``public``; all other labelled nodes are training nodes."""

    def __init__(self) -> None:
        self.name, self._source = "full", "public"

    def _masks(self, dataset: NodeDataset, index: int) -> Masks:
        _, val, test = super()._masks(dataset, index)
        return ~(val | test), val, test


class Random(Protocol):
    """A random permutation of the labelled nodes cut in three, not stratified by class, as in GRACE and BGRL.

    The permutation depends on the protocol's name and the index alone. scikit-learn's ``ShuffleSplit`` draws other
    permutations: results would have to be computed again.
    """

    num_splits = RANDOM_SPLITS

    def __init__(self, train: int, val: int, test: int) -> None:
        if train + val + test != 100:
            raise ValueError(f"random split: given {train}, {val}, {test}, expected percentages that sum to 100")
        self.name = f"random-{train}-{val}-{test}"
        self._cuts = (train, train + val)

    def applies(self, dataset: NodeDataset) -> bool:
        # With fewer nodes a set could be empty.
        return not dataset.graphs and int(labelled(dataset).sum()) >= 10

    def _masks(self, dataset: NodeDataset, index: int) -> Masks:
        has_label = labelled(dataset)
        nodes = torch.nonzero(has_label).flatten()
        # The name is part of the seed, so that split 0 of one protocol is not a prefix of split 0 of another.
        seed = np.random.SeedSequence([index, *self.name.encode()])
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(nodes)))
        # Rounding the cuts, not the sizes, keeps each set within one node of its fraction.
        cuts = [(len(nodes) * percent + 50) // 100 for percent in self._cuts]
        train, val, test = (index_to_mask(part, len(has_label)) for part in nodes[order].tensor_split(cuts))
        return train, val, test


class Folds(Protocol):
    """Ten stratified folds of a set of graphs: each fold is the test set once, and the next one validates.

    Split ``10 s + f`` tests fold f of the s-th shuffle; a complete result takes five shuffles, as is usual.
    """

    name = "10-fold"
    num_splits = FOLDS * SHUFFLES

    def applies(self, dataset: NodeDataset) -> bool:
        return dataset.graphs > 0

    def _masks(self, dataset: NodeDataset, index: int) -> Masks:
        y = dataset.data.y.numpy()
        shuffle, fold = divmod(index, FOLDS)
        folds = [test for _, test in StratifiedKFold(FOLDS, shuffle=True, random_state=shuffle).split(y, y)]
        test, val = (index_to_mask(torch.from_numpy(folds[f % FOLDS]), len(y)) for f in (fold, fold + 1))
        return ~(val | test), val, test


_ALL = (
    Fixed("public"),
    Full(),
    Random(10, 10, 80),
    Random(60, 20, 20),
    Fixed("geom-gcn"),
    Fixed("official"),
    Fixed("ogb"),
    Folds(),
)

#: All protocols by name.
PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in _ALL}


def get(name: str) -> Protocol:
    """The protocol called ``name``; raises InputError if there is none."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    close = difflib.get_close_matches(name, PROTOCOLS)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise InputError(f"protocol: given {name!r}, expected one of {', '.join(map(repr, PROTOCOLS))}{hint}")


def available(dataset: NodeDataset) -> list[str]:
    """Names of the protocols that apply to the dataset, those that its field uses first."""
    names = dict.fromkeys([*dataset.protocols, *PROTOCOLS])
    return [name for name in names if name in PROTOCOLS and PROTOCOLS[name].applies(dataset)]


def labelled(dataset: NodeDataset) -> Tensor:
    """A mask of the nodes with a label (n); of several labels, all must be known."""
    y: Tensor | None = dataset.data.y
    if y is None:
        raise InputError(f"{dataset.name}: given a graph without labels (y), expected one for each node, -1 if unknown")
    has_label = y >= 0  # false for -1 and for NaN
    return has_label.all(dim=1) if has_label.dim() == 2 else has_label
