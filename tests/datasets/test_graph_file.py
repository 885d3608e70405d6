from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl import store
from girl.datasets.dataset import NodeDataset
from girl.datasets.graph_file import load_graph, save_graph
from girl.errors import DamagedError


def example(sparse: bool, graphs: bool) -> NodeDataset:
    x = torch.eye(6)
    data = Data(x=x.to_sparse_csr() if sparse else x, edge_index=torch.tensor([[0, 5], [5, 0]]), y=torch.arange(6) % 2)
    data.column_group = torch.arange(6) // 2
    if graphs:
        data.graph, data.y = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([0, 1])
    masks = tuple((torch.arange(len(data.y)) % 3 == part).view(-1, 1) for part in range(3))
    return NodeDataset("toy", data, 2, False, True, {"public": masks}, ("public", "full"), True, "AUC")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
def test_a_saved_dataset_is_loaded_unchanged(tmp_path, sparse, graphs):
    saved = example(sparse, graphs)
    save_graph(tmp_path / "toy", saved)
    loaded = load_graph(tmp_path / "toy", "toy")
    assert loaded.data.to_dict().keys() == saved.data.to_dict().keys()
    for key, tensor in saved.data.to_dict().items():
        assert (loaded.data[key].dtype, loaded.data[key].layout) == (tensor.dtype, tensor.layout)
        assert torch.equal(loaded.data[key].to_dense(), tensor.to_dense())
    assert all(torch.equal(a, b) for a, b in zip(loaded.fixed["public"], saved.fixed["public"], strict=True))
    fields = ("name", "classes", "multilabel", "inductive", "protocols", "stand_in", "metric", "graphs")
    assert all(getattr(loaded, field) == getattr(saved, field) for field in fields)


def test_another_dataset_or_format_is_refused(tmp_path):
    path = tmp_path / "toy"
    save_graph(path, example(False, False))
    with pytest.raises(DamagedError, match="toy: holds toy, not cora"):
        load_graph(path, "cora")
    tensors, value = store.load(path)
    for other in ({**value, "format": 1}, None):
        store.save(path, tensors, other)
        with pytest.raises(DamagedError, match="toy: written by another version of girl"):
            load_graph(path, "toy")
