"""The search for a dataset's recipe: optuna over the settings, judged on training and validation nodes only."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import torch
from rich.console import Console
from torch import Tensor

from girl import splits
from girl.datasets.dataset import NodeDataset
from girl.evaluation.probe import probe
from girl.files import write_json
from girl.lab.nodes import PROTOCOLS
from girl.lab.provenance import provenance
from girl.splits import Split
from girl.training.batch import make_batch
from girl.training.loop import DivergedError
from girl.training.recipe import Recipe, tuned_recipe
from girl.training.run import pretrain

#: What is searched. Settings that are not here stay as in the default recipe.
SPACE: dict[str, tuple[Any, ...]] = {
    "conv": ("appnp", "sgc", "gcn", "sage", "mlp"),
    "layers": (1, 2),
    "hops": (2, 4, 10),
    "teleport": (0.05, 0.1, 0.2, 0.5),
    "activation": ("elu", "none"),
    "normalise": ("l2", "sized", "zscore", "none"),
    "output": ("last", "layers"),
    "keep": (0.0, 0.1, 0.2, 0.4, 1.0),
    "unit": (True, False),
    "targets": ("features", "smooth", "features smooth", "features around"),
    "smoothing": (0.05, 0.1, 0.2, 0.5),
    "whiten": (0.0, 0.5),
    "dropout": (0.0, 0.2, 0.5, 0.8),
    "epochs": (10, 20, 40),
    "lr": (2e-3, 5e-3),
}

#: Resampled splits of a fixed protocol, and nodes of each class that train in the low-label one.
RESAMPLED = 6
PER_CLASS = 20


def judging_splits(dataset: NodeDataset, protocol: str, seed: int) -> Iterator[Split]:
    """Splits to judge a recipe by; no test node of the protocol's own split is in any of them.

    A random protocol is judged by its validation nodes. A fixed one has a single small validation set, on which the
    best of many trials is mostly luck: its training and validation nodes are shared out anew, several times,
    with 20 training nodes of each class under ``public`` and two thirds of them all under ``full``.
    """
    own = splits.get(protocol).split(dataset, seed)
    if protocol not in ("public", "full"):
        yield Split(own.train, own.val, own.val)
        return
    pool = torch.cat([own.train, own.val])
    y = dataset.data.y[pool]
    for draw in range(RESAMPLED):
        generator = torch.Generator().manual_seed(draw)
        order = torch.randperm(len(pool), generator=generator)
        if protocol == "public":
            first = [order[y[order] == label][:PER_CLASS] for label in y.unique()]
            train = torch.cat(first)
        else:
            train = order[: 2 * len(order) // 3]
        held = torch.ones(len(pool), dtype=torch.bool)
        held[train] = False
        val = pool[held].sort().values
        yield Split(pool[train].sort().values, val, val)


def judge(h: Tensor, dataset: NodeDataset, seed: int) -> dict[str, float]:
    """The mean validation score of a representation under each of the dataset's protocols."""
    found = {}
    for protocol in PROTOCOLS[dataset.name]:
        seeds = range(5) if protocol == "geom-gcn" else [seed]
        scores = [
            probe(h, dataset.data.y, split, multilabel=dataset.multilabel).val
            for one in seeds
            for split in judging_splits(dataset, protocol, one)
        ]
        found[protocol] = sum(scores) / len(scores)
    return found


def search(dataset: NodeDataset, trials: int, seeds: int, out: Path, console: Console) -> dict[str, Any]:
    """Run trials until there are ``trials`` in ``out``; returns the best of them and of the known recipes.

    The shipped recipe and the default are judged first, as they are: what is returned is never worse. Goes on where it
    stopped.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kept: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    known: dict[str, dict[str, Any]] = kept.get("known", {})
    done: list[dict[str, Any]] = kept.get("trials", [])

    def keep() -> None:
        about = {"dataset": dataset.name, "seeds": seeds, "provenance": provenance()}
        write_json(out, {**about, "known": known, "trials": done})

    for name, recipe in (("shipped", tuned_recipe(dataset.name)), ("default", Recipe())):
        if known.get(name, {}).get("recipe") != recipe.to_dict():
            known[name] = {"recipe": recipe.to_dict(), **_judged(dataset, recipe, seeds)}
            keep()
        console.print(f"{name} recipe  {100 * known[name]['score']:.2f}", highlight=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=len(done), multivariate=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(values) for name, values in SPACE.items()
    }
    for trial in done:
        study.add_trial(optuna.trial.create_trial(params=trial["settings"], distributions=space, value=trial["score"]))
    while len(done) < trials:
        asked = study.ask(space)
        recipe = _recipe(asked.params)
        judged = _judged(dataset, recipe, seeds)
        study.tell(asked, judged["score"])
        done.append({"settings": asked.params, "recipe": recipe.to_dict(), **judged})
        keep()
        best = max(trial["score"] for trial in (*done, *known.values()))
        console.print(
            f"{len(done)}/{trials}  {100 * judged['score']:.2f}  best {100 * best:.2f}  {asked.params}", highlight=False
        )
    return max((*known.values(), *done), key=lambda trial: trial["score"])


def toml_of(recipe: Recipe) -> str:
    """A recipe as a file; what is as in the default is left out."""
    default = Recipe().to_dict()
    lines = [
        "# Chosen by `girl search` on training and validation nodes; what is not said is as in the default recipe."
    ]
    for section, values in recipe.to_dict().items():
        differ = {key: value for key, value in values.items() if value != default[section][key]}
        if differ:
            lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in differ.items()), ""]
    return "\n".join(lines).rstrip() + "\n"


def _recipe(settings: dict[str, Any]) -> Recipe:
    return Recipe().with_values({**settings, "targets": settings["targets"].split()})


def _judged(dataset: NodeDataset, recipe: Recipe, seeds: int) -> dict[str, Any]:
    started = time.perf_counter()
    by_protocol = _try(dataset, recipe, seeds)
    score = sum(by_protocol.values()) / len(by_protocol)
    return {"score": score, "by_protocol": by_protocol, "seconds": round(time.perf_counter() - started, 1)}


def _try(dataset: NodeDataset, recipe: Recipe, seeds: int) -> dict[str, float]:
    found: list[dict[str, float]] = []
    for seed in range(seeds):
        whole = make_batch(dataset.data, recipe.encoder)
        try:
            h = pretrain(whole, recipe.with_seed(seed)).embed(whole)
        except (DivergedError, ValueError):  # a layer that collapsed explains nothing: the trial is worth nothing
            return dict.fromkeys(PROTOCOLS[dataset.name], 0.0)
        found.append(judge(h, dataset, seed))
    return {name: sum(scores[name] for scores in found) / len(found) for name in found[0]}
