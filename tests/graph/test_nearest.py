from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from girl.errors import InputError
from girl.graph.nearest import nearest_neighbors


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_edges_join_rows_of_which_one_is_among_the_others_nearest(form):
    x = np.random.default_rng(0).normal(size=(30, 4))
    distance = np.linalg.norm(x[:, None] - x, axis=2) + np.diag(np.full(30, np.inf))
    near = np.argsort(distance, axis=1)[:, :3]
    expected = np.zeros((30, 30), bool)
    np.put_along_axis(expected, near, True, axis=1)
    edges = nearest_neighbors(form(x), 3)
    assert np.array_equal(edges.numpy(), np.stack(np.nonzero(expected | expected.T)))


def test_few_rows_are_all_joined_and_no_neighbor_is_refused():
    assert nearest_neighbors(np.eye(3), 10).tolist() == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    with pytest.raises(InputError, match="neighbors: given 0, expected at least 1"):
        nearest_neighbors(np.eye(3), 0)
