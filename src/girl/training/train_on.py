"""Supervised training on a named dataset under a protocol, and its scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from girl.datasets.dataset import NodeDataset
from girl.evaluation.labels import labels_of
from girl.methods.base import Batch
from girl.nn.encoder import shared
from girl.splits import Protocol, Split
from girl.training.cached_batch import cached_batch, cached_part
from girl.training.distributed import ALONE, World
from girl.training.loop import Resume
from girl.training.supervised import Labels, SupervisedRecipe
from girl.training.supervised_run import SupervisedRun, run_supervised


def train_on(
    dataset: NodeDataset,
    protocol: Protocol,
    index: int,
    recipe: SupervisedRecipe,
    *,
    out: Path | None = None,
    resume: Resume = "auto",
    device: torch.device | str = "cpu",
    console: Console | None = None,
    world: World = ALONE,
) -> tuple[SupervisedRun, dict[str, Any]]:
    """Train a classifier on one split of a dataset, and score it on all three parts of it.

    On inductive data the classifier is trained on the training nodes and the edges among them, and scored in the whole
    graph.

    Args:
        dataset: the graph and its labels.
        protocol: how its nodes are shared out.
        index: which split.
        recipe: model, regulariser and training.
        out: the run's folder, if it is kept.
        resume: go on where an interrupted run stopped, or start anew.
        device: where to train.
        console: where progress is shown.
        world: the processes that share every batch.
    """
    split = protocol.split(dataset, index)
    labels = _to(labels_of(dataset, split), device)
    whole = cached_batch(dataset.data, recipe.model.encoder, device, world=world)
    about = {"dataset": dataset.name, "protocol": protocol.name, "split": index, "stand_in": dataset.stand_in}
    part, known, scored = whole, labels, None
    if dataset.inductive:
        nodes = labels.train
        part = cached_part(whole, nodes, world=world)
        known = replace(labels, y=labels.y[nodes], train=torch.arange(len(nodes), device=device), val=nodes[:0])
        scored = (whole, labels)
    run = run_supervised(
        part, known, recipe, scored=scored, out=out, resume=resume, about=about, console=console, world=world
    )
    with shared(run.model, world.ranks):
        return run, scores_of(run, whole, labels, split, "micro-F1" if dataset.multilabel else "accuracy")


def scores_of(run: SupervisedRun, whole: Batch, labels: Labels, split: Split, metric: str) -> dict[str, Any]:
    """Scores on the training, validation and test nodes."""
    logits = run.logits(whole)
    parts = {"train": split.train, "val": split.val, "test": split.test}
    return {"metric": metric, **{name: labels.score(logits, nodes) for name, nodes in parts.items()}}


def _to(labels: Labels, device: torch.device | str) -> Labels:
    y, train, val = (part.to(device) for part in (labels.y, labels.train, labels.val))
    return replace(labels, y=y, train=train, val=val)
