from __future__ import annotations

import pytest

from girl.lab.nodes import Nodes
from girl.lab.scores import MethodScores


@pytest.fixture
def method_scores():
    """Scores of a comparison on two datasets; each method is given its accuracies there."""
    nodes = Nodes()

    def scores(**means):
        results = []
        for method, values in means.items():
            for (dataset, protocol), value in zip((("cora", "public"), ("texas", "geom-gcn")), values, strict=True):
                for seed in range(3):
                    row = {"protocol": protocol, "probe": "linear", "test": value + 0.001 * seed, "val": value}
                    curve = [{"epoch": e, "seconds": 0.2 * e, "val": value - 0.1 / e} for e in (1, 4, 10)]
                    result = {"dataset": dataset, "method": method, "seed": seed, "rows": [row], "train_gb": 0.5}
                    results.append(result | {"epochs": 10, "train_seconds": 2.0, "looks": curve, "best_seconds": 0.8})
        return MethodScores(
            results,
            "linear",
            name="nodes",
            compared=nodes.compared,
            baselines=nodes.baselines,
            methods=("girl", *nodes.peers),
        )

    return scores


@pytest.fixture
def scores(method_scores):
    """GIRL is first on one dataset and DGI on the other; all other methods are equal."""
    peers = dict.fromkeys(Nodes().peers, (0.7, 0.5))
    return method_scores(raw=(0.6, 0.5), untrained=(0.7, 0.6), **(peers | {"girl": (0.8, 0.7), "dgi": (0.82, 0.6)}))
