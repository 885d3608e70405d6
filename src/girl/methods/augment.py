"""Augmentations: what a method may do to a graph, or to each graph of a set, to see it in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.node_features import NodeFeatures

#: What may be done to a graph of a set.
Way = Literal["nodes", "edges", "subgraph", "features", "same"]
WAYS: tuple[Way, ...] = get_args(Way)

#: Steps from its first node that a subgraph may reach.
REACH = 32


def corrupted(batch: Batch, generator: torch.Generator) -> Batch:
    """The same graph, with features that belong to other nodes: a random permutation of the rows."""
    order = torch.randperm(batch.num_nodes, generator=generator, device=batch.x.device)
    return replace(batch, x=batch.x.rows(order))


def view(batch: Batch, features: float, edges: float, generator: torch.Generator) -> Batch:
    """The graph without a random share of the columns of its features, hidden from all nodes, and of its edges.

    Both directions of an undirected edge are dropped together, so that the view is an undirected graph as well.
    """
    x = batch.x.mask_columns(features, generator)
    graph = batch.graph.drop_edges(edges, generator) if edges else batch.graph
    return replace(batch, x=x, graph=graph)


def drawn(batch: Batch, rows: int, generator: torch.Generator) -> Tensor | None:
    """Some nodes for a loss that cannot have all of them; None if it can."""
    if not 0 < rows < batch.num_nodes:
        return None
    return torch.randperm(batch.num_nodes, generator=generator, device=batch.x.device)[:rows]


def members_of(batch: Batch) -> Tensor:
    """Which graph each node is of; complains about a graph that is not one of a set."""
    if batch.graph_id is None:
        raise InputError("method: given one graph, expected a set of graphs, such as mutag: it compares graphs")
    return batch.graph_id


def augmented(batch: Batch, way: Tensor, share: float, kept: float, generator: torch.Generator) -> Batch:
    """Each graph in its way.

    Args:
        batch: a set of graphs.
        way: for each graph, a place in :data:`WAYS`: without a random ``share`` of its nodes; without one of its edges;
            the part of ``kept`` of its nodes that are nearest to a random one; with random features, of mean and spread
            ½, at a ``share`` of its nodes; as it is.
        share: what is lost.
        kept: what is left of a subgraph.
        generator: the source of every draw.
    """
    graphs = members_of(batch)
    device = graphs.device
    own = way[graphs]  # of each node
    sizes = torch.bincount(graphs, minlength=batch.num_graphs)
    draw = torch.rand(batch.num_nodes, generator=generator, device=device)

    x = batch.x
    noisy = (own == WAYS.index("features")) & (_place(draw, graphs) < (share * sizes).long()[graphs])
    if bool(noisy.any()):
        rows = x.dense().clone()
        noise = torch.randn(int(noisy.sum()), rows.shape[1], generator=generator, device=device)
        rows[noisy] = 0.5 + 0.5 * noise
        x = NodeFeatures(dense=rows)

    graph = batch.graph
    if bool((way == WAYS.index("edges")).any()):
        lost = torch.rand(graph.num_undirected, generator=generator, device=device) < share
        graph = graph.select_edges(~(lost[graph.undirected_id] & (own[graph.edge_target] == WAYS.index("edges"))))

    gone = (own == WAYS.index("nodes")) & (_place(draw, graphs) < (share * sizes).long()[graphs])
    if bool((way == WAYS.index("subgraph")).any()):
        # Ties between nodes of the same distance are broken by the draw.
        near = _distance(batch, draw) + draw
        most = (kept * sizes).long().clamp(min=1)[graphs]
        gone |= (own == WAYS.index("subgraph")) & (_place(near, graphs) >= most)
    found = replace(batch, x=x, graph=graph)
    return found.subgraph(torch.nonzero(~gone).flatten()) if bool(gone.any()) else found


def _place(value: Tensor, graphs: Tensor) -> Tensor:
    """The place of each node among those of its graph, from the smallest value on."""
    order = torch.argsort(value)
    order = order[torch.argsort(graphs[order], stable=True)]
    first = torch.cat([graphs.new_zeros(1), torch.bincount(graphs).cumsum(0)[:-1]])
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    return place - first[graphs]


def _distance(batch: Batch, draw: Tensor) -> Tensor:
    """Steps of each node from the first one of its graph by ``draw``, up to a limit beyond which all are alike."""
    graphs = members_of(batch)
    reached = (_place(draw, graphs) == 0).float().unsqueeze(1)
    distance = torch.where(reached > 0, 0.0, float(REACH))
    for step in range(1, REACH):
        new = ((batch.graph.sum @ reached) > 0) & (reached == 0)
        if not bool(new.any()):
            break
        distance[new] = step
        reached = reached + new.float()
    return distance.squeeze(1)
