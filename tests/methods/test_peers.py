"""What defines each of the methods that GIRL is compared with."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import integrate, special
from torch.nn.functional import cosine_similarity, normalize

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.methods import grace
from girl.methods.bgcl import BGCL, BGCLSettings, divergence
from girl.methods.bgrl import BGRL, BGRLSettings
from girl.methods.ccassg import CCASSG, CCASSGSettings
from girl.methods.dgi import DGI, DGISettings
from girl.methods.ggd import GGD, GGDSettings
from girl.methods.grace import GRACE, GRACESettings, contrast
from girl.methods.graphmae import GraphMAE, GraphMAESettings
from girl.methods.selene import SELENE, SELENESettings, agreement, shells, spectrum, walks
from girl.nn.encoder import EncoderSettings


def made(kind, settings, whole, **encoder):
    torch.manual_seed(0)
    given = {"conv": "gcn", "hidden": 8, "layers": 2, "keep": 0.0, **encoder}
    return kind(whole.x.shape[1], EncoderSettings(**given), settings)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_dgi_scores_nodes_by_the_summary_and_shuffled_ones_as_negatives(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(DGI, DGISettings(), whole)
    found = method.losses(whole, seeded())["discriminator"]
    real = method.encoder(whole.x, whole.graph)[-1]
    order = torch.randperm(whole.num_nodes, generator=seeded())
    fake = method.encoder(NodeFeatures(dense=whole.x.dense()[order]), whole.graph)[-1]
    summary = method.discriminator @ real.mean(0).sigmoid()
    positive = (real @ summary + method.bias).sigmoid().log()
    negative = (1 - (fake @ summary + method.bias).sigmoid()).log()
    torch.testing.assert_close(found, -(positive.mean() + negative.mean()) / 2)


def test_dgi_learns_to_tell_them_apart(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(DGI, DGISettings(), whole)
    optimizer = torch.optim.Adam(method.parameters(), 1e-2)
    generator = seeded()
    for _ in range(150):
        optimizer.zero_grad()
        loss = method.losses(whole, generator)["discriminator"]
        loss.backward()
        optimizer.step()
    assert loss < 0.5 < math.log(2)


def test_ggd_sums_a_linear_map_and_spreads_what_it_learned(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(GGD, GGDSettings(hide=0.0, reach=2), whole)
    found = method.losses(whole, seeded())["groups"]
    scores = (method.encoder(whole.x, whole.graph)[-1] @ method.head.weight.sum(1)) + method.head.bias.sum()
    order = torch.randperm(whole.num_nodes, generator=seeded())
    shuffled = NodeFeatures(dense=whole.x.dense()[order])
    others = (method.encoder(shuffled, whole.graph)[-1] @ method.head.weight.sum(1)) + method.head.bias.sum()
    expected = -(scores.sigmoid().log().mean() + (1 - others.sigmoid()).log().mean()) / 2
    torch.testing.assert_close(found, expected)
    h = torch.randn(whole.num_nodes, 8, generator=seeded())
    twice = whole.graph.gcn @ (whole.graph.gcn @ h)
    torch.testing.assert_close(method.spread(h, whole), h + twice)
    assert made(GGD, GGDSettings(reach=0), whole).spread(h, whole) is h


def plain_contrast(u, v, temperature):
    """The formula, node by node."""
    total = 0.0
    for i in range(len(u)):
        across = (u[i] @ v.T / temperature).exp()
        within = (u[i] @ u.T / temperature).exp()
        total += -(across[i] / (across.sum() + within.sum() - within[i])).log()
    return total / len(u)


@pytest.mark.parametrize("chunk", [7, 1024])
def test_grace_is_its_formula_in_chunks_of_any_size(chunk, monkeypatch):
    monkeypatch.setattr(grace, "CHUNK", chunk)
    u = normalize(torch.randn(20, 6, generator=seeded(), dtype=torch.float64)).requires_grad_()
    v = normalize(torch.randn(20, 6, generator=seeded(1), dtype=torch.float64)).requires_grad_()
    torch.testing.assert_close(contrast(u, v, 0.5), plain_contrast(u, v, 0.5))
    ours = torch.autograd.grad(contrast(u, v, 0.5), (u, v))
    theirs = torch.autograd.grad(plain_contrast(u, v, 0.5), (u, v))
    torch.testing.assert_close(ours, theirs)


def test_grace_is_symmetric_in_its_views(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(GRACE, GRACESettings(hide_first=0.0, hide_second=0.0, drop_first=0.0, drop_second=0.0), whole)
    found = method.losses(whole, seeded())["contrast"]
    u = normalize(method.projector(method.encoder(whole.x, whole.graph)[-1]))
    torch.testing.assert_close(found, contrast(u, u, 0.4))
    assert made(GRACE, GRACESettings(rows=30), whole).losses(whole, seeded())["contrast"] < math.log(60) + 2 / 0.4


def test_bgrl_predicts_the_copy_which_follows_without_a_gradient(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(BGRL, BGRLSettings(hide_first=0.0, hide_second=0.0, drop_first=0.0, drop_second=0.0), whole)
    found = method.losses(whole, seeded())["bootstrap"]
    found.backward()
    predicted = method.predictor(method.encoder(whole.x, whole.graph)[-1])
    wanted = method.copy(whole.x, whole.graph)[-1]
    torch.testing.assert_close(found, 2 - 2 * cosine_similarity(predicted, wanted).mean())
    assert all(p.grad is None and not p.requires_grad for p in method.copy.parameters())
    assert all(p.grad is not None for p in method.encoder.parameters())
    for share, rate in ((0.0, 0.01), (0.5, 0.005), (1.0, 0.0)):
        before = [p.clone() for p in method.copy.parameters()]
        method.after_step(share)
        now = method.copy.parameters()
        for old, new, theirs in zip(before, now, method.encoder.parameters(), strict=True):
            torch.testing.assert_close(new, old + rate * (theirs - old))


def test_ccassg_is_its_formula(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(CCASSG, CCASSGSettings(hide=0.0, drop=0.0, decorrelation=0.1), whole, activation="none")
    found = method.losses(whole, seeded())
    h = method.encoder(whole.x, whole.graph)[-1]
    z = (h - h.mean(0)) / h.std(0, correction=0)
    n, k = z.shape
    torch.testing.assert_close(found["difference"], torch.tensor(0.0), atol=1e-5, rtol=0)
    apart = 2 * (z.T @ z / n - torch.eye(k)).square().sum()
    torch.testing.assert_close(found["repetition"], 0.1 * apart / k)


def test_graphmae_rebuilds_hidden_nodes_which_are_hidden_twice(graph_and_labels):
    whole, _ = graph_and_labels
    settings = GraphMAESettings(mask=0.4, noise=0.0, sharpness=2.0, dropout=0.0)
    method = made(GraphMAE, settings, whole)
    with torch.no_grad():
        method.token.normal_(generator=seeded(1))
    found = method.losses(whole, seeded())["rebuilt"]
    hidden = torch.randperm(whole.num_nodes, generator=seeded())[: int(0.4 * whole.num_nodes)]
    x = whole.x.dense()
    seen = x.clone()
    seen[hidden] = method.token
    code = method.encoder(NodeFeatures(dense=seen), whole.graph)[-1] @ method.between.weight
    code[hidden] = 0
    rebuilt = method.decoder(code, whole.graph)[hidden]
    expected = (1 - cosine_similarity(rebuilt, x[hidden])).square().mean()
    torch.testing.assert_close(found, expected)
    found.backward()
    assert method.token.grad.abs().sum() > 0


def test_graphmae_shows_some_hidden_nodes_the_features_of_others(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(GraphMAE, GraphMAESettings(mask=0.5, noise=0.5, dropout=0.0), whole)
    with torch.no_grad():
        method.token.fill_(7.0)
    shown = []
    method.encoder.register_forward_pre_hook(lambda _, given: shown.append(given[0].dense().detach()))
    method.losses(whole, seeded())
    x = whole.x.dense()
    hidden = torch.randperm(whole.num_nodes, generator=seeded())[: whole.num_nodes // 2]
    noisy, tokens = hidden[: len(hidden) // 2], hidden[len(hidden) // 2 :]
    assert (shown[0][tokens] == 7).all()
    assert (torch.cdist(shown[0][noisy], x).min(1).values < 1e-3).all()
    assert not torch.equal(shown[0][noisy], x[noisy])
    rest = torch.ones(whole.num_nodes, dtype=torch.bool)
    rest[hidden] = False
    torch.testing.assert_close(shown[0][rest], x[rest])


def test_bgcl_learns_its_rates(graph_and_labels):
    whole, _ = graph_and_labels
    method = made(BGCL, BGCLSettings(samples=3), whole)
    terms = method.losses(whole, seeded())
    terms["contrast"].backward()
    assert (method.a.grad != 0).all()
    assert (method.b.grad != 0).all()
    assert terms["rates"] >= 0
    for other in ({"conv": "sage"}, {"output": "layers"}):
        with pytest.raises(InputError, match="BGCL"):
            made(BGCL, BGCLSettings(), whole, **other)


@pytest.mark.parametrize(("a", "b"), [(1.5, 0.8), (0.7, 2.0), (3.0, 3.0)])
def test_the_divergence_is_the_integral(a, b):
    prior = 0.8

    def density(x):
        return a * b * x ** (a - 1) * (1 - x**a) ** (b - 1)

    def integrand(x):
        other = prior * x ** (prior - 1) / special.beta(1, 1)
        return density(x) * np.log(density(x) / other)

    expected, _ = integrate.quad(integrand, 0, 1)
    assert divergence(torch.tensor(a), torch.tensor(b), prior).item() == pytest.approx(expected, abs=1e-4)


def ring(n=8):
    edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    return Graph.from_edges(edges, n)


def test_selene_tells_places_by_shells_walks_and_spectrum():
    graph = ring()
    assert torch.equal(shells(graph), torch.tensor([[1.0, 2.0, 2.0, 2.0]]).expand(8, 4))
    torch.testing.assert_close(walks(graph), torch.ones(8, 4))
    star = Graph.from_edges(torch.tensor([[0, 0, 0], [1, 2, 3]]), 4)
    assert shells(star)[:, 1:].tolist() == [[3, 0, 0], [1, 2, 0], [1, 2, 0], [1, 2, 0]]
    torch.testing.assert_close(walks(star)[:, 1], torch.tensor([3, 1 / 3, 1 / 3, 1 / 3]))
    found = spectrum(graph)
    assert found.shape == (8, 32)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(8))


def test_agreement_is_zero_for_equal_and_uncorrelated_columns():
    z = torch.linalg.qr(torch.randn(50, 5, generator=seeded(), dtype=torch.float64)).Q
    z = z - z.mean(0)
    z = torch.linalg.qr(z).Q
    centred = z - z.mean(0)
    assert agreement(centred, centred) < 0.01
    other = torch.randn(50, 5, generator=seeded(2), dtype=torch.float64)
    assert agreement(centred, other) > 0.5


@pytest.mark.parametrize("structure", ["shells", "walks", "spectrum", "features"])
def test_selene_has_two_channels(structure, graph_and_labels):
    whole, _ = graph_and_labels
    method = made(SELENE, SELENESettings(structure=(structure,), code=4, channel=12), whole, norm="batch")
    method.prepare(whole, seeded())
    terms = method.losses(whole, seeded())
    assert set(terms) == {"rebuilt", "features", "places"}
    sum(terms.values()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in method.parameters())
    found = method.embed(whole)
    assert found.shape == (whole.num_nodes, 8)
    # Another place changes the second channel only, another feature the first (unless features tell the place).
    moved = Batch(whole.x, whole.graph.drop_edges(0.5, seeded()))
    if structure != "features":
        torch.testing.assert_close(method.embed(moved)[:, :4], found[:, :4])
    assert not torch.allclose(method.embed(moved)[:, 4:], found[:, 4:])


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        (GRACESettings, {"temperature": 0.0}),
        (GRACESettings, {"hide_first": 1.0}),
        (BGRLSettings, {"momentum": 2.0}),
        (BGCLSettings, {"samples": 0}),
        (GraphMAESettings, {"mask": 0.0}),
        (CCASSGSettings, {"drop": -1.0}),
        (GGDSettings, {"reach": -1}),
        (SELENESettings, {"structure": ("nothing",)}),
        (SELENESettings, {"structure": ()}),
    ],
)
def test_bad_settings_are_named(settings, values):
    with pytest.raises(InputError, match=next(iter(values))):
        settings(**values)
