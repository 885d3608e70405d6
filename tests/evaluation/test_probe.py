from __future__ import annotations

import pytest
import torch
from sklearn.metrics import roc_auc_score

from girl.errors import InputError
from girl.evaluation.logistic import logistic_path
from girl.evaluation.probe import C_GRID, probe, smoothed_argmax
from girl.kernel import sparse
from girl.splits import Split

N = 300
NODES = torch.arange(N)
SPLIT = Split(NODES[:100], NODES[100:200], NODES[200:])
KINDS = ["linear", "mlp"]


@pytest.mark.parametrize("kind", KINDS)
def test_dense_and_sparse_rows_give_the_same_accuracy(kind, blobs):
    h, y = blobs(N, 20, std=1.0)
    h = h.where(h > h.median(), 0.0)
    dense, csr = probe(h, y, SPLIT, kind), probe(h.to_sparse_csr(), y, SPLIT, kind)
    assert dense.kind == kind
    assert dense.metric == "accuracy"
    assert dense.test > 0.8
    assert abs(dense.test - csr.test) <= 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_labels_without_a_relation_to_the_rows_are_not_predicted(kind, blobs):
    h, _ = blobs(N, 10)
    y = torch.randint(0, 2, (N,), generator=torch.Generator().manual_seed(1))
    assert abs(probe(h, y, SPLIT, kind).test - 0.5) < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_multilabel_data_is_scored_by_micro_f1(kind, blobs):
    h, y = blobs(N, 20, std=0.5)
    labels = torch.stack([y == 0, y >= 2, torch.ones(N, dtype=torch.bool), torch.zeros(N, dtype=torch.bool)], 1)
    score = probe(h, labels.float(), SPLIT, kind, multilabel=True)
    assert score.metric == "micro-F1"
    assert score.test > 0.95


