r"""GIRL's default: bands of a graph, each with a scale that hidden columns and edges decide.

1. *Bands* (:mod:`girl.graph.bands`) are views of the graph: a node's own features, smoothed ones at several scales, its
   contrast to its neighbours, positions, roles, and others. One of them is learned: what a node's features share with
   those around it (:mod:`girl.graph.learned`).
2. *The judge* hides a quarter of the feature columns and of the edges (:mod:`girl.graph.hidden`), computes the bands of
   what is left, and learns the scales at which they explain the hidden part best, by leave-one-out kernel regression
   (:mod:`girl.kernel.scales`). No label is used.
3. The judge is noisy, so its scales are averaged with those that suit most graphs. Bands that explain nothing are left
   out, and so is the learned one if it explains less than the same band without learning.
4. The bands of the complete graph, at these scales, are reduced to ``dim`` columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from girl import store
from girl.errors import InputError
from girl.graph.bands import (
    BANDS,
    FREQUENCIES,
    FROM_FEATURES,
    LEARNED,
    PRIOR,
    STEPS,
    TELEPORTS,
    UNLEARNED,
    band_widths,
    flattening,
    iter_bands,
)
from girl.graph.batch import Batch
from girl.graph.feature_scaling import FeatureScaling
from girl.graph.hidden import TARGETS, HiddenTask, column_groups, hide
from girl.graph.joint_components import joint_directions
from girl.graph.learned import shared_directions
from girl.graph.positions import num_positions
from girl.graph.propagate import propagate
from girl.kernel.scales import LearnedScales, learn_by_both_kernels
from girl.methods.band_settings import check_bands
from girl.methods.base import Method
from girl.methods.choice import Choice
from girl.methods.memory import FLOAT, MemoryEstimate
from girl.nn.encoder import EncoderSettings

#: Columns that represent the features in each band, and fewer while bands are judged.
RANK, JUDGED_RANK = 256, 128
#: Columns of positions, at most, while bands are judged.
JUDGED_POSITIONS = 256
#: A band whose judged scale is below this fraction of the largest explains nothing: it is left out.
LEAST_SCALE = 0.03
#: A hidden part counts as explained if its share is larger than this many standard errors, and than this.
STANDARD_ERRORS, LEAST_SHARE = 2.0, 0.005
#: Components whose variance is below this fraction of the largest are rounding.
SMALLEST = 1e-9
#: Below this total variance a band is the same for all nodes.
CONSTANT = 1e-12


@dataclass(frozen=True)
class BandSettings:
    """Which bands a representation is put together from, and how."""

    dim: int = 256
    """Columns of an embedding."""
    bands: tuple[str, ...] = tuple(BANDS)
    """Which bands may be used: own, size, near, mid, far, mean, contrast, distribution, positions, roles, learned."""
    scales: tuple[float, ...] = ()
    """The scale of each band. Without, the judge chooses them: by how well hidden columns and edges are explained."""
    sharpen: float = 1.5
    """Exponent of the standard deviations of the final components. 1 leaves them as they are; a larger one gives the
    leading components more weight, so that a classifier needs fewer labels."""
    judge_rows: int = 900
    """Nodes at which the judge asks for the hidden parts."""
    judge_block: int = 300
    """The judge explains each node from this many others: about as many as a user may have labels for."""
    judge_repeats: int = 2
    """How often columns and edges are hidden anew; scales are averaged."""

    def __post_init__(self) -> None:
        check_bands(self, tuple(BANDS))


class BandMethod(Method):
    r"""Bands of a graph at the scales that explain hidden columns and edges best, reduced to ``dim`` columns.

    With bands :math:`B_k` (n × w), centred and scaled to a mean squared length of 1, and scales :math:`s_k`,

    .. math:: Z = [s_1B_1, s_2B_2, \dots]\,V\,\Lambda^{(\gamma-1)/2},

    where V holds the leading principal directions, Λ their variances (relative to the largest), and γ is ``sharpen``.

    Args:
        inputs: number of feature columns; 0 if there are none.
        encoder: only ``normalize`` and ``directed`` are used.
        settings: the bands.
    """

    directions: Tensor
    feature_mean: Tensor
    frequencies: Tensor
    learned_map: Tensor
    center: Tensor
    rotation: Tensor
    role_map: Tensor
    graph_print: Tensor
    fitted: Tensor

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: BandSettings) -> None:
        super().__init__()
        check_no_layers(encoder)
        self.settings, self.inputs = settings, inputs
        self.choice: Choice | None = None
        self._seed = 0
        self.scaling = FeatureScaling(inputs)
        rank = min(inputs, max(RANK, settings.dim))
        widths = [band_widths(rank, encoder.directed)[name] for name in settings.bands]
        ends = list(accumulate(widths))
        #: The rows of `rotation`, and the entries of `center`, that belong to each band.
        self.slices = {
            name: slice(end - width, end) for name, width, end in zip(settings.bands, widths, ends, strict=True)
        }
        buffers = {
            "directions": torch.zeros(inputs, rank),
            "feature_mean": torch.zeros(inputs),
            "frequencies": torch.zeros(rank, FREQUENCIES),
            "learned_map": torch.zeros(rank, rank),
            "center": torch.zeros(ends[-1]),
            "rotation": torch.zeros(ends[-1], settings.dim),
            "graph_print": torch.zeros(8, dtype=torch.uint8),
            "role_map": torch.zeros((band_widths(rank, encoder.directed)["roles"],) * 2),
            "fitted": torch.tensor(False),
        }
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)

    @property
    def width(self) -> int:
        """Columns of an embedding: ``dim``, or fewer if the graph does not have as many components."""
        return int(self.rotation.any(0).sum()) if self.fitted else self.settings.dim

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """A few bands at a time, and the columns that the final components are computed from."""
        positions = 3 * num_positions(data.num_nodes)
        bands = FLOAT * data.num_nodes * (7 * self.directions.shape[1] + positions + 2 * RANK)
        return MemoryEstimate(prepare=bands, embed=bands + 3 * FLOAT * data.num_nodes * self.settings.dim)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Nothing is trained by steps: the scales are learned when the method is prepared."""
        return {}

    @torch.no_grad()
    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Find the directions that represent the features."""
        if data.graph_id is not None:
            raise InputError(
                "method: bands given a set of graphs, expected one graph; sets have the method graph-bands"
            )
        self.role_map.zero_()
        self._seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
        if self.inputs:
            self._fit_features(data, generator)

    def choices(self) -> dict[str, Any]:
        """The choice of the judge."""
        return {} if self.choice is None else asdict(self.choice)

    def _choose(self, data: Batch) -> Choice:
        """The scales of the bands: those of the settings, or the judge's."""
        names = self._available(data)
        if not names:
            raise InputError(f"bands: given {', '.join(self.settings.bands)}, none of which this graph has")
        if not self.settings.scales:
            return self._judge(data, names, self._seed)
        given = dict(zip(self.settings.bands, self.settings.scales, strict=True))
        return Choice({name: given[name] for name in names}, {}, judged=True, groups=0)

    def _available(self, data: Batch) -> list[str]:
        """The bands that the graph has: none of features if there are none, or if they only name the nodes."""
        from_features = bool(self.inputs) and not data.x.is_ids
        names = [name for name in self.settings.bands if from_features or name not in FROM_FEATURES]
        has_edges = bool(data.graph.adjacency.values().numel())
        return names if has_edges else [name for name in names if name in ("own", "size")]

    def _fit_features(self, data: Batch, generator: torch.Generator) -> None:
        self.scaling.fit(data.x)
        x = self.scaling(data.x)
        directions, mean = joint_directions(x, data.graph, self.directions.shape[1], generator)
        self.directions.copy_(directions)
        self.feature_mean.copy_(mean)
        z = self._project(data)
        sample = torch.randperm(data.num_nodes, generator=generator, device=generator.device)[:1000]
        distance = 2 * z[sample].var(0, correction=0).sum()  # the mean squared distance of nodes
        noise = torch.randn(self.frequencies.shape, generator=generator, device=generator.device)
        self.frequencies.copy_(noise * (2 / distance.clamp(min=CONSTANT)).sqrt())
        if LEARNED in self.settings.bands:
            self.learned_map.copy_(self._fit_learned(data))

    def _fit_learned(self, data: Batch) -> Tensor:
        """The map of the learned band (rank × rank), from a graph or its visible part."""
        z = self._project(data)
        z -= z.mean(0)
        return shared_directions(z, propagate(data.graph.gcn, z, TELEPORTS[UNLEARNED], STEPS))

    def _project(self, data: Batch) -> Tensor:
        """The features in the directions that represent them, centred (n × rank)."""
        return (self.scaling(data.x) @ self.directions).sub_(self.feature_mean @ self.directions)

    def iter_bands(
        self,
        data: Batch,
        names: Collection[str],
        learned_map: Tensor | None = None,
        rank: int | None = None,
        most_positions: int | None = None,
    ) -> Iterator[tuple[str, Tensor]]:
        """Bands of a graph, one at a time (n × width).

        Args:
            data: the graph.
            names: which bands.
            learned_map: of the learned band; that of the training graph if not given.
            rank: columns that represent the features; all if not given.
            most_positions: columns of positions, at most.
        """
        n, device = data.num_nodes, data.graph.device
        z = learned = torch.zeros(n, 0, device=device)
        log_size = torch.zeros(n, device=device)
        if self.inputs and any(name in FROM_FEATURES for name in names):
            z = self._project(data)
            if LEARNED in names:
                learned = z @ (self.learned_map if learned_map is None else learned_map)[:, :rank]
            z = z[:, :rank]
            log_size = self.scaling.log_size(data.x)
        positions = min(num_positions(n), most_positions or n)
        for name, band in iter_bands(z, learned, log_size, self.frequencies[:rank], data.graph, names, positions):
            if name == "roles":
                if not bool(self.role_map.any()):  # the first roles that are computed decide
                    self.role_map.copy_(flattening(band))
                band = band @ self.role_map
            yield name, band

    def _judge(self, data: Batch, names: list[str], seed: int) -> Choice:
        """Learn the scales at which the bands of a part of the graph explain the hidden part."""
        features, groups = None, None
        if any(name in FROM_FEATURES for name in names):
            features, groups = self.scaling(data.x), column_groups(data)
        scales: list[dict[str, float]] = []
        shares: list[dict[str, float]] = []
        errors: list[dict[str, float]] = []
        for repeat in range(self.settings.judge_repeats):
            task = hide(data, features, groups, self.settings.judge_rows, seed + repeat)
            # A map of the complete graph has seen what is hidden: on a small graph it would explain it by heart.
            learned_map = self._fit_learned(task.visible) if LEARNED in names else None
            bands = self.iter_bands(task.visible, names, learned_map, JUDGED_RANK, JUDGED_POSITIONS)
            judged = {name: band[task.rows] for name, band in bands}
            judged = {name: band for name, band in judged.items() if varies(band)}
            if not task.targets or not judged:
                continue
            learned = self._learn(judged, task)
            scales.append(dict(zip(judged, learned.scales, strict=True)))
            shares.append(dict(zip(task.targets, learned.shares, strict=True)))
            errors.append(dict(zip(task.targets, learned.stderrs, strict=True)))
        return _choice(names, scales, shares, errors, 0 if groups is None else int(groups.max()) + 1)

    def _learn(self, bands: dict[str, Tensor], task: HiddenTask) -> LearnedScales:
        weights = [TARGETS[name] for name in task.targets]
        return learn_by_both_kernels(
            list(bands.values()), list(task.targets.values()), weights, self.settings.judge_block
        )

    @torch.no_grad()
    def finish(self, data: Batch) -> Tensor:
        """Choose the scales, find the final components of the bands at these scales, and return the embeddings."""
        self.choice = self._choose(data)
        self.graph_print.copy_(_graph_print(data))
        dim = self.settings.dim
        scales = {name: scale for name, scale in self.choice.scales.items() if scale}
        rows, factors, columns = [], [], []
        for name, band in self.iter_bands(data, list(scales)):
            if not varies(band):
                continue
            mean, variance = band.mean(0), band.var(0, correction=0)
            factor = scales[name] / float(variance.sum()) ** 0.5
            # Columns of little variance hardly change the leading components: the rest of the work is for 2 × dim.
            largest = variance.argsort(descending=True)[: 2 * dim]
            start = self.slices[name].start
            self.center[start : start + len(mean)] = mean
            rows.append(largest + start)
            factors.append(torch.full_like(mean[largest], factor))
            columns.append((band[:, largest] - mean[largest]) * factor)
        self.rotation.zero_()
        self.fitted.fill_(True)
        if not columns:  # nodes do not differ in anything
            self.rotation[0, 0] = 1.0
            return torch.zeros(data.num_nodes, 1, device=data.graph.device)
        joined = torch.cat(columns, 1)
        largest = joined.square().sum(0).argsort(descending=True)[: 2 * dim].sort().values
        joined = joined[:, largest]
        values, vectors = torch.linalg.eigh((joined.T @ joined).double())
        rank = min(dim, max(data.num_nodes - 1, 1))  # n centred rows have n - 1 directions; the rest is rounding
        values, vectors = values.flip(0)[:rank], vectors.flip(1)[:, :rank]
        large = values > SMALLEST * values[0]
        values, vectors = values[large], vectors[:, large]
        weights = (values / values[0]) ** ((self.settings.sharpen - 1) / 2)
        components = (vectors * weights / (values[0] / len(joined)).sqrt()).to(joined.dtype)
        selected, factor = torch.cat(rows)[largest], torch.cat(factors)[largest]
        self.rotation[selected, : components.shape[1]] = components * factor.unsqueeze(1)
        return joined @ components

    @torch.no_grad()
    def embed(self, data: Batch) -> Tensor:
        """The embeddings of all nodes of a graph. Positions in another graph mean nothing here: they are left out."""
        if not self.fitted:
            raise RuntimeError("BandMethod: not fitted; call finish(data) with the training graph first")
        out = torch.zeros(data.num_nodes, self.width, device=data.graph.device)
        names = [name for name, part in self.slices.items() if bool(self.rotation[part].any())]
        if not torch.equal(self.graph_print, _graph_print(data)):
            names = [name for name in names if name != "positions"]
        for name, band in self.iter_bands(data, names):
            start = self.slices[name].start
            part = slice(start, start + band.shape[1])  # a small graph has fewer positions
            out.addmm_(band - self.center[part], self.rotation[part, : self.width])
        return out


