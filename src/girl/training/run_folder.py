"""A run's folder: model, configuration and history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

import girl
from girl import store
from girl.errors import InputError
from girl.files import replacing, write_json
from girl.training.state import History

#: The layout of a run's folder. Raised when an older version could not read a newer folder.
FORMAT = 3


def save_folder(folder: Path, tensors: dict[str, Tensor], config: dict[str, Any], history: History) -> None:
    """Write ``model.safetensors``, ``config.json`` and ``history.json``."""
    store.save(folder / "model.safetensors", tensors, config)
    write_json(folder / "config.json", {"format": FORMAT, "girl": girl.__version__, **config})
    write_json(folder / "history.json", vars(history))


def load_folder(folder: Path, command: str) -> tuple[dict[str, Any], History, dict[str, Tensor]]:
    """Read what :func:`save_folder` wrote: configuration, history and weights.

    Args:
        folder: the run's folder.
        command: the commands that write such folders, for messages.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        history = History(**json.loads((folder / "history.json").read_text(encoding="utf-8")))
        tensors, _ = store.load(folder / "model.safetensors")
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = f"expected a folder that {command} wrote"
        if (folder / "checkpoints").exists():
            hint = "it was interrupted: run the command that made it again"
        raise InputError(f"{folder}: no finished run ({Path(error.filename).name} is missing); {hint}") from error
    except (ValueError, TypeError) as error:
        raise damaged_run(folder, error) from error
    if not isinstance(config, dict) or "format" not in config:
        raise damaged_run(folder, "config.json is not the configuration of a run")
    made_by = config.pop("girl", "an unknown version")
    if (version := config.pop("format")) != FORMAT:
        raise InputError(f"{folder}: given format {version}, expected {FORMAT}: it was written by girl {made_by}")
    return config, history, tensors


def save_embedding(path: Path, vectors: Tensor) -> None:
    """Write embeddings (n × k) as ``.npy``."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, vectors.cpu().numpy())


def damaged_run(folder: Path, problem: object) -> InputError:
    """The error for a folder that cannot be used."""
    return InputError(f"{folder}: damaged ({problem}); run the command that made it again")
