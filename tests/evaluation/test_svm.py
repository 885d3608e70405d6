from __future__ import annotations

import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from girl.errors import InputError
from girl.evaluation.probe import probe
from girl.evaluation.svm import C_GRID, FOLDS, KernelSVM
from girl.splits import Split


def problem(n=90):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 2
    h = torch.randn(n, 4, generator=generator)
    h[:, 0] = torch.where(y == 0, h[:, 0].abs(), -h[:, 0].abs()) + 0.3 * h[:, 1]
    order = torch.randperm(n, generator=generator)
    return h, y, Split(order[:60].sort().values, order[60:70].sort().values, order[70:].sort().values)


def test_it_equals_a_grid_search_on_the_rows_themselves():
    h, y, split = problem()
    score = probe(h, y, split, "svm")
    train = torch.cat([split.train, split.val]).sort().values
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    x = h[train].double().numpy()
    search = GridSearchCV(SVC(gamma=1 / (x.shape[1] * x.var())), {"C": list(C_GRID)}, cv=folds)
    search.fit(x, y[train].numpy())
    assert score.strength == search.best_params_["C"]
    assert score.val == pytest.approx(search.best_score_)
    assert score.test == pytest.approx(search.score(h[split.test].double().numpy(), y[split.test].numpy()))
    assert score.test > 0.75


def test_with_auc_it_equals_a_grid_search_by_auc():
    h, y, split = problem()
    score = probe(h, y, split, "svm", metric="AUC")
    train = torch.cat([split.train, split.val]).sort().values
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    x = h[train].double().numpy()
    search = GridSearchCV(SVC(gamma=1 / (x.shape[1] * x.var())), {"C": list(C_GRID)}, cv=folds, scoring="roc_auc").fit(
        x, y[train].numpy()
    )
    decision = search.decision_function(h[split.test].double().numpy())
    assert score.strength == search.best_params_["C"]
    assert score.val == pytest.approx(search.best_score_)
    assert score.test == pytest.approx(roc_auc_score(y[split.test], decision))


def test_auc_needs_both_classes_in_every_inner_fold():
    h, y, split = problem()
    y = y.index_fill(0, split.train, 0)
    y[split.train[0]] = 1
    y[split.val] = torch.arange(len(split.val)) % 5 // 4
    with pytest.raises(InputError, match="3 training and validation rows of the rarer class, expected at least 5"):
        probe(h, y, split, "svm", metric="AUC")


def test_test_graphs_affect_only_the_test_score():
    h, y, split = problem()
    first = probe(h, y, split, "svm")
    other = h.clone()
    other[split.test] = 100.0
    second = probe(other, y, split, "svm")
    assert (first.strength, first.val) == (second.strength, second.val)


def test_one_svm_serves_all_splits():
    h, y, split = problem()
    reverse = Split(split.test, split.val, split.train)
    svm = KernelSVM(h)
    for one in (split, reverse):
        shared, alone = probe(h, y, one, "svm", svm=svm), probe(h, y, one, "svm")
        assert (shared.val, shared.test, shared.strength) == (alone.val, alone.test, alone.strength)


def test_sparse_rows_are_accepted_and_multilabel_data_is_not():
    h, y, split = problem()
    sparse = (h * (h.abs() > 0.5)).to_sparse_csr()
    assert probe(sparse, y, split, "svm").test == probe(sparse.to_dense(), y, split, "svm").test
    with pytest.raises(InputError, match="several labels"):
        probe(h, torch.stack([y, 1 - y], 1), split, "svm", multilabel=True)
