"""A supervised run: a graph, labels and a recipe in, a trained classifier out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.graph.batch import Batch
from girl.nn.classifier import Classifier
from girl.nn.encoder import shared_encoders
from girl.splits import Protocol
from girl.training.batch import fingerprint, make_batch
from girl.training.cached_batch import cached_batch, cached_part
from girl.training.context import Context
from girl.training.labels import Labels
from girl.training.loop import fit
from girl.training.run_folder import damaged_run, load_folder, save_folder
from girl.training.state import History
from girl.training.supervised import SupervisedMethod, SupervisedRecipe


@dataclass
class SupervisedRun:
    """A trained classifier, with its recipe, history and scores."""

    recipe: SupervisedRecipe
    model: Classifier
    config: dict[str, Any] = field(default_factory=dict)
    """What it was trained on, as JSON values."""
    history: History = field(default_factory=History)
    scores: dict[str, Any] = field(default_factory=dict)
    """The metric's name, and the scores of ``train``, ``val`` and ``test``, if the dataset has them."""
    folder: Path | None = None
    """Where the run is stored, if it is."""

    def predict(self, data: Data | Batch) -> Tensor:
        """Logits of all nodes of a graph (n × classes)."""
        if isinstance(data, Data):
            data = make_batch(data, self.recipe.model.encoder, next(self.model.parameters()).device)
        return self.model.predict(data.x, data.graph)


def train_classifier(
    data: Batch,
    labels: Labels,
    recipe: SupervisedRecipe,
    context: Context | None = None,
    config: dict[str, Any] | None = None,
    validation: tuple[Batch, Labels] | None = None,
) -> SupervisedRun:
    """Train a classifier. It ends with the weights of its best epoch on the validation nodes.

    Args:
        data: the training graph.
        labels: labels of its nodes.
        recipe: model, regulariser and training.
        context: device, processes, console, folder, and whether to resume.
        config: what the graph is, stored with the run.
        validation: the graph and labels that validation uses, if they are not those of training (inductive data).
    """
    context = context or Context(device=data.x.device)
    recipe = recipe.resolved()
    config = {
        "kind": "supervised",
        "recipe": recipe.to_dict(),
        "inputs": data.x.shape[1],
        "classes": labels.classes,
        "nodes": data.num_nodes,
        "fingerprint": fingerprint(data),
        **(config or {}),
    }
    method = untrained_classifier(data.x.shape[1], labels, recipe, data.x.device, validation)
    history = fit(method, data, recipe.train, context, config)
    if method.regularizer is not None:
        method.regularizer.remove()
    run = SupervisedRun(recipe, method.model, config, history, folder=context.folder)
    if context.writes and context.folder is not None:
        save_folder(context.folder, dict(run.model.state_dict()), run.config, run.history)
    return run


def untrained_classifier(
    inputs: int,
    labels: Labels,
    recipe: SupervisedRecipe,
    device: torch.device | str = "cpu",
    validation: tuple[Batch, Labels] | None = None,
) -> SupervisedMethod:
    """The classifier before its first step. Its weights depend on the seed only."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        method = SupervisedMethod(inputs, labels, recipe, validation)
    return method.to(device)


def train_on_split(
    dataset: NodeDataset, protocol: Protocol, index: int, recipe: SupervisedRecipe, context: Context | None = None
) -> SupervisedRun:
    """Train a classifier on one split of a dataset, and score it on its training, validation and test nodes.

    On inductive data, training sees the subgraph of the training nodes; scores are measured in the full graph.

    Args:
        dataset: the graph and its labels.
        protocol: how its nodes are split.
        index: which split.
        recipe: model, regulariser and training.
        context: device, processes, console, folder, and whether to resume.
    """
    context = context or Context()
    split = protocol.split(dataset, index)
    labels = Labels.of(dataset, split, context.device)
    data = cached_batch(dataset.data, recipe.model.encoder, context)
    config = {"dataset": dataset.name, "protocol": protocol.name, "split": index, "stand_in": dataset.stand_in}
    if dataset.inductive:
        part = cached_part(data, labels.train, context)
        run = train_classifier(part, labels.induced(labels.train), recipe, context, config, (data, labels))
    else:
        run = train_classifier(data, labels, recipe, context, config)
    with shared_encoders(run.model, context.distributed.ranks):
        logits = run.predict(data)
    parts = {"train": split.train, "val": split.val, "test": split.test}
    run.scores = {"metric": labels.metric, **{name: labels.score(logits, nodes) for name, nodes in parts.items()}}
    return run


def load_supervised(folder: Path) -> SupervisedRun:
    """Read a run of `girl train`."""
    config, history, tensors = load_folder(folder, "`girl train`")
    if config.get("kind") != "supervised":
        raise InputError(f"{folder}: given a run without labels, expected one of `girl train`")
    try:
        recipe = SupervisedRecipe().with_values(config["recipe"], str(folder / "config.json"))
        with torch.random.fork_rng(devices=[]):
            model = Classifier(config["inputs"], config["classes"], recipe.model)
        model.load_state_dict(tensors)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise damaged_run(folder, f"config.json and the model do not match: {type(error).__name__}") from error
    return SupervisedRun(recipe, model.eval(), config, history, folder=folder)
