from __future__ import annotations

import math

import torch
from torch.nn.functional import softplus

from girl.methods.infograph import InfoGraph, InfoGraphSettings
from tests.helpers.methods import build_for_sets, seeded


def test_loss_equals_the_formula(graphs):
    method = build_for_sets(InfoGraph, InfoGraphSettings(), graphs)
    loss = method.losses(graphs, seeded())["information"]
    h = torch.cat(method.encoder(graphs.x, graphs.graph), 1)
    nodes, pooled = method.node_network(h), method.graph_network(graphs.pool(h, "sum"))
    positive, negative = [], []
    for i in range(graphs.num_nodes):
        for k in range(graphs.num_graphs):
            s = nodes[i] @ pooled[k]
            if graphs.graph_id[i] == k:
                positive.append(math.log(2) - softplus(-s))
            else:
                negative.append(softplus(-s) + s - math.log(2))
    expected = torch.stack(negative).mean() - torch.stack(positive).mean()
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-4)


def test_a_single_graph_has_no_loss(graphs):
    method = build_for_sets(InfoGraph, InfoGraphSettings(), graphs)
    one = graphs.subgraph(torch.nonzero(graphs.graph_id == 3).flatten(), renumber_graphs=True)
    assert method.losses(one, seeded()) == {}
