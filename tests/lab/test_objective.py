from __future__ import annotations

from girl.lab.objective import VARIANTS, Objective
from girl.training.recipe import Recipe


def test_every_variant_differs_from_the_default_in_its_own_way():
    recipes = {name: recipe.to_dict() for name, recipe in Objective().recipes("cora", 0).items()}
    assert list(recipes) == list(VARIANTS)
    assert recipes["default"] == recipes["untrained"] == Recipe.encoder_default().to_dict()
    assert recipes["in-sample residuals"]["method"]["residual"] == "insample"
    changed = [str(recipe) for name, recipe in recipes.items() if name != "untrained"]
    assert len(set(changed)) == len(changed)
