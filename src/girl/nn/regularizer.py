"""KR regularisation: one more term of the loss, for any model with message-passing layers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from girl.kernel.checks import EqualRowsError, NotFiniteError, check_int, check_number
from girl.kernel.distributed import Communicator
from girl.kernel.features import FrequencyCache
from girl.kernel.loss import KRLoss
from girl.nn.layer_outputs import LayerOutputs, message_passing_layers, named_layers


class KRRegularizer:
    r"""Keeps labels readable in every layer of a deep GNN: :math:`\lambda\sum_l\hat\rho(Y|H^{(l)})` on training nodes.

    One line in a training loop::

        regularizer = girl.KRRegularizer(model, weight=0.1)
        ...
        out = model(x, edge_index)
        loss = cross_entropy(out[mask], y[mask]) + regularizer(y, mask)

    Hooks collect the outputs :math:`H^{(l)}` of the message-passing layers while the model runs with gradients; the
    call uses them up. Under ``torch.no_grad()`` nothing is collected.

    The paper has two forms of the term. Its released supervised code takes the mean square and leaves out the last
    layer: ``loss=KRLoss(root=False, ...), last=False``, the default here. Its text takes the root and all layers:
    ``loss=KRLoss(...), last=True``.

    Args:
        model: any module. Its message-passing layers are those of torch_geometric (``MessagePassing``) and of girl.
        layers: parts of the model to regularise instead, by name (as in ``named_modules``) or as modules.
        weight: λ; may be changed at any time.
        loss: the estimator of ρ. By default of low rank, in-sample, the mean square: labels prevent the trivial optimum
            that in-sample residuals have without them. With no more training nodes than its rank the exact kernel is
            used: it costs less, and nothing is random.
        last: whether the last message-passing layer is regularised too; ``layers`` are regularised in any case.
        classes: the number of classes; by default one more than the largest label so far.
    """

    def __init__(
        self,
        model: nn.Module,
        layers: Sequence[str | nn.Module] | None = None,
        weight: float = 0.1,
        loss: KRLoss | None = None,
        *,
        last: bool = False,
        classes: int | None = None,
    ) -> None:
        check_number("weight", weight, 0)
        if classes is not None:
            check_int("classes", classes, 1)
        self.weight = weight
        self.loss = KRLoss(features="fourier", rank=128, residual="insample", root=False) if loss is None else loss
        self._exact = copy.copy(self.loss)
        self._exact.features = "exact"
        self.model, self.last, self.classes = model, last, classes
        self._num_classes = classes or 0
        inner = getattr(model, "_orig_mod", model)  # torch.compile wraps a module
        if self.loss.communicator is not None:
            self.distribute(self.loss.communicator)
        if layers is None:
            selected = message_passing_layers(inner)
            if not selected:
                raise ValueError(
                    f"model: the {type(model).__name__} has no message-passing layer; name the layers to regularise"
                )
            if not last:
                selected = dict(list(selected.items())[:-1])
            if not selected:
                raise ValueError(
                    "model: given one message-passing layer, expected several: the last is left out, unless last=True"
                )
        else:
            selected = named_layers(inner, layers)
            if not selected:
                raise ValueError("layers: given none, expected names or modules")
        self._outputs = LayerOutputs(inner, selected)

    def distribute(self, communicator: Communicator) -> None:
        """Treat the training nodes of all processes as one batch, as ``loss=KRLoss(group=...)`` does from the start."""
        self.loss.communicator = self._exact.communicator = communicator
        if self.classes is None:
            raise ValueError(
                "classes: given none with several processes, expected their number: batches differ in their labels"
            )

    @property
    def layers(self) -> list[str]:
        """The names of the layers that are regularised."""
        return list(self._outputs.names)

    def __call__(self, y: Tensor, mask: Tensor | None = None, *, generator: torch.Generator | None = None) -> Tensor:
        r"""λ Σ_l ρ̂(Y|H⁽ˡ⁾) of the model's latest run, a scalar.

        Args:
            y: labels of all nodes of the batch: classes (n, or n × 1), several labels (n × m, of 0 and 1), or numbers
                to be predicted (n or n × m, floating).
            mask: the training nodes, as a mask (n) or as indices; all if None. With fewer than two the term is 0.
            generator: the source of the estimator's randomness; by default torch's global generator.
        """
        terms = self.terms(y, mask, generator=generator)
        return self.weight * torch.stack(list(terms.values())).sum()

    def terms(
        self, y: Tensor, mask: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> dict[str, Tensor]:
        """ρ̂(Y|H⁽ˡ⁾) of each layer, without the weight."""
        outputs = self._outputs.take()
        if not outputs:
            raise RuntimeError(
                "KRRegularizer: no layer has run since the last call. Run the model first, with gradients enabled, and "
                "call the regulariser once for each run. Create it before a compiled model runs for the first time"
            )
        rows = _rows(mask, y)
        target = self._target(y if rows is None else y[rows])
        cache: FrequencyCache = {}
        return {
            name: torch.stack([self._term(name, h, rows, len(y), target, generator, cache) for h in runs]).mean()
            for name, runs in outputs.items()
        }

    def _target(self, y: Tensor) -> Tensor:
        """The labels as a matrix (n × m)."""
        if y.dim() == 2 and y.shape[1] == 1 and not y.is_floating_point():
            y = y.squeeze(1)
        if y.is_floating_point() or y.dim() == 2:
            return y.float() if y.dim() == 2 else y.float().unsqueeze(1)
        if y.dim() != 1:
            raise ValueError(f"y: given shape {tuple(y.shape)}, expected a label or a row of labels for each node")
        if y.numel():
            low, high = int(y.min()), int(y.max())
            if low < 0 or (self.classes is not None and high >= self.classes):
                wrong = low if low < 0 else high
                valid = "0 or more" if self.classes is None else f"0 to {self.classes - 1}"
                raise ValueError(f"y: given class {wrong}, expected {valid}; exclude unlabelled nodes by the mask")
            self._num_classes = max(self._num_classes, high + 1)
        return one_hot(y.long(), max(self._num_classes, 1)).float()

    def _term(
        self,
        name: str,
        h: Tensor,
        rows: Tensor | None,
        nodes: int,
        target: Tensor,
        generator: torch.Generator | None,
        cache: FrequencyCache,
    ) -> Tensor:
        h = h.flatten(1) if h.dim() > 2 else h
        if rows is None and len(h) != nodes:
            raise ValueError(f"layer {name!r}: puts out {len(h):,} rows, expected {nodes:,} as y has; give a mask")
        if rows is not None:
            # torch_geometric's trimmed layers put out the first nodes of a batch only.
            if len(h) != nodes and (len(h) > nodes or (len(rows) and int(rows.max()) >= len(h))):
                raise ValueError(
                    f"layer {name!r}: puts out {len(h):,} rows, expected {nodes:,} as y has: give the labels of all "
                    "nodes of the batch, and the training nodes by the mask"
                )
            # Faster than h[rows]: its backward is one index_add.
            h = h.index_select(0, rows.to(h.device))
        communicator = self.loss.communicator
        total = len(h) if communicator is None else communicator.total_rows(len(h), h.device)
        if total < 2:
            return h.flatten()[:0].float().sum()  # 0, with a gradient of zeros
        # In full precision even under autocast: sums over many nodes overflow or round badly in 16 bits.
        with torch.autocast(h.device.type, enabled=False):
            dtype = torch.float64 if h.dtype == torch.float64 else torch.float32
            loss = self._exact if total <= self.loss.rank else self.loss
            try:
                return loss(h.to(dtype), target.to(h.device, dtype), generator=generator, frequency_cache=cache)
            except EqualRowsError:
                # A collapsed layer explains nothing, and has no useful gradient.
                return _rho_of_nothing(target.to(h.device), self.loss) + h.flatten()[:0].float().sum()
            except NotFiniteError as error:
                raise NotFiniteError(f"layer {name!r}: not finite; lower the learning rate ({error})") from error

    def remove(self) -> None:
        """Remove the hooks from the model."""
        self._outputs.remove()

    def __enter__(self) -> KRRegularizer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    def __deepcopy__(self, memo: dict[int, Any]) -> KRRegularizer:
        """A regulariser of the copied model; if both are copied together, of that copy."""
        model = copy.deepcopy(self.model, memo)
        copied = KRRegularizer(
            model, self.layers, self.weight, copy.deepcopy(self.loss, memo), last=self.last, classes=self.classes
        )
        copied._num_classes = self._num_classes
        memo[id(self)] = copied
        return copied

    def __repr__(self) -> str:
        return f"KRRegularizer({', '.join(self.layers)}; weight={self.weight:g}, {self.loss})"


def _rows(mask: Tensor | None, y: Tensor) -> Tensor | None:
    """The training nodes as indices."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        if mask.shape != (len(y),):
            raise ValueError(f"mask: given shape {tuple(mask.shape)}, expected ({len(y)},), one for each label")
        rows = mask.nonzero().squeeze(1)
        return None if len(rows) == len(y) else rows
    if mask.dim() != 1 or mask.is_floating_point():
        raise ValueError(f"mask: given {mask.dtype} of shape {tuple(mask.shape)}, expected a mask or indices of nodes")
    return torch.where(mask < 0, mask + len(y), mask)  # negative indices count from the end


def _rho_of_nothing(target: Tensor, loss: KRLoss) -> Tensor:
    """ρ̂ if nothing is explained: the deviation of the target from its mean."""
    communicator = loss.communicator
    center = target.mean(0) if communicator is None else communicator.mean_row(target)
    powers = (target - center).abs().pow(loss.p)
    means = powers.mean(0) if communicator is None else communicator.mean_row(powers)
    return (means.pow(1 / loss.p) if loss.root else means).mean()
