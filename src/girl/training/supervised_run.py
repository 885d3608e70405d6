"""A supervised run: a graph, labels and a recipe in, a trained classifier out, kept in a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.nn.classifier import Classifier
from girl.training.distributed import ALONE, World
from girl.training.loop import Resume
from girl.training.run import about_of, damaged, fingerprint, load_folder, save_folder
from girl.training.state import History
from girl.training.supervised import Labels, SupervisedRecipe, learn


@dataclass
class SupervisedRun:
    """A classifier with what it was trained on."""

    recipe: SupervisedRecipe
    model: Classifier
    about: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)

    def logits(self, whole: Batch) -> Tensor:
        """Of all nodes of a graph (n × classes)."""
        return self.model.predict(whole.x, whole.graph)


def run_supervised(
    whole: Batch,
    labels: Labels,
    recipe: SupervisedRecipe,
    *,
    scored: tuple[Batch, Labels] | None = None,
    out: Path | None = None,
    resume: Resume = "auto",
    about: dict[str, Any] | None = None,
    console: Console | None = None,
    world: World = ALONE,
) -> SupervisedRun:
    """Learn labels. With ``out``, checkpoints, the model and the history are kept there.

    Args:
        whole: the training graph.
        labels: of its nodes.
        recipe: model, regulariser and training.
        scored: the graph that validation nodes are scored in, with its labels, if it is not the training graph.
        out: the run's folder.
        resume: ``"auto"`` goes on where an interrupted run of the same kind stopped; ``"never"`` starts anew.
        about: what the graph is, kept with the run.
        console: where progress is shown; None shows none.
        world: the processes that share every batch; the first keeps the run.
    """
    recipe = recipe.settled()
    about = {
        "kind": "supervised",
        "recipe": recipe.to_dict(),
        "inputs": whole.x.shape[1],
        "classes": labels.classes,
        "nodes": whole.num_nodes,
        "fingerprint": fingerprint(whole),
        **(about or {}),
    }
    folder = None if out is None else out / "checkpoints"
    method, history = learn(
        whole, labels, recipe, scored=scored, folder=folder, resume=resume, about=about, console=console, world=world
    )
    if method.regularizer is not None:
        method.regularizer.remove()
    run = SupervisedRun(recipe, method.model, about, history)
    if out is not None and world.first:
        save_folder(out, dict(run.model.state_dict()), run.about, run.history)
    return run


def load_supervised(out: Path) -> SupervisedRun:
    """Read what :func:`run_supervised` wrote."""
    config, history, tensors = load_folder(out, "`girl train`")
    if config.get("kind") != "supervised":
        raise InputError(f"{out}: given a run without labels, expected one of `girl train`")
    try:
        recipe = SupervisedRecipe().with_values(config["recipe"], str(out / "config.json"))
        with torch.random.fork_rng(devices=[]):
            model = Classifier(config["inputs"], config["classes"], recipe.model)
        model.load_state_dict(tensors)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise damaged(out, f"config.json and the model do not fit: {type(error).__name__}") from error
    return SupervisedRun(recipe, model.eval(), about_of(config), history)
