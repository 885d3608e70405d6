"""The settings and the state of training: everything that changes from epoch to epoch, and that a checkpoint holds."""

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
from girl.graph.batch import Batch
from girl.kernel.checks import EqualRowsError, NotFiniteError, check_choice, check_int, check_number
from girl.methods.base import Method
from girl.nn.encoder import shared_encoders
from girl.training.context import Context

SCHEDULES = ("constant", "cosine", "plateau")
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    "adamw": torch.optim.AdamW,
    "adam": torch.optim.Adam,
    "sgd": torch.optim.SGD,
}

#: How much the running mean of the loss remembers: about ten epochs.
MEMORY = 0.9


@dataclass(frozen=True)
class TrainSettings:
    """How long and how fast to train, and in which batches."""

    epochs: int = 20
    """Passes over the graph; 0 leaves the encoder untrained."""
    lr: float = 5e-3
    """Learning rate."""
    weight_decay: float = 0.0
    """Weight decay of the optimiser."""
    schedule: Literal["constant", "cosine", "plateau"] = "constant"
    """Learning-rate schedule: constant, cosine (down to zero) or plateau (halved when the loss stops falling)."""
    clusters: int = 0
    """Number of METIS parts; 0: the full graph is one batch."""
    batch_size: int = 1
    """METIS parts per batch; for a set of graphs, graphs per batch."""
    patience: int = 0
    """Epochs without improvement after which training stops; 0: never. Watched is the running mean of the loss, or the
    validation score in supervised training."""
    tol: float = 1e-3
    """The smallest relative decrease of the loss that counts as improvement."""
    save_every: int = 10
    """Epochs between checkpoints."""
    seed: int = 0
    """Seed of every random choice."""
    warmup: int = 0
    """Epochs of linear learning-rate warm-up."""
    time_limit: float = 0.0
    """Time limit in seconds; 0: none. Training stops at the end of an epoch, and schedules are compressed to fit.
    The result then depends on the speed of the machine."""
    optimizer: Literal["adamw", "adam", "sgd"] = "adamw"
    """adamw (weight decay apart from the loss), adam (weight decay as a penalty in the loss) or sgd (plain: without
    momentum)."""

    def __post_init__(self) -> None:
        try:
            check_choice("schedule", self.schedule, SCHEDULES)
            check_choice("optimizer", self.optimizer, tuple(OPTIMIZERS))
            least = {
                "epochs": 0,
                "clusters": 0,
                "batch_size": 1,
                "patience": 0,
                "save_every": 1,
                "seed": 0,
                "warmup": 0,
            }
            for name, low in least.items():
                check_int(name, getattr(self, name), low)
            check_number("lr", self.lr, 0, low_open=True)
            check_number("weight_decay", self.weight_decay, 0)
            check_number("tol", self.tol, 0, 1)
            check_number("time_limit", self.time_limit, 0)
        except ValueError as error:
            raise InputError(str(error)) from error


@dataclass
class History:
    """What was recorded during training."""

    epochs: list[dict[str, float]] = field(default_factory=list)
    """For each epoch, the mean of every loss term."""
    scores: list[float] = field(default_factory=list)
    """For each epoch, the validation score, if there is one."""
    observed: list[dict[str, float]] = field(default_factory=list)
    """What the method recorded in some epochs, with the epoch."""
    seconds: float = 0.0
    """Training time, summed over all resumed sessions."""
    stopped: str = ""
    """Why training stopped early, if it did."""


