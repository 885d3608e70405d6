r"""GIRL's default for sets of graphs: bands of a whole graph, each with a scale that hidden regions decide.

1. *Bands* (:mod:`girl.graph.set_bands`) are views of a graph that need no training: its size, the distribution of its
   nodes' features and surroundings, its roles, and Weisfeiler-Lehman colours.
2. *The judge* hides half of each graph (:mod:`girl.graph.hidden_region`), computes the bands of the visible half, and
   learns the scales at which they explain the hidden half best, by leave-one-out kernel regression
   (:mod:`girl.kernel.scales`): each graph from other graphs. No label is used.
3. The bands of the complete graphs, at these scales, are reduced to ``dim`` columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.hidden_region import hide_regions, sample_graphs
from girl.graph.set_bands import FROM_FEATURES, SET_BANDS, SET_TARGETS, SetBands
from girl.graph.subspace import principal_directions
from girl.kernel.scales import LearnedScales, learn_scales
from girl.kernel.sparse import SparseMatrix
from girl.methods.band_settings import check_bands
from girl.methods.bands import check_no_layers, mean_of, varies
from girl.methods.base import Method
from girl.methods.choice import Choice
from girl.methods.memory import FLOAT, MemoryEstimate
from girl.nn.encoder import EncoderSettings

#: A band whose scale is below this fraction of the largest is left out.
LEAST_SCALE = 0.05
#: Components whose variance is below this fraction of the largest are rounding.
SMALLEST = 1e-9
#: Below this total variance a band is the same for all graphs.
CONSTANT = 1e-12
#: Principal components that represent a hidden region.
COMPONENTS = 128
#: An embedding has a column for at least so many graphs, unless it has no more than so many columns.
GRAPHS_PER_COLUMN, FEW_COLUMNS = 4, 32
#: A share is added to this before its logarithm is taken. It is lower than for nodes, as less can be explained.
FLOOR = 0.03
#: A hidden region of which less than this is explained has no say.
LEAST_SHARE = 0.015
#: Fewer graphs than this are not judged.
MIN_GRAPHS = 10


@dataclass(frozen=True)
class GraphBandSettings:
    """Which bands the representation of a graph is put together from, and how."""

    dim: int = 512
    """Columns of an embedding, at most; a set of n graphs has at most n / 4, or 32."""
    bands: tuple[str, ...] = tuple(SET_BANDS)
    """Which bands may be used: size, bag, roles, hop0 to hop3, colors0 to colors4."""
    scales: tuple[float, ...] = ()
    """The scale of each band. Without, the judge chooses them: by how well hidden regions are explained."""
    sharpen: float = 1.0
    """Exponent of the standard deviations of the final components. 1 leaves them as they are; a larger one gives the
    leading components more weight, so that a classifier needs fewer labels."""
    judge_rows: int = 900
    """Graphs that the judge asks about."""
    judge_block: int = 900
    """The judge explains each graph from this many others. Usually most graphs of a set have labels, so it is large."""
    judge_repeats: int = 3
    """How often regions are hidden anew; scales are averaged."""

    def __post_init__(self) -> None:
        check_bands(self, tuple(SET_BANDS))


class GraphBandMethod(Method):
    r"""Bands of each graph at the scales that explain hidden regions best, reduced to ``dim`` columns.

    With bands :math:`B_k` (graphs × w), centred and scaled to a mean squared length of 1, and scales :math:`s_k`,

    .. math:: Z = [s_1B_1, s_2B_2, \dots]\,V\,\Lambda^{(\gamma-1)/2},

    where V holds the leading principal directions, Λ their variances (relative to the largest), and γ is ``sharpen``.

    Args:
        inputs: number of feature columns; 0 if there are none.
        encoder: only ``normalize`` and ``directed`` are used.
        settings: the bands.
    """

    offset: Tensor
    rotation: Tensor
    fitted: Tensor

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GraphBandSettings) -> None:
        super().__init__()
        check_no_layers(encoder)
        self.settings, self.inputs = settings, inputs
        self.choice: Choice | None = None
        self._seed = 0
        self.bands = SetBands(inputs)
        widths = [self.bands.widths[name] for name in settings.bands]
        #: The rows of `rotation` that belong to each band.
        self.slices = {
            name: slice(end - width, end)
            for name, width, end in zip(settings.bands, widths, accumulate(widths), strict=True)
        }
        self.register_buffer("rotation", torch.zeros(sum(widths), settings.dim))
        self.register_buffer("offset", torch.zeros(settings.dim))
        self.register_buffer("fitted", torch.tensor(False))

    @property
    def width(self) -> int:
        """Columns of an embedding: ``dim``, or fewer if the set does not have as many components."""
        return max(int(self.rotation.any(0).sum()), 1) if self.fitted else self.settings.dim

    def memory(self, data: Batch, batch_nodes: int) -> MemoryEstimate:
        """The kernel features of all nodes at one hop, and the bands of all graphs."""
        bands = FLOAT * (4 * data.num_nodes * self.bands.widths["hop0"] + data.num_graphs * len(self.rotation))
        return MemoryEstimate(prepare=bands, embed=bands + 3 * FLOAT * data.num_graphs * self.settings.dim)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Nothing is trained by steps: the scales are learned at the end."""
        return {}

    @torch.no_grad()
    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Learn how features are scaled and compared."""
        if data.graph_id is None:
            raise InputError("method: graph-bands given one graph, expected a set of graphs; one graph has bands")
        self._seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
        self.bands.fit(data, generator)

    def choices(self) -> dict[str, Any]:
        """The choice of the judge."""
        return {} if self.choice is None else asdict(self.choice)

    def _choose(self, data: Batch) -> Choice:
        """The scales of the bands: those of the settings, or the judge's."""
        from_features = bool(self.inputs) and not data.x.is_ids
        names = [name for name in self.settings.bands if from_features or name not in FROM_FEATURES]
        if not names:
            raise InputError(f"bands: given {', '.join(self.settings.bands)}, none of which this set has")
        if not self.settings.scales:
            return self._judge(data, names)
        given = dict(zip(self.settings.bands, self.settings.scales, strict=True))
        return Choice({name: given[name] for name in names}, {}, judged=True, groups=0, unit="graph")

    def _judge(self, data: Batch, names: list[str]) -> Choice:
        """Learn the scales at which the bands of a region of each graph explain the hidden one."""
        scales: list[dict[str, float]] = []
        shares: list[dict[str, float]] = []
        for repeat in range(self.settings.judge_repeats):
            task = self._task(data, names, self._seed + repeat)
            if task is None:
                continue
            parts, targets = task
            learned = self._learn(parts, targets)
            known = {name: targets[name] for name, s in zip(targets, learned.shares, strict=True) if s > LEAST_SHARE}
            if 0 < len(known) < len(targets):  # what nothing explains has no say
                targets, learned = known, self._learn(parts, known)
            scales.append(dict(zip(parts, learned.scales, strict=True)))
            shares.append(dict.fromkeys(task[1], 0.0) | dict(zip(targets, learned.shares, strict=True)))
        explained = mean_of(shares)
        if not any(share > LEAST_SHARE for share in explained.values()):
            return Choice(dict.fromkeys(names, 1.0), explained, judged=False, groups=0, unit="graph")
        mean = dict.fromkeys(names, 0.0) | mean_of(scales)
        largest = max(mean.values())
        kept = {name: round(s / largest, 4) if s >= LEAST_SCALE * largest else 0.0 for name, s in mean.items()}
        return Choice(kept, explained, judged=True, groups=0, unit="graph")

    def _learn(self, parts: dict[str, Tensor], targets: dict[str, Tensor]) -> LearnedScales:
        weights = [SET_TARGETS[name] for name in targets]
        rows, hidden = list(parts.values()), list(targets.values())
        return learn_scales(rows, hidden, weights, self.settings.judge_block, floor=FLOOR)

    def _task(self, data: Batch, names: list[str], seed: int) -> tuple[dict[str, Tensor], dict[str, Tensor]] | None:
        """Bands of the visible regions and, as targets, some of those of the hidden ones; None if nothing varies."""
        generator = torch.Generator().manual_seed(seed)
        part = sample_graphs(data, self.settings.judge_rows, generator)
        if part.num_graphs < MIN_GRAPHS:
            return None
        # In many sets the graphs of a class follow each other: blocks must be mixed.
        order = torch.randperm(part.num_graphs, generator=generator).to(data.graph.device)
        visible, hidden = hide_regions(part, generator)
        parts = {name: _dense(band)[order] for name, band in self.bands.iter_bands(visible, names)}
        parts = {name: band for name, band in parts.items() if varies(band)}
        described = {name: _dense(band)[order] for name, band in self.bands.iter_bands(hidden, list(SET_TARGETS))}
        # Rows of length 1: what a region is made of, not how large it is, which the size of the other half says.
        described = {name: torch.nn.functional.normalize(band) for name, band in described.items()}
        targets = {name: _components(band) for name, band in described.items() if varies(band)}
        return (parts, targets) if parts and targets else None

    @torch.no_grad()
    def finish(self, data: Batch) -> Tensor:
        """Choose the scales, find the final components of the bands at these scales, and return the embeddings."""
        self.choice = self._choose(data)
        scales = {name: scale for name, scale in self.choice.scales.items() if scale}
        blocks: dict[str, Tensor | SparseMatrix] = {}
        factors = {}
        for name, band in self.bands.iter_bands(data, list(scales)):
            variance = _total_variance(band)
            if variance > CONSTANT:
                blocks[name] = band if band.layout == torch.strided else SparseMatrix(band)
                factors[name] = scales[name] / variance**0.5
        self.rotation.zero_()
        self.offset.zero_()
        self.fitted.fill_(True)
        if not blocks:  # graphs do not differ in anything
            return torch.zeros(data.num_graphs, 1, device=data.graph.device)
        parts = list(_consecutive([block.shape[1] for block in blocks.values()]))
        columns = parts[-1].stop

        def product(w: Tensor) -> Tensor:
            terms = [(b @ w[p]).mul_(factors[name]) for (name, b), p in zip(blocks.items(), parts, strict=True)]
            return torch.stack(terms).sum(0)

        def t_product(z: Tensor) -> Tensor:
            terms = [
                (b.T @ z if isinstance(b, Tensor) else b.t_matmul(z)) * factors[name] for name, b in blocks.items()
            ]
            return torch.cat(terms)

        # Later components would be estimated from too few graphs: they are noise.
        enough = max(data.num_graphs // GRAPHS_PER_COLUMN, FEW_COLUMNS)
        rank = min(self.settings.dim, enough, data.num_graphs, columns)
        generator = torch.Generator(data.graph.device).manual_seed(self._seed)
        directions, mean = principal_directions(product, t_product, (data.num_graphs, columns), rank, generator)
        scores = product(directions).sub_(mean @ directions)
        variances = scores.double().square().mean(0)
        varies = variances > SMALLEST * variances.max()
        weights = (variances / variances.max()) ** ((self.settings.sharpen - 1) / 2) / variances.max().sqrt()
        directions = (directions.double() * weights)[:, varies].to(directions.dtype)
        for name, part in zip(blocks, parts, strict=True):
            self.rotation[self.slices[name], : directions.shape[1]] = directions[part] * factors[name]
        self.offset[: directions.shape[1]] = mean @ directions
        return self._project(blocks, data)

    def _project(self, blocks: dict[str, Tensor | SparseMatrix], data: Batch) -> Tensor:
        out = -self.offset[: self.width].repeat(data.num_graphs, 1)
        for name, block in blocks.items():
            out += block @ self.rotation[self.slices[name], : self.width]
        return out

    @torch.no_grad()
    def embed(self, data: Batch) -> Tensor:
        """The embeddings of all graphs of a set (num_graphs × k)."""
        if not self.fitted:
            raise RuntimeError("GraphBandMethod: not fitted; call finish(data) with the training set first")
        if data.graph_id is None:
            raise InputError("data: given one graph, expected a set of graphs, as the model was trained on")
        names = [name for name, part in self.slices.items() if bool(self.rotation[part].any())]
        blocks = {
            name: band if band.layout == torch.strided else SparseMatrix(band)
            for name, band in self.bands.iter_bands(data, names)
        }
        return self._project(blocks, data)


def _consecutive(widths: Sequence[int]) -> list[slice]:
    return [slice(end - width, end) for width, end in zip(widths, accumulate(widths), strict=True)]


def _dense(band: Tensor) -> Tensor:
    return band if band.layout == torch.strided else band.to_dense()


def _total_variance(band: Tensor) -> float:
    """The sum of the variances of the columns, dense or CSR."""
    if band.layout == torch.strided:
        return float(band.var(0, correction=0).sum())
    n = band.shape[0]
    mean = torch.zeros(band.shape[1], device=band.device).index_add_(0, band.col_indices().long(), band.values()) / n
    return float(band.values().square().sum() / n - mean.square().sum())


def _components(band: Tensor) -> Tensor:
    """The principal components (m × at most 128) of the rows."""
    rows = band.double() - band.double().mean(0)
    values, vectors = torch.linalg.eigh(rows @ rows.T)
    values, vectors = values[-COMPONENTS:], vectors[:, -COMPONENTS:]
    return (vectors * values.clamp(min=0).sqrt()).float()
