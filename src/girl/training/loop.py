"""The training loop, readable from top to bottom."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.partition import cached_partition, nodes_by_part
from girl.methods.base import Method
from girl.training.checkpoint import list_checkpoints, load_newest, save_checkpoint
from girl.training.context import Context
from girl.training.memory import check_memory
from girl.training.progress import TrainingProgress
from girl.training.shared_tensors import shared_tensors
from girl.training.state import History, TrainingState, TrainSettings

#: A loss that is this many times that of the first epoch has diverged.
DIVERGED = 100.0


class DivergedError(InputError):
    """Training diverged. The method holds its last good state."""


def fit(
    method: Method,
    data: Batch,
    settings: TrainSettings,
    context: Context | None = None,
    config: dict[str, Any] | None = None,
    callback: Callable[[History], None] | None = None,
) -> History:
    """Train ``method`` on a graph. Afterwards it holds the final weights.

    Args:
        method: the method to train, on the device of the graph.
        data: the training graph.
        settings: epochs, learning rate, batches.
        context: device, processes, console, folder of checkpoints, and whether to resume.
        config: what the run is, stored in its checkpoints. A run is resumed only if it matches.
        callback: called after every epoch; its time does not count as training.
    """
    context = context or Context(device=data.x.device)
    config = config or {}
    processes, folder = context.distributed, context.checkpoints
    check_memory(method, data, settings, processes.num_local)
    trainable = any(parameter.requires_grad for parameter in method.parameters())
    if trainable:
        _check_batches(data, settings, context)
    if folder is not None and context.writes:
        folder.mkdir(parents=True, exist_ok=True)
    if processes.ranks is not None:
        method.distribute(processes.ranks)
    with context.phase("preparing targets"):
        _prepare(method, data, settings.seed, context)
    if not trainable:
        if folder is not None:
            _earlier_state(context, config)  # a run of another graph is an error
            if context.writes:
                save_checkpoint(folder, 0, {}, {"config": config})
        return History()
    state = TrainingState(method, settings, context)
    if folder is not None:
        _resume(state, context, config)
    with context.phase("partitioning the graph"):
        parts = _parts(data, settings, context)

    def save_state() -> None:
        if folder is not None and context.writes:
            save_checkpoint(folder, state.epoch, state.tensors(), state.numbers() | {"config": config})

    last_good = _copy(state)
    with TrainingProgress(settings.epochs, state.epoch, context.console) as progress:
        while not state.is_done:
            started = time.perf_counter()
            method.train()
            state.begin_epoch()
            sums: dict[str, float] = {}
            nodes = 0
            for batch, size in state.batches(data, parts):
                terms = state.step(batch)
                for name, value in terms.items():
                    sums[name] = sums.get(name, 0.0) + value * size
                nodes += size if terms else 0
            means = {name: value / nodes for name, value in sums.items()}
            if (reason := _divergence(means, state)) is not None:
                failed = state.epoch + 1
                state.restore(*last_good)
                save_state()
                raise DivergedError(
                    f"training stopped in epoch {failed}: {reason}. The weights after epoch {state.epoch} are kept. "
                    f"Lower the learning rate (lr is {settings.lr:g}), or look for extreme values in the features"
                )
            method.after_epoch(lambda: (batch for batch, _ in state.batches(data, parts)), state.generator)
            score = state.score(data)
            state.history.seconds += time.perf_counter() - started
            state.end_epoch(means, score)
            if processes.is_main and (observed := method.observe(data, state.epoch)):
                state.history.observed.append({"epoch": state.epoch, **observed})
            if callback is not None:
                callback(state.history)
            done = state.is_done
            if means:
                progress.update(state.epoch, means, nodes, score, last=done)
            if state.epoch % settings.save_every == 0 or done:
                last_good = _copy(state)
                save_state()
    if state.best_weights:
        method.load_state_dict(state.best_weights)
    method.eval()
    return state.history


def _prepare(method: Method, data: Batch, seed: int, context: Context) -> None:
    """Let the method see the full graph; once per host, if the result can be shared between processes."""

    def prepare() -> dict[str, Tensor]:
        # A generator of its own: a resumed run prepares the same as the first one.
        method.prepare(data, torch.Generator(data.x.device).manual_seed(seed))
        return method.prepared()

    if context.distributed.num_processes == 1 or not method.shares_prepared or data.x.device.type != "cpu":
        prepare()
    else:
        method.load_prepared(shared_tensors(prepare, context.distributed))


def _parts(data: Batch, settings: TrainSettings, context: Context) -> list[Tensor]:
    """The nodes of each graph of a set, or of each METIS part; none if the full graph is one batch."""
    if data.graph_id is not None:
        return nodes_by_part(data.graph_id)
    if settings.clusters < 2:
        return []
    return context.distributed.local_main_first(
        lambda: nodes_by_part(cached_partition(data.graph, settings.clusters, settings.seed))
    )


def _check_batches(data: Batch, settings: TrainSettings, context: Context) -> None:
    """Refuse more parts than nodes, and batches that cannot be divided among the processes."""
    if settings.clusters > 1 and 2 * settings.clusters > data.num_nodes * settings.batch_size:
        raise InputError(
            f"clusters: given {settings.clusters:,} for {data.num_nodes:,} nodes, expected at most "
            f"{data.num_nodes * settings.batch_size // 2:,}: a batch needs two nodes"
        )
    count = context.distributed.num_processes
    if count == 1:
        return
    if data.graph_id is None and settings.clusters < 2:
        raise InputError(
            f"clusters: given {settings.clusters}, so the full graph is one batch, with {count} processes; expected "
            f"parts to divide among them, such as --clusters {8 * count} --batch-size {count}"
        )
    if settings.batch_size < count:
        raise InputError(
            f"batch_size: given {settings.batch_size} with {count} processes, expected at least {count}: a batch is "
            "divided among them"
        )


def _divergence(means: dict[str, float], state: TrainingState) -> str | None:
    """Why training has diverged; None if it has not."""
    if not means:
        # One such epoch happens by chance on a tiny graph with feature dropout. If all are, the data is the cause.
        last = state.epoch + 1 >= state.settings.epochs
        reason = "all nodes look the same to the encoder (same features and neighbours, or all features dropped)"
        return reason if last and not state.history.epochs else None
    if not state.is_finite:
        return "weights are not finite"
    for name, value in means.items():
        if not math.isfinite(value):
            return f"the {name} is {value}"
        first = state.history.epochs[0].get(name, value) if state.history.epochs else value
        if value > DIVERGED * max(first, 1e-3):
            return f"the loss of {name} rose from {first:.3g} to {value:.3g}"
    return None


def _copy(state: TrainingState) -> tuple[dict[str, Tensor], dict[str, Any]]:
    return {name: tensor.clone() for name, tensor in state.tensors().items()}, state.numbers()


def _resume(state: TrainingState, context: Context, config: dict[str, Any]) -> None:
    """Restore the newest checkpoint, if there is one."""
    if (checkpoint := _earlier_state(context, config)) is not None:
        state.restore(*checkpoint)


def _earlier_state(context: Context, config: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """The newest checkpoint, if there is one and it is to be resumed; one of another run is an error."""
    folder = context.checkpoints
    assert folder is not None
    if context.resume == "never":
        for path in list_checkpoints(folder) if context.writes else []:
            path.unlink()
        return None
    checkpoint = context.distributed.broadcast_object(lambda: load_newest(folder))
    if checkpoint is None:
        return None
    _, numbers = checkpoint
    before, now = _flatten(numbers["config"]), _flatten(config)
    differences = [
        f"{key.split('.')[-1]} ({_shorten(before.get(key))}, now {_shorten(now.get(key))})"
        for key in sorted(before | now)
        if before.get(key) != now.get(key) and key not in _MAY_CHANGE
    ]
    if differences:
        raise InputError(
            f"{folder}: holds another run, which differs in {', '.join(differences)}. Give another folder, or start "
            "again with --resume never"
        )
    return checkpoint


#: Settings that may change when a run is resumed: they do not alter what is learned.
_MAY_CHANGE = ("recipe.train.save_every",)


def _flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names. Tuples become lists, as they do in JSON."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = list(value) if isinstance(value, tuple) else value
    return flat


def _shorten(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
