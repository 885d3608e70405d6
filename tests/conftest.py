"""One thread for each test process: xdist runs as many processes as there are cores."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import hypothesis
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes hangs on what else the machine does; what it gives does not.
hypothesis.settings.register_profile("girl", deadline=None)
hypothesis.settings.load_profile("girl")


#: Fixtures whose tests read real datasets, run whole commands or pages.
SLOW_FIXTURES = {"mirror", "girl", "snippet"}

#: Folders and files whose tests train for real, start processes or damage files.
MARKED = {
    "faults": "faults",
    "benchmarks": "slow",
    "training/test_memory.py": "slow",
    "training/test_torchrun.py": "processes",
    "training/test_distributed.py": "processes",
    "kernel/test_distributed.py": "processes",
    "api": "slow",
    "lab": "slow",
    "cli": "slow",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they use, so that `make check` can leave out what takes long."""
    tests = Path(__file__).parent
    for item in items:
        if SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
        for part, marker in MARKED.items():
            if item.path.is_relative_to(tests / part):
                item.add_marker(marker)


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Raw files of the named datasets: GIRL_MIRROR, else ../shared/data beside the checkout."""
    folder = Path(os.environ.get("GIRL_MIRROR") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no mirror of the datasets: set GIRL_MIRROR")
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of datasets that the tests of one process share; none of them may harm it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def snippet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Runs blocks of a page one after another in one folder, in this process: a new one takes seconds to import torch.

    `girl` is called by its entry point, which tests/test_cli.py starts as a program; other lines go to a shell.
    """
    from girl.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def run(language: str, code: str) -> None:
        if language == "python":
            exec(compile(code, "snippet", "exec"), {"__name__": "__main__"})
            return
        for line in code.strip().splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["girl"]:
                with pytest.raises(SystemExit) as stop:
                    main(words[1:])
                assert not stop.value.code, line
            elif words:
                done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=300, check=False)
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"

    return run


@pytest.fixture(scope="module")
def girl(mirror, tmp_path_factory):
    """The command in this process: importing the graph libraries anew for each call would take most of the time."""
    from girl.cli import main

    folder = tmp_path_factory.mktemp("runs")
    places = {"GIRL_MIRROR": str(mirror), "GIRL_DATA": str(tmp_path_factory.mktemp("data"))}

    def call(*arguments):
        out, err, code = io.StringIO(), io.StringIO(), 0
        here = (contextlib.chdir(folder), mock.patch.dict(os.environ, places))
        with here[0], here[1], contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(arguments)
            except SystemExit as stop:
                code = stop.code or 0
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    call.folder = folder
    return call
