from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import girl
from girl.errors import InputError

SMALL = {"hidden": 8, "epochs": 2, "rank": 16, "target_rank": 8}


def people(names, seed=0):
    rng = np.random.default_rng(seed)
    graph = nx.gnm_random_graph(len(names), 3 * len(names), seed=seed)
    for node in graph:
        graph.nodes[node].update(age=float(rng.normal(40, 10)), town=str(rng.choice(["a", "b"])), likes=[node % 5, 7])
    return nx.relabel_nodes(graph, dict(enumerate(names)))


def test_attributes_become_features_and_vectors_become_attributes():
    graph = people([f"n{i}" for i in range(40)])
    vectors = girl.GIRL(**SMALL).fit_transform(girl.from_networkx(graph))
    embedded = girl.to_networkx(graph, vectors)
    assert np.array_equal(embedded.nodes["n3"]["embedding"], vectors[3])
    assert embedded.edges == graph.edges
    assert "embedding" not in graph.nodes["n3"]  # the graph that was given stays as it is
    with pytest.raises(InputError, match="given 39 rows, expected 40"):
        girl.to_networkx(graph, vectors[1:])


def test_names_of_nodes_do_not_matter():
    words, numbers = people([f"n{i:02}" for i in range(40)]), people(list(range(40)))
    assert girl.from_networkx(words).x.to_dense().equal(girl.from_networkx(numbers).x.to_dense())


def test_another_graph_is_encoded_like_the_first():
    first, second = people(range(40)), people(range(25), seed=1)
    data = girl.from_networkx(first)
    fitted = girl.GIRL(**SMALL).fit(data)
    other = girl.from_networkx(second, like=data)
    assert other.x.shape == (25, data.x.shape[1])
    assert fitted.transform(other).shape[0] == 25
    assert girl.from_networkx(first, like=data).x.to_dense().equal(data.x.to_dense())
    for node in second:
        del second.nodes[node]["age"]
    with pytest.raises(InputError, match="age"):
        girl.from_networkx(second, like=data)


def test_a_graph_without_attributes_has_roles_and_positions():
    karate = nx.Graph(nx.karate_club_graph().edges)
    data = girl.from_networkx(karate)
    assert data.x.shape[0] == 34
    roles = girl.from_networkx(karate, structure="roles")
    assert girl.from_networkx(nx.path_graph(9), like=roles).x.shape == (9, roles.x.shape[1])
    with pytest.raises(InputError, match="positions in its own graph"):
        girl.from_networkx(nx.path_graph(9), like=data)
    with pytest.raises(InputError, match="no nodes"):
        girl.from_networkx(nx.Graph())
    directed = girl.from_networkx(nx.DiGraph([(0, 1), (1, 0), (1, 2)]))
    assert directed.edge_index.shape[1] == 3
