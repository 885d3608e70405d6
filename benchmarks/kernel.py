"""Time and memory of the KR loss, forward and backward, beside the published algorithm.

Writes results/bench/kernel.json, which `python -m girl.lab.render` renders. Each time is the median of several repeats
after a warm-up, on the same inputs. Large sizes run in their own process, so that its peak memory is that of the
measurement alone.

    python benchmarks/kernel.py            everything, about ten minutes on two cores
    python benchmarks/kernel.py --quick    small sizes, to see that it runs
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from girl import KRLoss
from girl.files import write_json
from girl.kernel.loss import CHUNK_ROWS, SINGLE_CHUNK_ROWS
from girl.lab.provenance import provenance

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")

Loss = Callable[[Tensor, Tensor], Tensor]


class _PublishedClamp(torch.autograd.Function):
    """The published algorithm, from its description: clamp the singular values of K (n x n).

    The forward is a full SVD; the backward uses the divided differences of min(λ, 1) in the basis of singular vectors.
    """

    @staticmethod
    def forward(ctx: Any, kernel: Tensor) -> Tensor:
        u, s, vh = torch.linalg.svd(kernel)
        ctx.save_for_backward(u, s)
        return (u * s.clamp(max=1)) @ vh

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        u, s = ctx.saved_tensors
        larger, smaller = torch.maximum(s[:, None], s), torch.minimum(s[:, None], s)
        across = (1 - smaller) / (larger - smaller).clamp(min=1e-12)
        differences = torch.where(larger <= 1, 1.0, torch.where(smaller >= 1, 0.0, across))
        return u @ (differences * (u.T @ grads[0] @ u)) @ u.T


def _gram(x: Tensor) -> Tensor:
    squares = torch.cdist(x, x).square()
    return torch.exp(-squares / squares.mean())


def published(x: Tensor, y: Tensor) -> Tensor:
    residual = y - _PublishedClamp.apply(_gram(x)) @ y
    return (residual.square().mean(0) + 1e-5).sqrt().mean()


def eigh_autograd(x: Tensor, y: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(_gram(x))
    residual = y - (vectors * values.clamp(0, 1)) @ (vectors.T @ y)
    return (residual.square().mean(0) + 1e-5).sqrt().mean()


def seconds(loss: Loss, x: Tensor, y: Tensor, repeats: int, warm: bool = True) -> float:
    """The median time of forward and backward."""
    times = []
    for _ in range(repeats + warm):
        x.grad = None
        started = time.perf_counter()
        loss(x, y).backward()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:] if warm else times)


def matmul_rate() -> float:
    """Floating-point operations a second of a large float32 product: the speed of the machine."""
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    times = []
    for _ in range(12):
        started = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - started)
    return 2 * 2048**3 / statistics.median(times)


def products(n: int, d: int, m: int, r: int, chunks: int) -> float:
    """Floating-point operations in the products over n rows of the Nyström path, forward and backward.

    With several chunks, each pass computes its features and sums again in the backward.
    """
    kernel, whiten, square, target = 2 * n * r * d, 2 * n * r * r, 2 * n * r * r, 2 * n * r * m
    if chunks == 1:
        return 3 * kernel + 3 * whiten + 4 * square + 5 * target
    return 8 * kernel + 8 * whiten + 6 * square + 7 * target


def data(n: int, d: int, m: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, d, generator=generator).requires_grad_()
    return x, torch.randn(n, m, generator=generator)


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, computed in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def in_this_process(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def measure_scaling(n: int) -> dict[str, float]:
    """Time and peak memory at n rows, d = m = 128, rank 256."""
    x, y = data(n, 128, 128)
    small = data(2048, 128, 128)
    seconds(KRLoss(features="nystrom"), *small, repeats=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    loss = KRLoss(features="nystrom")
    time_taken = seconds(loss, x, y, repeats=3 if n <= 300_000 else 1)
    inputs = (x.numel() + y.numel()) * 4
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    chunks = 1 if n <= SINGLE_CHUNK_ROWS else -(-n // CHUNK_ROWS)
    return {
        "n": n,
        "seconds": time_taken,
        "inputs_bytes": inputs,
        # The inputs were allocated before; the growth during the measurement is added to them.
        "peak_bytes": inputs + growth,
        "peak_over_inputs": (inputs + growth) / inputs,
        "flops": products(n, 128, 128, 256, chunks),
    }


def measure_against(n: int, repeats: int) -> dict[str, float]:
    """All algorithms at n rows, d = m = 512."""
    x, y = data(n, 512, 512)
    slow = max(1, repeats // 3) if n < 4096 else 1
    paths: dict[str, tuple[Loss, int]] = {
        "published": (published, slow),
        "eigh_autograd": (eigh_autograd, slow),
        "ours_exact_clamp": (KRLoss.paper(), slow),
        "ours_exact_ridge": (KRLoss(features="exact"), slow),
        **{f"ours_nystrom_{rank}": (KRLoss(features="nystrom", rank=rank), repeats) for rank in (128, 256, 512, 1024)},
        **{f"ours_fourier_{rank}": (KRLoss(features="fourier", rank=rank), repeats) for rank in (128, 256, 512, 1024)},
        "default": (KRLoss(), repeats),
    }
    return {name: seconds(loss, x, y, count, warm=n < 4096 or count > 1) for name, (loss, count) in paths.items()}


def measure_sparse(n: int, m: int, repeats: int) -> dict[str, float]:
    """The same targets as CSR and as a dense matrix, with one percent nonzero."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, 512, generator=generator).requires_grad_()
    dense = (torch.rand(n, m, generator=generator) < 0.01).float()
    loss = KRLoss()
    times = {
        "sparse_seconds": seconds(loss, x, dense.to_sparse_csr(), repeats),
        "dense_seconds": seconds(loss, x, dense, repeats),
    }
    return {"n": n, "m": m, **times, "ratio": times["dense_seconds"] / times["sparse_seconds"]}


