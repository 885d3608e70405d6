from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl.datasets.dataset import NodeDataset
from girl.errors import InputError


def test_a_set_of_graphs_is_refused_where_node_labels_are_needed():
    nodes = NodeDataset("one", Data(y=torch.zeros(4)), 1)
    graphs = NodeDataset("many", Data(y=torch.zeros(2), graph=torch.tensor([0, 0, 1, 1])), 1)
    assert (nodes.graphs, graphs.graphs) == (0, 2)
    nodes.check_nodes("training")
    with pytest.raises(InputError, match="many: given a set of 2 graphs, expected .*: training is for those"):
        graphs.check_nodes("training")


def test_the_title_of_a_stand_in_says_so():
    assert NodeDataset("cora", Data(), 7).title == "cora"
    assert NodeDataset("cora", Data(), 7, stand_in=True).title == "cora (stand-in)"