def _graph_print(data: Batch) -> Tensor:
    """A fingerprint of the edges, as 8 bytes."""
    adjacency = data.graph.adjacency
    parts = [adjacency.crow_indices(), adjacency.col_indices(), adjacency.values()]
    return torch.tensor(list(bytes.fromhex(store.fingerprint(*parts))), dtype=torch.uint8, device=data.x.device)


def _choice(
    names: Sequence[str],
    scales: Sequence[dict[str, float]],
    shares: Sequence[dict[str, float]],
    errors: Sequence[dict[str, float]],
    groups: int,
) -> Choice:
    """The choice from the scales and shares of several draws."""
    explained, stderr = mean_of(shares), mean_of(errors)
    if not any(share > max(STANDARD_ERRORS * stderr[name], LEAST_SHARE) for name, share in explained.items()):
        return Choice({name: PRIOR[name] for name in names}, explained, False, groups)
    return Choice(final_scales(dict.fromkeys(names, 0.0) | mean_of(scales)), explained, True, groups)


def final_scales(judged: dict[str, float]) -> dict[str, float]:
    r"""The scales of the bands from those that the judge found; the largest is 1.

    The judge sees a few hundred nodes and a part of the graph, so its scales :math:`s_k` are noisy. The final ones are
    the geometric mean of these and of :data:`girl.graph.bands.PRIOR`, :math:`\sqrt{p_ks_k}`: a scale that is wrong by a
    factor of four is then wrong by a factor of two.
    """
    largest = max(judged.values())
    kept = {name: scale for name, scale in judged.items() if scale >= LEAST_SCALE * largest}
    if kept.get(LEARNED, 0.0) < judged.get(UNLEARNED, 0.0):
        kept.pop(LEARNED, None)
    mean = {name: (PRIOR[name] * scale) ** 0.5 for name, scale in kept.items()}
    largest = max(mean.values())
    return {name: round(mean.get(name, 0.0) / largest, 4) for name in judged}


def check_no_layers(encoder: EncoderSettings) -> None:
    """Refuse settings of layers, which would do nothing here."""
    for item in fields(encoder):
        if item.name not in ("normalize", "directed") and getattr(encoder, item.name) != item.default:
            raise InputError(
                f"{item.name}: given for the default recipe, which has no message-passing layers; expected it together "
                "with another recipe, such as encoder"
            )


def varies(band: Tensor) -> bool:
    """Whether the rows of a band differ."""
    return float(band.var(0, correction=0).sum()) > CONSTANT


def mean_of(values: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each number over all dictionaries; one that is missing counts as 0."""
    names = list(dict.fromkeys(name for part in values for name in part))
    return {name: sum(part.get(name, 0.0) for part in values) / len(values) for name in names}