class _LossModule(nn.Module):
    """A method whose ``forward`` returns its losses, as DistributedDataParallel needs it."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = method

    def forward(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        return self.method.losses(batch, generator)


class TrainingState:
    """Everything that changes from epoch to epoch."""

    #: Numbers that a checkpoint holds as they are.
    NUMBERS = ("epoch", "running_loss", "best_loss", "epochs_without_improvement")

    def __init__(self, method: Method, settings: TrainSettings, context: Context) -> None:
        self.method, self.settings, self.distributed = method, settings, context.distributed
        self.losses = context.distributed.wrap(_LossModule(method))
        self.parameters = [p for p in method.parameters() if p.requires_grad]
        self.optimizer = OPTIMIZERS[settings.optimizer](
            self.parameters, lr=settings.lr, weight_decay=settings.weight_decay, fused=True
        )  # type: ignore[call-arg]
        # As in the released code: halved after two epochs without a lower loss, never below 1e-5.
        self.plateau = ReduceLROnPlateau(self.optimizer, factor=0.5, patience=2, min_lr=1e-5)
        self.generator = torch.Generator(context.device).manual_seed(settings.seed)
        self.history = History()
        self.epoch = 0
        self.schedule_epoch = 0.0  # ahead of `epoch` if the time limit ends training early
        self.running_loss = math.nan
        self.best_loss = math.inf  # the lowest running loss
        self.epochs_without_improvement = 0
        if settings.warmup:
            self._set_learning_rate()
        self.best_weights: dict[str, Tensor] = {}  # of the epoch with the best validation score

    def tensors(self) -> dict[str, Tensor]:
        """All tensors of the state."""
        tensors = {f"method.{name}": tensor for name, tensor in self.method.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best_weights.items()}
        return tensors | {"generator": self.generator.get_state()}

    def numbers(self) -> dict[str, Any]:
        """The rest of the state, as JSON."""
        plateau = {key: value for key, value in self.plateau.state_dict().items() if isinstance(value, int | float)}
        rates = [group["lr"] for group in self.optimizer.param_groups]
        numbers = {name: getattr(self, name) for name in self.NUMBERS}
        return numbers | {"history": asdict(self.history), "plateau": plateau, "learning_rates": rates}

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Restore a state that :meth:`tensors` and :meth:`numbers` returned."""
        self.method.load_state_dict(_with_prefix(tensors, "method."))
        state: dict[int, dict[str, Tensor]] = {}
        for key, value in _with_prefix(tensors, "optimizer.").items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = value
        self.optimizer.load_state_dict({"state": state, "param_groups": self.optimizer.state_dict()["param_groups"]})
        for group, rate in zip(self.optimizer.param_groups, numbers["learning_rates"], strict=True):
            group["lr"] = rate
        self.plateau.load_state_dict(numbers["plateau"])
        self.generator.set_state(tensors["generator"].cpu())
        self.best_weights = _with_prefix(tensors, "best.")
        self.history = History(**numbers["history"])
        for name in self.NUMBERS:
            setattr(self, name, numbers[name])
        self._set_schedule_epoch()

    def step(self, batch: Batch) -> dict[str, float]:
        """One optimiser step on a batch; returns the loss terms.

        Returns no terms if the batch teaches nothing: all its nodes look the same to the encoder, or none has a label.
        If a number is not finite, it is returned and the weights stay as they are.
        """
        try:
            terms = self.losses(batch, self.generator)
        except EqualRowsError:
            return {}
        except NotFiniteError:
            return {"output of a layer": math.nan}
        values = self.distributed.mean({name: term.item() for name, term in terms.items()})
        if not values or not all(map(math.isfinite, values.values())):
            return values
        self.optimizer.zero_grad(set_to_none=True)
        torch.stack(list(terms.values())).sum().backward()
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        if not math.isfinite(torch.nn.utils.get_total_norm(gradients).item()):
            return {"gradient": math.nan}
        self.optimizer.step()
        self.method.after_step(min(self.schedule_epoch / max(self.settings.epochs, 1), 1.0))
        return values

    def begin_epoch(self) -> None:
        """Seed the generators of all processes but the main one, whose generator is in the checkpoint."""
        if not self.distributed.is_main:
            numbers = (self.settings.seed, self.epoch, self.distributed.rank)
            self.generator.manual_seed(zlib.crc32(json.dumps(numbers).encode()))

    @property
    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return all(bool(torch.isfinite(parameter).all()) for parameter in self.parameters)

    def batches(self, data: Batch, parts: list[Tensor]) -> Iterator[tuple[Batch, int]]:
        """This process's batches of an epoch, each with the number of nodes that all processes have in it.

        Parts are shuffled, in the same order for all processes, and dealt out to them. A process may get none of the
        last batch.
        """
        if not parts:
            yield data, data.num_nodes
            return
        permutation = torch.randperm(len(parts), generator=self.generator, device=self.generator.device)
        order = self.distributed.broadcast(permutation).tolist()
        for start in range(0, len(parts), self.settings.batch_size):
            chosen = order[start : start + self.settings.batch_size]
            size = sum(len(parts[index]) for index in chosen)
            if size < 2:  # a single node explains nothing
                continue
            local = [parts[index] for index in chosen[self.distributed.rank :: self.distributed.num_processes]]
            nodes = torch.cat(local).sort().values if local else parts[0][:0]
            yield data.subgraph(nodes.to(data.x.device), renumber_graphs=True), size

    def score(self, data: Batch) -> float | None:
        """The method's validation score. All processes compute it together; the main process's value counts."""
        with shared_encoders(self.method, self.distributed.ranks):
            score = self.method.score(data)
        if self.distributed.num_processes == 1:
            return score
        score = self.distributed.broadcast_number(math.nan if score is None else score)
        return None if math.isnan(score) else score

    def end_epoch(self, terms: dict[str, float], score: float | None = None) -> None:
        """Record the epoch and set the next learning rate. An epoch without terms is not recorded."""
        self.epoch += 1
        if not terms:
            return
        self.history.epochs.append(terms)
        total = sum(terms.values())
        if math.isnan(self.running_loss):
            self.running_loss = total
        else:
            self.running_loss = MEMORY * self.running_loss + (1 - MEMORY) * total
        if score is not None:
            improved = not self.history.scores or score > max(self.history.scores)
            self.history.scores.append(score)
            if improved:
                self.best_weights = {name: tensor.clone() for name, tensor in self.method.state_dict().items()}
        else:
            threshold = self.best_loss * (1 - self.settings.tol)
            improved = self.running_loss < threshold or math.isinf(self.best_loss)
        if improved:
            self.best_loss, self.epochs_without_improvement = self.running_loss, 0
        else:
            self.epochs_without_improvement += 1
        if self.settings.schedule == "plateau":
            self.plateau.step(total)
        self._set_schedule_epoch()
        self._set_learning_rate()

    def _set_schedule_epoch(self) -> None:
        """With a time limit, schedules advance with the time that is spent, the same on all processes.

        A cosine schedule that is cut off half-way leaves worse weights than one compressed to the available time.
        """
        s = self.settings
        spent = (
            self.distributed.broadcast_number(min(self.history.seconds / s.time_limit, 1.0)) if s.time_limit else 0.0
        )
        self.schedule_epoch = max(float(self.epoch), s.epochs * spent)

    def _set_learning_rate(self) -> None:
        """Set the next epoch's learning rate, for schedules that do not depend on the loss."""
        s = self.settings
        factor = min((self.schedule_epoch + 1) / (s.warmup + 1), 1.0)
        if s.schedule == "cosine":
            done = max(self.schedule_epoch - s.warmup, 0) / max(s.epochs - s.warmup, 1)
            factor *= 0.5 * (1 + math.cos(math.pi * done))
        elif s.schedule == "plateau" or not s.warmup:
            return
        for group in self.optimizer.param_groups:
            group["lr"] = s.lr * factor

    @property
    def is_done(self) -> bool:
        """Whether training is over. The main process decides."""
        return bool(self.distributed.broadcast_number(float(self._is_done())))

    def _is_done(self) -> bool:
        s = self.settings
        if 0 < s.patience <= self.epochs_without_improvement:
            self.history.stopped = f"no improvement for {self.epochs_without_improvement} epochs"
            return True
        if 0 < s.time_limit <= self.history.seconds and self.epoch < s.epochs:
            self.history.stopped = f"the time limit of {s.time_limit:g} s was reached"
            return True
        return self.epoch >= s.epochs


def _with_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
