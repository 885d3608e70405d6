"""What a method trains on: a graph with its node features, a set of graphs, or a part of either."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures

Pooling = Literal["sum", "mean", "max"]


@dataclass(frozen=True)
class Batch:
    """A graph, a set of graphs as their disjoint union, or a part of either."""

    x: NodeFeatures
    graph: Graph
    node_id: Tensor | None = None
    """The nodes of the training graph that these are; all of them if None."""
    graph_id: Tensor | None = None
    """In a set of graphs, the graph of each node (n), sorted."""
    num_graphs: int = 0
    """The number of graphs in the set."""
    column_group: Tensor | None = None
    """The group of each feature column (d), such as the column of a table that it was made from; None if each is one
    of its own."""

    @property
    def num_nodes(self) -> int:
        return self.graph.num_nodes

    def rows_of(self, matrix: Tensor) -> Tensor:
        """The rows of a matrix with a row for each node of the training graph that belong to this batch."""
        return matrix if self.node_id is None else matrix[self.node_id]

    def subgraph(self, nodes: Tensor, renumber_graphs: bool = False) -> Batch:
        """The batch of ``nodes`` and the edges among them.

        Graphs of a set keep their numbers, also where no node is left; with ``renumber_graphs`` those that are left are
        numbered from 0.
        """
        graph_id = None if self.graph_id is None else self.graph_id[nodes]
        part = Batch(
            self.x.rows(nodes), self.graph.subgraph(nodes), nodes, graph_id, self.num_graphs, self.column_group
        )
        if graph_id is None or not renumber_graphs:
            return part
        remaining, graph_id = torch.unique(graph_id, return_inverse=True)
        return replace(part, graph_id=graph_id, num_graphs=len(remaining))

    def pool(self, h: Tensor, pooling: Pooling) -> Tensor:
        """One row for each graph (num_graphs × k) from those of its nodes (n × k); zero for a graph without nodes."""
        assert self.graph_id is not None
        out = h.new_zeros(self.num_graphs, h.shape[1])
        match pooling:
            case "sum":
                return out.index_add(0, self.graph_id, h)
            case "mean":
                sizes = torch.bincount(self.graph_id, minlength=self.num_graphs).clamp(min=1)
                return out.index_add(0, self.graph_id, h) / sizes.unsqueeze(1)
            case "max":
                index = self.graph_id.unsqueeze(1).expand_as(h)
                return out.scatter_reduce(0, index, h, "amax", include_self=False)

    def to(self, device: torch.device | str) -> Batch:
        node_id, graph_id = (None if part is None else part.to(device) for part in (self.node_id, self.graph_id))
        return Batch(self.x.to(device), self.graph.to(device), node_id, graph_id, self.num_graphs, self.column_group)
