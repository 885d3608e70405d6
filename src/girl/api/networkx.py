"""networkx graphs in and out."""

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
    graph: Any, *, structure: Structure = "auto", like: Data | None = None, settings: InputSettings | None = None
) -> Data:
    """A networkx graph as what :class:`girl.GIRL` takes: the attributes of its nodes become features.

    Numbers, truths, words, dates and lists are encoded as ``girl embed`` encodes the columns of a node table; without
    attributes, features come from the graph itself. Row i is the i-th of ``graph.nodes``.

    Args:
        graph: a networkx graph, directed or not; an edge attribute called ``weight`` is used.
        structure: columns made from the graph itself: auto, none, roles, positions or both.
        like: what this function made of the graph that a model was trained on: the same encoding is used.
        settings: which attributes are what; by default all that can become features do.

    >>> import networkx as nx
    >>> from_networkx(nx.karate_club_graph()).edge_index.shape
    torch.Size([2, 78])
    """
    if not len(graph):
        raise InputError("graph: given no nodes, expected at least one")
    settings = settings or InputSettings(directed=graph.is_directed())
    encoder = None if like is None else like.encoding["columns"]
    known = None if like is None else like.encoding["structure"]
    read = read_graph(networkx_tables(graph), None, settings, encoder)
    found, made = with_structure(read, structure, known, replay=like is not None)
    data: Data = found.data
    data.encoding = {"columns": found.encoder, "structure": made}
    return data


def to_networkx(graph: Any, vectors: NDArray[np.floating[Any]], name: str = "embedding") -> None:
    """Set each node's row of ``vectors`` (in the order of ``graph.nodes``) as its attribute ``name``."""
    if len(vectors) != len(graph):
        raise InputError(f"vectors: given {len(vectors):,} rows, expected {len(graph):,}, one for each node")
    for node, row in zip(graph, vectors, strict=True):
        graph.nodes[node][name] = row
