"""KR regularisation: one further term of the loss, for any module of message-passing layers."""

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
from girl.nn.layer_outputs import LayerOutputs, message_passing, named_layers


class KRRegularizer:
    r"""Keeps labels readable in every layer of a deep GNN: :math:`\lambda\sum_l\hat\rho(Y|H^{(l)})` on training nodes.

    One line in a training loop::

        regularizer = girl.KRRegularizer(model, weight=0.1)
        ...
        out = model(x, edge_index)
        loss = cross_entropy(out[mask], y[mask]) + regularizer(y, mask)

    The outputs :math:`H^{(l)}` of the message-passing layers are collected by hooks while the model runs with
    gradients; the call takes them, and nothing is kept after it. Under ``torch.no_grad()`` nothing is collected.

    The paper has two forms of the term. Its released supervised code takes the mean square and leaves the last layer
    out: ``loss=KRLoss(root=False, ...), last=False``, the default here. Its text takes the root and all layers:
    ``loss=KRLoss(...), last=True``.

    Args:
        model: any module. Message-passing layers are torch_geometric's ``MessagePassing`` and this package's own.
        layers: parts of the model to regularise instead, by name (as in ``named_modules``) or as modules.
        weight: λ; may be changed at any time.
        loss: the estimator of ρ; by default of low rank, in-sample, the mean square: labels keep it from the trivial
            optimum that in-sample residuals have without them. With no more training nodes than its rank the kernel is
            taken in full: that costs less, and nothing is random.
        last: whether the last of the layers found is regularised too; layers that were given all are.
        classes: the number of classes; by default the most that labels have shown so far.
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
        self._most = classes or 0
        inner = getattr(model, "_orig_mod", model)  # torch.compile wraps a module
        if self.loss.communicator is not None:
            self.share(self.loss.communicator)
        if layers is None:
            found = message_passing(inner)
            if not found:
                raise ValueError(
                    f"model: the {type(model).__name__} has no message-passing layer; name the layers to regularise"
                )
            if not last:
                found = dict(list(found.items())[:-1])
            if not found:
                raise ValueError(
                    "model: given one message-passing layer, expected several: the last is left out, unless last=True"
                )
        else:
            found = named_layers(inner, layers)
            if not found:
                raise ValueError("layers: given none, expected names or modules")
        self._outputs = LayerOutputs(inner, found)

    def share(self, ranks: Communicator) -> None:
        """Take the training nodes of all processes as one batch, as ``loss=KRLoss(group=...)`` does from the start."""
        self.loss.communicator = self._exact.communicator = ranks
        if self.classes is None:
            raise ValueError("classes: given none with several processes, expected their number: batches differ in it")

    @property
    def layers(self) -> list[str]:
        """The names of the layers that are regularised."""
        return list(self._outputs.names)

    def __call__(self, y: Tensor, mask: Tensor | None = None, *, generator: torch.Generator | None = None) -> Tensor:
        r"""λ Σ_l ρ̂(Y|H⁽ˡ⁾) of the model's latest run, a scalar.

        Args:
            y: labels of all nodes of the batch: classes (n, or n × 1), several labels (n × m, of 0 and 1), or numbers
                to be predicted (n or n × m, floating).
            mask: the training nodes, as a mask (n) or as indices; all if None. Fewer than two explain nothing: 0.
            generator: the source of the estimator's random choices; by default torch's own.
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
                "call the regulariser once for each run. A compiled model must not have run before the regulariser was "
                "made"
            )
        rows = _rows(mask, y)
        target = self._target(y if rows is None else y[rows])
        found = {}
        drawn: FrequencyCache = {}
        for name, runs in outputs.items():
            parts = [self._term(name, h, rows, len(y), target, generator, drawn) for h in runs]
            found[name] = torch.stack(parts).mean()
        return found

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
                bad = low if low < 0 else high
                most = "0 or more" if self.classes is None else f"0 to {self.classes - 1}"
                raise ValueError(f"y: given class {bad}, expected {most}; leave nodes without a label out by the mask")
            self._most = max(self._most, high + 1)
        return one_hot(y.long(), max(self._most, 1)).float()

    def _term(
        self,
        name: str,
        h: Tensor,
        rows: Tensor | None,
        nodes: int,
        target: Tensor,
        generator: torch.Generator | None,
        drawn: FrequencyCache,
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
            # Its way back adds rows, where that of h[rows] must expect any places.
            h = h.index_select(0, rows.to(h.device))
        ranks = self.loss.communicator
        total = len(h) if ranks is None else ranks.total_rows(len(h), h.device)
        if total < 2:
            return h.flatten()[:0].float().sum()  # 0, with a gradient of zeros
        # Whatever runs in half precision around it: sums over many nodes are not for sixteen bits.
        with torch.autocast(h.device.type, enabled=False):
            dtype = torch.float64 if h.dtype == torch.float64 else torch.float32
            loss = self._exact if total <= self.loss.rank else self.loss
            try:
                return loss(h.to(dtype), target.to(h.device, dtype), generator=generator, frequency_cache=drawn)
            except EqualRowsError:
                # A layer that has collapsed explains nothing, and no direction is better than another.
                return _spread(target.to(h.device), self.loss) + h.flatten()[:0].float().sum()
            except NotFiniteError as error:
                raise NotFiniteError(f"layer {name!r}: not finite; lower the learning rate ({error})") from error

    def remove(self) -> None:
        """Take the hooks off the model."""
        self._outputs.remove()

    def __enter__(self) -> KRRegularizer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.remove()

    def __deepcopy__(self, memo: dict[int, Any]) -> KRRegularizer:
        """The same for the copy of the model; copied together with the model, for that copy."""
        model = copy.deepcopy(self.model, memo)
        made = KRRegularizer(
            model, self.layers, self.weight, copy.deepcopy(self.loss, memo), last=self.last, classes=self.classes
        )
        made._most = self._most
        memo[id(self)] = made
        return made

    def __repr__(self) -> str:
        return f"KRRegularizer({', '.join(self.layers)}; weight={self.weight:g}, {self.loss})"


def _rows(mask: Tensor | None, y: Tensor) -> Tensor | None:
    """The training nodes as indices."""
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        if mask.shape != (len(y),):
            raise ValueError(f"mask: given shape {tuple(mask.shape)}, expected ({len(y)},), one for each label")
        found = mask.nonzero().squeeze(1)
        return None if len(found) == len(y) else found
    if mask.dim() != 1 or mask.is_floating_point():
        raise ValueError(f"mask: given {mask.dtype} of shape {tuple(mask.shape)}, expected a mask or indices of nodes")
    return torch.where(mask < 0, mask + len(y), mask)  # counted from the end, as everywhere


def _spread(target: Tensor, loss: KRLoss) -> Tensor:
    """ρ̂ where nothing is explained: the size of the target around its mean."""
    ranks = loss.communicator
    center = target.mean(0) if ranks is None else ranks.mean_row(target)
    sizes = (target - center).abs().pow(loss.p)
    means = sizes.mean(0) if ranks is None else ranks.mean_row(sizes)
    return (means.pow(1 / loss.p) if loss.root else means).mean()
