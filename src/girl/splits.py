"""Protocols: how labelled nodes are shared out into training, validation and test, as objects with a name.

A number without its protocol means nothing: from ``public`` to ``full`` a model gains more on Cora than most methods
differ by. So the protocol is an object that every method, control and table row shares, and a split depends on
the protocol and an index alone, never on the method's seed or on what was drawn before.
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

from girl.datasets.dataset import NodeDataset
from girl.errors import InputError

#: The field's custom: numbers on random splits are means over twenty of them.
RANDOM_SPLITS = 20

#: Parts of a set of graphs, and how often they are drawn anew.
FOLDS, SHUFFLES = 10, 5


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of labelled nodes."""

    train: Tensor
    """Nodes that fit the probe: int64, sorted."""
    val: Tensor
    """Nodes that choose its strength, and every other hyper-parameter."""
    test: Tensor
    """Nodes that are scored, once."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many nodes train, validate and test."""
        return len(self.train), len(self.val), len(self.test)


class Protocol(ABC):
    """A rule that shares out a dataset's labelled nodes, known by its name."""

    name: str

    @abstractmethod
    def applies(self, dataset: NodeDataset) -> bool:
        """Whether the dataset has what the rule needs."""

    @abstractmethod
    def count(self, dataset: NodeDataset) -> int:
        """How many splits a complete result takes the mean over."""

    @abstractmethod
    def _masks(self, dataset: NodeDataset, index: int) -> tuple[Tensor, Tensor, Tensor]:
        """Train, validation and test as boolean masks; unlabelled nodes may still be in."""

    def split(self, dataset: NodeDataset, index: int = 0) -> Split:
        """The ``index``-th split: the same for every method, on every machine.

        Fixed splits are finitely many and wrap around: an index, such as a seed, beyond their number varies the
        encoder only.
        """
        if index < 0:
            raise InputError(f"index: given {index}, expected a split number of at least 0")
        self._check(dataset)
        known = labelled(dataset)
        train, val, test = (torch.nonzero(mask & known).flatten() for mask in self._masks(dataset, index))
        return Split(train, val, test)

    def splits(self, dataset: NodeDataset) -> Iterator[Split]:
        """All :meth:`count` splits, in order."""
        return (self.split(dataset, index) for index in range(self.count(dataset)))

    def _check(self, dataset: NodeDataset) -> None:
        if self.applies(dataset):
            return
        raise InputError(
            f"{dataset.name} has no {self.name!r} split; it has {', '.join(map(repr, available(dataset))) or 'none'}"
        )

    def __repr__(self) -> str:
        return f"<protocol {self.name}>"


class Fixed(Protocol):
    """Splits that come with the data, one for each column of its masks."""

    def __init__(self, name: str) -> None:
        self.name = name

    def applies(self, dataset: NodeDataset) -> bool:
        return self.name in dataset.fixed

    def count(self, dataset: NodeDataset) -> int:
        self._check(dataset)
        return max(_columns(mask) for mask in dataset.fixed[self.name])

    def _masks(self, dataset: NodeDataset, index: int) -> tuple[Tensor, Tensor, Tensor]:
        train, val, test = (_column(mask, index) for mask in dataset.fixed[self.name])
        return train, val, test


class Full(Protocol):
    """The validation and test nodes of ``public``; all other labelled nodes train."""

    name = "full"
    _public = Fixed("public")

    def applies(self, dataset: NodeDataset) -> bool:
        return self._public.applies(dataset)

    def count(self, dataset: NodeDataset) -> int:
        self._check(dataset)
        return self._public.count(dataset)

    def _masks(self, dataset: NodeDataset, index: int) -> tuple[Tensor, Tensor, Tensor]:
        _, val, test = self._public._masks(dataset, index)
        return ~(val | test), val, test


