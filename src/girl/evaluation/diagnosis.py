"""Where along its depth a saved network loses the labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from girl import datasets, splits
from girl.errors import InputError
from girl.graph.batch import Batch
from girl.nn.diagnosis import lost_share, lost_shares
from girl.training.batch import make_batch
from girl.training.run import load_run
from girl.training.run_folder import load_folder
from girl.training.supervised_run import load_supervised


@dataclass(frozen=True)
class Diagnosis:
    """The share of the labels' spread that is lost, layer by layer."""

    title: str
    layers: list[float]
    """Of the features, and of each layer's output."""
    trace: list[dict[str, float]]
    """The same of the layers in some epochs, on validation nodes; empty if it was not watched."""


def diagnose_run(
    run: Path, nodes: Literal["train", "val", "test"], data_root: Path | None = None, mirror: Path | None = None
) -> Diagnosis:
    """Measure every layer of a run of `girl train` or `girl pretrain`.

    Args:
        run: its folder.
        nodes: which nodes of its split are measured.
        data_root: where datasets are kept.
        mirror: a folder of raw files.
    """
    config, _, _ = load_folder(run, "`girl train` or `girl pretrain`")
    if config.get("kind") == "supervised":
        known = load_supervised(run)
        settings, trace = known.recipe.model.encoder, known.history.observed
        title = f"{known.recipe.regularizer.regularizer}, depth {known.recipe.model.depth}"
        about = known.config
    else:
        other = load_run(run)
        settings, trace = other.recipe.encoder, []
        name = "GIRL" if other.recipe.name == "girl" else other.recipe.name
        title, about = f"{name}, {settings.conv}, depth {settings.layers}", other.config
    if "dataset" not in about:
        raise InputError(f"{run}: its graph is not a named dataset, and its labels are not at hand")
    found = datasets.load(about["dataset"], data_root, mirror)
    found.check_nodes("a diagnosis")
    split = splits.get(about["protocol"]).split(found, about["split"])
    whole: Batch = make_batch(found.data, settings)
    chosen = getattr(split, nodes)
    y = found.data.y
    first = lost_share(whole.x.dense(chosen), y[chosen], torch.Generator().manual_seed(0))
    supervised = config.get("kind") == "supervised"
    layers = known.model.by_layer(whole.x, whole.graph) if supervised else other.method.by_layer(whole)
    return Diagnosis(f"{found.title}: {title}", [first, *lost_shares(layers, y, chosen)], trace)
