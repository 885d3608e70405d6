"""How much memory training takes, estimated from sizes: a run that cannot fit is refused before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from girl.graph.batch import Batch
from girl.nn.encoder import EncoderSettings

#: Bytes of a float32.
FLOAT = 4

#: Matrices of nodes × hidden that a layer's forward and backward hold, about.
PER_LAYER = 3

#: Matrices of nodes × rank in memory while principal components are computed.
PER_COMPONENTS = 4

#: Matrices of rows × rank that a kernel's forward and backward hold, about.
PER_KERNEL = 3


def layer_bytes(settings: EncoderSettings, data: Batch, nodes: int) -> float:
    """The encoder's layers in a step on ``nodes`` nodes of ``data``. GATv2 stores a message for each edge."""
    messages = nodes
    if settings.conv == "gatv2":
        messages += round(data.graph.adjacency.values().numel() * nodes / max(data.num_nodes, 1)) + nodes
    return FLOAT * PER_LAYER * settings.layers * settings.hidden * messages


def batch_bytes(data: Batch, nodes: int) -> float:
    """A batch of ``nodes`` nodes of ``data``: its features, a copy with dropout, and its edges with their operator."""
    entries = data.x.shape[1] * data.num_nodes if data.x.sparse is None else 2 * data.x.sparse.values.numel()
    edges = data.graph.adjacency.values().numel()
    return FLOAT * (2 * entries + 4 * edges) * nodes / max(data.num_nodes, 1)


def kernel_bytes(rows: int, rank: int, exact: bool = False) -> float:
    """One kernel: rows × rank, or rows × rows in float64 (twice, for its eigenvectors) if it is exact."""
    return 4 * FLOAT * PER_KERNEL * rows**2 if exact else FLOAT * PER_KERNEL * rows * rank


@dataclass(frozen=True)
class MemoryEstimate:
    """Approximate bytes that a method takes beyond the graph and its weights."""

    persistent: float = 0.0
    """Held for all nodes throughout training."""
    prepare: float = 0.0
    """Needed on top of that while the method is prepared."""
    step: float = 0.0
    """Needed on top of that in a training step."""
    embed: float = 0.0
    """The embeddings, and what is in memory while they are computed."""
