"""Augmentations: what a method may do to a graph to see it in another way."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from girl.methods.base import Batch


def corrupted(batch: Batch, generator: torch.Generator) -> Batch:
    """The same graph, with features that belong to other nodes: a random permutation of the rows."""
    order = torch.randperm(batch.size, generator=generator, device=batch.x.device)
    return replace(batch, x=batch.x.rows(order))


def view(batch: Batch, features: float, edges: float, generator: torch.Generator) -> Batch:
    """The graph without a random share of the columns of its features, hidden from all nodes, and of its edges.

    Both directions of an undirected edge are dropped together, so that the view is an undirected graph as well.
    """
    x = batch.x.hide_columns(features, generator)
    graph = batch.graph.drop_edges(edges, generator) if edges else batch.graph
    return replace(batch, x=x, graph=graph)


def drawn(batch: Batch, rows: int, generator: torch.Generator) -> Tensor | None:
    """Some nodes for a loss that cannot have all of them; None if it can."""
    if not 0 < rows < batch.size:
        return None
    return torch.randperm(batch.size, generator=generator, device=batch.x.device)[:rows]
