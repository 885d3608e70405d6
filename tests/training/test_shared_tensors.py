from __future__ import annotations

import warnings

import pytest
import torch
import torch.distributed as dist

from girl.training.distributed import SINGLE_PROCESS, Distributed
from girl.training.shared_tensors import shared_tensors
from tests.helpers.processes import together


def test_one_process_needs_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path))
    tensors = {"a": torch.ones(2)}
    assert shared_tensors(lambda: tensors, SINGLE_PROCESS) is tensors
    assert not list(tmp_path.iterdir())


def share():
    """The tensors of this process, and whether it has computed them."""
    computed = []

    def compute():
        computed.append(True)
        return {"dense": torch.arange(3.0), "sparse": torch.eye(3).to_sparse_csr()}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = shared_tensors(compute, Distributed(dist.group.WORLD))
    return [tensor.to_dense().tolist() for tensor in tensors.values()], bool(computed)


@pytest.mark.processes
@pytest.mark.parametrize("writable", [True, False])
def test_one_process_computes_for_all_unless_the_file_cannot_be_written(tmp_path, monkeypatch, writable):
    monkeypatch.setenv("GIRL_DATA", str(tmp_path))
    folder = tmp_path / "shared"
    if not writable:
        folder.write_text("in the way")
    first, second = together(2, share, tmp_path)
    assert first[0] == second[0] == [[0.0, 1.0, 2.0], torch.eye(3).tolist()]
    assert (first[1], second[1]) == (True, not writable)
    assert not list(folder.iterdir() if writable else [])
