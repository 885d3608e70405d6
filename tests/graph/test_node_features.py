from __future__ import annotations

import pytest
import torch

from girl.graph.graph import Graph
from girl.graph.node_features import NORMALIZATIONS, SIZES, NodeFeatures, num_extra_columns


@pytest.fixture
def x():
    torch.manual_seed(0)
    x = torch.randn(30, 12) * (torch.rand(30, 12) < 0.3)
    x[4] = 0
    return x


@pytest.mark.parametrize("normalise", list(NORMALIZATIONS))
def test_sparse_and_dense_are_the_same_map(x, normalise):
    thin, thick = NodeFeatures.from_tensor(x.to_sparse_csr(), normalise), NodeFeatures.from_tensor(x, normalise)
    d = 12 + num_extra_columns(normalise)
    w, z, nodes = torch.randn(d, 5, requires_grad=True), torch.randn(30, 5), torch.tensor([4, 0, 29])
    close = {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(thin @ w, thick @ w, **close)
    torch.testing.assert_close(thin.t_matmul(z), thick.t_matmul(z), **close)
    torch.testing.assert_close(thin.dense(), thick.dense(), **close)
    torch.testing.assert_close(thin.dense(nodes), thick.dense(nodes), **close)
    torch.testing.assert_close(thin.rows(nodes) @ w, (thick @ w)[nodes], **close)
    gradients = [torch.autograd.grad(((f @ w) * z).sum(), w)[0] for f in (thin, thick)]
    torch.testing.assert_close(*gradients, **close)
    assert thin.shape == thick.shape == (30, d)


def test_normalised_rows_have_the_promised_size(x):
    squares = NodeFeatures.from_tensor(x, "l2").dense().square().sum(1)
    some = x.any(1)
    torch.testing.assert_close(squares, 12.0 * some)
    rows = NodeFeatures.from_tensor(x.to_sparse_csr(), "zscore").dense()
    torch.testing.assert_close(rows.mean(1), torch.zeros(30), rtol=0, atol=1e-5)
    torch.testing.assert_close(rows.std(1, correction=0), 1.0 * some)
    assert not NodeFeatures.from_tensor(x, "zscore").dense()[4].any()


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_sized_rows_have_one_length_and_their_size_in_a_column(x, form):
    def made(rows):
        return NodeFeatures.from_tensor(rows if form == "dense" else rows.to_sparse_csr(), "sized").dense()

    rows = made(x)
    some = x.any(1)
    torch.testing.assert_close(rows.square().sum(1), (12.0 + SIZES) * some)
    torch.testing.assert_close(rows[:, :12].norm(dim=1), rows[:, 12:].norm(dim=1))
    assert bool((rows[:, 12:].count_nonzero(1) == some).all())
    larger = made(4 * x)
    torch.testing.assert_close(larger[:, :12], rows[:, :12])
    torch.testing.assert_close(larger[:, 12 + 4 :], rows[:, 12:-4])  # four steps of √2
    extreme = made(torch.cat([1e-15 * x, 1e15 * x]))
    assert bool(torch.isfinite(extreme).all())


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_dropout_keeps_the_mean_and_the_transpose(form):
    x = torch.ones(200, 50) if form == "dense" else torch.ones(200, 50).to_sparse_csr()
    dropped = NodeFeatures.from_tensor(x).dropout(0.8, torch.Generator().manual_seed(0))
    written = dropped.dense()
    torch.testing.assert_close(written.unique(), torch.tensor([0.0, 5.0]))
    assert written.mean().item() == pytest.approx(1, abs=0.1)
    torch.testing.assert_close(dropped.t_matmul(torch.eye(200)), written.T.contiguous())
    whole = NodeFeatures.from_tensor(x)
    assert whole.dropout(0.0) is whole


@pytest.mark.parametrize("normalise", ["none", "l2", "zscore"])
def test_aggregates_are_those_of_the_dense_features(normalise):
    torch.manual_seed(0)
    x = torch.where(torch.rand(20, 6) < 0.3, 1.0, 0.0)
    rows = Graph.from_edges(torch.randint(20, (2, 50)), 20).mean.rows(torch.tensor([3, 3, 7]))
    expected = rows @ NodeFeatures.from_tensor(x, normalise).dense()
    for form in (x, x.to_sparse_csr()):
        torch.testing.assert_close(NodeFeatures.from_tensor(form, normalise).aggregate(rows), expected)


@pytest.mark.parametrize("normalise", list(NORMALIZATIONS))
def test_masked_rows_and_columns_are_the_same_in_both_forms(x, normalise):
    d = 12 + num_extra_columns(normalise)
    w, nodes = torch.randn(d, 5), torch.tensor([3, 7])
    token = torch.randn(d, requires_grad=True)
    thin, thick = NodeFeatures.from_tensor(x.to_sparse_csr(), normalise), NodeFeatures.from_tensor(x, normalise)
    hidden = [form.mask_rows(nodes, token) for form in (thin, thick)]
    expected = thick.dense().clone()
    expected[nodes] = token.detach()
    for form in hidden:
        torch.testing.assert_close((form @ w).detach(), expected @ w)
        torch.testing.assert_close(form.dense().detach(), expected)
        torch.testing.assert_close(form.rows(torch.tensor([7, 0])).dense().detach(), expected[[7, 0]])
        torch.testing.assert_close(form.t_matmul(torch.eye(30)).detach(), expected.T)
        (slope,) = torch.autograd.grad((form @ w).sum(), token)
        torch.testing.assert_close(slope, 2 * w.sum(1))
    assert not thin.mask_rows(nodes).dense()[nodes].any()
    if normalise != "zscore":  # of which only the sparse term is hidden
        generators = [torch.Generator().manual_seed(0) for _ in range(2)]
        less = [form.mask_columns(0.5, source) for form, source in zip((thin, thick), generators, strict=True)]
        torch.testing.assert_close(less[0].dense(), less[1].dense())
        assert thin.mask_columns(0.0) is thin


@pytest.mark.parametrize("normalise", ["none", "zscore"])
def test_a_token_survives_what_follows(x, normalise):
    """Dropout and masked columns leave the token in place of masked rows, and aggregates see it."""
    nodes, token = torch.tensor([3, 7]), torch.arange(12.0)
    masked = NodeFeatures.from_tensor(x.to_sparse_csr(), normalise).mask_rows(nodes, token)
    generator = torch.Generator().manual_seed(0)
    for features in (masked, masked.dropout(0.5, generator), masked.mask_columns(0.5, generator), masked.to("cpu")):
        torch.testing.assert_close(features.dense()[nodes], token.expand(2, 12))
        mean = Graph.from_edges(torch.tensor([[3, 7], [0, 0]]), 30).mean.rows(torch.tensor([0]))
        torch.testing.assert_close(features.aggregate(mean), token.unsqueeze(0))


def test_ids_are_columns_that_no_two_nodes_share():
    assert NodeFeatures.from_tensor(torch.eye(4).to_sparse_csr()).is_ids
    assert not NodeFeatures.from_tensor(torch.tensor([[1.0, 0], [1, 0]]).to_sparse_csr()).is_ids
    assert not NodeFeatures.from_tensor(torch.eye(4)).is_ids
