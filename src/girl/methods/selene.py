"""SELENE: what a node has and how it is placed, in two channels that are learned apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.kernel.checks import check_choice, check_int, check_number
from girl.kernel.sparse import to_scipy
from girl.methods.augment import drawn, view
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings

Structure = Literal["shells", "walks", "spectrum", "features"]
STRUCTURES = get_args(Structure)

#: Hops that the surroundings of a node reach, and eigenvectors of the spectrum.
REACH, SPECTRUM = 3, 32


@dataclass(frozen=True)
class SELENESettings:
    """What the channels see, and how wide they are."""

    structure: tuple[Structure, ...] = ("shells",)
    """What a node's place is told by: shells (how many nodes are 0 to 3 steps away), walks (how often random walks of 0
    to 3 steps end there), spectrum (32 eigenvectors of the adjacency matrix) or features (those of the nodes)."""
    code: int = 16
    """Columns of each channel's code."""
    channel: int = 256
    """Width of the autoencoder of the features."""
    hide: float = 0.1
    """Share of the columns hidden from each view."""
    drop: float = 0.0
    """Share of the edges that each view lacks."""
    rows: int = 4096
    """Nodes drawn for the autoencoder at each step; 0: all."""

    def __post_init__(self) -> None:
        try:
            if not self.structure:
                raise ValueError(f"structure: given none, expected one or more of {', '.join(STRUCTURES)}")
            for one in self.structure:
                check_choice("structure", one, STRUCTURES)
            for name, least in (("code", 1), ("channel", 1), ("rows", 0)):
                check_int(name, getattr(self, name), least)
            check_number("hide", self.hide, 0, 1)
            check_number("drop", self.drop, 0, 1)
        except ValueError as error:
            raise InputError(str(error)) from error


class SELENE(EncoderMethod):
    r"""Unsupervised network embedding beyond homophily (Zhong et al., 2022).

    An autoencoder of the features gives a code :math:`Z_x`, message passing over what tells a node's place gives
    :math:`Z_g`; a node is represented by both. Two views of each code agree by the loss of Barlow Twins,

    .. math:: L = \|X-\hat X\|^2 + \sum_{Z=Z_x,Z_g}\sum_i(1-C_{ii})^2 + \tfrac1k\sum_{i\ne j}C_{ij}^2,

    C the correlations (k × k) between the columns of the two views' codes.

    The authors cut out the surroundings of every node, up to three steps. Here a node's place is told by the same
    numbers, taken from the graph itself, and the encoder's messages stay within its layers' reach: one pass serves all
    nodes.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: SELENESettings) -> None:
        s = settings
        placed = {"shells": REACH + 1, "walks": REACH + 1, "spectrum": SPECTRUM, "features": inputs}
        # Representations are the codes: nothing is kept beside them.
        super().__init__(sum(placed[one] for one in s.structure), replace(encoder, keep=0.0, output="last"))
        self.settings = s
        self.first, self.norm = Linear(inputs, s.channel), nn.BatchNorm1d(s.channel)
        self.code = Linear(s.channel, s.code)
        self.decoder = nn.Sequential(
            Linear(s.code, s.channel), nn.BatchNorm1d(s.channel), nn.ReLU(), Linear(s.channel, inputs)
        )
        self.head = nn.Sequential(Linear(encoder.hidden, encoder.hidden), nn.ReLU(), Linear(encoder.hidden, s.code))

    def prepare(self, whole: Batch, generator: torch.Generator) -> None:
        """What tells each node's place."""
        self._place = self._told(whole)

    def _told(self, whole: Batch) -> Tensor:
        return torch.cat([told(one, whole) for one in self.settings.structure], 1)

    def _code(self, x: NodeFeatures) -> Tensor:
        """Z_x (n × k)."""
        found: Tensor = self.code(self.norm(self.first(x)).relu())
        return found

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """Rebuilt features, and the agreement of both channels' views."""
        s = self.settings
        rows = drawn(batch, s.rows, generator)
        own = batch.x if rows is None else batch.x.rows(rows)
        wanted = own.dense()
        rebuilt = (self.decoder(self._code(own)) - wanted).square().mean() / wanted.square().mean().clamp(min=1e-12)
        views = [self._code(own.mask_columns(s.hide, generator)) for _ in range(2)]
        placed = Batch(NodeFeatures(dense=batch.rows_of(self._place)), batch.graph)
        codes = []
        for _ in range(2):
            other = view(placed, s.hide, s.drop, generator)
            codes.append(self.head(self.encoder(other.x, other.graph)[-1]))
        return {"rebuilt": rebuilt, "features": agreement(*views), "places": agreement(*codes)}

    @property
    def width(self) -> int:
        """Columns of a representation."""
        return 2 * self.settings.code

    def finish(self, whole: Batch) -> Tensor:
        """The representations; there is nothing to fix."""
        return self.embed(whole)

    def by_layer(self, whole: Batch) -> Iterator[Tensor]:
        """The layers of the channel that reads places."""
        return self.encoder.by_layer(NodeFeatures(dense=self._told(whole)), whole.graph)

    @torch.no_grad()
    def embed(self, whole: Batch) -> Tensor:
        """Both codes of all nodes, side by side."""
        was_training = self.training
        self.eval()
        *_, last = self.by_layer(whole)
        found = torch.cat([self._code(whole.x), self.head(last)], 1)
        self.train(was_training)
        return found


