"""Laws of the loss: gradients, exactness, invariances, precision, and errors."""

from __future__ import annotations

import copy
import gc
import inspect
import itertools
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from girl import KRLoss, kr_loss
from tests.helpers.samples import awkward, normal, seeded

BANDWIDTHS = ("mean", "median", 1.3)
FEATURES = ("exact", "nystrom", "fourier")
SMOOTHERS = ("ridge", "clamp", "projection")
RESIDUALS = ("loo", "insample")
NORMS = (1.0, 1.5, 2.0, 4.0)


def loss_of(bandwidth="mean", features="exact", smoother="ridge", residual="loo", p=2.0, **more) -> KRLoss:
    more.setdefault("rank", 8)
    # Away from eigenvalues that the projection would keep or drop by accident.
    more.setdefault("strength", 1e-2 if smoother == "projection" else None)
    return KRLoss(bandwidth, features, smoother=smoother, residual=residual, p=p, **more)


def value(loss: KRLoss, x: Tensor, *targets: Tensor, seed: int = 3) -> Tensor:
    return loss(x, *targets, generator=seeded(seed))


def gradient_matches(
    loss: KRLoss, x: Tensor, y: Tensor, rtol: float = 1e-4, atol: float = 1e-6, entries: bool = True
) -> bool:
    """Analytic gradient = central finite differences, in X: by its entries, or along a random direction."""
    return torch.autograd.gradcheck(
        lambda rows: value(loss, rows, y),
        (x.clone().requires_grad_(),),
        eps=1e-6,
        atol=atol,
        rtol=rtol,
        fast_mode=not entries,
    )


@pytest.mark.parametrize(
    ("bandwidth", "features", "smoother", "residual"),
    list(itertools.product(BANDWIDTHS, FEATURES, SMOOTHERS, RESIDUALS)),
)
@pytest.mark.parametrize("p", NORMS)
def test_gradient_equals_finite_differences(bandwidth, features, smoother, residual, p):
    x, y = normal(11, 3), normal(11, 2, seed=1)
    chunks = (100,) if features == "exact" else (100, 5)
    landmarks = ("uniform", "rpcholesky") if features == "nystrom" else ("uniform",)
    for chunk, kind in itertools.product(chunks, landmarks):
        loss = loss_of(bandwidth, features, smoother, residual, p, chunk_size=chunk, landmarks=kind)
        # Every entry for p = 2; else only along a random direction, which is faster.
        assert gradient_matches(loss, x, y, entries=p == 2 and chunk == 100 and kind == "uniform")


@pytest.mark.parametrize("smoother", SMOOTHERS)
@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("case", ["duplicated rows", "one-dimensional", "an outlier", "a constant column", "one-hot"])
def test_gradient_equals_finite_differences_where_k_is_deficient(case, features, residual, smoother):
    x = awkward(16)[case]
    x = x / (x - x.mean(0)).norm() * 8  # one step size of the differences for all
    # A column of ones, explained almost fully, and a column of zeros.
    y = torch.cat([normal(16, 2, seed=1), torch.ones(16, 1), torch.zeros(16, 1)], 1).double()
    loss = loss_of(1.3, features, smoother, residual, strength={"projection": 1e-3}.get(smoother))
    # Where a column is explained almost fully, rounding of the differences is up to 3e-5, and differs between CPUs; the
    # gradient is about 10.
    assert gradient_matches(loss, x, y, rtol=2e-3, atol=1e-4, entries=case != "one-hot")


