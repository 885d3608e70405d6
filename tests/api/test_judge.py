from __future__ import annotations

import pytest
import torch

import girl
from girl import Recipe
from girl.errors import InputError
from tests.helpers.clustered import clustered

QUICK = {"rows": 200, "repeats": 1}


@pytest.mark.parametrize("name", ["raw", "untrained", "default"])
def test_named_representations(name):
    assert set(girl.judge(clustered(), name, **QUICK).explained) == {"columns", "neighbors", "positions"}


def test_a_function_sees_only_the_visible_part():
    data = clustered()
    seen = []

    def own(visible):
        seen.append(visible)
        return visible.x

    result = girl.judge(data, own, **QUICK)
    assert (seen[0].x != 0).any(0).sum() == 9
    assert seen[0].edge_index.shape[1] < 0.9 * 2 * data.edge_index.shape[1]
    assert result == girl.judge(data, own, **QUICK)


def test_a_recipe_is_trained_on_the_visible_part():
    recipe = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 2, "rank": 16, "target_rank": 8})
    trained = girl.judge(clustered(), recipe, **QUICK)
    assert trained.score > girl.judge(clustered(), lambda d: torch.randn(120, 4), **QUICK).score


def test_mistakes_are_named():
    with pytest.raises(InputError, match="given 'rwa', expected one of raw"):
        girl.judge(clustered(), "rwa")
    with pytest.raises(InputError, match="rows"):
        girl.judge(clustered(), "raw", rows=2)
    data = clustered()
    data.graph, data.graphs = torch.zeros(120, dtype=torch.long), 1
    with pytest.raises(InputError, match="set of graphs"):
        girl.judge(data, "raw")
