"""SELENE: features and structure are encoded in two separate channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import eigsh
from torch import Tensor, nn

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.kernel.checks import check_choice, check_int, check_number
from girl.kernel.sparse import to_scipy
from girl.methods.augment import random_view, sample_nodes
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings
from girl.settings import checking

Structure = Literal["shells", "walks", "spectrum", "features"]
STRUCTURES = get_args(Structure)

#: The longest distance that structure columns look, and the number of eigenvectors in the spectrum.
MAX_DISTANCE, EIGENVECTORS = 3, 32


@dataclass(frozen=True)
class SELENESettings:
    """The inputs and widths of the two channels."""

    structure: tuple[Structure, ...] = ("shells",)
    """Inputs of the structure channel: shells (number of nodes at distance 0 to 3), walks (how often random walks of 0
    to 3 steps end at a node), spectrum (32 eigenvectors of the adjacency matrix) or features (the node features)."""
    code_dim: int = 16
    """Columns of each channel's code."""
    autoencoder_hidden: int = 256
    """Hidden width of the autoencoder of the features."""
    drop_features: float = 0.1
    """Fraction of the columns dropped from each view."""
    drop_edges: float = 0.0
    """Fraction of the edges dropped from each view."""
    rows: int = 4096
    """Nodes drawn for the autoencoder at each step; 0: all."""

    def __post_init__(self) -> None:
        with checking():
            if not self.structure:
                raise ValueError(f"structure: given none, expected one or more of {', '.join(STRUCTURES)}")
            for structure in self.structure:
                check_choice("structure", structure, STRUCTURES)
            for name, minimum in (("code_dim", 1), ("autoencoder_hidden", 1), ("rows", 0)):
                check_int(name, getattr(self, name), minimum)
            check_number("drop_features", self.drop_features, 0, 1)
            check_number("drop_edges", self.drop_edges, 0, 1)


class SELENE(EncoderMethod):
    r"""Unsupervised network embedding beyond homophily (Zhong et al., 2022).

    An autoencoder of the features gives a code :math:`Z_x`, message passing over structure columns gives
    :math:`Z_g`; the embedding of a node is both. Two views of each code agree by the loss of Barlow Twins,

    .. math:: L = \|X-\hat X\|^2 + \sum_{Z=Z_x,Z_g}\sum_i(1-C_{ii})^2 + \tfrac1k\sum_{i\ne j}C_{ij}^2,

    C the correlations (k × k) between the columns of the two views' codes.

    The authors extract a subgraph of radius three around every node. Here the same structure columns are computed on
    the graph itself, and messages reach as far as the encoder has layers: one pass serves all nodes.
    """

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: SELENESettings) -> None:
        s = settings
        columns = {"shells": MAX_DISTANCE + 1, "walks": MAX_DISTANCE + 1, "spectrum": EIGENVECTORS, "features": inputs}
        # Embeddings are the codes: the features are not kept beside them.
        super().__init__(sum(columns[name] for name in s.structure), replace(encoder, keep=0.0, output="last"))
        self.settings = s
        hidden = s.autoencoder_hidden
        self.first, self.norm = Linear(inputs, hidden), nn.BatchNorm1d(hidden)
        self.code = Linear(hidden, s.code_dim)
        self.decoder = nn.Sequential(
            Linear(s.code_dim, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), Linear(hidden, inputs)
        )
        self.head = nn.Sequential(Linear(encoder.hidden, encoder.hidden), nn.ReLU(), Linear(encoder.hidden, s.code_dim))

    def prepare(self, data: Batch, generator: torch.Generator) -> None:
        """Compute the structure columns."""
        self._structure = self._structure_columns(data)

    def _structure_columns(self, data: Batch) -> Tensor:
        return torch.cat([structure_columns(name, data) for name in self.settings.structure], 1)

    def _code(self, x: NodeFeatures) -> Tensor:
        """Z_x (n × code_dim)."""
        code: Tensor = self.code(self.norm(self.first(x)).relu())
        return code

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The reconstruction of the features, and the agreement of the two views in both channels."""
        s = self.settings
        rows = sample_nodes(batch, s.rows, generator)
        x = batch.x if rows is None else batch.x.rows(rows)
        target = x.dense()
        error = (self.decoder(self._code(x)) - target).square().mean() / target.square().mean().clamp(min=1e-12)
        codes = [self._code(x.mask_columns(s.drop_features, generator)) for _ in range(2)]
        structure = Batch(NodeFeatures(dense=batch.rows_of(self._structure)), batch.graph)
        structure_codes = []
        for _ in range(2):
            view = random_view(structure, s.drop_features, s.drop_edges, generator)
            structure_codes.append(self.head(self.encoder(view.x, view.graph)[-1]))
        return {
            "reconstruction": error,
            "features": barlow_twins(*codes),
            "structure": barlow_twins(*structure_codes),
        }

    @property
    def width(self) -> int:
        """Columns of an embedding."""
        return 2 * self.settings.code_dim

    def finish(self, data: Batch) -> Tensor:
        """The embeddings; there is nothing to scale."""
        self.fitted.fill_(True)
        return self.embed(data)

    def iter_layers(self, data: Batch) -> Iterator[Tensor]:
        """The layers of the structure channel."""
        return self.encoder.iter_layers(NodeFeatures(dense=self._structure_columns(data)), data.graph)

    @torch.no_grad()
    def embed(self, data: Batch) -> Tensor:
        """Both codes of all nodes, side by side."""
        was_training = self.training
        self.eval()
        *_, last = self.iter_layers(data)
        out = torch.cat([self._code(data.x), self.head(last)], 1)
        self.train(was_training)
        return out


def barlow_twins(first: Tensor, second: Tensor) -> Tensor:
    """The loss of Barlow Twins between two codes (n × k) of the same nodes, divided by k."""
    n, width = first.shape
    a, b = ((z - z.mean(0)) / z.std(0).clamp(min=1e-6) for z in (first, second))
    c = a.T @ b / n
    diagonal = c.diagonal()
    off_diagonal = c.square().sum() - diagonal.square().sum()
    return ((1 - diagonal).square().sum() + off_diagonal / width) / width


def structure_columns(structure: Structure, data: Batch) -> Tensor:
    """Columns that describe each node's place in the graph (n × k), standardised."""
    match structure:
        case "shells":
            columns = shells(data.graph).log1p()
        case "walks":
            columns = walks(data.graph)
        case "spectrum":
            columns = spectrum(data.graph)
        case "features":
            columns = data.x.dense()
    columns = columns - columns.mean(0)
    return columns / columns.square().mean(0).sqrt().clamp(min=1e-6)


