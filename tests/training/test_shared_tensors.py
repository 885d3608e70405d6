from __future__ import annotations

import torch

from girl.training.distributed import ALONE
from girl.training.shared_tensors import shared_tensors


def test_one_process_needs_no_file(tmp_path):
    tensors = {"a": torch.ones(2)}
    assert shared_tensors(lambda: tensors, ALONE, tmp_path / "none") is tensors
    assert not (tmp_path / "none").exists()
