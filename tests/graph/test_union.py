from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from girl import GIRL
from girl.errors import InputError
from girl.graph.union import disjoint_union


def ring(n, d=3, seed=0):
    x = torch.rand(n, d, generator=torch.Generator().manual_seed(seed))
    return Data(x=x, edge_index=torch.stack([torch.arange(n), (torch.arange(n) + 1) % n]))


def rings():
    return [ring(3 + index % 5, seed=index) for index in range(12)]


def test_a_union_keeps_graphs_apart():
    found = disjoint_union([ring(3), ring(4, seed=1)])
    assert found.graph.tolist() == [0] * 3 + [1] * 4
    assert found.edge_index.tolist() == [[0, 1, 2, 3, 4, 5, 6], [1, 2, 0, 4, 5, 6, 3]]
    torch.testing.assert_close(found.x[3:], ring(4, seed=1).x)
    weighed = [ring(3), ring(4)]
    for one in weighed:
        one.edge_weight = torch.arange(1.0, one.edge_index.shape[1] + 1)
    assert disjoint_union(weighed).edge_weight.tolist() == [1, 2, 3, 1, 2, 3, 4]
    assert disjoint_union([weighed[0], ring(4)]).edge_weight is None


def test_a_list_of_graphs_has_a_row_for_each():
    graphs = rings()
    model = GIRL(hidden=8, epochs=2, batch_size=4, rank=16, target_rank=2)
    found = model.fit_transform(graphs)
    assert found.shape == (12, 24)
    assert model.recipe_.encoder.conv == "gin"
    np.testing.assert_allclose(model.transform(graphs[4:5])[0], found[4], rtol=1e-4, atol=1e-5)


def test_a_graph_without_nodes_has_a_row_too():
    empty = Data(x=torch.zeros(0, 3), edge_index=torch.zeros(2, 0, dtype=torch.long))
    options = {"batch_size": 4, "rank": 16, "target_rank": 2}
    summed = GIRL(hidden=8, epochs=1, readout="sum", **options).fit(rings())
    assert not summed.transform([ring(3), empty])[1].any()
    assert np.isfinite(GIRL(hidden=8, epochs=1, **options).fit(rings()).transform([ring(3), empty])).all()


def test_a_dataset_is_a_list_of_graphs(tmp_path):
    class Rings(InMemoryDataset):
        def __init__(self):
            super().__init__(str(tmp_path))
            self.data, self.slices = self.collate(rings())

    model = GIRL(hidden=8, epochs=1, batch_size=4, rank=16, target_rank=2).fit(rings())
    np.testing.assert_allclose(model.transform(Rings()), model.transform(rings()))


@pytest.mark.parametrize(
    ("graphs", "words"),
    [
        ([], "given none"),
        ([ring(3), ring(3, d=2)], "graph 1: given 2 features, expected 3"),
        ([ring(3), Data(edge_index=torch.zeros(2, 0, dtype=torch.long))], "graph 1: x is missing"),
        ([Data(x=torch.ones(2, 3), edge_index=torch.tensor([[0], [7]]))], "graph 0: edge_index: given node 7"),
        ([ring(3), "nothing"], "graph 1: given a str"),
    ],
)
def test_the_graph_at_fault_is_named(graphs, words):
    with pytest.raises(InputError, match=words):
        disjoint_union(graphs)