def shells(graph: Graph) -> Tensor:
    """The number of nodes at distance exactly 0 to 3 from each node (n × 4)."""
    within = scipy.sparse.identity(graph.num_nodes, format="csr", dtype=np.float32)
    step = _undirected(graph) + within
    counts = [np.ones(graph.num_nodes)]
    for _ in range(MAX_DISTANCE):
        within = step @ within
        within.data[:] = 1
        counts.append(np.diff(within.indptr))
    sizes = np.stack(counts, 1).astype(np.float32)
    sizes[:, 1:] -= sizes[:, :-1].copy()
    return torch.from_numpy(sizes).to(graph.device)


def walks(graph: Graph) -> Tensor:
    """How often random walks of 0 to 3 steps, one from each node, end at each node (n × 4)."""
    columns = [torch.ones(graph.num_nodes, 1, device=graph.device)]
    for _ in range(MAX_DISTANCE):
        columns.append(graph.mean.t_matmul(columns[-1]))
    return torch.cat(columns, 1)


def spectrum(graph: Graph) -> Tensor:
    """The leading eigenvectors of the normalised adjacency matrix, with rows of length 1 (n × 32)."""
    adjacency = _undirected(graph)
    scale = scipy.sparse.diags(1 / np.sqrt(np.maximum(np.asarray(adjacency.sum(1)).ravel(), 1)))
    count = min(EIGENVECTORS, graph.num_nodes - 2)
    _, vectors = eigsh(scale @ adjacency @ scale, k=count, which="LA", v0=np.ones(graph.num_nodes))
    vectors *= np.sign(vectors.sum(0) + 1e-12)  # an eigenvector's sign is arbitrary
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    columns = np.zeros((graph.num_nodes, EIGENVECTORS), np.float32)
    columns[:, :count] = vectors
    return torch.from_numpy(columns).to(graph.device)


def _undirected(graph: Graph) -> scipy.sparse.csr_matrix:
    """The adjacency matrix without weights, with both directions of every edge."""
    return to_scipy(graph.undirected().adjacency.cpu())
