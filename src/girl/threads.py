"""Threads for small problems: one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep numpy's and scipy's BLAS to one thread; torch has threads of its own.

    Given more, the two sets of threads wait for work in busy loops on the same cores: products of short vectors between
    torch's own were 20 times slower on two cores.
    """
    with _pools().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread too: where every product is small, more of them bring nothing.

    And on a machine that does other work as well they cost much, because each waits for all the others.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with one_blas_thread():
            yield
    finally:
        torch.set_num_threads(before)


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
