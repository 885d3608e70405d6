r"""GIRL's default: bands of a graph, each with a scale that hidden columns and edges decide.

1. *Bands* (:mod:`girl.graph.bands`) are views of the graph that need no training: a node's own features, smoothed ones
   at several scales, its contrast to its neighbours, positions, roles, and others.
2. *The judge* hides a quarter of the feature columns and of the edges (:mod:`girl.graph.hidden`), computes the bands of
   what is left, and learns the scales at which they explain the hidden part best, by leave-one-out kernel regression
   (:mod:`girl.kernel.scales`). No label is used.
3. *The learned part* (:mod:`girl.methods.learned`) predicts the hidden part from the bands. It is a band as well,
   and is left out if the judge does not find that it explains more than the others alone.
4. The bands of the complete graph, at these scales, are reduced to ``dim`` columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.bands import BANDS, FREQUENCIES, FROM_FEATURES, LEARNED, band_widths, flattening, iter_bands
from girl.graph.batch import Batch
from girl.graph.feature_scaling import FeatureScaling
from girl.graph.hidden import TARGETS, HiddenTask, column_groups, hidden_targets, hide
from girl.graph.joint_components import joint_directions
from girl.graph.node_features import NodeFeatures
from girl.kernel.scales import LearnedScales, learn_by_both_kernels
from girl.methods.band_settings import check_bands
from girl.methods.base import Method
from girl.methods.choice import Choice
from girl.methods.learned import LEAST_ROWS, MAX_ROWS, LearnedPart
from girl.methods.memory import FLOAT, MemoryEstimate
from girl.nn.encoder import EncoderSettings

#: Columns that represent the features in each band, and fewer while bands are judged.
RANK, JUDGED_RANK = 256, 128
#: A band whose scale is below this fraction of the largest is left out.
LEAST_SCALE = 0.05
#: The learned part is used if it raises the judge's score by this much: about 3 % more of everything is explained.
LEAST_GAIN = 0.03
#: A share counts as explained if it is larger than this many standard errors.
STANDARD_ERRORS = 2.0
#: If hidden columns can be explained, a node's own features have at least this scale. The judge sees few nodes at a
#: time; with more labels than that, own features say more.
LEAST_OWN = 0.5
#: Bands that mean the same in another graph and with other hidden parts, so that what is learned from them carries
#: over. Positions do not, and kernel features depend on the number of columns.
TRANSFERABLE = ("own", "size", "near", "mid", "far", "mean", "contrast", "roles")
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
    center: Tensor
    rotation: Tensor
    role_map: Tensor
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
            "center": torch.zeros(ends[-1]),
            "rotation": torch.zeros(ends[-1], settings.dim),
            "role_map": torch.zeros((band_widths(rank, encoder.directed)["roles"],) * 2),
            "fitted": torch.tensor(False),
        }
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)
        self.learned = LearnedPart(
            {name: width for name, width in zip(settings.bands, widths, strict=True) if name in TRANSFERABLE}
        )

    @property
    def width(self) -> int:
        """Columns of an embedding: ``dim``, or fewer if the graph does not have as many components."""
        return int(self.rotation.any(0).sum()) if self.fitted else self.settings.dim

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """A few bands at a time, and the columns that the final components are computed from."""
        bands = FLOAT * data.num_nodes * (7 * self.directions.shape[1] + 4 * RANK)
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
        scales = {name: given[name] for name in names}
        if scales.get(LEARNED):
            features = self.scaling(data.x)
            task = hide(data, features, column_groups(data), self.settings.judge_rows, self._seed)
            rows = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(self._seed))[:MAX_ROWS]
            bands = {name: band[rows] for name, band in self._judged_bands(task, names)}
            if task.visible_columns is None or not self._fit_learned(task, features, rows, bands, scales):
                scales[LEARNED] = 0.0
        return Choice(scales, {}, judged=True, groups=0)

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
        sample = torch.randperm(data.num_nodes, generator=generator, device=generator.device)[:1000]
        distance = 2 * (x.rows(sample) @ directions).var(0, correction=0).sum()  # the mean squared distance of nodes
        noise = torch.randn(self.frequencies.shape, generator=generator, device=generator.device)
        self.frequencies.copy_(noise * (2 / distance.clamp(min=CONSTANT)).sqrt())

    def iter_bands(self, data: Batch, names: Sequence[str], rank: int | None = None) -> Iterator[tuple[str, Tensor]]:
        """Bands of a graph, one at a time (n × width), from the first ``rank`` directions of its features."""
        n, device = data.num_nodes, data.graph.device
        z, log_size = torch.zeros(n, 0, device=device), torch.zeros(n, device=device)
        if self.inputs and any(name in FROM_FEATURES for name in names):
            directions = self.directions[:, :rank]
            z = (self.scaling(data.x) @ directions).sub_(self.feature_mean @ directions)
            log_size = self.scaling.log_size(data.x)
        inputs = self.learned.inputs if LEARNED in names else []
        angles: Tensor | None = None
        for name, band in iter_bands(z, log_size, self.frequencies[:rank], data.graph, {*names, *inputs}):
            if name == "roles":
                if not bool(self.role_map.any()):  # the first roles that are computed decide
                    self.role_map.copy_(flattening(band))
                band = band @ self.role_map
            if name in inputs:
                part = self.learned.angles(name, band)
                angles = part if angles is None else angles.add_(part)
            if name in names:
                yield name, band
        if angles is not None:
            yield LEARNED, self.learned(angles)

    def _judged_bands(self, task: HiddenTask, names: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
        return self.iter_bands(task.visible, [name for name in names if name != LEARNED], JUDGED_RANK)

    def _judge(self, data: Batch, names: list[str], seed: int) -> Choice:
        """Learn the scales at which the bands of a part of the graph explain the hidden part."""
        features, groups = None, None
        if any(name in FROM_FEATURES for name in names):
            features, groups = self.scaling(data.x), column_groups(data)
        rows, repeats = self.settings.judge_rows, self.settings.judge_repeats
        tasks = [hide(data, features, groups, rows, seed + repeat) for repeat in range(repeats)]
        scales: list[dict[str, float]] = []
        shares: list[dict[str, float]] = []
        errors: list[dict[str, float]] = []
        gain: float | None = None
        for index, task in enumerate(tasks):
            # The learned part is fitted in the first draw, and judged in the last at rows that it was not fitted to.
            # It explains hidden columns: if there are too few to hide some, there is nothing to learn from.
            fitted = index == 0 and task.visible_columns is not None and LEARNED in names
            extra = _other_rows(tasks[-1].rows, data.num_nodes, seed) if fitted else task.rows[:0]
            chosen, count = torch.cat([task.rows, extra]), len(task.rows)
            bands = {name: band[chosen] for name, band in self._judged_bands(task, names)}
            judged = {name: band[:count] for name, band in bands.items() if varies(band[:count])}
            if not task.targets or not judged:
                continue
            learned = self._learn(judged, task)
            if fitted and features is not None:
                others = {name: band[count:] for name, band in bands.items()}
                self._fit_learned(task, features, extra, others, dict(zip(judged, learned.scales, strict=True)))
            if index == repeats - 1 and self.learned.inputs:
                angles = torch.stack([self.learned.angles(name, bands[name][:count]) for name in self.learned.inputs])
                with_learned = self._learn({**judged, LEARNED: self.learned(angles.sum(0))}, task)
                gain = with_learned.score - learned.score
                if gain > LEAST_GAIN:
                    judged, learned = {**judged, LEARNED: angles[0]}, with_learned
            scales.append(dict(zip(judged, learned.scales, strict=True)))
            shares.append(dict(zip(task.targets, learned.shares, strict=True)))
            errors.append(dict(zip(task.targets, learned.stderrs, strict=True)))
        return _choice(names, scales, shares, errors, gain, 0 if groups is None else int(groups.max()) + 1)

    def _learn(self, bands: dict[str, Tensor], task: HiddenTask) -> LearnedScales:
        weights = [TARGETS[name] for name in task.targets]
        return learn_by_both_kernels(
            list(bands.values()), list(task.targets.values()), weights, self.settings.judge_block
        )

    def _fit_learned(
        self,
        task: HiddenTask,
        features: NodeFeatures,
        rows: Tensor,
        bands: dict[str, Tensor],
        scales: dict[str, float],
    ) -> bool:
        """Fit the learned part to rows of the bands, if there are enough; say whether it was."""
        if len(rows) < LEAST_ROWS:
            return False
        target = hidden_targets(task, features, rows, self._seed)
        self.learned.fit(bands, scales, target, torch.Generator(rows.device).manual_seed(self._seed))
        return bool(self.learned.inputs)

    @torch.no_grad()
    def finish(self, data: Batch) -> Tensor:
        """Choose the scales, find the final components of the bands at these scales, and return the embeddings."""
        self.choice = self._choose(data)
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
            self.center[self.slices[name]] = mean
            rows.append(largest + self.slices[name].start)
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
        values, vectors = values.flip(0)[:dim], vectors.flip(1)[:, :dim]
        large = values > SMALLEST * values[0]
        values, vectors = values[large], vectors[:, large]
        weights = (values / values[0]) ** ((self.settings.sharpen - 1) / 2)
        components = (vectors * weights / (values[0] / len(joined)).sqrt()).to(joined.dtype)
        selected, factor = torch.cat(rows)[largest], torch.cat(factors)[largest]
        self.rotation[selected, : components.shape[1]] = components * factor.unsqueeze(1)
        return joined @ components

    @torch.no_grad()
    def embed(self, data: Batch) -> Tensor:
        """The embeddings of all nodes of a graph. Positions in another graph mean nothing in this one: they are 0."""
        if not self.fitted:
            raise RuntimeError("BandMethod: not fitted; call finish(data) with the training graph first")
        out = torch.zeros(data.num_nodes, self.width, device=data.graph.device)
        names = [name for name, part in self.slices.items() if bool(self.rotation[part].any())]
        for name, band in self.iter_bands(data, names):
            part = self.slices[name]
            out.addmm_(band - self.center[part], self.rotation[part, : self.width])
        return out


def _choice(
    names: Sequence[str],
    scales: Sequence[dict[str, float]],
    shares: Sequence[dict[str, float]],
    errors: Sequence[dict[str, float]],
    gain: float | None,
    groups: int,
) -> Choice:
    """The choice from the scales and shares of several draws."""
    explained, stderr = mean_of(shares), mean_of(errors)
    certain = {name for name, share in explained.items() if share > STANDARD_ERRORS * stderr[name]}
    if not certain:
        return Choice({name: float(name != LEARNED) for name in names}, explained, False, groups, gain)
    mean = dict.fromkeys(names, 0.0) | mean_of(scales)
    if LEARNED in names:
        mean[LEARNED] = scales[-1].get(LEARNED, 0.0)  # it is tried in the last draw only
    largest = max(mean.values())
    kept = {name: round(s / largest, 4) if s >= LEAST_SCALE * largest else 0.0 for name, s in mean.items()}
    if "columns" in certain and "own" in kept:
        kept["own"] = max(kept["own"], LEAST_OWN)
    return Choice(kept, explained, True, groups, gain)


def _other_rows(rows: Tensor, n: int, seed: int) -> Tensor:
    """Rows, at random, that are not among ``rows``."""
    mask = torch.ones(n, dtype=torch.bool)
    mask[rows.cpu()] = False
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return order[mask[order]][:MAX_ROWS].to(rows.device)


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
