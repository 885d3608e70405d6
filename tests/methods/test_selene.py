from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.methods.selene import SELENE, SELENESettings, barlow_twins, shells, spectrum, walks
from tests.helpers.methods import build, seeded


def test_structure_columns_of_a_ring_and_a_star():
    ring = Graph.from_edges(torch.stack([torch.arange(8), (torch.arange(8) + 1) % 8]), 8)
    assert torch.equal(shells(ring), torch.tensor([[1.0, 2.0, 2.0, 2.0]]).expand(8, 4))
    torch.testing.assert_close(walks(ring), torch.ones(8, 4))
    star = Graph.from_edges(torch.tensor([[0, 0, 0], [1, 2, 3]]), 4)
    assert shells(star)[:, 1:].tolist() == [[3, 0, 0], [1, 2, 0], [1, 2, 0], [1, 2, 0]]
    torch.testing.assert_close(walks(star)[:, 1], torch.tensor([3, 1 / 3, 1 / 3, 1 / 3]))
    columns = spectrum(ring)
    assert columns.shape == (8, 32)
    torch.testing.assert_close(columns.norm(dim=1), torch.ones(8))


def test_barlow_twins_equals_the_formula():
    first, second = (torch.randn(50, 5, generator=seeded(seed), dtype=torch.float64) for seed in (0, 1))
    c = torch.corrcoef(torch.cat([first, second], 1).T)[:5, 5:] * 49 / 50
    expected = (1 - c.diagonal()).square().sum() + (c - c.diag().diag()).square().sum() / 5
    torch.testing.assert_close(barlow_twins(first, second), expected / 5)


@pytest.mark.parametrize("structure", ["shells", "walks", "spectrum", "features"])
def test_other_edges_change_the_structure_channel_only(structure, data):
    settings = SELENESettings(structure=(structure,), code_dim=4, autoencoder_hidden=12)
    method = build(SELENE, settings, data, norm="batch")
    method.prepare(data, seeded())
    terms = method.losses(data, seeded())
    assert set(terms) == {"reconstruction", "features", "structure"}
    sum(terms.values()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in method.parameters())
    before = method.embed(data)
    assert before.shape == (data.num_nodes, method.width) == (data.num_nodes, 8)
    after = method.embed(Batch(data.x, data.graph.drop_edges(0.5, seeded())))
    torch.testing.assert_close(after[:, :4], before[:, :4])
    assert not torch.allclose(after[:, 4:], before[:, 4:])


@pytest.mark.parametrize("structure", [("nothing",), ()])
def test_unknown_structure_is_refused(structure):
    with pytest.raises(InputError, match="structure"):
        SELENESettings(structure=structure)
