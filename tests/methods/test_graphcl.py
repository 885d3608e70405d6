from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cosine_similarity

from girl.errors import InputError
from girl.methods.augment import AUGMENTATIONS
from girl.methods.graphcl import GraphCL, GraphCLSettings, graph_contrast
from girl.training.loop import fit
from girl.training.state import TrainSettings
from tests.helpers.methods import build_for_sets, seeded


def test_contrast_equals_the_formula_without_the_positive_pair_in_the_denominator():
    u, v = (torch.randn(6, 4, generator=seeded(seed)) for seed in (0, 1))
    similarity = (cosine_similarity(u[:, None], v[None], dim=2) / 0.2).exp()
    expected = [-(similarity[i, i] / (similarity[i].sum() - similarity[i, i])).log() for i in range(6)]
    torch.testing.assert_close(graph_contrast(u, v, 0.2), torch.stack(expected).mean())


def test_augmentations_are_drawn_from_the_settings_only(graphs):
    method = build_for_sets(GraphCL, GraphCLSettings(augmentations=("edges", "features")), graphs)
    drawn = {AUGMENTATIONS[index] for index in method._draw(graphs, seeded()).tolist()}
    assert drawn == {"edges", "features"}


def test_identity_compares_each_graph_with_itself(graphs):
    method = build_for_sets(GraphCL, GraphCLSettings(augmentations=("identity",)), graphs)
    projected = method.projector(method.embed_graphs(graphs))
    torch.testing.assert_close(method.losses(graphs, seeded())["contrast"], graph_contrast(projected, projected, 0.2))


def test_an_epoch_sees_every_graph_once(graphs):
    method = build_for_sets(GraphCL, GraphCLSettings(), graphs)
    sizes, losses = [], method.losses

    def count(batch, generator):
        sizes.append((batch.num_graphs, batch.num_nodes))
        return losses(batch, generator)

    method.losses = count
    fit(method, graphs, TrainSettings(epochs=1, batch_size=10))
    assert [num_graphs for num_graphs, _ in sizes] == [10, 10, 4]
    assert sum(num_nodes for _, num_nodes in sizes) == graphs.num_nodes


@pytest.mark.parametrize(
    "wrong",
    [
        {"augmentations": ()},
        {"augmentations": ("leaves",)},
        {"drop_rate": 1.0},
        {"subgraph_rate": 0.0},
        {"temperature": 0.0},
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        GraphCLSettings(**wrong)
