"""The processes that train together: one, or as many as torchrun started."""

from __future__ import annotations

import json
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


class World:
    """The processes of a run. Without groups it is one process alone, and nothing here does anything.

    Args:
        group: of all processes.
        losses: another one of all processes, for sums within losses: they must not mix with those of gradients.
    """

    def __init__(self, group: dist.ProcessGroup | None = None, losses: dist.ProcessGroup | None = None) -> None:
        self.group = group
        self.ranks = None if losses is None else Communicator(losses)
        self.rank = 0 if group is None else dist.get_rank(group)
        self.count = 1 if group is None else dist.get_world_size(group)

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, whose gradients are averaged over processes on the way back."""
        return module if self.group is None else DistributedDataParallel(module, process_group=self.group)

    def same(self, tensor: Tensor) -> Tensor:
        """The first process's tensor; all give one of the same shape and type."""
        if self.group is not None:
            tensor = tensor.clone()
            dist.broadcast(tensor, 0, self.group)
        return tensor

    def agree(self, value: float) -> float:
        """The first process's number."""
        return value if self.group is None else float(self.same(torch.tensor([value], dtype=torch.float64)))

    def mean(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Means over processes of numbers that all of them have; NaN if one is."""
        if self.group is None or not numbers:
            return dict(numbers)
        values = torch.tensor(list(numbers.values()), dtype=torch.float64)
        dist.all_reduce(values, group=self.group)
        return dict(zip(numbers, (values / self.count).tolist(), strict=True))

    def state(self, made: Callable[[], tuple[dict[str, Tensor], Any] | None]) -> tuple[dict[str, Tensor], Any] | None:
        """What the first process makes, on every process: tensors, and a JSON value; None if it makes nothing."""
        found = made() if self.first else None
        if self.group is None:
            return found
        tensors, rest = found or ({}, None)
        kinds = [[name, str(t.dtype).removeprefix("torch."), list(t.shape)] for name, t in tensors.items()]
        kinds, rest, known = json.loads(self._text(json.dumps([kinds, rest, found is not None])))
        if not known:
            return None
        got = {}
        for name, dtype, shape in kinds:
            own = tensors[name].contiguous() if self.first else torch.empty(shape, dtype=getattr(torch, dtype))
            dist.broadcast(own, 0, self.group)
            got[name] = own
        return got, rest

    def _text(self, text: str) -> str:
        data = text.encode()
        size = int(self.agree(len(data)))
        own = torch.tensor(list(data), dtype=torch.uint8) if self.first else torch.empty(size, dtype=torch.uint8)
        return bytes(self.same(own).tolist()).decode()

    @property
    def first_here(self) -> bool:
        """Whether this is the first of the processes on its host."""
        return int(os.environ.get("LOCAL_RANK", str(self.rank))) == 0

    @property
    def here(self) -> int:
        """How many of the processes are on this host."""
        return min(self.count, int(os.environ.get("LOCAL_WORLD_SIZE", str(self.count))))

    def in_turn(self, load: Callable[[], T]) -> T:
        """What ``load`` gives, on every process; one on each host goes ahead, and fills what others then find."""
        if self.count == 1:
            return load()
        if self.first_here:
            found = load()
            self.wait()
            return found
        self.wait()
        return load()

    def wait(self) -> None:
        """Until all processes are here."""
        if self.group is not None:
            dist.barrier(self.group)


ALONE = World()


@contextmanager
def joined(device: torch.device | str = "cpu") -> Iterator[World]:
    """The processes that torchrun started, connected while this lasts; one alone where it did not."""
    count = os.environ.get("WORLD_SIZE", "1")
    if count == "1":
        yield ALONE
        return
    kind = torch.device(device).type
    if kind == "mps":
        raise InputError("device: given mps with several processes, expected cpu or cuda")
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    store, rank, size = next(rendezvous("env://"))
    # Where processes were started anew, the store still has the addresses of those that are gone.
    attempt = PrefixStore(f"girl/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    backend = "nccl" if kind == "cuda" else "gloo"
    dist.init_process_group(backend, store=attempt, rank=rank, world_size=size)
    try:
        yield World(dist.group.WORLD, dist.new_group())
    finally:
        dist.destroy_process_group()
