"""Augmentations: random views of a graph, or of each graph in a set."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.node_features import NodeFeatures

Augmentation = Literal["nodes", "edges", "subgraph", "features", "identity"]
AUGMENTATIONS: tuple[Augmentation, ...] = get_args(Augmentation)

#: The longest distance from its first node that a subgraph is grown to.
MAX_DISTANCE = 32


def shuffle_features(batch: Batch, generator: torch.Generator) -> Batch:
    """The same graph with the rows of its features in random order."""
    order = torch.randperm(batch.num_nodes, generator=generator, device=batch.x.device)
    return replace(batch, x=batch.x.rows(order))


def random_view(batch: Batch, drop_features: float, drop_edges: float, generator: torch.Generator) -> Batch:
    """The graph without a random fraction of its feature columns (for all nodes) and of its edges.

    Both directions of an undirected edge are dropped together, so the view is an undirected graph as well.
    """
    x = batch.x.mask_columns(drop_features, generator)
    graph = batch.graph.drop_edges(drop_edges, generator) if drop_edges else batch.graph
    return replace(batch, x=x, graph=graph)


def sample_nodes(batch: Batch, count: int, generator: torch.Generator) -> Tensor | None:
    """``count`` distinct random nodes; None, for all of them, if ``count`` is 0 or not below their number."""
    if not 0 < count < batch.num_nodes:
        return None
    return torch.randperm(batch.num_nodes, generator=generator, device=batch.x.device)[:count]


def graph_index(batch: Batch) -> Tensor:
    """The graph that each node belongs to (n); a batch that is not a set of graphs is an InputError."""
    if batch.graph_id is None:
        raise InputError("method: given one graph, expected a set of graphs, such as mutag: it compares graphs")
    return batch.graph_id


def augment(batch: Batch, choice: Tensor, drop_rate: float, subgraph_rate: float, generator: torch.Generator) -> Batch:
    """Augment each graph of a set.

    Args:
        batch: a set of graphs.
        choice: for each graph an index into :data:`AUGMENTATIONS`. *nodes*: a random ``drop_rate`` of its nodes is
            removed. *edges*: the same of its edges. *subgraph*: the ``subgraph_rate`` of its nodes that are nearest to
            a random one is left. *features*: at a ``drop_rate`` of its nodes, the features are replaced by normal noise
            of mean and standard deviation ½. *identity*: nothing.
        drop_rate: the fraction that is removed or replaced.
        subgraph_rate: the fraction that is left in a subgraph.
        generator: the source of all randomness.
    """
    index = graph_index(batch)
    device = index.device
    chosen = choice[index]  # of each node
    sizes = torch.bincount(index, minlength=batch.num_graphs)
    draw = torch.rand(batch.num_nodes, generator=generator, device=device)
    dropped = _rank_in_graph(draw, index) < (drop_rate * sizes).long()[index]

    x = batch.x
    noisy = (chosen == AUGMENTATIONS.index("features")) & dropped
    if bool(noisy.any()):
        rows = x.dense().clone()
        noise = torch.randn(int(noisy.sum()), rows.shape[1], generator=generator, device=device)
        rows[noisy] = 0.5 + 0.5 * noise
        x = NodeFeatures(dense=rows)

    graph = batch.graph
    edges = AUGMENTATIONS.index("edges")
    if bool((choice == edges).any()):
        lost = torch.rand(graph.num_undirected, generator=generator, device=device) < drop_rate
        graph = graph.select_edges(~(lost[graph.undirected_id] & (chosen[graph.edge_target] == edges)))

    removed = (chosen == AUGMENTATIONS.index("nodes")) & dropped
    subgraph = AUGMENTATIONS.index("subgraph")
    if bool((choice == subgraph).any()):
        distance = _distance(batch, draw) + draw  # the draw breaks ties
        size = (subgraph_rate * sizes).long().clamp(min=1)[index]
        removed |= (chosen == subgraph) & (_rank_in_graph(distance, index) >= size)
    view = replace(batch, x=x, graph=graph)
    return view.subgraph(torch.nonzero(~removed).flatten()) if bool(removed.any()) else view


def _rank_in_graph(value: Tensor, index: Tensor) -> Tensor:
    """The rank of each node's value among the nodes of its graph, from 0 for the smallest."""
    order = torch.argsort(value)
    order = order[torch.argsort(index[order], stable=True)]
    first = torch.cat([index.new_zeros(1), torch.bincount(index).cumsum(0)[:-1]])
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    return rank - first[index]


def _distance(batch: Batch, draw: Tensor) -> Tensor:
    """Each node's distance from the node of its graph with the smallest ``draw``, at most ``MAX_DISTANCE``."""
    reached = (_rank_in_graph(draw, graph_index(batch)) == 0).float().unsqueeze(1)
    distance = torch.where(reached > 0, 0.0, float(MAX_DISTANCE))
    for step in range(1, MAX_DISTANCE):
        new = ((batch.graph.sum @ reached) > 0) & (reached == 0)
        if not bool(new.any()):
            break
        distance[new] = step
        reached = reached + new.float()
    return distance.squeeze(1)
