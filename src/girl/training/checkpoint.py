"""Checkpoints of a training run: numbered files of :mod:`girl.store` in a folder."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from torch import Tensor

from girl import store
from girl.errors import DamagedError
from girl.files import remove_abandoned

#: Checkpoints that are kept: if the newest is damaged, the one before it is used.
KEEP = 2


def save_checkpoint(folder: Path, epoch: int, tensors: dict[str, Tensor], value: dict[str, Any]) -> Path:
    """Write the checkpoint of ``epoch``, and remove all but the newest :data:`KEEP`."""
    path = folder / f"checkpoint-{epoch:08d}.safetensors"
    store.save(path, tensors, value)
    for old in list_checkpoints(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    remove_abandoned(folder)
    return path


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in ``folder``, newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def load_newest(folder: Path) -> store.Content | None:
    """The newest checkpoint that can be read; damaged ones are skipped with a warning."""
    for path in list_checkpoints(folder):
        try:
            return store.load(path)
        except DamagedError as error:
            warnings.warn(f"checkpoint skipped: {error}", stacklevel=2)
    return None
