from __future__ import annotations

import polars as pl
import pytest
import torch

from girl import datasets
from girl.data.export import export_graph
from girl.data.usergraph import InputSettings, read_user_graph


@pytest.mark.parametrize("name", ["digits", "texas", "cora"])
def test_what_is_exported_is_read_back_as_the_same_graph(name, mirror, cache, tmp_path):
    dataset = datasets.load(name, cache, mirror)
    edges, nodes = export_graph(dataset, tmp_path)
    found = read_user_graph(edges, nodes, InputSettings(label="label", directed=True))
    assert found.ids.to_list() == list(range(dataset.data.num_nodes))
    assert found.table["label"].cast(pl.Int64).to_list() == dataset.data.y.tolist()
    once = dataset.data.edge_index.unique(dim=1)
    once = once[:, once[0] != once[1]]
    assert torch.equal(found.data.edge_index[:, found.data.edge_index[0].argsort(stable=True)].unique(dim=1), once)
    # Features are scaled on the way, column by column or row by row: where they are, they stay.
    if dataset.data.x.layout != torch.strided:
        used = dataset.data.x.to_dense().any(0)
        assert torch.equal(found.data.x.to_dense() != 0, dataset.data.x.to_dense()[:, used] != 0)