def agreement(first: Tensor, second: Tensor) -> Tensor:
    """The loss of Barlow Twins between two codes (n × k) of the same nodes, divided by k."""
    n, width = first.shape
    a, b = ((z - z.mean(0)) / z.std(0).clamp(min=1e-6) for z in (first, second))
    c = a.T @ b / n
    own = c.diagonal()
    apart = c.square().sum() - own.square().sum()
    return ((1 - own).square().sum() + apart / width) / width


def told(structure: Structure, whole: Batch) -> Tensor:
    """What tells the nodes' places (n × k), each column of mean 0 and spread 1."""
    match structure:
        case "shells":
            found = shells(whole.graph).log1p()
        case "walks":
            found = walks(whole.graph)
        case "spectrum":
            found = spectrum(whole.graph)
        case "features":
            found = whole.x.dense()
    found = found - found.mean(0)
    return found / found.square().mean(0).sqrt().clamp(min=1e-6)


def shells(graph: Graph) -> Tensor:
    """How many nodes are exactly 0 to 3 steps away from each (n × 4)."""
    own = _scipy(graph)
    reached = scipy.sparse.identity(graph.num_nodes, format="csr", dtype=np.float32)
    step = own + reached
    counts = [np.ones(graph.num_nodes)]
    for _ in range(REACH):
        reached = step @ reached
        reached.data[:] = 1
        counts.append(np.diff(reached.indptr))
    found = np.stack(counts, 1).astype(np.float32)
    found[:, 1:] -= found[:, :-1].copy()
    return torch.from_numpy(found).to(graph.device)


def walks(graph: Graph) -> Tensor:
    """How often random walks of 0 to 3 steps, one from each node, end at each (n × 4)."""
    found = [torch.ones(graph.num_nodes, 1, device=graph.device)]
    for _ in range(REACH):
        found.append(graph.mean.t_matmul(found[-1]))
    return torch.cat(found, 1)


def spectrum(graph: Graph) -> Tensor:
    """The leading eigenvectors of the normalised adjacency matrix, with rows of length 1 (n × 32)."""
    own = _scipy(graph)
    scale = scipy.sparse.diags(1 / np.sqrt(np.maximum(np.asarray(own.sum(1)).ravel(), 1)))
    count = min(SPECTRUM, graph.num_nodes - 2)
    _, vectors = eigsh(scale @ own @ scale, k=count, which="LA", v0=np.ones(graph.num_nodes))
    vectors *= np.sign(vectors.sum(0) + 1e-12)  # an eigenvector's sign is arbitrary
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found = np.zeros((graph.num_nodes, SPECTRUM), np.float32)
    found[:, :count] = vectors
    return torch.from_numpy(found).to(graph.device)


def _scipy(graph: Graph) -> scipy.sparse.csr_matrix:
    """The adjacency matrix of ones, with each edge in both directions."""
    return to_scipy(graph.undirected().adjacency.cpu())
