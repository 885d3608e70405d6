"""What KR regularisation adds to a training step of a deep network, beside the published estimator, in one run.

Writes results/bench/regularizer.json. The steps (forward, cross-entropy, backward, Adam) of one model on one batch are
interleaved repetitions: plain; with KR on all layers but the last; with KR on all of them. The published estimator, an
eigendecomposition of a matrix of all training nodes for each layer, is timed on the smaller batches, once.

    python benchmarks/regularizer.py             depth 18, hidden 256, 40 classes, batches of 2,000 to 4,000 nodes
    python benchmarks/regularizer.py --quick     small, to see that it runs
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.nn import GraphSAGE

from girl import KRLoss, KRRegularizer
from girl.files import write_json
from girl.graph.graph import Graph
from girl.graph.node_features import NodeFeatures
from girl.lab.provenance import provenance
from girl.nn.classifier import Classifier, ClassifierSettings

#: The target: how many plain steps a step with KR may cost.
TARGET = 1.5

#: Neighbours of a node, as in the paper's middling graphs, and columns of the features.
DEGREE, INPUTS = 14, 128

#: Nodes up to which the published estimator is timed: it is cubic in them.
PUBLISHED = 2000


class Bench:
    """A model, ours or torch_geometric's, and a batch whose nodes are all training nodes: the most expensive case."""

    def __init__(self, kind: str, nodes: int, depth: int, hidden: int, classes: int) -> None:
        torch.manual_seed(0)
        edges = torch.randint(nodes, (2, nodes * DEGREE // 2))
        self.y = torch.randint(classes, (nodes,))
        x = torch.randn(nodes, INPUTS)
        self.mask = torch.ones(nodes, dtype=torch.bool)
        self.model: torch.nn.Module
        if kind == "girl":
            self.model = Classifier(INPUTS, classes, ClassifierSettings(depth=depth, hidden=hidden))
            self.inputs: tuple[Any, ...] = (NodeFeatures.from_tensor(x, "none"), Graph.from_edges(edges, nodes))
        else:
            self.model = GraphSAGE(INPUTS, hidden, depth, classes)
            self.inputs = (x, torch.cat([edges, edges.flip(0)], dim=1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def step(self, regularizer: KRRegularizer | None) -> float:
        """Seconds of one step."""
        started = time.perf_counter()
        loss = cross_entropy(self.model(*self.inputs), self.y)
        if regularizer is not None:
            loss = loss + regularizer(self.y, self.mask)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - started


def measure(kind: str, nodes: int, depth: int, hidden: int, classes: int, repeats: int) -> dict[str, Any]:
    """Medians of the kinds of step."""
    bench = Bench(kind, nodes, depth, hidden, classes)
    makers: dict[str, Callable[[], KRRegularizer | None]] = {
        "plain": lambda: None,
        "kr": lambda: KRRegularizer(bench.model),
        "kr_all_layers": lambda: KRRegularizer(bench.model, last=True),
    }
    seconds: dict[str, list[float]] = {name: [] for name in makers}
    for repetition in range(repeats + 1):
        for name, make in makers.items():
            regularizer = make()
            spent = bench.step(regularizer)
            if regularizer is not None:
                regularizer.remove()
            if repetition:  # the first warms up
                seconds[name].append(spent)
    result: dict[str, Any] = {
        "model": kind, "nodes": nodes, "edges": nodes * DEGREE, "depth": depth, "hidden": hidden, "classes": classes,
        "repeats": repeats, "seconds": {name: statistics.median(times) for name, times in seconds.items()},
    }  # fmt: skip
    if nodes <= PUBLISHED:
        with KRRegularizer(bench.model, loss=KRLoss.paper(), last=True) as published:
            result["seconds"]["published"] = bench.step(published)
    plain = result["seconds"]["plain"]
    result["ratios"] = {name: value / plain for name, value in result["seconds"].items()}
    return result


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/bench/regularizer.json"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    sizes = [60] if arguments.quick else [2000, 3000, 4000]
    depth, hidden, classes = (3, 16, 4) if arguments.quick else (18, 256, 40)
    rows: list[dict[str, Any]] = []
    for kind in ("girl", "torch_geometric"):
        for nodes in sizes:
            row = measure(kind, nodes, depth, hidden, classes, 1 if arguments.quick else arguments.repeats)
            rows.append(row)
            ratios = "  ".join(f"{name} {ratio:.2f}×" for name, ratio in row["ratios"].items())
            print(f"{kind}, {nodes:,} nodes: plain {row['seconds']['plain']:.3f} s  {ratios}", flush=True)
            result = {"target": TARGET, "threads": torch.get_num_threads(), "rows": rows, "provenance": provenance()}
            write_json(arguments.out, result)


if __name__ == "__main__":
    main()
