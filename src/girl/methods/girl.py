"""GIRL: embeddings from which the features of a node and of its neighbourhood can be regressed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.subspace import BLOCK, columns_multiplied, principal_components
from girl.kernel.bandwidth import BANDWIDTHS
from girl.kernel.checks import check_bool, check_choice, check_int, check_number
from girl.kernel.distributed import Communicator
from girl.kernel.features import FEATURES
from girl.kernel.features import Features as KernelFeatures
from girl.kernel.loss import RESIDUALS, KRLoss, Residual
from girl.kernel.smoother import SMOOTHERS, SmootherName
from girl.kernel.sparse import csr, take_rows
from girl.methods.encoder_method import EncoderMethod
from girl.methods.memory import FLOAT, PER_COMPONENTS, MemoryEstimate, kernel_bytes
from girl.nn.encoder import EncoderSettings
from girl.settings import checking

Target = Literal["input", "neighbor", "mean", "features", "walk", "neighborhood", "smooth"]
TARGETS = get_args(Target)
#: Targets that depend on the features and the graph only: computed once.
FIXED = ("features", "neighborhood", "smooth")

#: Steps of personalised PageRank for the target "smooth": at teleport 0.1, what is cut off has a weight of 12 %.
SMOOTH_STEPS = 20


@dataclass(frozen=True)
class GIRLSettings:
    """What the layers explain, and how that is measured."""

    targets: tuple[Target, ...] = ("features", "smooth")
    """What a layer explains. Of the features: features (the node's own), walk (those at the end of a random walk),
    neighborhood (mean over the node and its neighbours), smooth (personalised PageRank). Of the layer's own input:
    input, neighbor (of one random neighbour), mean (over the neighbours)."""
    loss_at: Literal["last", "every"] = "last"
    """Which layers have a loss: the last, or every one."""
    mode: Literal["joint", "greedy"] = "joint"
    """Whether gradients pass from layer to layer (joint) or each layer is trained by its own loss only (greedy)."""
    target_rank: int = 256
    """Principal components that represent a target of fixed features; 0: all columns as they are."""
    whiten: float = 0.5
    """How far the columns of a target are brought to the same standard deviation: 0, not at all; 1, fully."""
    smoothing: float = 0.1
    """Teleport probability of the target "smooth": the smaller, the wider the neighbourhood."""
    walk_length: int = 2
    """Longest random walk of the target "walk"; lengths are drawn from 1 to this."""
    dropout: float = 0.5
    """Fraction of the features hidden from the encoder at each step."""
    edge_dropout: float = 0.0
    """Fraction of the edges hidden from the encoder at each step."""
    rows: int = 4096
    """Nodes drawn for the loss at each step; 0: all."""
    bandwidth: float | Literal["mean", "median"] = "mean"
    """Kernel width: mean or median of the squared distances, or a number."""
    kernel: KernelFeatures = "fourier"
    """How the kernel is represented: fourier, nystrom, exact or auto."""
    rank: int = 256
    """Features of the kernel on the low-rank paths."""
    smoother: SmootherName = "ridge"
    """Kernel smoother: ridge, clamp or projection."""
    strength: float | None = None
    """Strength of the smoother; by default 1e-3 for ridge, 1 for clamp, 1e-4 for projection."""
    residual: Residual = "loo"
    """Residuals: loo (leave-one-out) or insample."""
    reduction: Literal["mean", "sum"] = "mean"
    """How the terms of a layer's targets are combined: by their mean, or by their sum as in the paper."""
    target_scaling: Literal["unit", "none"] = "unit"
    """unit: the columns of a target are centred and scaled (see whiten). none: targets are used as they are."""
    detach_targets: bool = True
    """Whether gradients stop at targets that are layer outputs."""

    def __post_init__(self) -> None:
        with checking():
            if not self.targets:
                raise ValueError(f"targets: given none, expected one or more of {', '.join(TARGETS)}")
            for target in self.targets:
                check_choice("targets", target, TARGETS)
            check_choice("loss_at", self.loss_at, ("last", "every"))
            check_choice("mode", self.mode, ("joint", "greedy"))
            check_choice("kernel", self.kernel, FEATURES)
            check_choice("smoother", self.smoother, SMOOTHERS)
            check_choice("residual", self.residual, RESIDUALS)
            check_choice("reduction", self.reduction, ("mean", "sum"))
            check_choice("target_scaling", self.target_scaling, ("unit", "none"))
            check_bool("detach_targets", self.detach_targets)
            if isinstance(self.bandwidth, str):
                check_choice("bandwidth", self.bandwidth, BANDWIDTHS)
            for name, minimum in (("target_rank", 0), ("walk_length", 1), ("rows", 0), ("rank", 1)):
                check_int(name, getattr(self, name), minimum)
            check_number("smoothing", self.smoothing, 0, 1, low_open=True)
            check_number("dropout", self.dropout, 0, 1)
            if self.whiten != 1:
                check_number("whiten", self.whiten, 0, 1)
            check_number("edge_dropout", self.edge_dropout, 0, 1)
            self.kr_loss()  # checks its own numbers
        if self.mode == "greedy" and self.loss_at == "last":
            raise InputError(
                'loss_at: given "last" with mode "greedy", expected "every": layers below would not be trained'
            )
        if self.mode == "greedy" and not self.detach_targets:
            raise InputError(
                'detach_targets: given false with mode "greedy", expected true: it trains each layer alone'
            )

    def kr_loss(self) -> KRLoss:
        """The loss that these settings describe."""
        return KRLoss(self.bandwidth, self.kernel, self.rank, self.smoother, self.strength, self.residual)


class GIRLMethod(EncoderMethod):
    r"""GIRL: the outputs of an encoder's layers explain features, by the kernel-regression loss ρ̂.

    **Printed** (Algorithm 1 of the paper; the recipe ``paper``). Every layer explains its input and that of one
    neighbour, drawn uniformly for each node:

    .. math:: L = \sum_{l=1}^d \hat\rho(H^{(l-1)}|H^{(l)}) + \hat\rho(Z^{(l-1)}|H^{(l)}),

    a sum over layers and targets, with ρ̂ by orthogonal projection onto the image of the kernel matrix of all nodes.
    Targets are used as they are, gradients flow through layers and targets, and the optimizer is plain SGD.

    **Released** (the recipe ``released``). The authors' code clamps the eigenvalues in place of the projection,
    detaches targets, cuts gradients between layers (``mode="greedy"``), draws up to 2,048 edges for each step (here
    nodes, and a neighbour of each) and uses AdamW. ``released-1024``, in the tables, draws 1,024 nodes and standardises
    targets.

    **Added here** (the default). The last layer explains the features and their smoothed version while it sees only a
    part of them: it must find what a neighbourhood has in common, and cannot pass by copying. Residuals are
    leave-one-out, the kernel is of low rank, terms are averaged over targets. Targets are detached, centred and scaled,
    so that a term is the fraction of its target's standard deviation that is lost: 0, all is kept; 1, nothing.

    Each difference is a setting of its own: see :class:`GIRLSettings`.

    Args:
        inputs: number of feature columns.
        encoder: settings of the encoder.
        settings: settings of the objective.
    """

    passes = 1
    shares_prepared = True

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GIRLSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.kr = settings.kr_loss()
        self._fixed: dict[str, Tensor] = {}
        self._communicator: Communicator | None = None

    def distribute(self, communicator: Communicator) -> None:
        """The loss is that of all processes' rows together, ``rows`` in all."""
        self._communicator = self.kr.communicator = communicator

    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Compute the fixed targets, each by its principal components."""
        for target in self.settings.targets:
            if target in FIXED:
                self._fixed[target] = self._fixed_target(target, data, generator)
        super().prepare(data, generator)

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """The encoder's, the fixed targets, and the kernel of every layer that has a loss."""
        base, s = super().memory(data, batch_nodes), self.settings
        width = min(s.target_rank or data.x.shape[1], *data.x.shape)
        fixed = FLOAT * data.num_nodes * width
        propagated = FLOAT * data.num_nodes * data.x.shape[1] if self._propagates_first(data) else 0
        rows = min(s.rows or batch_nodes, batch_nodes)
        layers = self.encoder.settings.layers if s.loss_at == "every" else 1
        kernel = kernel_bytes(rows, s.rank, s.kernel == "exact")
        return replace(
            base,
            persistent=fixed * sum(target in FIXED for target in s.targets),
            prepare=max(base.prepare, PER_COMPONENTS * fixed + propagated),
            step=base.step + layers * (kernel + 2 * FLOAT * rows * width * len(s.targets)),
        )

    def prepared(self) -> dict[str, Tensor]:
        """The fixed targets, and the directions of the features' part."""
        return {**self._fixed, "directions": self.directions, "feature_mean": self.feature_mean}

    def load_prepared(self, tensors: dict[str, Tensor]) -> None:
        """Take the same from another process."""
        self._fixed = {name: tensor for name, tensor in tensors.items() if name in FIXED}
        self.directions.copy_(tensors["directions"])
        self.feature_mean.copy_(tensors["feature_mean"])

    def _fixed_target(self, target: str, data: Batch, generator: torch.Generator) -> Tensor:
        x, graph = data.x, data.graph
        n, d = x.shape

        def propagate(z: Tensor, transpose: bool = False) -> Tensor:
            match target:
                case "neighborhood":
                    return graph.with_self_loops.mean.t_matmul(z) if transpose else graph.with_self_loops.mean @ z
                case "smooth":
                    return graph.propagate(z, self.settings.smoothing, SMOOTH_STEPS, transpose=transpose)
                case _:
                    return z

        rank = self.settings.target_rank
        if not rank or (rank >= d and x.sparse is None):
            if target == "features" and x.sparse is not None and x.offset is None:
                return self._scale_sparse(x.sparse.tensor)
            return self._scale(propagate(x.dense()))
        components = partial(principal_components, shape=(n, d), rank=min(rank, n, d), generator=generator)
        if target != "features" and self._propagates_first(data):
            columns = torch.empty(n, d, device=x.device)
            for part, block in zip(columns.split(BLOCK, 1), x.dense().split(BLOCK, 1), strict=True):
                part.copy_(propagate(block))
            scores, _, _ = components(columns.__matmul__, columns.T.__matmul__)
        else:
            scores, _, _ = components(lambda w: propagate(x @ w), lambda z: x.t_matmul(propagate(z, transpose=True)))
        return self._scale(scores)

    def _propagates_first(self, data: Batch) -> bool:
        """Whether dense features are propagated once, and components computed from the result.

        Cheaper if they have fewer columns than the search for components would propagate in its iterations.
        """
        rank, d = self.settings.target_rank, data.x.shape[1]
        return data.x.sparse is None and rank < d <= columns_multiplied(rank)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """For each layer that has a loss, the sum or mean of ρ̂(target | layer) over its targets."""
        s = self.settings
        count = self.encoder.settings.layers
        nodes = torch.arange(batch.num_nodes, device=batch.x.device)
        sample = s.rows if self._communicator is None else -(-s.rows // self._communicator.world_size)
        if 0 < sample < batch.num_nodes:
            nodes = torch.randperm(batch.num_nodes, generator=generator, device=batch.x.device)[:sample]
        x = batch.x.dropout(s.dropout, generator)
        graph = batch.graph.drop_edges(s.edge_dropout, generator) if s.edge_dropout else batch.graph
        rows = nodes if len(nodes) < batch.num_nodes else None
        outputs = self.encoder(x, graph, rows, greedy=s.mode == "greedy")
        terms = {}
        for layer in range(count) if s.loss_at == "every" else [count - 1]:
            output = outputs[layer] if layer == count - 1 or rows is None else outputs[layer][rows]
            targets = [self._target(t, layer, outputs, nodes, batch, generator) for t in s.targets]
            total = self.kr(output, *targets, generator=generator)
            terms[f"layer {layer + 1}"] = total if s.reduction == "sum" else total / len(targets)
        return terms

    def _target(
        self, target: Target, layer: int, outputs: list[Tensor], nodes: Tensor, batch: Batch, generator: torch.Generator
    ) -> Tensor:
        if target in FIXED:
            fixed = self._fixed[target]
            index = nodes if batch.node_id is None else batch.node_id[nodes]
            return fixed[index] if fixed.layout == torch.strided else take_rows(fixed, index)
        graph = batch.graph
        if target == "walk":
            longest = self.settings.walk_length
            for _ in range(int(torch.randint(1, longest + 1, (), generator=generator, device=generator.device))):
                nodes = graph.sample_neighbors(nodes, generator)
            return self._scale(batch.x.dense(nodes))
        if target == "neighbor":
            nodes = graph.sample_neighbors(nodes, generator)
        if layer:
            h = outputs[layer - 1].detach() if self.settings.detach_targets else outputs[layer - 1]
            h = graph.mean.rows(nodes) @ h if target == "mean" else h[nodes]
        else:
            h = batch.x.aggregate(graph.mean.rows(nodes)) if target == "mean" else batch.x.dense(nodes)
        return self._scale(h)

    def _scale(self, target: Tensor) -> Tensor:
        """Centred, and scaled so that ρ̂ is 1 if nothing is explained: the mean of the standard deviations is 1.

        With ``target_scaling="none"``: as it is.
        """
        if self.settings.target_scaling == "none":
            return target
        mean = partial(torch.mean, dim=0) if self._communicator is None else self._communicator.mean_row
        target = target - mean(target)
        return target * _factors(mean(target.square()).sqrt(), self.settings.whiten)

    def _scale_sparse(self, target: Tensor) -> Tensor:
        """The same for a CSR target. It is not centred: its zeros must stay zero."""
        if self.settings.target_scaling == "none":
            return target
        n, d = target.shape
        squares = torch.zeros(d, device=target.device).index_add_(0, target.col_indices(), target.values().square())
        factors = _factors((squares / n).sqrt(), self.settings.whiten)
        values = target.values() * factors[target.col_indices()]
        return csr(target.crow_indices(), target.col_indices(), values, (n, d))


def _factors(std: Tensor, whiten: float) -> Tensor:
    """Factors that turn standard deviations s into s^(1 - whiten), divided by the mean of these."""
    varies = std > 1e-6 * std.max()  # a constant column has nothing to explain: its factor is 0
    factor = torch.where(varies, std.clamp(min=1e-30) ** -whiten, 0.0)
    return factor / (factor * std).mean().clamp(min=1e-30)
