"""Estimate the memory of a run before it starts: a process that the system kills cannot print a message."""

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

#: Copies of the weights: weights, gradients, two moments, the last good state of three of these, and a file's.
PER_WEIGHT = 8

#: The largest METIS part, relative to the mean.
UNEVEN = 1.1

#: The fraction of the free memory that a run may use.
USABLE = 0.9

#: Below this no check is made: free memory fluctuates by as much.
SMALL = 1 << 28


def check_memory(method: Method, data: Batch, settings: TrainSettings, processes: int = 1) -> None:
    """Raise, before anything is allocated, if training would need more memory than there is.

    Args:
        method: the method to train.
        data: the graph, which is already in memory.
        settings: how to train.
        processes: how many processes of this host share each batch.
    """
    needed = peak(method, data, settings, processes)
    if needed is None or needed < SMALL or needed <= (free := USABLE * available(data.x.device)):
        return
    raise InputError(
        f"memory: training needs about {needed / 1e9:.1f} GB beyond the graph, but only {free / 1e9:.1f} GB are free. "
        f"{_advice(method, data, settings, free, processes)}. If more is available, set GIRL_MEMORY (in GB)"
    )


def peak(method: Method, data: Batch, settings: TrainSettings, processes: int = 1) -> float | None:
    """Peak bytes beyond the graph, over all processes of a host; None if the method gives no estimate."""
    estimate = method.memory(data, -(-batch_nodes(data, settings) // processes))
    if estimate is None:
        return None
    weights = 4 * PER_WEIGHT * sum(parameter.numel() for parameter in method.parameters())
    # What `prepare` computes is shared by all processes.
    return estimate.persistent + max(estimate.prepare, processes * (weights + max(estimate.step, estimate.embed)))


def batch_nodes(data: Batch, settings: TrainSettings) -> int:
    """Nodes of the largest batch, approximately."""
    if data.graph_id is not None:
        fraction = UNEVEN * settings.batch_size / max(data.num_graphs, 1)
    else:
        fraction = UNEVEN * settings.batch_size / settings.clusters if settings.clusters > 1 else 1.0
    return math.ceil(data.num_nodes * min(fraction, 1.0))


def _advice(method: Method, data: Batch, settings: TrainSettings, free: float, processes: int) -> str:
    """What would make it fit: the smallest sufficient number of clusters, or a smaller setting."""
    if data.graph_id is None:
        clusters = max(2, settings.clusters)
        while clusters * 50 < data.num_nodes:
            smaller = replace(settings, clusters=clusters, batch_size=processes)
            if (needed := peak(method, data, smaller, processes)) is not None and needed <= 0.8 * free:
                options = f"--clusters {clusters} --batch-size {processes}"
                return f"Partition the graph: {options} needs {needed / 1e9:.1f} GB"
            clusters *= 2
    estimate = method.memory(data, batch_nodes(data, settings)) or MemoryEstimate()
    if max(estimate.persistent, estimate.prepare) > max(estimate.step, estimate.embed):
        return "Prepare smaller targets: --target-rank 64, or --targets input, which prepares nothing"
    if estimate.embed > estimate.step:
        return "Use a narrower representation: --hidden 64"
    return "Use smaller steps: --batch-size 1, or a smaller --rows, --rank or --hidden"


def available(device: torch.device) -> float:
    """Free bytes on the device; the environment variable ``GIRL_MEMORY`` (in GB) overrides it."""
    if text := os.environ.get("GIRL_MEMORY"):
        try:
            return float(text) * 1e9
        except ValueError as error:
            raise InputError(f"GIRL_MEMORY: given {text!r}, expected a number of gigabytes") from error
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return float(min([psutil.virtual_memory().available, *_container_limits()]))


def _container_limits() -> Iterator[int]:
    """What is left of a container's memory limits (cgroup versions 2 and 1)."""
    folder = Path("/sys/fs/cgroup")
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            yield int((folder / limit).read_text()) - int((folder / usage).read_text())
        except (OSError, ValueError):  # no such file, or "max"
            continue
