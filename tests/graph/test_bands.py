from __future__ import annotations

import pytest
import torch

from girl.graph.bands import (
    BANDS,
    FREQUENCIES,
    LEARNED,
    PRIOR,
    STEPS,
    TELEPORTS,
    band_widths,
    flattening,
    iter_bands,
    kernel_features,
    size_bumps,
)
from girl.graph.graph import Graph
from girl.graph.positions import POSITIONS
from girl.graph.propagate import propagate


@pytest.fixture(scope="module")
def graph():
    return Graph.from_edges(torch.randint(40, (2, 120), generator=torch.Generator().manual_seed(0)), 40)


@pytest.fixture(scope="module")
def z():
    return torch.randn(40, 5, generator=torch.Generator().manual_seed(1))


def bands(z, graph, names=tuple(BANDS)):
    frequencies = torch.randn(z.shape[1], FREQUENCIES, generator=torch.Generator().manual_seed(2))
    return dict(iter_bands(z, z[:, :3], torch.linspace(-1, 1, len(z)), frequencies, graph, names, num_positions=7))


def test_low_pass_bands_are_personalised_pagerank(z, graph):
    for name, band in bands(z, graph, TELEPORTS).items():
        torch.testing.assert_close(band, propagate(graph.gcn, z, TELEPORTS[name], STEPS), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("directed", [False, True])
def test_each_band_has_its_width(z, directed, graph):
    graph = Graph.from_edges(graph.edge_index, 40, directed=directed)
    widths = {name: band.shape[1] for name, band in bands(z, graph).items()}
    # A graph may have fewer positions than there is room for, and fewer features may be learned from.
    assert widths | {"positions": POSITIONS, LEARNED: 5} == band_widths(5, directed)
    assert widths["positions"] == 7
    assert widths[LEARNED] == 3


def test_every_band_has_a_scale_before_it_is_judged():
    assert list(PRIOR) == list(BANDS)
    assert all(scale > 0 for scale in PRIOR.values())


def test_a_node_is_its_mean_plus_its_contrast(z, graph):
    made = bands(z, graph, ("own", "mean", "contrast"))
    torch.testing.assert_close(made["own"], made["mean"] + made["contrast"])


def test_only_what_is_asked_for_is_computed(z, graph):
    assert list(bands(z, graph, ("roles", "own"))) == ["own", "roles"]


def test_kernel_features_approximate_the_gaussian_kernel():
    z = torch.randn(30, 3, generator=torch.Generator().manual_seed(0))
    frequencies = torch.randn(3, 20_000, generator=torch.Generator().manual_seed(1))
    phi = kernel_features(z, frequencies)
    torch.testing.assert_close(phi @ phi.T / 20_000, torch.exp(-torch.cdist(z, z).square() / 2), atol=0.03, rtol=0)


def test_sizes_that_are_close_have_close_bumps():
    a, b, c = size_bumps(torch.tensor([0.0, 0.1, 2.0]))
    assert (a - b).norm() < 0.3 * (a - c).norm()


def test_flattened_rows_have_the_square_roots_of_the_standard_deviations(z):
    rows = z @ torch.randn(5, 4, generator=torch.Generator().manual_seed(3))
    rows = torch.cat([rows, rows[:, :1]], 1)  # one column depends on the others
    flat = rows @ flattening(rows)
    spread = torch.linalg.svdvals(rows - rows.mean(0))[:4] / len(rows) ** 0.5
    made = torch.linalg.svdvals(flat - flat.mean(0)) / len(rows) ** 0.5
    torch.testing.assert_close(made[:4], spread.sqrt(), atol=1e-3, rtol=1e-3)
    assert made[4] < 1e-3