class Random(Protocol):
    """A permutation of the labelled nodes cut in three, not stratified by class: the custom of GRACE and BGRL.

    The permutation is drawn from the protocol's name and the index alone.
    """

    def __init__(self, train: int, val: int, test: int) -> None:
        if train + val + test != 100:
            raise ValueError(f"random split: given {train}, {val}, {test}, expected percentages that sum to 100")
        self.name = f"random-{train}-{val}-{test}"
        self._cuts = (train, train + val)

    def applies(self, dataset: NodeDataset) -> bool:
        # Fewer nodes than this leave a part empty.
        return not dataset.graphs and int(labelled(dataset).sum()) >= 10

    def count(self, dataset: NodeDataset) -> int:
        self._check(dataset)
        return RANDOM_SPLITS

    def _masks(self, dataset: NodeDataset, index: int) -> tuple[Tensor, Tensor, Tensor]:
        known = labelled(dataset)
        nodes = torch.nonzero(known).flatten()
        # The name is part of the seed, so that split 0 of one protocol is not a prefix of split 0 of another.
        seed = np.random.SeedSequence([index, *self.name.encode()])
        order = torch.from_numpy(np.random.default_rng(seed).permutation(len(nodes)))
        # Rounding the cuts rather than the sizes keeps each of the three within one node of its share.
        cuts = [(len(nodes) * percent + 50) // 100 for percent in self._cuts]
        parts = torch.tensor_split(nodes[order], cuts)
        train, val, test = (torch.zeros_like(known).index_fill_(0, part, True) for part in parts)
        return train, val, test


class Folds(Protocol):
    """Ten parts of a set of graphs with the same share of each class: each part is tested once, and the next validates.

    Split ``10 s + f`` tests part f of the s-th shuffle; a complete result takes five shuffles, as is the custom.
    """

    name = "10-fold"

    def applies(self, dataset: NodeDataset) -> bool:
        return dataset.graphs > 0

    def count(self, dataset: NodeDataset) -> int:
        self._check(dataset)
        return FOLDS * SHUFFLES

    def _masks(self, dataset: NodeDataset, index: int) -> tuple[Tensor, Tensor, Tensor]:
        y = dataset.data.y
        shuffle, fold = divmod(index, FOLDS)
        cut = StratifiedKFold(FOLDS, shuffle=True, random_state=shuffle)
        parts = [torch.from_numpy(test) for _, test in cut.split(np.zeros(len(y)), y.numpy())]
        val, test = (torch.zeros(len(y), dtype=torch.bool) for _ in range(2))
        test[parts[fold]], val[parts[(fold + 1) % FOLDS]] = True, True
        return ~(val | test), val, test


#: Every protocol by name.
PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        *(Fixed("public"), Full(), Random(10, 10, 80), Random(60, 20, 20), Fixed("geom-gcn"), Fixed("ogb")),
        Folds(),
    )
}


def get(name: str) -> Protocol:
    """The protocol of that name.

    Raises:
        InputError: no protocol has that name.
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    near = difflib.get_close_matches(name, PROTOCOLS)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise InputError(f"protocol: given {name!r}, expected one of {', '.join(map(repr, PROTOCOLS))}{hint}")


def available(dataset: NodeDataset) -> list[str]:
    """Names of the protocols that the dataset has what it takes for, those its field uses first."""
    names = [name for name in dataset.protocols if name in PROTOCOLS]
    names += [name for name in PROTOCOLS if name not in names]
    return [name for name in names if PROTOCOLS[name].applies(dataset)]


def labelled(dataset: NodeDataset) -> Tensor:
    """A mask of the nodes whose label is known, n; of several labels, all must be."""
    y: Tensor | None = dataset.data.y
    if y is None:
        raise InputError(f"{dataset.name}: given a graph without labels (y), expected one for each node, -1 if unknown")
    known = y >= 0  # -1 is unknown, and so is NaN
    return known.all(dim=1) if known.dim() == 2 else known


def _columns(mask: Tensor) -> int:
    return mask.shape[1] if mask.dim() == 2 else 1


def _column(mask: Tensor, index: int) -> Tensor:
    # Some datasets vary training and validation but keep one test set: its one column serves every index.
    return mask[:, index % mask.shape[1]].bool() if mask.dim() == 2 else mask.bool()
