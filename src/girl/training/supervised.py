"""Supervised training of a deep GNN, with or without KR regularisation: the paper's second use of the KR loss."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from girl.graph.batch import Batch
from girl.kernel.checks import check_choice, check_int, check_number
from girl.kernel.distributed import Communicator
from girl.kernel.loss import RESIDUALS, KRLoss, Residual
from girl.methods.base import Method
from girl.methods.memory import FLOAT, MemoryEstimate, batch_bytes, kernel_bytes, layer_bytes
from girl.nn.classifier import Classifier, ClassifierSettings
from girl.nn.diagnosis import unexplained_fractions
from girl.nn.regularizer import KRRegularizer
from girl.settings import plain
from girl.training.labels import Labels
from girl.training.recipe import replace_settings
from girl.training.state import TrainSettings

Kind = Literal["none", "weight_decay", "fully_adjacent", "kr"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class RegularizerSettings:
    """How a deep classifier is regularised."""

    regularizer: Kind = "kr"
    """none; weight_decay; fully_adjacent (the last message-passing layer is fully adjacent); kr (kernel regression)."""
    weight: float = 1.0
    """The weight λ of the KR term."""
    decay: float = 1e-3
    """The weight decay of wd."""
    rank: int = 128
    """Rank of the kernel features."""
    residual: Residual = "insample"
    """Residuals: insample or loo (leave-one-out)."""
    form: Literal["square", "root"] = "square"
    """The KR term: mean squared residual (as in the released code) or its root (as in the paper)."""
    last: bool = False
    """Whether the last message-passing layer is regularised too."""
    watch: int = 0
    """Measure ρ̂(Y|H⁽ˡ⁾) of every layer on validation nodes every this many epochs, for `girl diagnose`; 0: never."""

    def __post_init__(self) -> None:
        check_choice("regularizer", self.regularizer, KINDS)
        check_choice("residual", self.residual, RESIDUALS)
        check_choice("form", self.form, ("square", "root"))
        check_number("weight", self.weight, 0)
        check_number("decay", self.decay, 0)
        check_int("rank", self.rank, 1)
        check_int("watch", self.watch, 0)

    def kr_loss(self) -> KRLoss:
        """The KR loss that these settings describe."""
        return KRLoss(features="fourier", rank=self.rank, residual=self.residual, root=self.form == "root")


#: Defaults of supervised training that differ from pretraining.
TRAINING = TrainSettings(epochs=200, lr=1e-3, patience=50)


@dataclass(frozen=True)
class SupervisedRecipe:
    """Model, regulariser and training of a supervised run."""

    model: ClassifierSettings = field(default_factory=ClassifierSettings)
    regularizer: RegularizerSettings = field(default_factory=RegularizerSettings)
    train: TrainSettings = TRAINING

    def resolved(self) -> SupervisedRecipe:
        """The recipe with the regulariser's effect on the model (fully_adjacent) and on training (weight_decay)."""
        kind = self.regularizer.regularizer
        return replace(
            self,
            model=replace(self.model, fully_adjacent=self.model.fully_adjacent or kind == "fully_adjacent"),
            train=replace(
                self.train, weight_decay=self.regularizer.decay if kind == "weight_decay" else self.train.weight_decay
            ),
        )

    def with_seed(self, seed: int) -> SupervisedRecipe:
        """The recipe with another seed."""
        return replace(self, train=replace(self.train, seed=seed))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Sections of JSON values."""
        return {section.name: plain(getattr(self, section.name)) for section in fields(self)}

    def with_values(self, values: dict[str, Any], where: str = "recipe") -> SupervisedRecipe:
        """The recipe with other values: sections (``{"train": {"lr": 0.01}}``), or settings by their unique names."""
        return replace_settings(self, values, where)


class SupervisedMethod(Method):
    r"""A classifier trained by cross-entropy, plus :math:`\lambda\sum_l\hat\rho(Y|H^{(l)})` if KR regularises it.

    Args:
        inputs: columns of the features.
        labels: labels of the training graph's nodes.
        recipe: the classifier and its regulariser.
        validation: the graph and labels that validation uses, if they are not those of training (inductive data).
    """

    def __init__(
        self, inputs: int, labels: Labels, recipe: SupervisedRecipe, validation: tuple[Batch, Labels] | None = None
    ) -> None:
        super().__init__()
        self.labels, self.validation, self.watch = labels, validation, recipe.regularizer.watch
        self.model = Classifier(inputs, labels.classes, recipe.model)
        self._mask = torch.zeros(len(labels.y), dtype=torch.bool, device=labels.y.device)
        self._mask[labels.train] = True
        s = recipe.regularizer
        self.regularizer: KRRegularizer | None = None
        self._communicator: Communicator | None = None
        # A single layer is also the last one: without `last` there is nothing to regularise.
        if s.regularizer == "kr" and (recipe.model.depth > 1 or s.last):
            self.regularizer = KRRegularizer(
                self.model,
                weight=s.weight,
                loss=s.kr_loss(),
                last=s.last,
                classes=None if labels.multilabel else labels.classes,
            )

    @property
    def width(self) -> int:
        """The number of classes: a node's logits represent it."""
        return self.labels.classes

    def distribute(self, communicator: Communicator) -> None:
        """Use the training nodes of all processes as one batch."""
        self._communicator = communicator
        if self.regularizer is not None:
            self.regularizer.distribute(communicator)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Cross-entropy and KR on the batch's training nodes; no terms if it has none."""
        mask, y = batch.rows_of(self._mask), batch.rows_of(self.labels.y)
        count = total = int(mask.sum())
        if self._communicator is not None:
            total = self._communicator.total_rows(count, mask.device)
        if not total:
            return {}
        logits = self.model(batch.x, batch.graph, generator)[mask]
        # Gradients are averaged over processes, so each contributes (processes / total) times its own sum.
        reduction = "mean" if self._communicator is None else "sum"
        if self.labels.multilabel:
            entropy = binary_cross_entropy_with_logits(logits, y[mask].float(), reduction=reduction)
            total *= y.shape[1]
        else:
            entropy = cross_entropy(logits, y[mask], reduction=reduction)
        terms = {
            "cross-entropy": entropy
            if self._communicator is None
            else entropy * (self._communicator.world_size / total)
        }
        if self.regularizer is not None:
            terms["KR"] = self.regularizer(y, mask, generator=generator)
        return terms

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """Layers with dropout masks, a kernel for each, and two layers of all nodes when they are scored."""
        s = self.model.settings
        step = layer_bytes(s.encoder, data, batch_nodes) + batch_bytes(data, batch_nodes)
        step += FLOAT * s.depth * s.hidden * batch_nodes
        if self.regularizer is not None:
            step += s.depth * kernel_bytes(batch_nodes, self.regularizer.loss.rank)
        scored = data if self.validation is None else self.validation[0]
        return MemoryEstimate(step=step, embed=FLOAT * scored.num_nodes * (self.labels.classes + 3 * s.hidden))

    def score(self, data: Batch) -> float | None:
        """The score on the validation nodes; None if there are none."""
        data, labels = self.validation or (data, self.labels)
        return labels.score(self.embed(data), labels.val) if len(labels.val) else None

    def observe(self, data: Batch, epoch: int) -> dict[str, float]:
        """The share of the validation labels that each layer does not explain, every ``watch`` epochs."""
        if not self.watch or (epoch % self.watch and epoch != 1):
            return {}
        data, labels = self.validation or (data, self.labels)
        shares = unexplained_fractions(self.model.iter_layers(data.x, data.graph), labels.y, labels.val)
        return {f"layer {index}": share for index, share in enumerate(shares, 1)}

    def embed(self, data: Batch) -> Tensor:
        """Logits of all nodes (n × classes)."""
        return self.model.predict(data.x, data.graph)
