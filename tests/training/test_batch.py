from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.training.batch import fingerprint, induced_batch, make_batch
from girl.training.run import pretrain
from tests.helpers.clustered import SMALL, clustered


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": torch.full((120, 3), torch.nan)}, "NaN"),
        ({"x": torch.ones(5, 3)}, "0 to 4"),
        ({"edge_index": torch.tensor([[-1], [3]])}, "given node -1, expected 0 to 119"),
        ({"edge_index": None}, "no edges"),
    ],
)
def test_a_graph_that_cannot_be_used_is_refused(change, words):
    data = clustered()
    for name, value in change.items():
        data[name] = value
    with pytest.raises(InputError, match=words):
        make_batch(data, SMALL.encoder)


def test_edge_weights_matter_and_must_be_positive():
    data = clustered()
    plain = pretrain(make_batch(data, SMALL.encoder), SMALL)
    data.edge_weight = torch.rand(data.edge_index.shape[1]) + 0.5
    weighted = make_batch(data, SMALL.encoder)
    assert not torch.allclose(plain.embed(weighted), plain.embed(make_batch(clustered(), SMALL.encoder)))
    data.edge_weight[7] = 0
    with pytest.raises(InputError, match="edge_weight: edge 7 has weight 0"):
        make_batch(data, SMALL.encoder)


def test_the_fingerprint_depends_on_edges_and_features():
    graph = clustered()
    value = fingerprint(make_batch(graph, SMALL.encoder))
    assert fingerprint(make_batch(clustered(), SMALL.encoder)) == value
    assert fingerprint(make_batch(Data(x=graph.x, edge_index=graph.edge_index[:, 1:]), SMALL.encoder)) != value
    assert fingerprint(make_batch(Data(x=2 * graph.x + 1, edge_index=graph.edge_index), SMALL.encoder)) != value


def test_an_induced_batch_has_the_edges_among_its_nodes():
    graph = make_batch(clustered(), SMALL.encoder)
    nodes = torch.arange(0, 120, 2)
    part = induced_batch(graph, nodes)
    dense = graph.graph.adjacency.to_dense()
    assert torch.equal(part.graph.adjacency.to_dense(), dense[nodes][:, nodes])
    assert torch.equal(part.x.dense(), graph.x.dense()[nodes])
