from __future__ import annotations

import pytest
import torch

from girl.graph.batch import Batch
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.graph.set_bands import SET_BANDS, SET_TARGETS, SetBands, node_roles, size_bumps
from tests.methods.conftest import molecules


def test_every_band_has_its_width_and_a_row_for_each_graph():
    data, _ = molecules()
    bands = SetBands(4)
    bands.fit(data, torch.Generator().manual_seed(0))
    made = dict(bands.iter_bands(data, list(SET_BANDS)))
    assert {name: tuple(band.shape) for name, band in made.items()} == {
        name: (24, width) for name, width in bands.widths.items()
    }
    assert set(SET_TARGETS) <= set(SET_BANDS)


def test_roles_are_those_of_returning_walks():
    triangle = node_roles(Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 0]]), 4))
    expected = torch.tensor([torch.tensor(3.0).log(), 0.5**0.5, 0.25**0.5, 0.375**0.5])
    assert torch.allclose(triangle[0, :4], expected, atol=1e-6)
    assert torch.allclose(triangle[0, 4:], expected, atol=1e-6)
    assert not triangle[3].any()


def test_sizes_count_nodes_and_edges():
    data, _ = molecules(2)
    same = size_bumps(data)
    assert same.shape == (2, 56)
    assert not torch.allclose(same[0], same[1])


@pytest.mark.parametrize(("rows", "exact"), [(torch.eye(3).repeat(40, 1), True), (torch.rand(120, 3), False)])
def test_few_different_rows_are_colors_and_many_are_quantised(rows, exact):
    edges = torch.tensor([[0, 3], [1, 4]])
    data = Batch(NodeFeatures.from_tensor(rows), Graph.from_edges(edges, 120), None, torch.arange(120) // 12, 10)
    bands = SetBands(3)
    bands.fit(data, torch.Generator().manual_seed(0))
    assert bool(bands.exact) == exact
    assert len(set(bands._colors(data).tolist())) == 3 if exact else 3 < len(set(bands._colors(data).tolist())) <= 64