@pytest.mark.parametrize("residual", RESIDUALS)
@pytest.mark.parametrize("features", ["exact", "nystrom"])
def test_gradient_at_the_kink_of_the_clamp(features, residual):
    # Rows far from all others are eigenvectors of K with eigenvalue 1, exactly where min(λ, 1) bends.
    x = torch.cat([normal(10, 2), torch.tensor([[100.0, 0.0], [0.0, 100.0], [-100.0, 0.0]]).double()])
    loss = loss_of(1.0, features, "clamp", residual, rank=13)
    kernel = torch.exp(-torch.cdist(x, x).square() / 2)
    assert int((torch.linalg.eigvalsh(kernel) - 1).abs().lt(1e-12).sum()) >= 3
    assert gradient_matches(loss, x, normal(13, 3, seed=1))


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("chunk", [4, 100])
@pytest.mark.parametrize("p", [1.5, 2.0])
def test_gradient_flows_into_dense_targets(features, chunk, p):
    x, y = normal(12, 3), normal(12, 2, seed=1)
    loss = loss_of(features=features, chunk_size=chunk, p=p)
    assert torch.autograd.gradcheck(
        lambda a, b: value(loss, a, b, 2 * b), (x.requires_grad_(), y.requires_grad_()), atol=1e-6, rtol=1e-4
    )


@pytest.mark.parametrize(("smoother", "residual"), list(itertools.product(SMOOTHERS, RESIDUALS)))
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("landmarks", ["uniform", "rpcholesky"])
def test_low_rank_at_full_rank_is_exact(smoother, residual, p, landmarks):
    x, y = normal(30, 4), normal(30, 3, seed=1)
    exact = value(loss_of("mean", "exact", smoother, residual, p), x, y)
    full = value(loss_of("mean", "nystrom", smoother, residual, p, rank=30, landmarks=landmarks, chunk_size=11), x, y)
    torch.testing.assert_close(full, exact, rtol=1e-6, atol=1e-9)


def test_fourier_features_converge_to_exact():
    x, y = normal(60, 4), normal(60, 3, seed=1)
    exact = value(loss_of(), x, y)
    errors = [
        sum(float((value(loss_of(features="fourier", rank=r), x, y, seed=s) / exact - 1).abs()) for s in range(8))
        for r in (16, 128, 1024)
    ]
    assert errors[2] < errors[1] / 2 < errors[0] / 4
    assert errors[2] / 8 < 0.02


