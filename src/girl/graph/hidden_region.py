"""Hidden regions: each graph of a set with a part of its nodes taken away, and that part as something to explain."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from girl.graph.batch import Batch

#: The fraction of a graph's nodes that is hidden.
HIDDEN = 0.5
#: Steps of the search that finds distances; nodes farther away count as equally far.
MAX_DISTANCE = 64


def sample_graphs(data: Batch, count: int, generator: torch.Generator) -> Batch:
    """At most ``count`` random graphs of a set, of those with two or more nodes; numbered from 0."""
    assert data.graph_id is not None
    sizes = torch.bincount(data.graph_id, minlength=data.num_graphs).cpu()
    divisible = (sizes > 1).nonzero().squeeze(1)
    chosen = torch.zeros(data.num_graphs, dtype=torch.bool)
    chosen[divisible[torch.randperm(len(divisible), generator=generator)[:count]]] = True
    nodes = chosen.to(data.graph_id.device)[data.graph_id].nonzero().squeeze(1)
    return data.subgraph(nodes, renumber_graphs=True)


def hide_regions(data: Batch, generator: torch.Generator) -> tuple[Batch, Batch]:
    """The visible and the hidden region of each graph, as sets with the same numbers of graphs.

    The visible region is what lies nearest to a random node, so that its nodes mostly keep their surroundings; edges
    between the two regions are in neither.
    """
    assert data.graph_id is not None
    graph_id = data.graph_id.cpu()
    n = data.num_nodes
    noise = torch.rand(n, generator=generator)
    order = np.lexsort((noise.numpy(), graph_id.numpy()))
    sizes = torch.bincount(graph_id, minlength=data.num_graphs)
    starts = sizes.cumsum(0) - sizes
    roots = torch.from_numpy(order)[starts[sizes > 0]]
    distance = distances(data, roots)
    order = np.lexsort((noise.numpy(), distance.numpy(), graph_id.numpy()))
    rank = torch.empty(n, dtype=torch.int64)
    rank[torch.from_numpy(order)] = torch.arange(n) - starts[graph_id]
    visible = rank < (sizes * (1 - HIDDEN)).ceil().long()[graph_id]
    device = data.graph.device
    return data.subgraph(visible.nonzero().squeeze(1).to(device)), data.subgraph(
        (~visible).nonzero().squeeze(1).to(device)
    )


def distances(data: Batch, roots: Tensor) -> Tensor:
    """The distance (n) of each node to its graph's root; 65 if it cannot be reached in 64 steps."""
    out = torch.full((data.num_nodes,), MAX_DISTANCE + 1)
    graph = (data.graph if data.graph.symmetric else data.graph.undirected()).to("cpu")
    reached = torch.zeros(data.num_nodes, 1)
    reached[roots] = 1
    out[roots] = 0
    for step in range(1, MAX_DISTANCE + 1):
        new = ((graph.sum @ reached).squeeze(1) > 0) & (out > MAX_DISTANCE)
        if not bool(new.any()):
            break
        out[new] = step
        reached = new.float().unsqueeze(1)
    return out
