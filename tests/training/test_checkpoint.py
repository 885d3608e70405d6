from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from girl.training.checkpoint import KEEP, list_checkpoints, load_newest, save_checkpoint

STATE = {"w": torch.arange(100.0).reshape(4, 25), "step": torch.tensor(3.0)}


def test_the_newest_checkpoints_are_kept_and_the_newest_is_loaded(tmp_path):
    for epoch in (9, 10, 11):
        newest = save_checkpoint(tmp_path, epoch, STATE, {"epoch": epoch})
    assert len(list_checkpoints(tmp_path)) == KEEP
    assert list_checkpoints(tmp_path)[0] == newest
    tensors, value = load_newest(tmp_path)
    assert value == {"epoch": 11}
    assert all(torch.equal(tensors[name], STATE[name]) for name in STATE)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign"])
def test_a_damaged_checkpoint_is_skipped_for_the_one_before(tmp_path, damage):
    for epoch in (1, 2, 3):
        newest = save_checkpoint(tmp_path, epoch, STATE, {"epoch": epoch})
    data = newest.read_bytes()
    match damage:
        case "cut":
            newest.write_bytes(data[: len(data) // 2])
        case "flip":
            newest.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
        case "empty":
            newest.write_bytes(b"")
        case "foreign":
            save_file(STATE, newest)
    with pytest.warns(UserWarning, match="checkpoint skipped: .*checkpoint-00000003"):
        assert load_newest(tmp_path)[1] == {"epoch": 2}


def test_an_empty_folder_has_no_checkpoint(tmp_path):
    assert load_newest(tmp_path) is None
