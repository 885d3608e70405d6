"""Named graphs with labels and splits: ``load("cora")``.

A dataset comes from the cache (``root``, else the environment variable GIRL_DATA, else the user's cache folder), else
from a mirror of raw files (``mirror``, else GIRL_MIRROR), else from the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from girl.datasets import cache
from girl.datasets.registry import DATASETS, Entry, find
from girl.files import cache_root

if TYPE_CHECKING:
    from girl.datasets.dataset import NodeDataset

__all__ = ["DATASETS", "Entry", "NodeDataset", "describe", "fetch", "load", "names"]


def __getattr__(name: str) -> object:
    if name == "NodeDataset":  # imported on first use: it needs torch, and `girl datasets` does not
        from girl.datasets.dataset import NodeDataset

        return NodeDataset
    raise AttributeError(f"module 'girl.datasets' has no attribute {name!r}")


def names() -> tuple[str, ...]:
    """The names of all datasets."""
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
        name: one of :func:`names`; case, dashes and underscores do not matter.
        root: the cache folder.
        mirror: a folder of raw files in the layout of the torch_geometric classes; it is only read.

    Raises:
        InputError: the name is unknown, a file is damaged, or the download failed; the message says what to do.
    """
    return cache.load(find(name), cache_root(root), cache.mirror_root(mirror))


def fetch(
    name: str, root: Path | str | None = None, mirror: Path | str | None = None, again: bool = False
) -> NodeDataset:
    """Bring a dataset into the cache and load it; ``again`` replaces the copy there once the new one is complete."""
    return cache.fetch(find(name), cache_root(root), cache.mirror_root(mirror), again=again)
