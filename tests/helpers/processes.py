"""Functions run by several processes of torch.distributed, as torchrun would start them."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def together(count: int, function: Callable[..., Any], folder: Path, *arguments: Any) -> list[Any]:
    """What ``function(*arguments)`` returns on each of ``count`` processes, which are a group of gloo.

    Args:
        count: how many.
        function: of a module, so that another process can import it.
        folder: an empty one, where the processes find each other.
        arguments: the same for all.
    """
    context = mp.get_context("spawn")
    answers = context.SimpleQueue()
    store = folder / f"store{count}"
    workers = [
        context.Process(target=_work, args=(rank, count, store, answers, function, arguments), daemon=True)
        for rank in range(count)
    ]
    for worker in workers:
        worker.start()
    found: dict[int, Any] = {}
    for _ in workers:
        rank, fault, value = answers.get()
        if fault:
            for worker in workers:
                worker.terminate()
            raise AssertionError(f"rank {rank}: {fault}")
        found[rank] = pickle.loads(value)
    for worker in workers:
        worker.join()
    return [found[rank] for rank in range(count)]


def _work(rank: int, count: int, store: Path, answers: Any, function: Callable[..., Any], arguments: Any) -> None:
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=count, timeout=timedelta(seconds=60))
        # By value: a tensor would be shared through a file that ends with this process.
        answers.put((rank, "", pickle.dumps(function(*arguments))))
    except BaseException:
        answers.put((rank, traceback.format_exc(), None))
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
