"""The state of a run: its settings, its history, and all that changes from epoch to epoch."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from girl.errors import InputError
from girl.kernel.checks import EqualRowsError, NotFiniteError, check_choice, check_int, check_number
from girl.methods.base import Batch, Method
from girl.nn.encoder import shared
from girl.settings import LATE
from girl.training.distributed import ALONE, World

SCHEDULES = ("constant", "cosine", "plateau")
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}

#: How much the running mean of the loss remembers: about ten epochs.
MEMORY = 0.9


@dataclass(frozen=True)
class TrainSettings:
    """How long and how fast to train, and on what parts of the graph."""

    epochs: int = 20
    """Passes over the graph; 0 leaves the encoder untrained."""
    lr: float = 5e-3
    """Learning rate."""
    weight_decay: float = 0.0
    """How strongly weights are drawn to zero."""
    schedule: Literal["constant", "cosine", "plateau"] = "constant"
    """How the learning rate goes: constant, cosine (to zero) or plateau (halved when the loss rests)."""
    clusters: int = 0
    """METIS parts of the graph; 0: the whole graph is one batch."""
    per_batch: int = 1
    """METIS parts in a batch; of a set of graphs, graphs."""
    patience: int = 0
    """Epochs without progress after which training stops; 0: never. Progress is that of the loss's running mean, or,
    where labels are learned, of the score on validation nodes."""
    progress: float = 1e-3
    """What counts as progress: a fall by this share."""
    save_every: int = 10
    """Epochs between checkpoints."""
    seed: int = 0
    """Fixes every random choice."""
    warmup: int = field(default=0, metadata=LATE)
    """Epochs over which the learning rate rises to its value."""
    limit: float = field(default=0.0, metadata=LATE)
    """Seconds of training after which it ends, at the end of an epoch; 0: none. Schedules are run through within them.
    What is learned then depends on the machine's speed."""
    optimizer: Literal["adamw", "adam"] = field(default="adamw", metadata=LATE)
    """What takes the steps: adamw draws all weights to zero alike, adam by a penalty in the loss, whose gradient it
    scales as any other."""

    def __post_init__(self) -> None:
        try:
            check_choice("schedule", self.schedule, SCHEDULES)
            check_choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
            least = {"epochs": 0, "clusters": 0, "per_batch": 1, "patience": 0, "save_every": 1, "seed": 0, "warmup": 0}
            for name, low in least.items():
                check_int(name, getattr(self, name), low)
            check_number("lr", self.lr, 0, low_open=True)
            check_number("weight_decay", self.weight_decay, 0)
            check_number("progress", self.progress, 0, 1)
            check_number("limit", self.limit, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


@dataclass
class History:
    """What happened, epoch by epoch."""

    epochs: list[dict[str, float]] = field(default_factory=list)
    """Each epoch's mean of every term of the loss."""
    scores: list[float] = field(default_factory=list)
    """Each epoch's score on validation nodes, where there is one."""
    observed: list[dict[str, float]] = field(default_factory=list)
    """What the method noted in some epochs, with the epoch."""
    seconds: float = 0.0
    """Time spent in training, over all sittings."""
    stopped: str = ""
    """Why training ended before its last epoch, if it did."""


class _Losses(nn.Module):
    """A method as DistributedDataParallel takes it: a module that is called for its losses."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def forward(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        return self.method.losses(batch, generator)


class Trainer:
    """The state of a run: what changes from epoch to epoch, and all that a checkpoint must hold."""

    def __init__(self, method: Method, settings: TrainSettings, device: torch.device, world: World = ALONE) -> None:
        self.method, self.settings, self.device, self.world = method, settings, device, world
        self.losses = world.wrap(_Losses(method))
        self.parameters = [p for p in method.parameters() if p.requires_grad]
        kind = OPTIMIZERS[settings.optimizer]
        self.optimizer = kind(self.parameters, lr=settings.lr, weight_decay=settings.weight_decay, fused=True)  # type: ignore[call-arg]
        # As the released code: halved after two epochs of rest, never below 1e-5.
        self.plateau = ReduceLROnPlateau(self.optimizer, factor=0.5, patience=2, min_lr=1e-5)
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self.history = History()
        self.epoch = 0
        self.due = 0.0  # the epoch by which schedules go: ahead of the other where time is short
        self.running = math.nan  # mean of the loss over the last epochs
        self.best = math.inf  # its lowest value
        self.resting = 0  # epochs since then
        if settings.warmup:
            self._set_rate()
        self.best_weights: dict[str, Tensor] = {}  # of the epoch with the highest score, where there are scores

    def tensors(self) -> dict[str, Tensor]:
        """All tensors of the state."""
        found = {f"method.{name}": tensor for name, tensor in self.method.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            found |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
        found |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
        return found | {"generator": self.generator.get_state()}

    def numbers(self) -> dict[str, Any]:
        """All the rest of the state, as JSON."""
        plateau = {key: value for key, value in self.plateau.state_dict().items() if isinstance(value, int | float)}
        rates = [group["lr"] for group in self.optimizer.param_groups]
        own = {name: getattr(self, name) for name in ("epoch", "running", "best", "resting")}
        return own | {"history": asdict(self.history), "plateau": plateau, "rates": rates}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Take up the state where :meth:`tensors` and :meth:`numbers` left it."""
        self.method.load_state_dict(_under(tensors, "method."))
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _under(tensors, "optimizer.").items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = value
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})
        for group, rate in zip(self.optimizer.param_groups, numbers["rates"], strict=True):
            group["lr"] = rate
        self.plateau.load_state_dict(numbers["plateau"])
        self.generator.set_state(tensors["generator"].cpu())
        self.best_weights = _under(tensors, "best.")
        self.history = History(**numbers["history"])
        for name in ("epoch", "running", "best", "resting"):
            setattr(self, name, numbers[name])
        self._set_due()

    def step(self, batch: Batch) -> dict[str, float]:
        """One step of the optimiser on one batch; returns the terms of the loss.

        No terms, if there is nothing to learn from the batch: all of its nodes look the same to the encoder, as happens
        in small batches, or none of them has a label. Numbers that are not finite leave the weights as they are, and
        are returned.
        """
        try:
            terms = self.losses(batch, self.generator)
        except EqualRowsError:
            return {}
        except NotFiniteError:
            return {"output of a layer": math.nan}
        found = self.world.mean({name: term.item() for name, term in terms.items()})
        if not found or not all(map(math.isfinite, found.values())):
            return found
        self.optimizer.zero_grad(set_to_none=True)
        torch.stack(list(terms.values())).sum().backward()
        slopes = [p.grad for p in self.parameters if p.grad is not None]
        if not math.isfinite(torch.nn.utils.get_total_norm(slopes).item()):
            return {"gradient": math.nan}
        self.optimizer.step()
        self.method.after_step(min(self.due / max(self.settings.epochs, 1), 1.0))
        return found

    def begin_epoch(self) -> None:
        """Every process but the first draws anew in each epoch: a checkpoint holds the first one's generator only."""
        if not self.world.first:
            self.generator.manual_seed(_mixed(self.settings.seed, self.epoch, self.world.rank))

    @property
    def finite(self) -> bool:
        """Whether all weights are."""
        return all(bool(torch.isfinite(parameter).all()) for parameter in self.parameters)

    def batches(self, whole: Batch, parts: list[Tensor]) -> Iterator[tuple[Batch, int]]:
        """The batches of an epoch, of each what this process has, and the number of nodes that all have.

        Parts come in a random order, the same for all processes, and are dealt out to them; the last batch may leave
        one without any.
        """
        if not parts:
            yield whole, whole.size
            return
        drawn = torch.randperm(len(parts), generator=self.generator, device=self.generator.device)
        order = self.world.same(drawn).tolist()
        for start in range(0, len(parts), self.settings.per_batch):
            chosen = order[start : start + self.settings.per_batch]
            size = sum(len(parts[index]) for index in chosen)
            if size < 2:  # one node explains nothing
                continue
            own = [parts[index] for index in chosen[self.world.rank :: self.world.count]]
            nodes = torch.cat(own).sort().values if own else parts[0][:0]
            yield whole.chosen(nodes.to(whole.x.device)), size

    def score(self, whole: Batch) -> float | None:
        """The method's score after an epoch; all processes work on it, and what the first finds counts."""
        with shared(self.method, self.world.ranks):
            found = self.method.score(whole)
        if self.world.count == 1:
            return found
        told = self.world.agree(math.nan if found is None else found)
        return None if math.isnan(told) else told

    def end_epoch(self, terms: dict[str, float], score: float | None = None) -> None:
        """Note what the epoch gave, and set the rate for the next one. One without terms was passed over."""
        self.epoch += 1
        if not terms:
            return
        self.history.epochs.append(terms)
        total = sum(terms.values())
        self.running = total if math.isnan(self.running) else MEMORY * self.running + (1 - MEMORY) * total
        if score is not None:
            better = not self.history.scores or score > max(self.history.scores)
            self.history.scores.append(score)
            if better:
                self.best_weights = {name: tensor.clone() for name, tensor in self.method.state_dict().items()}
        else:
            better = self.running < self.best * (1 - self.settings.progress) or math.isinf(self.best)
        if better:
            self.best, self.resting = self.running, 0
        else:
            self.resting += 1
        if self.settings.schedule == "plateau":
            self.plateau.step(total)
        self._set_due()
        self._set_rate()

    def _set_due(self) -> None:
        """Where all epochs do not fit into the time, as much of a schedule is over as of that; for all processes alike.

        A rate that is to fall to zero, and is cut off half-way, leaves a worse state than a shorter schedule.
        """
        s = self.settings
        spent = self.world.agree(min(self.history.seconds / s.limit, 1.0)) if s.limit else 0.0
        self.due = max(float(self.epoch), s.epochs * spent)

    def _set_rate(self) -> None:
        """The rate of the coming epoch, where it does not depend on the loss."""
        s = self.settings
        rise = min((self.due + 1) / (s.warmup + 1), 1.0)
        if s.schedule == "cosine":
            rise *= 0.5 * (1 + math.cos(math.pi * max(self.due - s.warmup, 0) / max(s.epochs - s.warmup, 1)))
        elif s.schedule == "plateau" or not s.warmup:
            return
        for group in self.optimizer.param_groups:
            group["lr"] = s.lr * rise

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do; with several processes, for the first of them."""
        return bool(self.world.agree(float(self._done)))

    @property
    def _done(self) -> bool:
        if 0 < self.settings.patience <= self.resting:
            self.history.stopped = f"no progress for {self.resting} epochs"
            return True
        if 0 < self.settings.limit <= self.history.seconds and self.epoch < self.settings.epochs:
            self.history.stopped = f"{self.settings.limit:g} seconds are over"
            return True
        return self.epoch >= self.settings.epochs


def _mixed(*numbers: int) -> int:
    """A seed for some numbers that others hardly share."""
    return zlib.crc32(json.dumps(numbers).encode())


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
