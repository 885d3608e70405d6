from __future__ import annotations

from girl.lab.ablation import CONVS, DEPTHS, Ablation, method_name


def test_every_type_and_depth_is_computed_untrained_and_trained_with_one_recipe():
    cells = Ablation(seeds=1).cells()
    assert len(cells) == 4 * len(CONVS) * len(DEPTHS) * 2
    recipes = Ablation().recipes("photo", 2)
    for conv in CONVS:
        for depth in DEPTHS:
            trained, untrained = (recipes[method_name(conv, depth, state)] for state in (True, False))
            assert trained == untrained
            assert (trained.encoder.conv, trained.encoder.layers, trained.train.seed) == (conv, depth, 2)