def measure_activations(mirror: Path) -> list[dict[str, Any]]:
    """The default low-rank loss beside its exact value, on a GCN layer of real graphs."""
    import shutil
    import tempfile

    from torch_geometric.datasets import Amazon, Planetoid
    from torch_geometric.nn import GCNConv

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("Cora", "Photo"):
            shutil.copytree(mirror / name / "raw", Path(folder) / name / "raw")
            graph = (Planetoid(folder, "Cora") if name == "Cora" else Amazon(folder, "Photo"))[0]
            torch.manual_seed(0)
            with torch.no_grad():
                hidden = torch.nn.functional.elu(GCNConv(graph.num_features, 512)(graph.x, graph.edge_index))
            features = graph.x[:, graph.x.std(0) > 0]
            features = (features - features.mean(0)) / features.std(0)
            with torch.no_grad():
                exact = float(KRLoss(features="exact")(hidden, features))
                values = [
                    float(KRLoss()(hidden, features, generator=torch.Generator().manual_seed(seed)))
                    for seed in range(5)
                ]
            mean = sum(values) / len(values)
            rows.append(
                {"dataset": name, "rows": len(hidden), "exact": exact, "default": mean, "difference": mean / exact - 1}
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--out", type=Path, default=Path("results/bench/kernel.json"))
    mirror = os.environ.get("GIRL_MIRROR")
    parser.add_argument("--mirror", type=Path, default=mirror, help="folder of raw datasets, for real activations")
    arguments = parser.parse_args()
    quick = arguments.quick
    # A new process takes seconds to start; the quick run has no memory to measure.
    run: Callable[..., Any] = in_this_process if quick else in_new_process
    against_sizes = (256, 512) if quick else (512, 1024, 2048, 4096)
    scaling_sizes = (4096, 9000) if quick else (16_384, 65_536, 262_144, 1_048_576)
    result: dict[str, Any] = {"benchmark": "kernel", "quick": quick, "threads": torch.get_num_threads()}
    result["provenance"] = provenance()
    result["matmul_flops_per_second"] = rate = run(matmul_rate)
    result["against"] = []
    for n in against_sizes:
        row = run(measure_against, n, 1 if quick else 5)
        result["against"].append(
            {"n": n, "d": 512, "m": 512, "seconds": row, "speedup": row["published"] / row["default"]}
        )
        print(f"n={n}: published {row['published']:.2f} s, default {row['default']:.3f} s", flush=True)
    result["scaling"] = []
    for n in scaling_sizes:
        row = run(measure_scaling, n)
        row["share_of_matmul"] = row["flops"] / row["seconds"] / rate
        result["scaling"].append(row)
        print(
            f"n={n}: {row['seconds']:.2f} s, {row['peak_over_inputs']:.2f} x inputs, {row['share_of_matmul']:.0%}",
            flush=True,
        )
    first, last = result["scaling"][0], result["scaling"][-1]
    result["slope"] = _slope([row["n"] for row in result["scaling"]], [row["seconds"] for row in result["scaling"]])
    result["slope_from"], result["slope_to"] = first["n"], last["n"]
    single = result["against"][-1]
    flops = products(single["n"], 512, 512, 256, 1)
    result["share_of_matmul_4096"] = flops / single["seconds"]["ours_nystrom_256"] / rate
    result["sparse"] = run(measure_sparse, 2000 if quick else 20_000, 800 if quick else 8_000, 3)
    print(f"slope {result['slope']:.3f}; sparse {result['sparse']['ratio']:.1f} x faster than dense", flush=True)
    if arguments.mirror is not None:
        result["activations"] = measure_activations(arguments.mirror)
        print(json.dumps(result["activations"]))
    write_json(arguments.out, result)
    print(f"written: {arguments.out}")


def _slope(sizes: list[int], times: list[float]) -> float:
    x, y = torch.tensor(sizes, dtype=torch.float64).log(), torch.tensor(times, dtype=torch.float64).log()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


if __name__ == "__main__":
    main()
