"""Products with a constant sparse matrix and their gradients, and leading eigenvectors, each by several libraries.

Writes results/bench/sparse.json. The matrix is D⁻¹A of a graph, the dense side is float32. Every number is the minimum
over repetitions that take turns, since other programs may run on the machine.

    python benchmarks/sparse.py             PubMed, Physics, a random graph as large as ogbn-arxiv; widths 16, 64, 256
    python benchmarks/sparse.py --quick     small, to see that it runs
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.utils.extmath import randomized_svd
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.utils import spmm

from girl import datasets
from girl.files import write_json
from girl.graph.graph import Graph
from girl.graph.structure import INTERVAL, POSITIONS, PRODUCTS
from girl.graph.subspace import OVERSAMPLE, iterate_subspace, leading_rotation, orthonormalize
from girl.kernel import sparse
from girl.kernel.sparse import SparseMatrix
from girl.lab.provenance import provenance

#: Nodes and edges of the random graph: those of ogbn-arxiv, both directions.
NODES, EDGES = 169_000, 2_300_000

Product = Callable[[Tensor], Tensor]


def graph_of(name: str) -> Graph:
    """A named graph, or a random one with ``random:nodes:edges``."""
    if name.startswith("random"):
        nodes, edges = map(int, name.split(":")[1:])
        generator = torch.Generator().manual_seed(0)
        return Graph.from_edges(torch.randint(nodes, (2, edges // 2), generator=generator), nodes)
    data = datasets.load(name).data
    return Graph.from_edges(data.edge_index, data.x.shape[0])


class _ScipyProduct(torch.autograd.Function):
    """A z by scipy, with the gradient Aᵀg read from the rows of A."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return torch.from_numpy(matrix.as_scipy @ z.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(ctx.matrix.scipy_transpose @ grads[0].numpy()), None


def contenders(graph: Graph) -> dict[str, Product]:
    """The same product by different libraries, differentiable in the dense side."""
    matrix = SparseMatrix(graph.mean.tensor)
    long = sparse.csr(matrix.tensor.crow_indices(), matrix.tensor.col_indices().long(), matrix.values, matrix.shape)
    edge_index = torch.stack([graph.edge_target, graph.adjacency.col_indices().long()])
    edges = EdgeIndex(edge_index, sparse_size=graph.shape, sort_order="row").fill_cache_()
    return {
        "scipy": lambda z: _ScipyProduct.apply(z, matrix),
        "torch": SparseMatrix(matrix.tensor, transpose=matrix.transpose).__matmul__,
        "torch autograd": lambda z: torch.sparse.mm(long, z),
        "pyg EdgeIndex": lambda z: edges.matmul(z, matrix.values),
        "pyg spmm": lambda z: spmm(long, z, "sum"),
    }


def measure(products: dict[str, Product], z: Tensor, repeats: int) -> dict[str, list[float]]:
    """The smallest seconds of each forward and backward pass. They take turns, so that none is favoured."""
    best = {method: [float("inf")] * 2 for method in products}
    weight = torch.randn_like(z)
    for _ in range(repeats + 1):
        for method, product in products.items():
            z = z.detach().requires_grad_()
            times = [time.perf_counter()]
            out = product(z)
            times.append(time.perf_counter())
            out.backward(weight)
            times.append(time.perf_counter())
            best[method] = [min(old, new) for old, new in zip(best[method], np.diff(times).tolist(), strict=True)]
    return best


