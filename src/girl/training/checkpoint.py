"""Checkpoints: safetensors files that are whole or not there, and say so when they are damaged."""

from __future__ import annotations

import errno
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from girl.files import replacing, sweep

#: The last checkpoints that are kept: if the newest is damaged, the one before it serves.
KEEP = 2


class DamagedError(Exception):
    """A checkpoint cannot be used; the message says why."""


def save(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Write tensors and a JSON value to ``path``, whole or not at all, with a digest of both."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(meta)
    with replacing(path) as beside:
        try:
            # In one piece: the order of several is not the same from file to file.
            save_file(tensors, beside, {"girl": json.dumps({"digest": _digest(tensors, text), "meta": text})})
        except SafetensorError as error:  # a full disk, in its words
            raise OSError(errno.ENOSPC, f"cannot be written ({error})", str(path)) from error


def load(path: Path) -> tuple[dict[str, Tensor], Any]:
    """Read what :func:`save` wrote.

    Raises:
        DamagedError: if the file is cut short, changed or not a checkpoint.
    """
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedError(f"{path}: not readable ({error})") from error
    if "girl" not in header:
        raise DamagedError(f"{path}: a safetensors file, but not one of this program")
    try:
        about = json.loads(header["girl"])
        whole = about["digest"] == _digest(tensors, about["meta"])
    except (ValueError, KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise DamagedError(f"{path}: its contents do not match their digest")
    return tensors, json.loads(about["meta"])


def save_numbered(folder: Path, step: int, tensors: dict[str, Tensor], meta: dict[str, Any]) -> Path:
    """Write the checkpoint of ``step`` in ``folder``; all but the newest :data:`KEEP` go."""
    path = folder / f"checkpoint-{step:08d}.safetensors"
    save(path, tensors, meta)
    for old in numbered(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    sweep(folder)  # it is this program's own
    return path


def numbered(folder: Path) -> list[Path]:
    """The checkpoints in ``folder``, newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def load_newest(folder: Path) -> tuple[dict[str, Tensor], Any] | None:
    """The newest checkpoint that is whole; a damaged one is passed over with a warning."""
    for path in numbered(folder):
        try:
            return load(path)
        except DamagedError as error:
            warnings.warn(f"checkpoint passed over: {error}", stacklevel=2)
    return None


def _digest(tensors: dict[str, Tensor], text: str) -> str:
    found = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(f"{name}{tensor.dtype}{tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()
