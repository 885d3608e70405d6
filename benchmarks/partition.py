"""How many edges lie within METIS parts if METIS sees a sample of the edges, and if it sees all of them.

Writes results/bench/partition.json. Graphs with very many edges are partitioned from a sample of them. Here graphs that
METIS can see in full are partitioned twice: from all entries of the adjacency matrix, and from half of them.

    python benchmarks/partition.py             Computers, Photo and Physics, 32 parts: a minute
    python benchmarks/partition.py --quick     scikit-learn's digits, 8 parts, to see that it runs
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from unittest import mock

from girl import datasets
from girl.files import write_json
from girl.graph import partition as metis
from girl.lab.provenance import provenance
from girl.nn.encoder import EncoderSettings
from girl.training.batch import make_batch

#: The sample, as a fraction of all entries.
FRACTION = 0.5


def measure(name: str, parts: int) -> dict[str, Any]:
    """The fraction of edges within parts, with all entries and with the sample."""
    dataset = datasets.load(name)
    graph = make_batch(dataset.data, EncoderSettings()).graph
    row, column = graph.edge_index

    def within() -> float:
        part = metis.partition(graph, parts)
        return float((part[row] == part[column]).double().mean())

    result = {"dataset": name, "stand_in": dataset.stand_in, "all": within()}
    with mock.patch.multiple(metis, MAX_ENTRIES=round(FRACTION * len(row)), MIN_ENTRIES_PER_NODE=0):
        return result | {"half": within()}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/bench/partition.json"))
    parser.add_argument("--quick", action="store_true", help="a small graph, to see that it runs")
    arguments = parser.parse_args()
    result: dict[str, Any] = {"benchmark": "partition", "quick": arguments.quick, "fraction": FRACTION}
    result |= {"parts": 8 if arguments.quick else 32, "rows": [], "provenance": provenance()}
    for name in ("digits",) if arguments.quick else ("computers", "photo", "physics"):
        result["rows"].append(row := measure(name, result["parts"]))
        print(f"{name}: {row['all']:.1%} of the edges within parts, from half of them {row['half']:.1%}", flush=True)
        write_json(arguments.out, result)
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()
