"""A run: a graph and a recipe in, a trained method and embeddings out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from girl.console import print_line
from girl.errors import InputError
from girl.graph.batch import Batch
from girl.methods.base import Method
from girl.methods.choice import Choice
from girl.nn.encoder import shared_encoders
from girl.training.batch import fingerprint, make_batch
from girl.training.context import Context
from girl.training.loop import fit
from girl.training.recipe import Recipe
from girl.training.run_folder import damaged_run, load_folder, save_folder
from girl.training.state import History
from girl.training.untrained import resolve_recipe, untrained_method


@dataclass
class Run:
    """A trained method, with its recipe and its history."""

    recipe: Recipe
    method: Method
    config: dict[str, Any] = field(default_factory=dict)
    """What it was trained on, as JSON values."""
    history: History = field(default_factory=History)
    vectors: Tensor | None = None
    """Embeddings of the training graph (n × k), computed at the end of training; None in a run read from a folder."""
    folder: Path | None = None
    """Where the run is stored, if it is."""

    @property
    def choice(self) -> Choice | None:
        """Which bands were chosen for the graph, and why; None if the recipe trains an encoder."""
        return Choice.from_dict(self.config["choices"]) if "choices" in self.config else None

    def embed(self, data: Data | Batch) -> Tensor:
        """Embeddings of all nodes of a graph, or of all graphs of a set (n × k)."""
        if isinstance(data, Data):
            data = make_batch(data, self.recipe.encoder, self.method.device)
        return self.method.embed(data)


def pretrain(
    data: Batch,
    recipe: Recipe,
    context: Context | None = None,
    config: dict[str, Any] | None = None,
    callback: Callable[[Method, History], None] | None = None,
) -> Run:
    """Train a method on a graph without labels.

    Args:
        data: the training graph, as :func:`~girl.training.batch.make_batch` makes it for the recipe's encoder.
        recipe: encoder, method and training.
        context: device, processes, console, folder, and whether to resume.
        config: what the graph is, stored with the run.
        callback: called after every epoch; its time does not count as training.
    """
    context = context or Context(device=data.x.device)
    recipe = resolve_recipe(recipe, data)
    config = {"recipe": recipe.to_dict(), "inputs": data.x.shape[1], "nodes": data.num_nodes, **(config or {})}
    config["fingerprint"] = fingerprint(data)
    method = untrained_method(data.x.shape[1], recipe, data.x.device)
    history = fit(method, data, recipe.train, context, config, None if callback is None else partial(callback, method))
    with context.phase("embedding"), shared_encoders(method, context.distributed.ranks):
        vectors = method.finish(data)
    if choices := method.choices():
        config["choices"] = choices
        for line in Choice.from_dict(choices).lines():
            print_line(context.console, line)
    run = Run(recipe, method, config, history, vectors, context.folder)
    if context.writes and context.folder is not None:
        save_run(run, context.folder)
    return run


def save_run(run: Run, folder: Path) -> None:
    """Write a run to a folder: ``model.safetensors``, ``config.json`` and ``history.json``."""
    save_folder(folder, dict(run.method.state_dict()), run.config, run.history)


def load_run(folder: Path) -> Run:
    """Read a run that :func:`save_run` wrote."""
    config, history, tensors = load_folder(folder, "`girl embed` or `girl pretrain`")
    if config.get("kind") == "supervised":
        raise InputError(f"{folder}: given a run of `girl train`, expected one of `girl embed` or `girl pretrain`")
    try:
        recipe = Recipe().with_values(config["recipe"], str(folder / "config.json"))
        method = untrained_method(config["inputs"], recipe)
        method.load_state_dict(tensors)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise damaged_run(folder, f"config.json and the model do not match: {type(error).__name__}") from error
    return Run(recipe, method.eval(), config, history, folder=folder)
