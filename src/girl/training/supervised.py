"""Learning labels with a deep GNN, plain or regularised: the paper's second use of the KR loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from rich.console import Console
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from girl.errors import InputError
from girl.kernel.checks import check_choice, check_int, check_number
from girl.kernel.distributed import Communicator
from girl.kernel.loss import RESIDUALS, KRLoss, Residual
from girl.methods.base import Batch, Method, Needs
from girl.methods.encoder_method import FLOAT, batch_bytes, encoder_bytes
from girl.methods.girl import PER_KERNEL
from girl.nn.classifier import Classifier, ClassifierSettings
from girl.nn.diagnosis import lost_shares
from girl.nn.regularizer import KRRegularizer
from girl.settings import plain
from girl.training.distributed import ALONE, World
from girl.training.loop import Resume, fit
from girl.training.memory import check_memory
from girl.training.recipe import changed
from girl.training.state import History, TrainSettings

Kind = Literal["none", "wd", "fa", "kr"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class RegularizerSettings:
    """What keeps a deep classifier from losing the labels on the way."""

    regularizer: Kind = "kr"
    """none; wd (weight decay); fa (the last message-passing layer is fully adjacent); kr (kernel regression)."""
    weight: float = 1.0
    """λ of kr."""
    decay: float = 1e-3
    """Weight decay of wd."""
    rank: int = 128
    """Features of the kernel."""
    residual: Residual = "insample"
    """Residuals: insample or loo (leave-one-out)."""
    form: Literal["square", "root"] = "square"
    """What is added: the mean square of the residuals (as the released code) or its root (as the paper's text)."""
    last: bool = False
    """Whether the last message-passing layer is regularised too."""
    watch: int = 0
    """Epochs between measurements of ρ̂(Y|H⁽ˡ⁾) of every layer on validation nodes, for `girl diagnose`; 0: none."""

    def __post_init__(self) -> None:
        try:
            check_choice("regularizer", self.regularizer, KINDS)
            check_choice("residual", self.residual, RESIDUALS)
            check_choice("form", self.form, ("square", "root"))
            check_number("weight", self.weight, 0)
            check_number("decay", self.decay, 0)
            check_int("rank", self.rank, 1)
            check_int("watch", self.watch, 0)
        except ValueError as error:
            raise InputError(str(error)) from error

    def kr_loss(self) -> KRLoss:
        """The estimator of ρ that these settings describe."""
        return KRLoss(features="fourier", rank=self.rank, residual=self.residual, root=self.form == "root")


#: Epochs, rate and patience of supervised training; the rest as in pretraining.
TRAINING = TrainSettings(epochs=200, lr=1e-3, patience=50)


@dataclass(frozen=True)
class SupervisedRecipe:
    """Model, regulariser and training of a supervised run."""

    model: ClassifierSettings = field(default_factory=ClassifierSettings)
    regularizer: RegularizerSettings = field(default_factory=RegularizerSettings)
    train: TrainSettings = TRAINING

    def settled(self) -> SupervisedRecipe:
        """With what the kind of regulariser means for the model and its training."""
        kind = self.regularizer.regularizer
        return replace(
            self,
            model=replace(self.model, adjacent=self.model.adjacent or kind == "fa"),
            train=replace(self.train, weight_decay=self.regularizer.decay if kind == "wd" else self.train.weight_decay),
        )

    def with_seed(self, seed: int) -> SupervisedRecipe:
        """The same with another seed."""
        return replace(self, train=replace(self.train, seed=seed))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Sections of plain values."""
        return {section.name: plain(getattr(self, section.name)) for section in fields(self)}

    def with_values(self, values: dict[str, Any], where: str = "recipe") -> SupervisedRecipe:
        """With other values: sections (``{"train": {"lr": 0.01}}``), or settings by their own unique names."""
        return changed(self, values, where)


@dataclass(frozen=True)
class Labels:
    """Who is what, and who may be learned from."""

    y: Tensor
    """Classes (n), or yes and no (n × c)."""
    train: Tensor
    """Nodes that are learned from."""
    val: Tensor
    """Nodes that tell when to stop."""
    classes: int
    measure: Callable[[Tensor, Tensor], float]
    """The score of logits (k × classes) of nodes with labels y (k, or k × c)."""

    @property
    def several(self) -> bool:
        """Whether a node has several labels."""
        return self.y.dim() == 2

    def score(self, logits: Tensor, nodes: Tensor) -> float:
        """The score of some nodes, from the logits of all."""
        return self.measure(logits[nodes].cpu(), self.y[nodes].cpu())


class SupervisedMethod(Method):
    """A classifier that learns labels: cross-entropy, and λ Σ_l ρ̂(Y|H⁽ˡ⁾) if it is regularised so.

    Args:
        inputs: columns of the features.
        labels: of the nodes of the training graph.
        recipe: what the classifier is and how it is regularised.
        scored: the graph that validation nodes are scored in, with its labels, if it is not the training graph.
    """

    def __init__(
        self,
        inputs: int,
        labels: Labels,
        recipe: SupervisedRecipe,
        scored: tuple[Batch, Labels] | None = None,
    ) -> None:
        super().__init__()
        self.labels, self.scored, self.watch = labels, scored, recipe.regularizer.watch
        self.model = Classifier(inputs, labels.classes, recipe.model)
        self._mask = torch.zeros(len(labels.y), dtype=torch.bool, device=labels.y.device)
        self._mask[labels.train] = True
        s = recipe.regularizer
        self.regularizer: KRRegularizer | None = None
        self._ranks: Communicator | None = None
        # A single layer is the last one: without `last` there is nothing to regularise.
        if s.regularizer == "kr" and (recipe.model.depth > 1 or s.last):
            classes = None if labels.several else labels.classes
            self.regularizer = KRRegularizer(
                self.model, weight=s.weight, loss=s.kr_loss(), last=s.last, classes=classes
            )

    def share(self, ranks: Communicator) -> None:
        """Cross-entropy and regulariser are those of all processes' training nodes."""
        self._ranks = ranks
        if self.regularizer is not None:
            self.regularizer.share(ranks)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Cross-entropy and the regulariser on the training nodes of a batch; a batch without any is passed over."""
        mask, y = batch.of(self._mask), batch.of(self.labels.y)
        known = total = int(mask.sum())
        if self._ranks is not None:
            total = self._ranks.total_rows(known, mask.device)
        if not total:
            return {}
        logits = self.model(batch.x, batch.graph, generator)[mask]
        # Averaged over processes, the sums' shares of all nodes make the mean over all nodes.
        how = "mean" if self._ranks is None else "sum"
        if self.labels.several:
            entropy = binary_cross_entropy_with_logits(logits, y[mask].float(), reduction=how)
            total *= y.shape[1]
        else:
            entropy = cross_entropy(logits, y[mask], reduction=how)
        found = {"cross-entropy": entropy if self._ranks is None else entropy * (self._ranks.world_size / total)}
        if self.regularizer is not None:
            found["KR"] = self.regularizer(y, mask, generator=generator)
        return found

    def needs(self, whole: Batch, nodes: int) -> Needs:
        """The layers with their masks, the kernel of each, and two layers of all nodes when they are scored."""
        s = self.model.settings
        step = encoder_bytes(s.encoder, whole, nodes) + batch_bytes(whole, nodes) + FLOAT * s.depth * s.hidden * nodes
        if self.regularizer is not None:
            step += FLOAT * PER_KERNEL * s.depth * self.regularizer.loss.rank * nodes
        scored = whole if self.scored is None else self.scored[0]
        return Needs(step=step, result=FLOAT * scored.size * (self.labels.classes + 3 * s.hidden))

    def score(self, whole: Batch) -> float | None:
        """The score on the validation nodes; None if there are none."""
        whole, labels = self.scored or (whole, self.labels)
        return labels.score(self.embed(whole), labels.val) if len(labels.val) else None

    def observe(self, whole: Batch, epoch: int) -> dict[str, float]:
        """The share of the validation nodes' labels that each layer has lost."""
        if not self.watch or (epoch % self.watch and epoch != 1):
            return {}
        whole, labels = self.scored or (whole, self.labels)
        shares = lost_shares(self.model.by_layer(whole.x, whole.graph), labels.y, labels.val)
        return {f"layer {index}": share for index, share in enumerate(shares, 1)}

    def embed(self, whole: Batch) -> Tensor:
        """Logits of all nodes (n × classes)."""
        return self.model.predict(whole.x, whole.graph)


def classifier(
    inputs: int,
    labels: Labels,
    recipe: SupervisedRecipe,
    device: torch.device | str = "cpu",
    scored: tuple[Batch, Labels] | None = None,
) -> SupervisedMethod:
    """The classifier before its first step: its weights depend on the seed only."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        method = SupervisedMethod(inputs, labels, recipe, scored)
    return method.to(device)


def learn(
    whole: Batch,
    labels: Labels,
    recipe: SupervisedRecipe,
    *,
    scored: tuple[Batch, Labels] | None = None,
    folder: Path | None = None,
    resume: Resume = "auto",
    about: dict[str, Any] | None = None,
    console: Console | None = None,
    world: World = ALONE,
) -> tuple[SupervisedMethod, History]:
    """Learn labels of a graph; the classifier has the weights of its best epoch on the validation nodes.

    Args:
        whole: the training graph.
        labels: of its nodes.
        recipe: model, regulariser and training.
        scored: the graph that validation nodes are scored in, with its labels, if it is not the training graph.
        folder: where checkpoints go.
        resume: go on where an interrupted run stopped, or start anew.
        about: what the run is.
        console: where progress is shown.
        world: the processes that share every batch.
    """
    recipe = recipe.settled()
    method = classifier(whole.x.shape[1], labels, recipe, whole.x.device, scored)
    check_memory(method, whole, recipe.train, world.here)
    history = fit(method, whole, recipe.train, folder=folder, resume=resume, about=about, console=console, world=world)
    return method, history
