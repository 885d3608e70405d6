from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from girl.errors import InputError
from girl.evaluation.probe import probe
from girl.evaluation.svm import INNER, STRENGTHS, Machine
from girl.splits import Split


def problem(n=90):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 2
    h = torch.randn(n, 4, generator=generator)
    h[:, 0] = torch.where(y == 0, h[:, 0].abs(), -h[:, 0].abs()) + 0.3 * h[:, 1]
    order = torch.randperm(n, generator=generator)
    return h, y, Split(order[:60].sort().values, order[60:70].sort().values, order[70:].sort().values)


def test_it_is_scikit_learns_search_within_the_training_graphs():
    h, y, split = problem()
    found = probe(h, y, split, "svm")
    known = torch.cat([split.train, split.val]).sort().values
    folds = StratifiedKFold(INNER, shuffle=True, random_state=0)
    x = h[known].double().numpy()
    search = GridSearchCV(SVC(gamma=1 / (x.shape[1] * x.var())), {"C": list(STRENGTHS)}, cv=folds)
    search.fit(x, y[known].numpy())
    assert found.strength == search.best_params_["C"]
    assert found.val == pytest.approx(search.best_score_)
    assert found.test == pytest.approx(search.score(h[split.test].double().numpy(), y[split.test].numpy()))
    assert found.test > 0.75


def test_what_it_sees_of_the_test_graphs_changes_nothing_else():
    h, y, split = problem()
    first = probe(h, y, split, "svm")
    other = h.clone()
    other[split.test] = 100.0
    second = probe(other, y, split, "svm")
    assert (first.strength, first.val) == (second.strength, second.val)


def test_one_machine_serves_all_splits():
    h, y, split = problem()
    turned = Split(split.test, split.val, split.train)
    machine = Machine(h)
    for one in (split, turned):
        shared, alone = probe(h, y, one, "svm", machine=machine), probe(h, y, one, "svm")
        assert (shared.val, shared.test, shared.strength) == (alone.val, alone.test, alone.strength)


def test_sparse_rows_and_several_labels():
    h, y, split = problem()
    sparse = (h * (h.abs() > 0.5)).to_sparse_csr()
    assert probe(sparse, y, split, "svm").test == probe(sparse.to_dense(), y, split, "svm").test
    with pytest.raises(InputError, match="several labels"):
        probe(h, torch.stack([y, 1 - y], 1), split, "svm", multilabel=True)
    assert np.isclose(STRENGTHS[0], 1e-3)
