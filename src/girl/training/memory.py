"""How much memory a run will take, told before it takes any: a process that the system kills cannot explain itself."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import torch

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.methods.base import Method
from girl.methods.memory import MemoryEstimate
from girl.training.state import TrainSettings

#: Copies of the weights: themselves, gradients, two moments, the last good state of three of these, and a file's.
PER_WEIGHT = 8

#: Of METIS parts, the largest over the mean.
UNEVEN = 1.1

#: Of the memory that is free, what a run may take.
SHARE = 0.9

#: Below this nothing is said: what is free may change by as much.
SMALL = 1 << 28


def check_memory(method: Method, whole: Batch, settings: TrainSettings, processes: int = 1) -> None:
    """Complain, before anything is allocated, if training would take more memory than there is.

    Args:
        method: what is to be trained.
        whole: the graph, which is in memory.
        settings: how it is to be trained.
        processes: how many share each batch, on this host.
    """
    wanted = peak(method, whole, settings, processes)
    if wanted is None or wanted < SMALL or wanted <= (free := SHARE * available(whole.x.device)):
        return
    raise InputError(
        f"memory: training would take about {wanted / 1e9:.1f} GB beyond the graph, and {free / 1e9:.1f} GB are free. "
        f"{_advice(method, whole, settings, free, processes)}. GIRL_MEMORY=GB says that there is more"
    )


def peak(method: Method, whole: Batch, settings: TrainSettings, processes: int = 1) -> float | None:
    """Bytes beyond the graph at the worst moment of training, of all processes of a host; None if nobody has said."""
    estimate = method.memory(whole, -(-batch_nodes(whole, settings) // processes))
    if estimate is None:
        return None
    weights = 4 * PER_WEIGHT * sum(parameter.numel() for parameter in method.parameters())
    # What is prepared is one memory for all processes.
    return estimate.persistent + max(estimate.prepare, processes * (weights + max(estimate.step, estimate.embed)))


def batch_nodes(whole: Batch, settings: TrainSettings) -> int:
    """Nodes of the largest batch, about."""
    if whole.graph_id is not None:
        share = UNEVEN * settings.batch_size / max(whole.num_graphs, 1)
    else:
        share = UNEVEN * settings.batch_size / settings.clusters if settings.clusters > 1 else 1.0
    return math.ceil(whole.num_nodes * min(share, 1.0))


def _advice(method: Method, whole: Batch, settings: TrainSettings, free: float, processes: int) -> str:
    """What would make it fit: the smallest number of clusters that does; else what is left."""
    if whole.graph_id is None:
        clusters = max(2, settings.clusters)
        while clusters * 50 < whole.num_nodes:
            fewer = replace(settings, clusters=clusters, batch_size=processes)
            if (wanted := peak(method, whole, fewer, processes)) is not None and wanted <= 0.8 * free:
                told = f"--clusters {clusters} --batch-size {processes} takes {wanted / 1e9:.1f} GB"
                return f"Cut the graph into parts: {told}"
            clusters *= 2
    estimate = method.memory(whole, batch_nodes(whole, settings)) or MemoryEstimate()
    if max(estimate.persistent, estimate.prepare) > max(estimate.step, estimate.embed):
        return "Prepare less: --target-rank 64 keeps fewer columns of every target, and --targets input none at all"
    if estimate.embed > estimate.step:
        return "Represent nodes by fewer columns: --hidden 64"
    return "Take smaller steps: --batch-size 1, fewer --rows or --rank, a smaller --hidden"


def available(device: torch.device) -> float:
    """Bytes that are free where the graph is; ``GIRL_MEMORY`` (in GB) says otherwise."""
    if told := os.environ.get("GIRL_MEMORY"):
        try:
            return float(told) * 1e9
        except ValueError as error:
            raise InputError(f"GIRL_MEMORY: given {told!r}, expected a number of gigabytes") from error
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return float(min([psutil.virtual_memory().available, *_limits()]))


def _limits() -> Iterator[int]:
    """What is left of the limits that a container sets."""
    folder = Path("/sys/fs/cgroup")
    for most, now in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            yield int((folder / most).read_text()) - int((folder / now).read_text())
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
