from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import GAT, GCN, GIN, GCNConv, GraphSAGE, SAGEConv

from girl import KRLoss, KRRegularizer
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.kernel.checks import NotFiniteError
from girl.nn.encoder import Encoder, EncoderSettings

N, D, CLASSES = 60, 8, 3


def problem(seed=0):
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(N) % CLASSES
    x = torch.randn(N, D, generator=generator) + 2 * torch.eye(D)[y]
    edges = torch.randint(N, (2, 4 * N), generator=generator)
    mask = torch.rand(N, generator=generator) < 0.6
    return x, edges, y, mask


class Hand(torch.nn.Module):
    """Layers by hand, one of them run twice, with parts that are no layers."""

    def __init__(self):
        super().__init__()
        self.first, self.again, self.last = SAGEConv(D, 16), GCNConv(16, 16), SAGEConv(16, 16)
        self.head = torch.nn.Linear(16, CLASSES)

    def encode(self, x, edges):
        h = self.first(x, edges).relu()
        h = self.again(h, edges).relu()
        h = self.again(h, edges).relu()
        return self.last(h, edges)

    def forward(self, x, edges):
        return self.head(self.encode(x, edges))


MODELS = {
    "GCN": lambda: GCN(D, 16, 3, CLASSES),
    "GraphSAGE": lambda: GraphSAGE(D, 16, 3, CLASSES),
    "GAT": lambda: GAT(D, 16, 3, CLASSES, heads=4),
    "GATv2": lambda: GAT(D, 16, 3, CLASSES, heads=2, v2=True),
    "GIN": lambda: GIN(D, 16, 3, CLASSES),
    "GCN, jumping": lambda: GCN(D, 16, 3, CLASSES, jk="cat"),
    "by hand": Hand,
}


