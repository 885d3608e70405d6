"""Large tensors that all processes on a host need: computed by one, memory-mapped by all."""

from __future__ import annotations

import secrets
import socket
import warnings
from collections.abc import Callable
from contextlib import suppress

from torch import Tensor

from girl import store
from girl.files import cache_root
from girl.training.distributed import Distributed


def shared_tensors(compute: Callable[[], dict[str, Tensor]], processes: Distributed) -> dict[str, Tensor]:
    """The result of ``compute`` on every process, computed once on each host and held in memory once.

    It would be the same on every process. The file is in ``shared`` below the cache folder until all have mapped it.
    """
    if processes.num_processes == 1:
        return compute()
    name = f"{socket.gethostname()}-{int(processes.broadcast_number(secrets.randbelow(2**52)))}.safetensors"
    path = cache_root() / "shared" / name
    tensors: dict[str, Tensor] | None = None
    written = 1.0
    try:
        if processes.is_local_main:
            tensors = compute()
            try:
                store.save(path, tensors)
            except OSError as error:
                written = 0.0
                reason = error.strerror or error
                warnings.warn(f"{path}: cannot be written ({reason}); each process computes its own", stacklevel=2)
        if processes.mean({"written": written})["written"] < 1:
            return compute() if tensors is None else tensors
        del tensors
        tensors, _ = store.load(path)
        processes.barrier()
        return tensors
    finally:
        # A removed file stays mapped, and nothing is left behind however the run ends.
        if processes.is_local_main:
            with suppress(OSError):
                path.unlink()
