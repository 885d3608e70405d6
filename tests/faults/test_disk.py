"""A full disk: a small one, in memory, that the tests mount for themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAY_MOUNT = ["unshare", "--map-root-user", "--mount"]


@pytest.fixture
def small_disk(tmp_path):
    """Runs a script in a place of its own, with a disk of some kilobytes at ``disk``."""
    able = (
        shutil.which("unshare")
        and not subprocess.run([*MAY_MOUNT, "true"], capture_output=True, check=False).returncode
    )
    if not able:
        pytest.skip("this system lets nobody but root mount a disk in memory")
    (tmp_path / "disk").mkdir()
    environment = {
        **os.environ,
        "GIRL_DATA": str(tmp_path / "data"),
        "OMP_NUM_THREADS": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }

    def run(size: str, script: str) -> str:
        script = f"mount -t tmpfs -o size={size} none disk\n{script}"
        done = subprocess.run(
            [*MAY_MOUNT, "sh", "-c", script],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return " ".join(done.stdout.split())

    return run


def test_training_stops_with_a_word_and_goes_on_when_there_is_space(small_disk):
    command = "girl pretrain digits --hidden 16 --epochs 4 --save-every 1 --out disk/run"
    said = small_disk(
        "64k",
        f"{command}; echo code $?; echo left: $(find disk -name '*.part')\n"
        f"mount -o remount,size=32m none disk; {command}; echo code $?; ls disk/run",
    )
    first, second = said.split("code 2", 1)
    assert "free some space" in first
    assert "run the same command again to continue" in first
    assert "Traceback" not in said
    assert "left: digits" in second  # nothing between the two words
    assert "code 0" in second
    for name in ("config.json", "embeddings.npy", "history.json", "model.safetensors"):
        assert name in second


def test_a_cache_that_is_full_costs_no_dataset(small_disk, mirror):
    command = f"GIRL_DATA=disk/data girl datasets fetch cora --mirror {mirror}"
    said = small_disk("200k", f"{command}; echo code $?; echo left: $(find disk -type f | wc -l)")
    assert "No space left on device" in said
    assert "choose another folder by --data-root or GIRL_DATA" in said
    assert "code 2 left: 0" in said
