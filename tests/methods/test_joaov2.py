from __future__ import annotations

import torch

from girl.methods.augment import AUGMENTATIONS
from girl.methods.joaov2 import JOAOv2, JOAOv2Settings
from tests.helpers.methods import build_for_sets, seeded


def test_each_augmentation_has_its_projector(graphs):
    method = build_for_sets(JOAOv2, JOAOv2Settings(), graphs)
    h = torch.randn(5, 16, generator=seeded())
    projected = method.project(h, torch.arange(5))
    for index, projector in enumerate(method.projectors):
        torch.testing.assert_close(projected[index], projector(h[index : index + 1])[0])
    torch.testing.assert_close(method.project(h, None), method.projectors[AUGMENTATIONS.index("identity")](h))


def test_without_identity_unchanged_graphs_use_the_first_projector(graphs):
    method = build_for_sets(JOAOv2, JOAOv2Settings(augmentations=("edges", "nodes")), graphs)
    h = torch.randn(3, 16, generator=seeded())
    torch.testing.assert_close(method.project(h, None), method.projectors[0](h))
    torch.testing.assert_close(method.project(h, torch.zeros(3, dtype=torch.long)), method.projectors[1](h))
