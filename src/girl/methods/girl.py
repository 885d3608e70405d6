r"""GIRL: representations that explain the features of a node and of its surroundings, by kernel regression."""

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
from girl.kernel.checks import check_choice, check_int, check_number
from girl.kernel.distributed import Communicator
from girl.kernel.features import FEATURES
from girl.kernel.features import Features as KernelFeatures
from girl.kernel.loss import RESIDUALS, KRLoss, Residual
from girl.kernel.smoother import SMOOTHERS, SmootherName
from girl.kernel.sparse import csr, take_rows
from girl.methods.base import Needs
from girl.methods.encoder_method import FLOAT, PER_COMPONENTS, EncoderMethod
from girl.nn.encoder import EncoderSettings

Target = Literal["input", "neighbour", "mean", "features", "walk", "around", "smooth"]
TARGETS = get_args(Target)
#: Targets that depend on the features and the graph only: computed once.
FIXED = ("features", "around", "smooth")

#: Power iterations of the smoothed features: at teleport 0.1, what is left out weighs 12 %, and is smoother still.
SMOOTH_STEPS = 20

#: Matrices of rows × rank that a kernel and the way back through it hold, about.
PER_KERNEL = 3


@dataclass(frozen=True)
class GIRLSettings:
    """What the representations have to explain, and how that is measured."""

    targets: tuple[Target, ...] = ("features", "smooth")
    """What a layer explains. Of the features: features (the node's own), walk (those at the end of a random walk),
    around (mean over the node and its neighbours), smooth (personalised PageRank). Of the layer's own input: input,
    neighbour (of one random neighbour), mean (over the neighbours)."""
    at: Literal["last", "every"] = "last"
    """Which layers explain: the last, or every one."""
    mode: Literal["joint", "greedy"] = "joint"
    """Whether gradients pass from layer to layer (joint) or are cut (greedy)."""
    target_rank: int = 256
    """Principal components that stand for a target of fixed features; 0: all columns as they are."""
    whiten: float = 0.5
    """How far a target's columns are brought to the same spread: 0, each keeps its own; 1, all count the same."""
    smoothing: float = 0.1
    """Teleport probability of the target "smooth": the smaller, the farther it looks."""
    walk: int = 2
    """Longest random walk of the target "walk"; lengths are drawn from 1 to this."""
    dropout: float = 0.5
    """Share of the features hidden from the encoder at each step."""
    edge_dropout: float = 0.0
    """Share of the edges hidden from the encoder at each step."""
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

    def __post_init__(self) -> None:
        try:
            if not self.targets:
                raise ValueError(f"targets: given none, expected one or more of {', '.join(TARGETS)}")
            for target in self.targets:
                check_choice("targets", target, TARGETS)
            check_choice("at", self.at, ("last", "every"))
            check_choice("mode", self.mode, ("joint", "greedy"))
            check_choice("kernel", self.kernel, FEATURES)
            check_choice("smoother", self.smoother, SMOOTHERS)
            check_choice("residual", self.residual, RESIDUALS)
            if isinstance(self.bandwidth, str):
                check_choice("bandwidth", self.bandwidth, BANDWIDTHS)
            check_int("target_rank", self.target_rank, 0)
            check_int("walk", self.walk, 1)
            check_int("rows", self.rows, 0)
            check_int("rank", self.rank, 1)
            check_number("smoothing", self.smoothing, 0, 1, low_open=True)
            check_number("dropout", self.dropout, 0, 1)
            if self.whiten != 1:
                check_number("whiten", self.whiten, 0, 1)
            check_number("edge_dropout", self.edge_dropout, 0, 1)
            self.kr_loss()  # it checks its own numbers
        except ValueError as error:
            raise InputError(str(error)) from error
        if self.mode == "greedy" and self.at == "last":
            raise InputError('at: given "last" with mode "greedy", expected "every": layers below would not be trained')

    def kr_loss(self) -> KRLoss:
        """The loss that these settings describe."""
        return KRLoss(self.bandwidth, self.kernel, self.rank, self.smoother, self.strength, self.residual)


