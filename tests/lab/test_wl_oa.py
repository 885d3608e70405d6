from __future__ import annotations

import numpy as np
import pytest
from grakel.kernels import WeisfeilerLehmanOptimalAssignment

from girl.lab.wl_oa import wl_oa
from tests.methods.conftest import molecules


@pytest.mark.filterwarnings("ignore")
def test_the_kernel_is_that_of_grakel():
    data, _ = molecules(12)
    kinds = data.x.dense().argmax(1).tolist()
    graphs = []
    for index in range(12):
        nodes = (data.graph_id == index).nonzero().squeeze(1).tolist()
        edges = [(a, b) for a, b in data.graph.edge_index.T.tolist() if a in nodes]
        graphs.append([edges, {node: kinds[node] for node in nodes}])
    expected = WeisfeilerLehmanOptimalAssignment(n_iter=5).fit_transform(graphs)
    assert np.allclose(wl_oa(data), expected)


def test_a_graph_is_most_like_itself():
    kernel = wl_oa(molecules(12)[0])
    assert np.array_equal(kernel, kernel.T)
    assert (kernel <= kernel.diagonal()).all()
