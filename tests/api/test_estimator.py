from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from torch_geometric.data import Data

import girl
from girl import GIRL
from girl.errors import InputError
from girl.training.recipe import Recipe

SMALL = {"hidden": 8, "epochs": 2, "rank": 16, "target_rank": 8}

#: Checks of scikit-learn that cannot hold for a graph, and why.
NOT_FOR_GRAPHS = {
    "check_methods_subset_invariance": "a node's representation depends on its neighbours, who are then missing",
    "check_methods_sample_order_invariance": "sums in another order differ in the last bit of a float32",
}


def test_habits_of_scikit_learn():
    found = check_estimator(GIRL(**SMALL), expected_failed_checks=NOT_FOR_GRAPHS, on_skip=None)
    assert sum(check["status"] == "passed" for check in found) > 40
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(NOT_FOR_GRAPHS)


def graph(n=60, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return Data(x=torch.randn(n, 5, generator=generator), edge_index=torch.randint(n, (2, 4 * n), generator=generator))


def test_order_changes_rounding_only():
    x = np.random.default_rng(0).normal(size=(50, 4))
    order = np.random.default_rng(1).permutation(50)
    fitted = GIRL(**SMALL).fit(x)
    assert np.allclose(fitted.transform(x)[order], fitted.transform(x[order]), atol=1e-5)


def test_fit_transform_is_fit_then_transform_and_seeds_decide():
    data = graph()
    first = GIRL(**SMALL).fit_transform(data)
    assert np.array_equal(first, GIRL(**SMALL).fit(data).transform(data))
    assert first.dtype == np.float32
    assert not np.array_equal(first, GIRL(**SMALL, random_state=1).fit_transform(data))


def test_another_graph_of_any_size_has_representations():
    fitted = GIRL(**SMALL).fit(graph())
    assert fitted.transform(graph(7, seed=1)).shape == (7, 13)
    with pytest.raises(InputError, match="given 3 features, expected 5"):
        fitted.transform(Data(x=torch.ones(4, 3), edge_index=torch.zeros(2, 0, dtype=torch.long)))
    with pytest.raises(InputError, match="given 0 features"):
        fitted.transform(Data(edge_index=torch.zeros(2, 0, dtype=torch.long)))


def test_no_epochs_is_the_untrained_encoder():
    untrained = GIRL(**SMALL | {"epochs": 0}).fit(graph())
    assert untrained.history_ == []
    assert len(GIRL(**SMALL).fit(graph()).history_) == 2


@pytest.mark.parametrize("recipe", ["default", "paper", Recipe.encoder_default().with_values({"conv": "sage"})])
def test_saved_and_loaded_is_the_same(recipe, tmp_path):
    fitted = GIRL(recipe, **SMALL).fit(graph())
    fitted.save(tmp_path / "model")
    again = GIRL.load(tmp_path / "model")
    assert np.array_equal(again.transform(graph()), fitted.transform(graph()))
    assert again.get_params() == fitted.get_params()
    assert again.history_ == fitted.history_
    # A copy is not fitted, but fits to the same.
    assert np.array_equal(clone(again).fit_transform(graph()), fitted.transform(graph()))
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    (tmp_path / "model" / "config.json").write_text(json.dumps(config | {"format": 999}))
    with pytest.raises(InputError, match="given format 999"):
        GIRL.load(tmp_path / "model")


def test_sizes_of_rows_are_no_features_that_were_given(tmp_path):
    fitted = GIRL(**SMALL, normalize="sized").fit(graph())
    fitted.save(tmp_path / "model")
    again = GIRL.load(tmp_path / "model")
    assert again.n_features_in_ == fitted.n_features_in_ == graph().x.shape[1]
    assert np.array_equal(again.transform(graph()), fitted.transform(graph()))


def test_settings_reach_the_recipe():
    made = GIRL("paper", conv="sage", hidden=8, layers=3, epochs=1, lr=0.5, random_state=4, rows=32).fit(graph())
    recipe = made.recipe_
    assert (recipe.encoder.conv, recipe.encoder.hidden, recipe.encoder.layers) == ("sage", 8, 3)
    assert (recipe.train.epochs, recipe.train.lr, recipe.train.seed, recipe.method.rows) == (1, 0.5, 4, 32)
    assert recipe.method.residual == "insample"
    with pytest.raises(InputError, match="no setting is called 'hiden'; did you mean 'hidden'"):
        GIRL(hiden=3)
    with pytest.raises(InputError, match="neighbors: given 0"):
        GIRL(**SMALL, n_neighbors=0).fit(np.ones((4, 2)))


def test_sparse_rows_are_the_dense_ones():
    x = np.random.default_rng(0).random(size=(40, 30))
    x[x < 0.9] = 0
    dense, sparse = GIRL(**SMALL).fit_transform(x), GIRL(**SMALL).fit_transform(scipy.sparse.csr_matrix(x))
    assert np.allclose(dense, sparse, atol=1e-4)


def test_in_a_pipeline_with_names():
    digits = girl.datasets.load("digits").data
    x, y = digits.x.numpy()[:300], digits.y.numpy()[:300]
    pipe = make_pipeline(GIRL(**SMALL).set_output(transform="default"), LogisticRegression(C=100, max_iter=1000))
    assert pipe.fit(x, y).score(x, y) > 0.8
    names = pipe[0].get_feature_names_out()
    assert len(names) == pipe[0].transform(x).shape[1]
    assert names[0] == "girl0"


def test_progress_is_shown_when_asked_for(capsys):
    GIRL(**SMALL, verbose=True).fit(graph())
    assert "layer 1" in capsys.readouterr().err
    GIRL(**SMALL).fit(graph())
    assert capsys.readouterr().err == ""


def test_every_setting_of_a_recipe_is_a_parameter_that_a_search_can_vary():
    recipe = Recipe().to_dict()
    settings = {name for section in recipe.values() for name in section} - {"seed", "name"}
    assert settings < set(GIRL().get_params())
    digits = girl.datasets.load("digits").data
    x, y = digits.x.numpy()[:200], digits.y.numpy()[:200]
    pipe = make_pipeline(GIRL(**SMALL), LogisticRegression(C=100, max_iter=1000))
    search = GridSearchCV(pipe, {"girl__dropout": [0.0, 0.5], "girl__n_neighbors": [5]}, cv=2).fit(x, y)
    assert search.best_estimator_[0].recipe_.method.dropout == search.best_params_["girl__dropout"]


def test_a_random_state_object_gives_a_seed():
    seeds = {GIRL(**SMALL, random_state=np.random.RandomState(i)).fit(graph()).recipe_.train.seed for i in (0, 0, 1)}
    assert len(seeds) == 2
