"""At which layer a saved network loses the labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from girl import datasets, splits
from girl.errors import InputError
from girl.methods.encoder_method import EncoderMethod
from girl.nn.diagnosis import unexplained_fraction, unexplained_fractions
from girl.training.batch import make_batch
from girl.training.run import load_run
from girl.training.run_folder import load_folder
from girl.training.supervised_run import load_supervised


@dataclass(frozen=True)
class Diagnosis:
    """The fraction of the labels' variation that each layer has lost."""

    title: str
    layers: list[float]
    """For the features, then for each layer's output."""
    trace: list[dict[str, float]]
    """The same for each layer's output in some epochs, on validation nodes; empty if it was not recorded."""


def diagnose_run(
    run: Path, nodes: Literal["train", "val", "test"], data_root: Path | None = None, mirror: Path | None = None
) -> Diagnosis:
    """Measure every layer of a run of `girl train` or `girl pretrain`.

    Args:
        run: the run's folder.
        nodes: which nodes of its split are measured.
        data_root: folder of the datasets.
        mirror: folder of raw files.
    """
    config, _, _ = load_folder(run, "`girl train` or `girl pretrain`")
    supervised = load_supervised(run) if config.get("kind") == "supervised" else None
    if supervised is not None:
        recipe, trace, config = supervised.recipe, supervised.history.observed, supervised.config
        settings, title = recipe.model.encoder, f"{recipe.regularizer.regularizer}, depth {recipe.model.depth}"
    else:
        pretrained = load_run(run)
        if not isinstance(pretrained.method, EncoderMethod):
            raise InputError(f"{run}: given a run of the default recipe, expected one with layers, which it has not")
        method, settings = pretrained.method, pretrained.recipe.encoder
        trace, config = [], pretrained.config
        name = "GIRL" if pretrained.recipe.name == "girl" else pretrained.recipe.name
        title = f"{name}, {settings.conv}, depth {settings.layers}"
    if "dataset" not in config:
        raise InputError(f"{run}: its graph is not a named dataset, so its labels are not available")
    dataset = datasets.load(config["dataset"], data_root, mirror)
    dataset.check_nodes("a diagnosis")
    split = splits.get(config["protocol"]).split(dataset, config["split"])
    batch = make_batch(dataset.data, settings)
    measured, y = getattr(split, nodes), dataset.data.y
    features = unexplained_fraction(batch.x.dense(measured), y[measured], torch.Generator().manual_seed(0))
    layers = method.iter_layers(batch) if supervised is None else supervised.model.iter_layers(batch.x, batch.graph)
    return Diagnosis(f"{dataset.title}: {title}", [features, *unexplained_fractions(layers, y, measured)], trace)