class GIRLMethod(EncoderMethod):
    r"""GIRL: the layers of an encoder explain features, by the kernel-regression loss ρ̂.

    The paper's objective lets every layer explain its input and that of one random in-neighbour,

    .. math:: L = \sum_{l=1}^d \hat\rho(H^{(l-1)}|H^{(l)}) + \hat\rho(Z^{(l-1)}|H^{(l)}),

    that is ``targets=("input", "neighbour"), at="every"``. By default the last layer explains the features themselves
    and their smoothed version, seeing the features only in part: what it must find is what a node's surroundings have
    in common, and no layer can pass by keeping everything.

    Targets are detached and scaled so that a term reads as the share of the target's spread that is lost: 0, all kept;
    1, nothing.

    Args:
        inputs: columns of the features.
        encoder: what the encoder is made of.
        settings: what it explains.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GIRLSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.kr = settings.kr_loss()
        self._fixed: dict[str, Tensor] = {}
        self._ranks: Communicator | None = None

    def share(self, ranks: Communicator) -> None:
        """The loss is that of all processes' rows; as many are drawn on each that they are as many together."""
        self._ranks = self.kr.communicator = ranks

    def prepare(self, whole: Batch, generator: torch.Generator) -> None:
        """The targets that do not change, each by its principal components."""
        for target in self.settings.targets:
            if target in FIXED:
                self._fixed[target] = self._fixed_target(target, whole, generator)
        super().prepare(whole, generator)

    passes = 1

    def needs(self, whole: Batch, nodes: int) -> Needs:
        """Beside the encoder's: the targets that are prepared, and the kernel of every layer that explains."""
        base, s = super().needs(whole, nodes), self.settings
        width = min(s.target_rank or whole.x.shape[1], *whole.x.shape)
        fixed = FLOAT * whole.num_nodes * width
        written = FLOAT * whole.num_nodes * whole.x.shape[1] if self._written_out(whole) else 0
        rows = min(s.rows or nodes, nodes)
        kernels = self.encoder.settings.layers if s.at == "every" else 1
        exact = s.kernel == "exact"
        kernel = 4 * FLOAT * PER_KERNEL * rows**2 if exact else FLOAT * PER_KERNEL * rows * s.rank
        return replace(
            base,
            kept=fixed * sum(target in FIXED for target in s.targets),
            preparing=max(base.preparing, PER_COMPONENTS * fixed + written),
            step=base.step + kernels * (kernel + 2 * FLOAT * rows * width * len(s.targets)),
        )

    hands_over = True

    def prepared(self) -> dict[str, Tensor]:
        """The targets, and the directions of the features' part."""
        return {**self._fixed, "directions": self.directions, "feature_mean": self.feature_mean}

    def take_prepared(self, tensors: dict[str, Tensor]) -> None:
        """The same of another process."""
        self._fixed = {name: tensor for name, tensor in tensors.items() if name in FIXED}
        self.directions.copy_(tensors["directions"])
        self.feature_mean.copy_(tensors["feature_mean"])

    def _fixed_target(self, target: str, whole: Batch, generator: torch.Generator) -> Tensor:
        x, graph = whole.x, whole.graph
        n, d = x.shape

        def surroundings(z: Tensor, transpose: bool = False) -> Tensor:
            match target:
                case "around":
                    return graph.with_self_loops.mean.t_matmul(z) if transpose else graph.with_self_loops.mean @ z
                case "smooth":
                    return graph.propagate(z, self.settings.smoothing, SMOOTH_STEPS, transpose=transpose)
                case _:
                    return z

        rank = self.settings.target_rank
        if not rank or (rank >= d and x.sparse is None):
            if target == "features" and x.sparse is not None and x.offset is None:
                return _scaled_sparse(x.sparse.tensor, self.settings.whiten)
            return _scaled(surroundings(x.dense()), self.settings.whiten)
        components = partial(principal_components, shape=(n, d), rank=min(rank, n, d), generator=generator)
        if target != "features" and self._written_out(whole):
            found = torch.empty(n, d, device=x.device)
            for part, block in zip(found.split(BLOCK, 1), x.dense().split(BLOCK, 1), strict=True):
                part.copy_(surroundings(block))
            scores, _, _ = components(found.__matmul__, found.T.__matmul__)
        else:
            scores, _, _ = components(
                lambda w: surroundings(x @ w), lambda z: x.t_matmul(surroundings(z, transpose=True))
            )
        return _scaled(scores, self.settings.whiten)

    def _written_out(self, whole: Batch) -> bool:
        """Whether the surroundings of all features are computed, and then their components.

        Fewer columns of dense features go through the graph once than to and fro while components are looked for.
        """
        rank, d = self.settings.target_rank, whole.x.shape[1]
        return whole.x.sparse is None and rank < d <= columns_multiplied(rank)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """ρ̂ of each explaining layer, the mean over its targets."""
        s = self.settings
        count = self.encoder.settings.layers
        nodes = torch.arange(batch.num_nodes, device=batch.x.device)
        most = s.rows if self._ranks is None else -(-s.rows // self._ranks.world_size)
        if 0 < most < batch.num_nodes:
            nodes = torch.randperm(batch.num_nodes, generator=generator, device=batch.x.device)[:most]
        seen = batch.x.dropout(s.dropout, generator)
        graph = batch.graph.drop_edges(s.edge_dropout, generator) if s.edge_dropout else batch.graph
        rows = nodes if len(nodes) < batch.num_nodes else None
        outputs = self.encoder(seen, graph, rows, greedy=s.mode == "greedy")
        found = {}
        for layer in range(count) if s.at == "every" else [count - 1]:
            output = outputs[layer] if layer == count - 1 or rows is None else outputs[layer][rows]
            targets = [self._target(t, layer, outputs, nodes, batch, generator) for t in s.targets]
            found[f"layer {layer + 1}"] = self.kr(output, *targets, generator=generator) / len(targets)
        return found

    def _target(
        self, target: Target, layer: int, outputs: list[Tensor], nodes: Tensor, batch: Batch, generator: torch.Generator
    ) -> Tensor:
        if target in FIXED:
            whole = self._fixed[target]
            return _take(whole, nodes if batch.node_id is None else batch.node_id[nodes])
        graph = batch.graph
        if target == "walk":
            steps = int(torch.randint(1, self.settings.walk + 1, (), generator=generator, device=generator.device))
            for _ in range(steps):
                nodes = graph.sample_neighbors(nodes, generator)
            return _scaled(batch.x.dense(nodes), self.settings.whiten, self._ranks)
        if target == "neighbour":
            nodes = graph.sample_neighbors(nodes, generator)
        if layer:
            below = outputs[layer - 1].detach()
            below = graph.mean.rows(nodes) @ below if target == "mean" else below[nodes]
        else:
            below = batch.x.aggregate(graph.mean.rows(nodes)) if target == "mean" else batch.x.dense(nodes)
        return _scaled(below, self.settings.whiten, self._ranks)


def _take(whole: Tensor, nodes: Tensor) -> Tensor:
    return whole[nodes] if whole.layout == torch.strided else take_rows(whole, nodes)


def _scaled(target: Tensor, whiten: float, ranks: Communicator | None = None) -> Tensor:
    """Centred, and scaled so that ρ̂ is 1 when nothing is explained: the columns' spreads have mean 1."""
    mean = _mean if ranks is None else ranks.mean_row
    target = target - mean(target)
    return target * _scales(mean(target.square()).sqrt(), whiten)


def _mean(target: Tensor) -> Tensor:
    return target.mean(0)


def _scaled_sparse(target: Tensor, whiten: float) -> Tensor:
    """The same for a CSR target, whose zeros must stay zero: it is not centred."""
    n, d = target.shape
    squares = torch.zeros(d, device=target.device).index_add_(0, target.col_indices(), target.values().square())
    scale = _scales((squares / n).sqrt(), whiten)
    return csr(target.crow_indices(), target.col_indices(), target.values() * scale[target.col_indices()], (n, d))


def _scales(spread: Tensor, whiten: float) -> Tensor:
    """Factors that turn the columns' spreads into their power 1 - whiten, divided by the mean of those."""
    known = spread > 1e-6 * spread.max()  # a constant column has nothing to explain: it stays as it is
    factor = torch.where(known, spread.clamp(min=1e-30) ** -whiten, 0.0)
    return factor / (factor * spread).mean().clamp(min=1e-30)
