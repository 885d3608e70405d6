from __future__ import annotations

import numpy as np
import scipy.sparse
import torch

from girl.graph.colors import count_columns, mix, refine, row_colors
from girl.graph.graph import Graph


def test_equal_rows_and_only_those_have_the_same_color():
    rows = np.array([[0, 1, 2], [0, 1, 2], [2, 1, 0], [0, 0, 0], [-1, 0, 0]])
    colors = row_colors(scipy.sparse.csr_matrix(rows))
    assert colors[0] == colors[1]
    assert len(set(colors.tolist())) == 4


def test_hashes_of_small_numbers_differ_in_half_of_their_bits():
    hashes = mix(np.arange(1000, dtype=np.uint64))
    bits = np.unpackbits((hashes[1:] ^ hashes[:-1]).view(np.uint8)).reshape(999, 64)
    assert abs(bits.mean() - 0.5) < 0.01


def test_colors_tell_surroundings_apart_step_by_step():
    path = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]), 5)
    colors = np.zeros(5, np.uint64)
    for classes in (2, 3):  # ends; then also the middle
        colors = refine(colors, path)
        assert len(set(colors.tolist())) == classes
        assert colors[0] == colors[4]
        assert colors[1] == colors[3]


def test_directions_count_in_a_directed_graph():
    path = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), 3, directed=True)
    assert len(set(refine(np.zeros(3, np.uint64), path).tolist())) == 3


def test_inner_products_are_sums_of_minima():
    rng = np.random.default_rng(0)
    colors = row_colors(scipy.sparse.csr_matrix(rng.integers(0, 20, (4000, 1))))
    graphs = np.sort(rng.integers(0, 10, 4000))
    columns = count_columns(colors, graphs, 10, width=2**20)
    counts = np.stack([[(colors[graphs == g] == c).sum() for c in np.unique(colors)] for g in range(10)])
    expected = np.minimum(counts[:, None], counts[None]).sum(2) / np.sqrt(
        np.sqrt(np.outer(counts.sum(1), counts.sum(1)))
    )
    assert np.allclose((columns @ columns.T).toarray(), expected, rtol=0.01)
