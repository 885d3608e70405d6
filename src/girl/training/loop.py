"""The training loop, readable from top to bottom."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console
from torch import Tensor

from girl.console import phase
from girl.errors import InputError
from girl.graph.partition import cached_partition, members
from girl.methods.base import Batch, Method
from girl.training.checkpoint import list_checkpoints, load_newest, save_checkpoint
from girl.training.distributed import ALONE, World
from girl.training.progress import TrainingProgress
from girl.training.shared_tensors import shared_tensors
from girl.training.state import History, Trainer, TrainSettings

Resume = Literal["auto", "never"]

#: A loss this many times that of the first epoch is a divergence.
DIVERGED = 100.0


class DivergedError(InputError):
    """Training left the realm of finite numbers; the method holds its last good state."""


def fit(
    method: Method,
    whole: Batch,
    settings: TrainSettings,
    *,
    folder: Path | None = None,
    resume: Resume = "auto",
    about: dict[str, Any] | None = None,
    console: Console | None = None,
    watch: Callable[[History], None] | None = None,
    world: World = ALONE,
) -> History:
    """Train ``method`` on a graph; it holds the final state when this returns.

    Args:
        method: what to train; on the device of the graph.
        whole: the training graph.
        settings: how.
        folder: where checkpoints go; none are written without it.
        resume: ``"auto"`` goes on from the newest whole checkpoint in ``folder``, ``"never"`` starts anew.
        about: what the run is, kept in its checkpoints: a run is resumed only as the same run.
        console: where progress is shown; None shows none.
        watch: called after every epoch; what it takes is not counted as training.
        world: the processes that share every batch. The first writes and speaks; all end with the same weights.
    """
    _check_shared(whole, settings, world)
    if settings.clusters > 1 and 2 * settings.clusters > whole.size * settings.per_batch:
        most = whole.size * settings.per_batch // 2
        raise InputError(
            f"clusters: given {settings.clusters:,} for {whole.size:,} nodes, expected at most {most:,}: "
            "one node alone explains nothing"
        )
    if folder is not None and world.first:
        folder.mkdir(parents=True, exist_ok=True)
    if world.ranks is not None:
        method.share(world.ranks)
    if not world.first:
        console = None
    with phase(console, "preparing what is to be explained"):
        _prepare(method, whole, settings.seed, world)
    trainer = Trainer(method, settings, whole.x.device, world)
    if folder is not None:
        _resume(trainer, folder, resume, about or {})
    with phase(console, "cutting the graph into parts"):
        if whole.graphs is not None:
            parts = members(whole.graphs)
        elif settings.clusters > 1:
            parts = world.in_turn(lambda: members(cached_partition(whole.graph, settings.clusters, settings.seed)))
        else:
            parts = []
    good = _snapshot(trainer)
    with TrainingProgress(settings.epochs, trainer.epoch, console) as progress:
        while not trainer.done:
            started = time.perf_counter()
            method.train()
            trainer.begin_epoch()
            sums: dict[str, float] = {}
            nodes = 0
            for batch, size in trainer.batches(whole, parts):
                terms = trainer.step(batch)
                for name, value in terms.items():
                    sums[name] = sums.get(name, 0.0) + value * size
                nodes += size if terms else 0
            means = {name: value / nodes for name, value in sums.items()}
            if (reason := _diverged(means, trainer)) is not None:
                failed = trainer.epoch + 1
                trainer.restore(*good)
                if folder is not None and world.first:
                    save_checkpoint(
                        folder, trainer.epoch, trainer.tensors(), trainer.numbers() | {"about": about or {}}
                    )
                raise DivergedError(
                    f"training stopped in epoch {failed}: {reason}. The state after epoch {trainer.epoch} is kept. "
                    f"Lower the learning rate (lr is {settings.lr:g}), or look for extreme values in the features"
                )
            method.after_epoch(lambda: (batch for batch, _ in trainer.batches(whole, parts)), trainer.generator)
            score = trainer.score(whole)
            trainer.history.seconds += time.perf_counter() - started
            trainer.end_epoch(means, score)
            if world.first and (noted := method.observe(whole, trainer.epoch)):
                trainer.history.observed.append({"epoch": trainer.epoch, **noted})
            if watch is not None:
                watch(trainer.history)
            over = trainer.done
            if means:
                progress.update(trainer.epoch, means, nodes, score, last=over)
            if trainer.epoch % settings.save_every == 0 or over:
                good = _snapshot(trainer)
                if folder is not None and world.first:
                    save_checkpoint(
                        folder, trainer.epoch, trainer.tensors(), trainer.numbers() | {"about": about or {}}
                    )
    if trainer.best_weights:
        method.load_state_dict(trainer.best_weights)
    method.eval()
    return trainer.history


def _prepare(method: Method, whole: Batch, seed: int, world: World) -> None:
    """Let the method see the graph; on each host once, if what it makes can be handed over."""

    def make() -> dict[str, Tensor]:
        # Its own source of randomness: what is prepared is the same in the first sitting and in a resumed one.
        method.prepare(whole, torch.Generator(whole.x.device).manual_seed(seed))
        return method.prepared()

    if world.count == 1 or not method.hands_over or whole.x.device.type != "cpu":
        make()
    else:
        method.take_prepared(shared_tensors(make, world))


def _check_shared(whole: Batch, settings: TrainSettings, world: World) -> None:
    """Complain about batches that cannot be shared out among the processes."""
    if world.count == 1:
        return
    if whole.graphs is None and settings.clusters < 2:
        raise InputError(
            f"clusters: given {settings.clusters}, the graph in one piece, with {world.count} processes; expected "
            f"parts to share out, such as --clusters {8 * world.count} --per-batch {world.count}"
        )
    if settings.per_batch < world.count:
        raise InputError(
            f"per_batch: given {settings.per_batch} with {world.count} processes, expected at least {world.count}: a "
            "batch is shared out among them"
        )


def _diverged(means: dict[str, float], trainer: Trainer) -> str | None:
    if not means:
        # By chance, on a tiny graph whose features are hidden at times. Always, it is the data's fault.
        last = trainer.epoch + 1 >= trainer.settings.epochs
        alike = "all nodes look the same to the encoder (nodes alike in features and neighbours, or all of them hidden)"
        return alike if last and not trainer.history.epochs else None
    if not trainer.finite:
        return "weights are not finite"
    for name, value in means.items():
        if not math.isfinite(value):
            return f"the {name} is {value}"
        first = trainer.history.epochs[0].get(name, value) if trainer.history.epochs else value
        if value > DIVERGED * max(first, 1e-3):
            return f"the loss of {name} rose from {first:.3g} to {value:.3g}"
    return None


def _snapshot(trainer: Trainer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    return {name: tensor.clone() for name, tensor in trainer.tensors().items()}, trainer.numbers()


def _resume(trainer: Trainer, folder: Path, resume: Resume, about: dict[str, Any]) -> None:
    if resume == "never":
        for path in list_checkpoints(folder) if trainer.world.first else []:
            path.unlink()
        return
    found = trainer.world.state(lambda: load_newest(folder))
    if found is None:
        return
    tensors, numbers = found
    was, now = _flat(numbers["about"]), _flat(about)
    differ = [key for key in sorted(was | now) if was.get(key) != now.get(key) and key not in _FREE]
    if differ:
        told = [f"{key.split('.')[-1]} ({_brief(was.get(key))}, now {_brief(now.get(key))})" for key in differ]
        raise InputError(
            f"{folder}: holds another run, which differs in {', '.join(told)}. Give another folder, or start anew "
            "with --resume never"
        )
    trainer.restore(tensors, numbers)


#: What a run may go on with after it was changed: it does not alter what is learned.
_FREE = ("recipe.train.save_every",)


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
