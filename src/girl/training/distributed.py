"""The processes of a run: one, or as many as torchrun started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from girl.errors import InputError
from girl.kernel.distributed import Communicator

T = TypeVar("T")


class Distributed:
    """A group of processes that train together. Without a group it is a single process, and every method is trivial.

    Args:
        group: all processes.
        loss_group: a second group of all processes, for the sums inside losses. They must not mix with the messages
            that average gradients.
    """

    def __init__(self, group: dist.ProcessGroup | None = None, loss_group: dist.ProcessGroup | None = None) -> None:
        self.group = group
        self.ranks = None if loss_group is None else Communicator(loss_group)
        self.rank = 0 if group is None else dist.get_rank(group)
        self.num_processes = 1 if group is None else dist.get_world_size(group)

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes files and prints."""
        return self.rank == 0

    @property
    def is_local_main(self) -> bool:
        """Whether this is the first process on its host."""
        return int(os.environ.get("LOCAL_RANK", str(self.rank))) == 0

    @property
    def num_local(self) -> int:
        """The number of processes on this host."""
        return min(self.num_processes, int(os.environ.get("LOCAL_WORLD_SIZE", str(self.num_processes))))

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over processes in the backward pass."""
        return module if self.group is None else DistributedDataParallel(module, process_group=self.group)

    def broadcast(self, tensor: Tensor) -> Tensor:
        """The main process's tensor. All processes pass one of the same shape and dtype."""
        if self.group is not None:
            tensor = tensor.clone()
            dist.broadcast(tensor, 0, self.group)
        return tensor

    def broadcast_number(self, value: float) -> float:
        """The main process's number."""
        return value if self.group is None else float(self.broadcast(torch.tensor([value], dtype=torch.float64)))

    def broadcast_object(self, make: Callable[[], Any]) -> Any:
        """What ``make`` returns on the main process, which alone calls it. Tensors in it must be on the CPU."""
        result = [make() if self.is_main else None]
        if self.group is not None:
            dist.broadcast_object_list(result, 0, self.group)
        return result[0]

    def mean(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """The mean over processes of each number; NaN if it is NaN on any process."""
        if self.group is None or not numbers:
            return dict(numbers)
        values = torch.tensor(list(numbers.values()), dtype=torch.float64)
        dist.all_reduce(values, group=self.group)
        return dict(zip(numbers, (values / self.num_processes).tolist(), strict=True))

    def local_main_first(self, load: Callable[[], T]) -> T:
        """What ``load`` returns, on every process. One process of each host goes first and fills the cache."""
        if self.num_processes == 1:
            return load()
        if self.is_local_main:
            result = load()
            self.barrier()
            return result
        self.barrier()
        return load()

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.group is not None:
            dist.barrier(self.group)


SINGLE_PROCESS = Distributed()


@contextmanager
def connect(device: torch.device | str = "cpu") -> Iterator[Distributed]:
    """The processes that torchrun started, connected inside the block; a single process without torchrun."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        yield SINGLE_PROCESS
        return
    kind = torch.device(device).type
    if kind == "mps":
        raise InputError("device: given mps with several processes, expected cpu or cuda")
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    store, rank, size = next(rendezvous("env://"))
    # After a restart, the store still has the addresses of the processes that died. A prefix hides them.
    attempt = PrefixStore(f"girl/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo", store=attempt, rank=rank, world_size=size)
    try:
        yield Distributed(dist.group.WORLD, dist.new_group())
    finally:
        dist.destroy_process_group()
