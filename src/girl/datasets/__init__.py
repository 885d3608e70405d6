"""Named datasets for node classification: ``load("cora")``.

A dataset comes from the cache (``root``, else the environment variable GIRL_DATA, else the user's cache folder), else
from a mirror of raw files (``mirror``, else GIRL_MIRROR), else from the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from girl.datasets import cache as store
from girl.datasets.registry import DATASETS, Entry, find

if TYPE_CHECKING:
    from girl.datasets.dataset import NodeDataset

__all__ = ["DATASETS", "Entry", "describe", "fetch", "load", "make_stand_in", "names"]


def names() -> tuple[str, ...]:
    """Every name that :func:`load` knows."""
    return tuple(DATASETS)


def describe(name: str) -> Entry:
    """Size, task and protocols of a dataset, without loading it.

    >>> describe("Cora").protocols[0]
    'public'
    """
    return find(name)


def load(name: str, root: Path | str | None = None, mirror: Path | str | None = None) -> NodeDataset:
    """A dataset by name.

    Args:
        name: one of :func:`names`; capitals, dashes and underscores do not matter.
        root: the cache folder.
        mirror: a folder of raw files, laid out as the classes of torch_geometric expect; it is only read.

    Raises:
        girl.errors.InputError: the name is unknown, a file is damaged, or the data cannot be reached; says which
            and what to do.
    """
    return store.load(find(name), store.cache_root(root), store.mirror_root(mirror))


def fetch(
    name: str, root: Path | str | None = None, mirror: Path | str | None = None, again: bool = False
) -> NodeDataset:
    """Bring a dataset into the cache and load it; ``again`` replaces what is there, once it has come."""
    return store.fetch(find(name), store.cache_root(root), store.mirror_root(mirror), again=again)


def make_stand_in(name: str, root: Path | str | None = None, scale: float = 1.0, seed: int = 0) -> Path:
    """Put a random graph of the same shape, in the same raw format, in the place of a dataset that cannot be had.

    Every load of it says ``stand_in=True``. Real data is never overwritten.

    Args:
        name: wikics, ppi, reddit, reddit2, ogbn-arxiv or ogbn-products.
        root: the cache folder.
        scale: share of the nodes and edges to make, up to 1.
        seed: fixes every random choice.

    Returns:
        The folder of its raw files.
    """
    from girl.lab import stand_in as standin

    return standin.make_stand_in(find(name), store.cache_root(root), scale=scale, seed=seed)
