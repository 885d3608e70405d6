from __future__ import annotations

import json
import subprocess
from unittest import mock

import torch

import girl
from girl.lab.provenance import provenance


def test_it_names_the_versions_and_is_plain_json():
    origin = provenance()
    assert (origin["girl"], origin["torch"]) == (girl.__version__, torch.__version__)
    assert json.loads(json.dumps(origin)) == origin


def test_without_git_the_commit_is_unknown():
    with mock.patch.object(subprocess, "run", side_effect=FileNotFoundError):
        assert provenance()["commit"] == "unknown"