@pytest.mark.parametrize(
    ("features", "smoother", "residual"), list(itertools.product(FEATURES[1:], SMOOTHERS, RESIDUALS))
)
@pytest.mark.parametrize("p", [1.5, 2.0])
def test_chunks_change_neither_value_nor_gradient(features, smoother, residual, p):
    dense, sparse = normal(50, 3, seed=1), (normal(50, 6, seed=2) * (normal(50, 6, seed=3) > 1)).to_sparse_csr()
    results = []
    for chunk in (1000, 50, 17, 1):
        x = normal(50, 4).requires_grad_()
        loss = value(loss_of("mean", features, smoother, residual, p, chunk_size=chunk), x, dense, sparse)
        (grad,) = torch.autograd.grad(loss, x)
        results.append((loss, grad))
    for loss, grad in results[1:]:
        torch.testing.assert_close(loss, results[0][0], rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(grad, results[0][1], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(("features", "smoother", "residual"), list(itertools.product(FEATURES, SMOOTHERS, RESIDUALS)))
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("chunk", [1000, 13])
def test_sparse_targets_give_the_loss_of_dense_targets(features, smoother, residual, p, chunk):
    dense = normal(40, 7, seed=1) * (normal(40, 7, seed=2) > 0.8)
    dense[:, 3] = 0  # an empty column
    dense[5] = 0  # an empty row
    results = []
    for y in (dense, dense.to_sparse_csr()):
        x = normal(40, 4).requires_grad_()
        loss = value(loss_of("mean", features, smoother, residual, p, chunk_size=chunk), x, y)
        (grad,) = torch.autograd.grad(loss, x)
        results.append((loss, grad))
    torch.testing.assert_close(*(loss for loss, _ in results), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(*(grad for _, grad in results), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("features", "residual"), list(itertools.product(FEATURES, RESIDUALS)))
def test_several_targets_give_the_sum_of_several_calls(features, residual):
    x, a, b = normal(30, 4), normal(30, 3, seed=1), normal(30, 5, seed=2)
    c = (normal(30, 8, seed=3) * (normal(30, 8, seed=4) > 1)).to_sparse_csr()
    loss = loss_of(features=features, residual=residual)
    torch.testing.assert_close(value(loss, x, a, b, c), sum(value(loss, x, y) for y in (a, b, c)))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(BANDWIDTHS), st.sampled_from(SMOOTHERS), st.sampled_from(RESIDUALS))
def test_invariant_under_permutation_translation_and_rotation(seed, bandwidth, smoother, residual):
    x, y = normal(20, 4, seed=seed), normal(20, 3, seed=seed + 1)
    loss = loss_of(bandwidth, "exact", smoother, residual)
    order = torch.randperm(20, generator=seeded(seed))
    rotation = torch.linalg.qr(normal(4, 4, seed=seed + 2)).Q
    plain = value(loss, x, y)
    close = {"rtol": 1e-6, "atol": 1e-8}
    torch.testing.assert_close(value(loss, x[order], y[order]), plain, **close)
    torch.testing.assert_close(value(loss, x + 10 * normal(4, seed=seed + 3), y), plain, **close)
    torch.testing.assert_close(value(loss, x @ rotation, y), plain, **close)
    # Landmarks move and rotate with the rows; frequencies do not depend on the order of the rows.
    for features, other in (("nystrom", (x + 3) @ rotation), ("fourier", x - 5)):
        low = loss_of(bandwidth, features, smoother, residual)
        torch.testing.assert_close(value(low, other, y), value(low, x, y), **close)
    low = loss_of(1.3, "fourier", smoother, residual)
    torch.testing.assert_close(value(low, x[order], y[order]), value(low, x, y), **close)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(-1e3, 1e3).filter(lambda v: abs(v) > 1e-3),
    st.floats(1e-3, 1e3),
    st.sampled_from(FEATURES),
    st.sampled_from(NORMS),
)
def test_scales_with_y_and_not_with_x(factor, stretch, features, p):
    x, y = normal(25, 3), normal(25, 2, seed=1)
    loss = loss_of(features=features, p=p)
    torch.testing.assert_close(value(loss, x, factor * y), abs(factor) * value(loss, x, y))
    torch.testing.assert_close(value(loss, stretch * x, y), value(loss, x, y))


@pytest.mark.parametrize("features", ["exact", "nystrom"])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_leave_one_out_equals_n_refits(features, p):
    n, tau, sigma = 24, 1e-2, 1.3
    x, y = normal(n, 3), normal(n, 2, seed=1)
    kernel = torch.exp(-torch.cdist(x, x).square() / (2 * sigma**2))
    residuals = []
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        weights = torch.linalg.solve(kernel[rest][:, rest] + n * tau * torch.eye(n - 1), y[rest])
        residuals.append(y[i] - kernel[i, rest] @ weights)
    refits = torch.stack(residuals).abs().pow(p).mean(0).pow(1 / p).mean()
    result = value(loss_of(sigma, features, "ridge", "loo", p, strength=tau, rank=n), x, y)
    torch.testing.assert_close(result, refits, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("case", list(awkward(16)))
def test_float32_agrees_with_float64(case, n):
    x = awkward(n, torch.float32)[case]
    y = torch.cat([x[:, :3].sin(), normal(n, 2, seed=9).float(), torch.ones(n, 1), x[:, :1]], 1)
    for features, smoother, residual, p in itertools.product(FEATURES, SMOOTHERS, RESIDUALS, (2.0, 3.0)):
        loss = KRLoss("mean", features, 64, smoother, residual=residual, p=p)
        results = []
        for dtype in (torch.float32, torch.float64):
            rows = x.to(dtype).detach().clone().requires_grad_()
            rho = value(loss, rows, y.to(dtype))
            assert rho.dtype == dtype
            (grad,) = torch.autograd.grad(rho, rows)
            results.append((rho.item(), grad.double()))
        (single, single_grad), (double, double_grad) = results
        # A loss or a gradient that is zero up to rounding has no relative error of its own.
        scale = float(y.std(0).mean())
        unit = scale / float((x - x.mean(0)).norm())
        where = (features, smoother, residual, p)
        assert abs(single - double) <= 1e-3 * max(double, 1e-3 * scale), where
        assert float((single_grad - double_grad).norm()) <= 1e-2 * max(float(double_grad.norm()), 1e-3 * unit), where


def test_paper_agrees_with_an_independent_formula():
    x, y = normal(80, 5), normal(80, 3, seed=1)
    squares = ((x[:, None, :] - x[None, :, :]) ** 2).sum(-1)
    u, s, vh = torch.linalg.svd(torch.exp(-squares / squares.mean()))
    residual = y - u @ torch.diag(s.clamp(max=1)) @ vh @ y
    expected = residual.pow(2).mean(0).sqrt().mean()
    assert abs(float(KRLoss.paper()(x, y) - expected)) < 1e-5


@pytest.mark.parametrize(("features", "residual"), list(itertools.product(FEATURES, RESIDUALS)))
@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("sparse", [False, True])
def test_without_the_root_the_loss_is_the_mean_p_th_power(features, residual, p, sparse):
    x, y = normal(40, 4), normal(40, 3, seed=1).relu() * torch.tensor([0.1, 1.0, 10.0])
    target = y.to_sparse_csr() if sparse else y
    columns = [value(loss_of("mean", features, residual=residual, p=p), x, column) for column in y.split(1, 1)]
    result = value(loss_of("mean", features, residual=residual, p=p, root=False), x, target)
    torch.testing.assert_close(result, torch.stack(columns).pow(p).mean())
    assert gradient_matches(loss_of("mean", features, residual=residual, p=p, root=False), x[:11], y[:11])


def test_without_the_root_a_perfect_fit_has_no_gradient():
    x = normal(30, 2).requires_grad_()
    value(loss_of(root=False), x, torch.zeros(30, 2).double()).backward()
    assert not x.grad.any()


def test_calls_with_one_cache_share_their_frequencies():
    loss = KRLoss(features="fourier", rank=16)
    x, y = torch.randn(50, 6, generator=seeded()), torch.randn(50, 2, generator=seeded(1))
    cache = {}
    first = loss(x, y, generator=seeded(2), frequency_cache=cache)
    torch.testing.assert_close(first, loss(x, y, generator=seeded(2)), rtol=0, atol=0)
    torch.testing.assert_close(loss(x, y, generator=seeded(3), frequency_cache=cache), first, rtol=0, atol=0)
    assert loss(x, y, generator=seeded(3), frequency_cache={}) != first
    loss(x[:, :3], y, generator=seeded(3), frequency_cache=cache)
    assert {columns: tuple(frequencies.shape) for columns, frequencies in cache.items()} == {6: (6, 8), 3: (3, 8)}


def test_functional_form_has_the_arguments_of_the_module_with_the_same_defaults():
    function = {name: p.default for name, p in inspect.signature(kr_loss).parameters.items()}
    module = {name: p.default for name, p in inspect.signature(KRLoss).parameters.items()}
    forward = {name: p.default for name, p in inspect.signature(KRLoss().forward).parameters.items()}
    assert function == module | forward


def test_functional_form_equals_the_module():
    x, y = normal(40, 4), normal(40, 3, seed=1)
    options = {"features": "fourier", "rank": 16, "strength": 1e-2, "p": 1.5, "root": False}
    result = kr_loss(x, y, generator=seeded(3), **options)  # type: ignore[arg-type]
    torch.testing.assert_close(result, value(KRLoss(**options), x, y), rtol=0, atol=0)  # type: ignore[arg-type]


def test_p_other_than_2_gives_the_norm_of_the_least_squares_residual_not_the_minimum():
    cluster = torch.arange(40) % 4
    x, y = normal(4, 2)[cluster], normal(40, 1, seed=1).exp()  # skewed: means are not medians
    rho = float(value(loss_of("mean", "exact", "projection", "insample", p=1.0, strength=1e-9), x, y))
    means = torch.stack([y[cluster == c].mean() for c in range(4)])[cluster, None]
    medians = torch.stack([y[cluster == c].median() for c in range(4)])[cluster, None]
    assert rho == pytest.approx(float((y - means).abs().mean()))
    assert rho > 1.02 * float((y - medians).abs().mean())  # medians minimise the L1 distance


def test_auto_is_exact_for_few_rows_and_nystrom_for_many():
    y = normal(40, 2, seed=1)
    few, many = KRLoss(rank=20), KRLoss(rank=19)
    assert float(value(few, normal(40, 3), y)) == float(value(KRLoss(features="exact"), normal(40, 3), y))
    expected = value(KRLoss(features="nystrom", rank=19), normal(40, 3), y)
    assert float(value(many, normal(40, 3), y)) == float(expected)


@pytest.mark.parametrize("features", ["nystrom", "fourier"])
@pytest.mark.parametrize("landmarks", ["uniform", "rpcholesky"])
@pytest.mark.parametrize("bandwidth", ["mean", "median"])
def test_the_generator_determines_every_random_choice(features, landmarks, bandwidth):
    x, y = normal(600, 3), normal(600, 2, seed=1)
    loss = KRLoss(bandwidth, features, 16, landmarks=landmarks)
    before = torch.get_rng_state()
    assert float(value(loss, x, y)) == float(value(loss, x, y))
    assert float(value(loss, x, y)) != float(value(loss, x, y, seed=4))
    assert torch.equal(torch.get_rng_state(), before)  # the global generator was not touched


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_inputs_give_a_float32_loss(dtype):
    x, y = normal(600, 4, dtype=torch.float32), normal(600, 2, seed=1, dtype=torch.float32)
    rows = x.to(dtype).requires_grad_()
    rho = value(KRLoss(rank=32), rows, y.to(dtype))
    rho.backward()
    assert rho.dtype == torch.float32
    assert rows.grad is not None
    assert rows.grad.dtype == dtype
    torch.testing.assert_close(rho, value(KRLoss(rank=32), x, y), rtol=2e-2, atol=0)


def test_backward_may_run_twice_and_keeps_no_tensor_alive():
    x, y = normal(100, 3).requires_grad_(), normal(100, 2, seed=1)
    rho = value(KRLoss(features="nystrom", rank=8, chunk_size=30), x, y)
    (first,) = torch.autograd.grad(rho, x, retain_graph=True)
    (second,) = torch.autograd.grad(rho, x)
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    hidden = x * 2
    seen = weakref.ref(hidden)
    gc.disable()  # reference counting alone must free the step
    try:
        value(KRLoss(features="nystrom", rank=8, chunk_size=30), hidden, y).backward()
        del hidden
        assert seen() is None
    finally:
        gc.enable()


def test_without_gradients_no_graph_is_recorded():
    x, y = normal(100, 3).requires_grad_(), normal(100, 2, seed=1)
    with torch.no_grad():
        assert not value(KRLoss(rank=8), x, y).requires_grad
    assert not value(KRLoss(rank=8), x.detach(), y).requires_grad


def test_module_can_be_copied_and_printed():
    loss = KRLoss(rank=7, smoother="clamp")
    assert not list(loss.parameters())
    assert copy.deepcopy(loss).rank == 7
    assert "rank=7" in repr(loss)
    assert "strength=1.0" in repr(loss)


X, Y = normal(10, 3), normal(10, 2, seed=1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: KRLoss()(X.where(X != X[2, 1], torch.nan), Y), ("x:", "nan", "row 2", "column 1")),
        (lambda: KRLoss()(X, Y.where(Y != Y[4, 0], torch.inf)), ("targets[0]", "inf", "row 4", "column 0")),
        (
            lambda: KRLoss()(X, Y, torch.diag(X[:, 0] / 0).to_sparse_csr()),
            ("targets[1]", "inf", "row 0", "column 0"),
        ),
        (lambda: KRLoss()(X[:, 0], Y), ("x:", "(10,)", "[:, None]")),
        (lambda: KRLoss()(X, Y[:, 0]), ("targets[0]", "(10,)", "[:, None]")),
        (lambda: KRLoss()(X[None], Y), ("x:", "(1, 10, 3)", "two axes")),
        (lambda: KRLoss()(X, Y[:9]), ("targets[0]", "9 rows", "expected 10")),
        (lambda: KRLoss()(X[:1], Y[:1]), ("x:", "1 row", "at least 2")),
        (lambda: KRLoss()(X[:, :0], Y), ("x:", "at least one column")),
        (lambda: KRLoss()(X, Y[:, :0]), ("targets[0]", "at least one column")),
        (lambda: KRLoss()(torch.ones(10, 3), Y), ("x:", "all 10 rows are equal", "collapsed")),
        (lambda: KRLoss(2.0)(torch.ones(10, 3), Y), ("x:", "all 10 rows are equal")),
        (lambda: KRLoss()(torch.arange(30).view(10, 3), Y), ("x:", "int64", ".float()")),
        (lambda: KRLoss()(X, torch.ones(10, 2, dtype=torch.long)), ("targets[0]", "int64", ".float()")),
        (lambda: KRLoss()(X.to_sparse_csr(), Y), ("x:", "sparse_csr", "dense")),
        (lambda: KRLoss()(X, Y.to_sparse_coo()), ("targets[0]", "sparse_coo", ".to_sparse_csr()")),
        (lambda: KRLoss()(X, Y.to_sparse_csr().requires_grad_()), ("targets[0]", "gradient", ".detach()")),
        (lambda: KRLoss()(X), ("targets", "at least one")),
        (lambda: KRLoss()(X.tolist(), Y), ("x:", "list", "torch.Tensor")),
        (lambda: KRLoss("median")(torch.cat([torch.ones(9, 3).double(), X[:1]]), Y), ("median", "'mean'")),
        (lambda: KRLoss()(X * 1e-200, Y), ("mean squared distance", "rescale")),
        (lambda: KRLoss(rank=0), ("rank", "0", "at least 1")),
        (lambda: KRLoss(rank=2.5), ("rank", "2.5", "whole number")),  # type: ignore[arg-type]
        (lambda: KRLoss(p=0.5), ("p:", "0.5", "at least 1")),
        (lambda: KRLoss(p=float("inf")), ("p:", "inf", "finite")),
        (lambda: KRLoss(bandwidth="means"), ("bandwidth", "'means'", "'mean'", "did you mean")),  # type: ignore[arg-type]
        (lambda: KRLoss(bandwidth=0.0), ("bandwidth", "greater than 0")),
        (lambda: KRLoss(features="nystroem"), ("features", "'nystroem'", "did you mean 'nystrom'")),  # type: ignore[arg-type]
        (lambda: KRLoss(smoother="svd"), ("smoother", "'svd'", "'ridge'")),  # type: ignore[arg-type]
        (lambda: KRLoss(strength=0), ("strength", "greater than 0")),
        (lambda: KRLoss(smoother="projection", strength=1.0), ("strength", "below 1")),
        (lambda: KRLoss(residual="in-sample"), ("residual", "'insample'")),  # type: ignore[arg-type]
        (lambda: KRLoss(landmarks="kmeans"), ("landmarks", "'uniform'")),  # type: ignore[arg-type]
        (lambda: KRLoss(chunk_size=0), ("chunk_size", "at least 1")),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=".") as caught:
        call()
    for word in words:
        assert word in str(caught.value)
