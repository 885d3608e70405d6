"""Tensors that are mapped from files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from girl.kernel.sparse import csr
from girl.training.checkpoint import DamagedError
from girl.training.distributed import SINGLE_PROCESS
from girl.training.shared_tensors import read_mapped, shared_tensors, write_mapped


def tensors():
    matrix = csr(torch.tensor([0, 2, 2, 3]), torch.tensor([0, 3, 1], dtype=torch.int32), torch.rand(3), (3, 4))
    return {"dense": torch.rand(5, 2), "sparse": matrix, "none": torch.empty(0, 7)}


def test_what_was_written_is_read_and_mapped(tmp_path):
    path, written = tmp_path / "a" / "some.safetensors", tensors()
    write_mapped(path, written, {"why": [1, None]})
    found, about = read_mapped(path)
    assert about == {"why": [1, None]}
    assert found.keys() == written.keys()
    for name, tensor in written.items():
        assert found[name].layout == tensor.layout
        assert torch.equal(found[name].to_dense(), tensor.to_dense())
    assert found["sparse"].col_indices().dtype == torch.int32
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(path) in maps.read_text()


def test_a_file_that_is_gone_is_still_mapped_and_writing_does_not_reach_it(tmp_path):
    path, written = tmp_path / "some.safetensors", tensors()
    write_mapped(path, written)
    before = path.read_bytes()
    found, _ = read_mapped(path)
    found["dense"].add_(1)
    assert path.read_bytes() == before
    path.unlink()
    assert torch.equal(found["dense"], written["dense"] + 1)


def test_a_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "some.safetensors"
    write_mapped(path, tensors())
    whole = bytearray(path.read_bytes())
    whole[-3] ^= 4
    path.write_bytes(whole)
    with pytest.raises(DamagedError, match="digest"):
        read_mapped(path)


def test_one_process_needs_no_file(tmp_path):
    made = tensors()
    assert shared_tensors(lambda: made, SINGLE_PROCESS, tmp_path / "none") is made
    assert not (tmp_path / "none").exists()
