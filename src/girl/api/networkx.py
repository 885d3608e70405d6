"""Conversion from and to networkx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from girl.api.embed import with_structure
from girl.errors import InputError
from girl.graph.structure import Structure
from girl.tables import InputSettings, networkx_tables, read_graph


def from_networkx(
    graph: Any,
    *,
    structure: Structure = "auto",
    like: Data | None = None,
    settings: InputSettings | dict[str, Any] | None = None,
) -> Data:
    """A networkx graph as a torch_geometric ``Data`` for :class:`girl.GIRL`: node attributes become features.

    Numbers, booleans, text, dates and lists are encoded as ``girl embed`` encodes the columns of a node table; without
    attributes, features come from the graph itself. Row i is the i-th of ``graph.nodes``.

    Args:
        graph: a networkx graph, directed or not; an edge attribute called ``weight`` is used.
        structure: columns computed from the graph itself: auto, none, roles, positions or both.
        like: the ``Data`` of the graph that a model was trained on: its encoding is used again.
        settings: which attributes are labels, ids or ignored; by default all that can be encoded are features.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph()).edge_index.shape
    torch.Size([2, 78])
    """
    if not len(graph):
        raise InputError("graph: given no nodes, expected at least one")
    settings = InputSettings.of({"directed": graph.is_directed()} if settings is None else settings)
    encoder = None if like is None else like.encoding["columns"]
    earlier = None if like is None else like.encoding["structure"]
    user_graph = read_graph(networkx_tables(graph), None, settings, encoder)
    user_graph, encoding = with_structure(user_graph, structure, earlier, replay=like is not None)
    data: Data = user_graph.data
    data.encoding = {"columns": user_graph.encoder, "structure": encoding}
    return data


def to_networkx(graph: Any, vectors: NDArray[np.floating[Any]], name: str = "embedding") -> Any:
    """A copy of a networkx graph in which each node has its row of ``vectors`` as the attribute ``name``.

    Args:
        graph: a networkx graph.
        vectors: embeddings (n × k), in the order of ``graph.nodes``.
        name: the attribute.

    >>> import networkx as nx
    >>> graph = to_networkx(nx.path_graph(2), np.zeros((2, 3)))
    >>> graph.nodes[1]["embedding"]
    array([0., 0., 0.])
    """
    if len(vectors) != len(graph):
        raise InputError(f"vectors: given {len(vectors):,} rows, expected {len(graph):,}, one for each node")
    copy = graph.copy()
    for node, row in zip(graph, vectors, strict=True):
        copy.nodes[node][name] = row
    return copy