def rare_class(shift: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Every tenth node is of class 1; its first column is larger by ``shift``."""
    y = (NODES % 10 == 0).long()
    h = torch.randn(N, 3, generator=torch.Generator().manual_seed(0))
    h[:, 0] += shift * y
    return h, y


@pytest.mark.parametrize("kind", [*KINDS, "svm"])
def test_auc_is_high_if_a_rare_class_ranks_above_the_other(kind):
    h, y = rare_class(shift=1.5)
    score = probe(h, y, SPLIT, kind, metric="AUC")
    assert score.metric == "AUC"
    assert min(score.val, score.test) > 0.7
    assert probe(h, y, SPLIT, kind).metric == "accuracy"


@pytest.mark.parametrize("kind", [*KINDS, "svm"])
def test_auc_of_labels_without_a_relation_to_the_rows_is_about_one_half(kind):
    h, _ = rare_class(shift=0)
    y = torch.randint(0, 2, (N,), generator=torch.Generator().manual_seed(1))
    assert abs(probe(h, y, SPLIT, kind, metric="AUC").test - 0.5) < 0.2


@pytest.mark.parametrize("kind", [*KINDS, "svm"])
def test_auc_is_the_same_for_other_class_numbers(kind):
    h, y = rare_class(shift=1.5)
    one, other = (probe(h, labels, SPLIT, kind, metric="AUC") for labels in (y, 3 * y + 2))
    assert (one.val, one.test, one.strength) == (other.val, other.test, other.strength)


def test_auc_of_the_linear_probe_is_that_of_the_difference_of_logits():
    h, y = rare_class(shift=1.5)
    score = probe(h, y, SPLIT, metric="AUC")
    (model,) = (m for m in logistic_path(h[SPLIT.train], y[SPLIT.train], C_GRID) if m.c == score.strength)
    for nodes, expected in ((SPLIT.val, score.val), (SPLIT.test, score.test)):
        logits = model(h[nodes])
        assert expected == pytest.approx(roc_auc_score(y[nodes], logits[:, 1] - logits[:, 0]))


@pytest.mark.parametrize("kind", [*KINDS, "svm"])
def test_auc_needs_two_classes_in_every_part(kind, blobs):
    h, y = blobs(N, 5, classes=4)
    with pytest.raises(InputError, match="metric: given 'AUC' for 4 classes, expected two; .* 'accuracy'"):
        probe(h, y, SPLIT, kind, metric="AUC")
    for name in ("train", "val", "test"):
        one_class = (y % 2).index_fill(0, getattr(SPLIT, name), 1)
        with pytest.raises(InputError, match=f"split: given {name} nodes of one class only, expected both"):
            probe(h, one_class, SPLIT, kind, metric="AUC")


def test_only_the_mlp_learns_xor():
    h = torch.randn(N, 2, generator=torch.Generator().manual_seed(0))
    y = (h[:, 0] * h[:, 1] > 0).long()
    assert probe(h, y, SPLIT, "linear").test < 0.75 < 0.85 < probe(h, y, SPLIT, "mlp").test


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_score(kind, blobs):
    h, y = blobs(N, 20)
    one, two = (probe(h, y, SPLIT, kind, seed=3) for _ in range(2))
    assert (one.val, one.test, one.strength) == (two.val, two.test, two.strength)


@pytest.mark.parametrize("kind", KINDS)
def test_test_labels_affect_only_the_test_score(kind, blobs):
    h, y = blobs(N, 20)
    other = y.clone()
    other[SPLIT.test] = 0
    one, two = probe(h, y, SPLIT, kind), probe(h, other, SPLIT, kind)
    assert (one.val, one.strength) == (two.val, two.strength)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_without_training_nodes_is_never_predicted(kind, blobs):
    h, y = blobs(N, 20, std=0.3)
    y = 2 * y  # classes 0, 2, 4, 6: numbers may be skipped
    y[SPLIT.train[y[SPLIT.train] == 2]] = 4
    rate = float((y[SPLIT.test] == 2).double().mean())
    assert probe(h, y, SPLIT, kind).test <= 1 - rate


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_representation_is_not_modified(kind, dtype, blobs):
    h, y = blobs(N, 20)
    h = h.to(dtype)
    before = h.clone()
    probe(h, y, SPLIT, kind)
    assert torch.equal(h, before)


@pytest.mark.slow
def test_training_in_batches_reaches_the_same_accuracy(blobs, monkeypatch):
    h, y = blobs(N, 20, std=1.0)
    monkeypatch.setattr("girl.evaluation.mlp.BATCH_SIZE", 32)
    assert probe(h, y, SPLIT, "mlp").test > 0.8
    assert probe(h.to_sparse_csr(), y, SPLIT, "mlp").test > 0.8


@pytest.mark.slow
def test_wide_sparse_rows_stay_sparse(monkeypatch):
    """Three thousand columns with twelve entries in each row."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 3, (N,), generator=generator)
    words = torch.randint(0, 200, (N, 12), generator=generator) + 1000 * y[:, None] * (torch.arange(12) < 6)
    crow = torch.arange(0, 12 * N + 1, 12)
    h = sparse.csr(crow, words.sort(1).values.flatten(), torch.ones(12 * N), (N, 3000))

    def refuse(*_: object) -> None:
        raise AssertionError("to_dense was called")

    monkeypatch.setattr(torch.Tensor, "to_dense", refuse)
    for kind in KINDS:
        assert probe(h, y, SPLIT, kind).test > 0.5


def test_scores_are_averaged_with_their_neighbours_before_the_best_is_chosen():
    assert smoothed_argmax([0.5, 0.5, 0.9, 0.5, 0.5, 0.8, 0.85, 0.8, 0.5]) == 6
    assert smoothed_argmax([0.1, 0.7, 0.7, 0.7, 0.7, 0.1]) == 2
    assert smoothed_argmax([0.7] * len(C_GRID)) == 0


def test_validation_nodes_may_serve_as_test_nodes(blobs):
    h, y = blobs(N, 20)
    score = probe(h, y, Split(SPLIT.train, SPLIT.val, SPLIT.val))
    assert score.val == score.test


def test_the_grid_of_c_has_half_decades():
    assert len(C_GRID) == 15
    assert C_GRID[2] / C_GRID[0] == pytest.approx(10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"h": torch.rand(N)}, "n × d"),
        ({"h": torch.full((N, 2), float("nan"))}, "diverged"),
        ({"y": torch.zeros(N + 1)}, "one row for each row of h"),
        ({"multilabel": True}, "multilabel=True"),
        ({"h": torch.rand(N, 0)}, "at least one column"),
        ({"h": torch.rand(N, 0), "kind": "mlp"}, "at least one column"),
        ({"y": torch.zeros(N).long()}, "same label"),
        ({"y": torch.full((N,), -1)}, "without a label"),
        ({"y": (NODES % 2).float().where(NODES < N - 1, torch.nan)}, "test nodes without a label"),
        ({"metric": "F1"}, "metric: given 'F1', expected 'accuracy' or 'AUC'"),
        ({"metric": "AUC", "multilabel": True, "y": torch.eye(2).repeat(N // 2, 1)}, "'AUC' with several labels"),
        ({"kind": "forest"}, "'linear', 'mlp' or 'svm'"),
        ({"split": Split(NODES[:5], NODES[:0], NODES[5:])}, "no val nodes"),
        ({"split": Split(NODES[:5], NODES[5:6], NODES + 1)}, "expected 0 to 299"),
        ({"split": Split(NODES[:100], NODES[:100], NODES[:100])}, "100 train nodes that are val or test"),
        ({"split": Split(NODES[:100], NODES[100:200], NODES[99:])}, "1 train nodes .* such as 99"),
    ],
)
def test_errors_name_the_argument(change, message):
    arguments = {"h": torch.rand(N, 2), "y": NODES % 2, "split": SPLIT, "kind": "linear"} | change
    with pytest.raises(InputError, match=message):
        probe(**arguments)
