from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from girl.training.checkpoint import DamagedError, load, load_newest, numbered, save, save_numbered

STATE = {
    "w": torch.arange(100.0).reshape(4, 25),
    "step": torch.tensor(3.0),
    "bytes": torch.arange(7, dtype=torch.uint8),
}


def test_what_was_saved_is_loaded(tmp_path):
    save(tmp_path / "a.safetensors", STATE, {"epoch": 3, "best": float("inf")})
    tensors, meta = load(tmp_path / "a.safetensors")
    assert meta == {"epoch": 3, "best": float("inf")}
    assert all(torch.equal(tensors[name], STATE[name]) for name in STATE)
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign"])
def test_a_damaged_one_is_passed_over_for_the_one_before(tmp_path, damage):
    for epoch in (1, 2, 3):
        newest = save_numbered(tmp_path, epoch, STATE, {"epoch": epoch})
    assert len(numbered(tmp_path)) == 2
    whole = newest.read_bytes()
    match damage:
        case "cut":
            newest.write_bytes(whole[: len(whole) // 2])
        case "flip":
            newest.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
        case "empty":
            newest.write_bytes(b"")
        case "foreign":
            save_file(STATE, newest)
    with pytest.raises(DamagedError, match="checkpoint-00000003"):
        load(newest)
    with pytest.warns(UserWarning, match="passed over"):
        assert load_newest(tmp_path)[1] == {"epoch": 2}


def test_no_checkpoint_is_none(tmp_path):
    assert load_newest(tmp_path) is None
