from __future__ import annotations

import pytest
import torch
from torch_geometric import nn as pyg
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.kernel.sparse import csr
from girl.nn.convolutions import APPNP, CONVS, GAT, GCN, GIN, MLP, SAGE, GATv2, GraphConv, convolution


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def problem(request):
    torch.manual_seed(0)
    n = 40
    edges = torch.randint(n - 1, (2, 120))  # the last node is alone
    edges = coalesce(remove_self_loops(edges)[0], num_nodes=n)
    graph = Graph.from_edges(edges, n, directed=request.param)
    return torch.randn(n, 6), edges if request.param else to_undirected(edges, num_nodes=n), graph


def theirs(ours):
    """torch_geometric's layer with our weights."""
    with torch.no_grad():
        match ours:
            case GraphConv() | SAGE():
                other = pyg.GraphConv(6, 8) if isinstance(ours, GraphConv) else pyg.SAGEConv(6, 8)
                near, own = (
                    (other.lin_rel, other.lin_root) if isinstance(ours, GraphConv) else (other.lin_l, other.lin_r)
                )
                near.weight.copy_(ours.linear.weight.T)
                own.weight.copy_(ours.root.weight.T)
                near.bias.copy_(ours.root.bias)
            case MLP():
                other = torch.nn.Module()
                other.forward = lambda x, e: ours.linear(x)
            case APPNP():
                other = torch.nn.Module()
                other.forward = lambda x, e: pyg.APPNP(ours.hops, ours.teleport)(x @ ours.linear.weight, e) + ours.bias
            case GCN():
                other = pyg.SGConv(6, 8, K=ours.hops)
                other.lin.weight.copy_(ours.linear.weight.T)
                other.lin.bias.copy_(ours.bias)
            case GIN():
                mlp = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
                other = pyg.GINConv(mlp, eps=ours.epsilon.item())  # resets the weights it is given
                mlp[0].weight.copy_(ours.linear.weight.T)
                mlp[0].bias.copy_(ours.bias)
                mlp[2].weight.copy_(ours.second.weight.T)
                mlp[2].bias.copy_(ours.second.bias)
            case GAT():
                other = pyg.GATConv(6, 4, heads=2)
                other.lin.weight.copy_(ours.linear.weight.T)
                other.att_src.copy_(ours.source_score.unsqueeze(0))
                other.att_dst.copy_(ours.target_score.unsqueeze(0))
                other.bias.copy_(ours.bias)
            case GATv2():
                other = pyg.GATv2Conv(6, 4, heads=2)
                other.lin_l.weight.copy_(ours.linear.weight.T)
                other.lin_r.weight.copy_(ours.target.weight.T)
                other.lin_l.bias.copy_(ours.linear.bias)
                other.lin_r.bias.copy_(ours.target.bias)
                other.att.copy_(ours.attention.unsqueeze(0))
                other.bias.copy_(ours.bias)
    return other


def layer(conv):
    torch.manual_seed(1)
    made = convolution(conv, 6, 8, heads=2, hops=3, teleport=0.2)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made


@pytest.mark.parametrize("conv", list(CONVS))
def test_layers_equal_those_of_torch_geometric(conv, problem):
    x, edges, graph = problem
    ours = layer(conv)
    torch.testing.assert_close(ours(x, graph), theirs(ours)(x, edges), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("conv", list(CONVS))
def test_a_neighbor_of_weight_two_counts_as_two_neighbors(conv, problem):
    x, edges, graph = problem
    double = (edges[0] + edges[1]) % 3 == 0  # the same for both directions
    copies = torch.cat([edges, edges[:, double]], dim=1)
    ours, adjacency = layer(conv), graph.adjacency
    weight = 1.0 + (graph.edge_index.sum(0) % 3 == 0).float()
    weighted = Graph(csr(adjacency.crow_indices(), adjacency.col_indices(), weight, graph.shape), graph.symmetric, True)
    torch.testing.assert_close(ours(x, weighted), theirs(ours)(x, copies), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("conv", list(CONVS))
@pytest.mark.parametrize("form", ["dense", "features", "sparse"])
def test_some_rows_are_rows_of_all_with_the_same_gradient(conv, form, problem):
    x, _, graph = problem
    x = torch.where(x > 0, x, 0.0)
    given = {
        "dense": x,
        "features": NodeFeatures.from_tensor(x),
        "sparse": NodeFeatures.from_tensor(x.to_sparse_csr()),
    }[form]
    ours = layer(conv)
    rows = torch.tensor([3, 39, 0, 17])
    weight = torch.randn(4, 8)
    some = ours(given, graph, rows)
    gradient = torch.autograd.grad((some * weight).sum(), list(ours.parameters()))
    whole = ours(x, graph)[rows]
    expected = torch.autograd.grad((whole * weight).sum(), list(ours.parameters()))
    torch.testing.assert_close(some, whole, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("conv", list(CONVS))
@pytest.mark.parametrize("form", ["dense", "features"])
def test_columns_of_the_messages_are_computed_alone(conv, form, problem):
    x, _, graph = problem
    x = x if form == "dense" else NodeFeatures.from_tensor(x)
    ours = layer(conv)
    messages = ours.sources(x, graph)
    parts = [ours.sources(x, graph, slice(start, start + 2)) for start in range(0, messages.shape[1], 2)]
    torch.testing.assert_close(torch.cat(parts, 1), messages)
    assert ours.passes_on(x) == (form == "dense" and messages is x)
