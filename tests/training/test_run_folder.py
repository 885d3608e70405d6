from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from girl.errors import InputError
from girl.training.batch import make_batch
from girl.training.context import Context
from girl.training.run import load_run, pretrain
from girl.training.run_folder import save_embedding
from tests.helpers.clustered import SMALL, clustered


def test_a_missing_interrupted_or_damaged_run_is_named(tmp_path):
    with pytest.raises(InputError, match="girl pretrain"):
        load_run(tmp_path / "none")
    whole = make_batch(clustered(), SMALL.encoder)
    pretrain(whole, SMALL, Context(folder=tmp_path / "run"))
    model = tmp_path / "run" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:50])
    with pytest.raises(InputError, match="damaged"):
        load_run(tmp_path / "run")
    model.unlink()
    with pytest.raises(InputError, match="interrupted"):
        load_run(tmp_path / "run")


def test_an_embedding_is_an_array_on_disk(tmp_path):
    h = torch.randn(5, 3)
    save_embedding(tmp_path / "h.npy", h)
    assert np.array_equal(np.load(tmp_path / "h.npy"), h.numpy())
    assert [path.name for path in tmp_path.iterdir()] == ["h.npy"]


def test_a_folder_of_another_format_is_named(tmp_path):
    pretrain(make_batch(clustered(), SMALL.encoder), SMALL, Context(folder=tmp_path))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"format": 1, "girl": "0.1.0"}))
    with pytest.raises(InputError, match=r"given format 1, expected \d+: it was written by girl 0\.1\.0"):
        load_run(tmp_path)