@pytest.mark.parametrize("name", MODELS)
def test_one_line_in_a_loop(name):
    """The term is the loss of the layers' outputs, it reaches their weights, and training lowers it."""
    torch.manual_seed(0)
    x, edges, y, mask = problem()
    model = MODELS[name]()
    regularizer = KRRegularizer(model, weight=1.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    terms = []
    for _ in range(15):
        out = model(x, edges)
        term = regularizer(y, mask)
        loss = cross_entropy(out[mask], y[mask]) + term
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        terms.append(float(term.detach()))
    assert terms[-1] < terms[0]
    assert len(regularizer.layers) == 2
    regularizer.remove()


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_the_term_is_the_weighted_sum_over_layers(root, last):
    x, edges, y, mask = problem()
    model = GCN(D, 16, 3, CLASSES)
    loss = KRLoss(root=root)
    regularizer = KRRegularizer(model, weight=0.3, loss=loss, last=last)
    seen = []
    for conv in model.convs:
        conv.register_forward_hook(lambda module, given, out: seen.append(out))
    model(x, edges)
    label = one_hot(y[mask]).float()
    expected = 0.3 * sum(loss(h[mask], label) for h in (seen if last else seen[:-1]))
    torch.testing.assert_close(regularizer(y, mask), expected)


def test_with_few_training_nodes_the_kernel_is_taken_in_full():
    x, edges, y, _ = problem()
    model = GCN(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model, loss=KRLoss(features="fourier", rank=40))
    found = {}
    for count in (40, 41):
        for seed in (0, 1):
            torch.manual_seed(seed)
            model(x, edges)
            found[count, seed] = regularizer(y, torch.arange(count)).item()
    assert found[40, 0] == found[40, 1]
    assert found[41, 0] != found[41, 1]
    assert regularizer.loss.features == "fourier"


def test_layers_by_name_or_as_modules():
    model = Hand()
    assert KRRegularizer(model).layers == ["first", "again"]
    assert KRRegularizer(model, last=True).layers == ["first", "again", "last"]
    assert KRRegularizer(model, ["last", model.head]).layers == ["last", "head"]
    x, edges, y, _ = problem()
    named = KRRegularizer(model, ["again"], weight=1.0, loss=KRLoss(features="exact"))
    outs = []
    model.again.register_forward_hook(lambda module, given, out: outs.append(out))
    model(x, edges)
    torch.manual_seed(3)
    expected = torch.stack([named.loss(h, one_hot(y).float()) for h in outs]).mean()  # of both times it ran
    torch.manual_seed(3)
    torch.testing.assert_close(named(y), expected)


def test_the_layers_of_this_package_are_found():
    x, edges, y, mask = problem()
    encoder = Encoder(D, EncoderSettings(conv="sage", hidden=16, layers=3))
    regularizer = KRRegularizer(encoder)
    encoder(NodeFeatures.from_tensor(x, "none"), Graph.from_edges(edges, N))
    assert regularizer(y, mask) > 0
    assert len(regularizer.layers) == 2


@pytest.mark.parametrize(
    "shape", ["classes", "a column of classes", "several labels", "booleans", "numbers", "a number"]
)
def test_kinds_of_labels(shape):
    x, edges, y, mask = problem()
    many = one_hot(y).bool()
    labels = {
        "classes": y,
        "a column of classes": y[:, None],
        "several labels": many.float(),
        "booleans": many,
        "numbers": x[:, :2],
        "a number": x[:, 0],
    }[shape]
    model = GCN(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model)
    out = model(x, edges)
    torch.manual_seed(0)
    term = regularizer(labels, mask)
    assert term > 0
    if shape in ("a column of classes", "several labels", "booleans"):
        model(x, edges)
        torch.manual_seed(0)
        torch.testing.assert_close(regularizer(y, mask), term)
    if shape == "several labels":
        (binary_cross_entropy_with_logits(out[mask], labels[mask]) + term).backward()


def test_classes_absent_from_a_batch_do_not_change_the_scale():
    x, edges, y, _ = problem()
    model = GCN(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model, classes=CLASSES)
    model(x, edges)
    term = regularizer(y, (y != 2).nonzero().squeeze(1))
    term.backward()
    assert term > 0
    grown = KRRegularizer(model)
    for which in (y >= 0, y != 2):
        model(x, edges)
        torch.manual_seed(0)
        seen = grown(y, which)
    model(x, edges)
    torch.manual_seed(0)
    torch.testing.assert_close(regularizer(y, y != 2), seen)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_training_nodes(count):
    x, edges, y, _ = problem()
    model = GCN(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model, weight=1.0)
    model(x, edges)
    mask = torch.zeros(N, dtype=torch.bool)
    mask[:count] = True
    term = regularizer(y, mask)
    term.backward()
    assert (float(term.detach()) == 0) == (count < 2)
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


def test_mixed_precision():
    x, edges, y, mask = problem()
    model = GraphSAGE(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model, loss=KRLoss(features="exact", root=False))
    full = [model(x, edges), regularizer(y, mask)][1]
    with torch.autocast("cpu", torch.bfloat16):
        out = model(x, edges)
        half = regularizer(y, mask)
        assert half.dtype == torch.float32
        assert half.item() == pytest.approx(full.item(), rel=0.05)
        (cross_entropy(out[mask], y[mask]) + half).backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_accumulated_gradients_are_the_sum():
    torch.manual_seed(0)
    model = GraphSAGE(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model, loss=KRLoss(features="exact", root=False), classes=CLASSES)

    def slopes(*seeds):
        model.zero_grad()
        for seed in seeds:
            x, edges, y, mask = problem(seed)
            model(x, edges)
            regularizer(y, mask).backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    for both, one, two in zip(slopes(1, 2), slopes(1), slopes(2), strict=True):
        torch.testing.assert_close(both, one + two)


def test_nothing_is_kept_after_the_step():
    x, edges, y, mask = problem()
    model = GCN(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model)
    kept = []
    model.convs[0].register_forward_hook(lambda module, given, out: kept.append(weakref.ref(out)))
    out = model(x, edges)
    (cross_entropy(out[mask], y[mask]) + regularizer(y, mask)).backward()
    del out
    gc.collect()
    assert kept[0]() is None
    with torch.no_grad():
        model(x, edges)
    gc.collect()
    assert kept[1]() is None
    model(x, edges)  # a run whose outputs nobody asks for is gone with the next
    model(x, edges)
    gc.collect()
    assert kept[2]() is None


def test_what_a_checkpoint_computes_again_is_not_collected():
    x, edges, y, mask = problem()

    class Saving(Hand):
        def forward(self, x, edges):
            return self.head(checkpoint(self.encode, x, edges, use_reentrant=False))

    model = Saving()
    regularizer = KRRegularizer(model, loss=KRLoss(features="exact"))
    for _ in range(2):
        (model(x, edges)[mask].sum() + regularizer(y, mask)).backward()
    with pytest.raises(RuntimeError, match="no layer has run"):
        regularizer(y, mask)


def test_a_model_run_by_its_parts():
    x, edges, y, mask = problem()
    model = Hand()
    regularizer = KRRegularizer(model)
    model.encode(x, edges)
    assert regularizer(y, mask) > 0


def test_copies_of_the_model_are_not_watched():
    x, edges, y, mask = problem()
    model = Hand()
    regularizer = KRRegularizer(model, loss=KRLoss(features="exact"))
    other = copy.deepcopy(model)
    model(x, edges)
    other(2 * x, edges)
    term = regularizer(y, mask)
    model(x, edges)
    torch.testing.assert_close(regularizer(y, mask), term)
    other(x, edges)
    with pytest.raises(RuntimeError, match="no layer has run"):
        regularizer(y, mask)


def test_a_copy_with_its_model_watches_the_copy():
    x, edges, y, mask = problem()
    model = Hand()
    pair = {"model": model, "regularizer": KRRegularizer(model, weight=0.7, loss=KRLoss(features="exact"))}
    made = copy.deepcopy(pair)
    assert made["regularizer"].model is made["model"]
    for one in (pair, made):
        one["model"](x, edges)
    torch.testing.assert_close(made["regularizer"](y, mask), pair["regularizer"](y, mask))


def test_a_watched_model_is_saved_and_loaded(tmp_path):
    model = Hand()
    regularizer = KRRegularizer(model)
    torch.save(model, tmp_path / "model.pt")
    x, edges, y, _ = problem()
    again = torch.load(tmp_path / "model.pt", weights_only=False)
    torch.testing.assert_close(again(x, edges), model(x, edges))
    assert regularizer(y) > 0


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def test_hooks_go_by_removal_at_the_end_of_a_block_and_when_forgotten():
    model = Hand()
    KRRegularizer(model).remove()
    assert hooks(model) == 0
    with KRRegularizer(model):
        assert hooks(model) > 0
    assert hooks(model) == 0
    regularizer = KRRegularizer(model)
    del regularizer
    gc.collect()
    assert hooks(model) == 0
    two = [KRRegularizer(model), KRRegularizer(model, ["last"])]
    x, edges, y, _ = problem()
    model(x, edges)
    assert two[0](y) > 0
    assert two[1](y) > 0


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_model(backend):
    torch._dynamo.reset()
    x, edges, y, mask = problem()
    model = GraphSAGE(D, 16, 3, CLASSES)
    loss = KRLoss(features="exact", root=False)
    plain = KRRegularizer(model, loss=loss)
    model(x, edges)
    expected = plain(y, mask)
    plain.remove()
    compiled = torch.compile(model, backend=backend)
    regularizer = KRRegularizer(compiled, loss=loss)
    for _ in range(2):
        out = compiled(x, edges)
        found = regularizer(y, mask)
        torch.testing.assert_close(found, expected)
        (cross_entropy(out[mask], y[mask]) + found).backward()


def test_a_layer_that_has_collapsed_costs_the_spread_and_has_no_gradient():
    x, edges, y, mask = problem()
    model = GCN(D, 16, 3, CLASSES)
    torch.nn.init.zeros_(model.convs[1].lin.weight)
    regularizer = KRRegularizer(model, ["convs.1"], weight=1.0)
    model(x, edges)
    term = regularizer(y, mask)
    label = one_hot(y[mask]).float()
    assert term.item() == pytest.approx(float(label.var(0, correction=0).mean()))
    term.backward()


def test_layers_that_are_trimmed_to_the_wanted_nodes():
    """A neighbour loader puts its seeds first, and deeper layers may put out the first nodes only."""
    x, edges, y, _ = problem()

    class Trimmed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = SAGEConv(D, 16), SAGEConv(16, 16)

        def forward(self, x, edges):
            h = self.one(x, edges)[:20]
            keep = (edges < 20).all(0)
            return self.two(h, edges[:, keep])

    model = Trimmed()
    regularizer = KRRegularizer(model, last=True)
    model(x, edges)
    assert regularizer(y, torch.arange(10)) > 0
    model(x, edges)
    with pytest.raises(ValueError, match="puts out 20 rows"):
        regularizer(y, torch.arange(30))


def test_mistakes_are_named():
    x, edges, y, mask = problem()
    model = GCN(D, 16, 3, CLASSES)
    with pytest.raises(ValueError, match=r"no part 'convs.7'.*'convs.0'"):
        KRRegularizer(model, ["convs.7"])
    with pytest.raises(ValueError, match="no message-passing layer"):
        KRRegularizer(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match="the last is left out"):
        KRRegularizer(GCN(D, 16, 1))
    with pytest.raises(ValueError, match="no part of the model"):
        KRRegularizer(model, [torch.nn.Linear(2, 2)])
    with pytest.raises(ValueError, match="weight"):
        KRRegularizer(model, weight=-1)
    regularizer = KRRegularizer(model, classes=CLASSES)

    def after_run(labels, mask):
        model(x, edges)
        return regularizer(labels, mask)

    with pytest.raises(RuntimeError, match="Run the model first"):
        regularizer(y, mask)
    with pytest.raises(ValueError, match="given class -1"):
        after_run(torch.full_like(y, -1), mask)
    with pytest.raises(ValueError, match="given class 5, expected 0 to 2"):
        after_run(torch.full_like(y, 5), mask)
    with pytest.raises(ValueError, match="mask: given shape"):
        after_run(y, mask[:5])
    with pytest.raises(ValueError, match="expected 30 as y has"):
        after_run(y[:30], None)
    with torch.no_grad():
        model.convs[0].lin.weight.fill_(torch.nan)
    with pytest.raises(NotFiniteError, match=r"layer 'convs.0'"):
        after_run(y, mask)


def test_nodes_are_named_by_mask_or_by_number():
    x, edges, y, mask = problem()
    torch.manual_seed(0)
    model = GraphSAGE(D, 16, 3, CLASSES)
    regularizer = KRRegularizer(model, classes=CLASSES)

    def value(*given):
        model(x, edges)
        return regularizer(y, *given, generator=torch.Generator().manual_seed(0))

    numbers = mask.nonzero().squeeze(1)
    torch.testing.assert_close(value(mask), value(numbers))
    torch.testing.assert_close(value(mask), value(numbers - N))
    torch.testing.assert_close(value(), value(torch.ones(N, dtype=torch.bool)), rtol=0, atol=0)
