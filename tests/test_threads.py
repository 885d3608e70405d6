from __future__ import annotations

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from girl.threads import one_blas_thread, one_thread


@pytest.fixture
def two():
    """Two threads for everything."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2, user_api="blas"):
        yield
    torch.set_num_threads(before)


def counts():
    """Threads of torch, and those that the BLAS libraries have."""
    return torch.get_num_threads(), {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("limit", "inside"), [(one_blas_thread, (2, {1})), (one_thread, (1, {1}))])
def test_threads_are_few_inside_and_as_before_outside(limit, inside):
    with limit():
        assert counts() == inside
    assert counts() == (2, {2})
    with pytest.raises(KeyError), limit():
        raise KeyError
    assert counts() == (2, {2})
