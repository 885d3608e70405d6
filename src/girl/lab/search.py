"""The search for a dataset's recipe: optuna over the settings, scored on training and validation nodes only."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from torch import Tensor

from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.evaluation.probe import probe
from girl.kernel.checks import EqualRowsError, NotFiniteError
from girl.lab.nodes import PROTOCOLS
from girl.lab.provenance import provenance
from girl.lab.search_splits import search_splits
from girl.training.batch import make_batch
from girl.training.loop import DivergedError
from girl.training.recipe import Recipe, tuned_recipe
from girl.training.run import pretrain

#: The settings that are searched, and their values. Others stay as in the default recipe.
SPACE: dict[str, tuple[Any, ...]] = {
    "conv": ("appnp", "sgc", "gcn", "sage", "mlp"),
    "layers": (1, 2),
    "hops": (2, 4, 10),
    "teleport": (0.05, 0.1, 0.2, 0.5),
    "activation": ("elu", "none"),
    "normalize": ("l2", "sized", "zscore", "none"),
    "output": ("last", "layers"),
    "keep": (0.0, 0.1, 0.2, 0.4, 1.0),
    "unit": (True, False),
    "targets": ("features", "smooth", "features smooth", "features neighborhood"),
    "smoothing": (0.05, 0.1, 0.2, 0.5),
    "whiten": (0.0, 0.5),
    "dropout": (0.0, 0.2, 0.5, 0.8),
    "epochs": (10, 20, 40),
    "lr": (2e-3, 5e-3),
}

#: The names of the journal's study and of its attribute with the scores of known recipes.
STUDY, KNOWN = "search", "known recipes"


def validation_scores(h: Tensor, dataset: NodeDataset, seed: int) -> dict[str, float]:
    """The mean validation score of an embedding under each of the dataset's protocols."""
    means = {}
    for protocol in PROTOCOLS[dataset.name]:
        seeds = range(5) if protocol == "geom-gcn" else [seed]
        scores = [
            probe(h, dataset.data.y, split, multilabel=dataset.multilabel, metric=dataset.metric).val
            for one in seeds
            for split in search_splits(dataset, protocol, one)
        ]
        means[protocol] = sum(scores) / len(scores)
    return means


def search(dataset: NodeDataset, trials: int, seeds: int, out: Path, console: Console) -> dict[str, Any]:
    """Run trials until ``out`` has ``trials`` of them; returns the best one, with ``recipe`` and ``by_protocol``.

    The shipped recipe and the default are scored first, as they are: the result is never worse. ``out`` is optuna's
    journal, from which an interrupted search is resumed.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    out.parent.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(out))),
        study_name=STUDY,
        direction="maximize",
        load_if_exists=True,
    )
    about = {"dataset": dataset.name, "seeds": seeds}
    earlier = {name: study.user_attrs.get(name, value) for name, value in about.items()}
    if earlier != about:
        raise InputError(f"{out}: given {about}, expected {earlier} as in its earlier trials; choose another --out")
    for name, value in (about | {"provenance": provenance()}).items():
        study.set_user_attr(name, value)
    known: dict[str, dict[str, Any]] = study.user_attrs.get(KNOWN, {})
    for name, recipe in (("shipped", tuned_recipe(dataset.name)), ("encoder", Recipe.encoder_default())):
        if known.get(name, {}).get("recipe") != recipe.to_dict():
            known[name] = _scored(dataset, recipe, seeds)
            study.set_user_attr(KNOWN, known)
        console.print(f"{name} recipe  {100 * known[name]['score']:.2f}", highlight=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        # Another seed in each sitting: the same one would propose the trials of the first sitting again.
        study.sampler = optuna.samplers.TPESampler(seed=len(finished(study)), multivariate=True)
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(values) for name, values in SPACE.items()
    }
    while (count := len(finished(study))) < trials:
        trial = study.ask(space)
        scored = _scored(dataset, trial.params, seeds)
        for name, value in scored.items():
            trial.set_user_attr(name, value)
        study.tell(trial, scored["score"])
        best = max(study.best_value, *(one["score"] for one in known.values()))
        console.print(
            f"{count + 1}/{trials}  {100 * scored['score']:.2f}  best {100 * best:.2f}  {trial.params}", highlight=False
        )
    return max((*known.values(), *(trial.user_attrs for trial in finished(study))), key=lambda one: one["score"])


def finished(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that have a score; one that was interrupted has none."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def toml_of(recipe: Recipe) -> str:
    """A recipe as a file, without what is as in the default."""
    default = Recipe.encoder_default().to_dict()
    lines = ["# Chosen by `girl search` on training and validation nodes; the rest is as in the recipe encoder."]
    for section, values in recipe.to_dict().items():
        differ = {key: value for key, value in values.items() if key == "name" or value != default[section].get(key)}
        if differ:
            lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in differ.items()), ""]
    return "\n".join(lines).rstrip() + "\n"


def _scored(dataset: NodeDataset, settings: Recipe | dict[str, Any], seeds: int) -> dict[str, Any]:
    """The recipe and its validation scores: 0 for settings that contradict each other, and for a training that fails.

    Only these two are caught. Any other error is one of the data or of the program, and ends the search.
    """
    failed = {"score": 0.0, "by_protocol": dict.fromkeys(PROTOCOLS[dataset.name], 0.0)}
    try:
        recipe = settings if isinstance(settings, Recipe) else _recipe(settings)
    except InputError as error:
        return {"recipe": None, "failure": str(error), **failed}
    batch = make_batch(dataset.data, recipe.encoder)
    scores: list[dict[str, float]] = []
    for seed in range(seeds):
        try:
            vectors = pretrain(batch, recipe.with_seed(seed)).vectors
        except (DivergedError, EqualRowsError, NotFiniteError) as error:
            return {"recipe": recipe.to_dict(), "failure": str(error), **failed}
        assert vectors is not None  # of a run that was just trained
        scores.append(validation_scores(vectors, dataset, seed))
    means = {name: sum(one[name] for one in scores) / seeds for name in scores[0]}
    return {"recipe": recipe.to_dict(), "score": sum(means.values()) / len(means), "by_protocol": means}


def _recipe(settings: dict[str, Any]) -> Recipe:
    return Recipe.encoder_default().with_values({**settings, "targets": settings["targets"].split()})
