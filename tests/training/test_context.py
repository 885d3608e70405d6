from __future__ import annotations

import pytest
import torch

from girl.errors import InputError
from girl.training.context import open_context, select_device


def test_a_device_that_is_not_there_is_named():
    assert select_device("cpu").type == "cpu"
    with pytest.raises(InputError, match="device"):
        select_device("cuda:7" if not torch.cuda.is_available() else "nonsense")


def test_an_unknown_way_to_resume_is_refused():
    with (
        pytest.raises(InputError, match="resume: given 'always', expected 'auto' or 'never'"),
        open_context(resume="always"),
    ):
        pass


def test_a_context_has_its_checkpoints_in_the_run_folder(tmp_path):
    with open_context("cpu", folder=tmp_path) as context:
        assert context.checkpoints == tmp_path / "checkpoints"
        assert context.writes
    with open_context("cpu") as context:
        assert context.checkpoints is None
        assert not context.writes