def eigenvectors(name: str, count: int) -> list[dict[str, Any]]:
    """The leading eigenvectors of the regularised adjacency matrix by three methods: seconds and quality.

    The quality is the trace of the matrix within the subspace that was found, divided by that of the best one.
    """
    graph = graph_of(name)
    n, tau = graph.num_nodes, float(graph.weighted_degree.mean())
    scale = (graph.weighted_degree + tau).rsqrt().unsqueeze(1)

    def product(z: Tensor) -> Tensor:
        z = scale * z
        return graph.sum.product(z).add_(z.sum(0), alpha=tau / n).mul_(scale)

    def matvec(z: np.ndarray) -> np.ndarray:
        return product(torch.from_numpy(np.ascontiguousarray(z, np.float32)).reshape(n, -1)).numpy().reshape(z.shape)

    def iterate() -> Tensor:
        start = torch.randn(n, count + OVERSAMPLE, generator=torch.Generator().manual_seed(0))
        basis = iterate_subspace(lambda z: product(z).add_(z).mul_(0.5), start, PRODUCTS, INTERVAL)
        return basis @ leading_rotation(basis.T @ product(basis), basis, count)

    def arpack() -> Tensor:
        operator = LinearOperator((n, n), matvec=matvec, dtype=np.float32)
        return torch.from_numpy(eigsh(operator, k=count, which="LA", tol=1e-2)[1].copy())

    def stored() -> Tensor:
        diagonal = scipy.sparse.diags(scale.squeeze(1).numpy())
        shifted = (diagonal @ graph.sum.as_scipy @ diagonal + scipy.sparse.identity(n, np.float32)) / 2
        svd = randomized_svd(shifted, count, n_oversamples=OVERSAMPLE, n_iter=PRODUCTS // 2, random_state=0)
        return torch.from_numpy(svd[0].copy())

    methods = {"girl": iterate, "eigsh, tolerance 0.01": arpack, "randomized_svd, without the rank-one term": stored}
    rows: list[dict[str, Any]] = []
    for method, find in methods.items():
        started = time.perf_counter()
        vectors = find()
        seconds = time.perf_counter() - started
        basis = torch.linalg.qr(vectors.float())[0]
        trace = float((basis * product(basis)).sum())
        rows.append({"graph": name, "nodes": n, "method": method, "count": count, "seconds": seconds, "trace": trace})
    best = max(row["trace"] for row in rows)
    return [row | {"quality": row["trace"] / best} for row in rows]


def orthonormalizations(nodes: int, columns: int) -> dict[str, Any]:
    """Seconds of an orthonormal basis of tall columns by the Gram matrix and by QR."""
    z = torch.randn(nodes, columns, generator=torch.Generator().manual_seed(0))
    seconds = {}
    for name, function in (("gram", orthonormalize), ("qr", lambda z: torch.linalg.qr(z)[0])):
        started = time.perf_counter()
        function(z)
        seconds[name] = time.perf_counter() - started
    return {"nodes": nodes, "columns": columns, "seconds": seconds}


def main() -> None:
    """Measure, print, and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/bench/sparse.json"))
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    quick = arguments.quick
    names = ["random:500:3000"] if quick else ["pubmed", "physics", f"random:{NODES}:{EDGES}"]
    rows: list[dict[str, Any]] = []
    for name in names:
        graph = graph_of(name)
        size = {"graph": name.split(":")[0], "nodes": graph.num_nodes, "entries": graph.adjacency.values().numel()}
        for width in (16,) if quick else (16, 64, 256):
            z = torch.randn(graph.num_nodes, width, generator=torch.Generator().manual_seed(0))
            for threads in (1,) if quick else (1, 2):
                torch.set_num_threads(threads)
                best = measure(contenders(graph), z, 1 if quick else arguments.repeats)
                for method, (forward, backward) in best.items():
                    times = {"forward": forward, "backward": backward}
                    rows.append(size | {"width": width, "threads": threads, "method": method} | times)
                    print(*rows[-1].values(), flush=True)
    torch.set_num_threads(1)
    decompositions = []
    for name in ["random:500:3000"] if quick else ["pubmed", "physics"]:
        decompositions += eigenvectors(name, 20 if quick else POSITIONS)
    for row in decompositions:
        print(f"{row['graph']}, {row['method']}: {row['seconds']:.2f} s, quality {row['quality']:.3f}")
    result = {
        "statistic": f"minimum of {1 if quick else arguments.repeats} repetitions",
        "load": os.getloadavg(),
        "rows": rows,
        "eigenvectors": decompositions,
        "orthonormalization": orthonormalizations(1000 if quick else 100_000, POSITIONS + OVERSAMPLE),
        "provenance": provenance(),
    }
    write_json(arguments.out, result)


if __name__ == "__main__":
    main()
