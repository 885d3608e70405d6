"""One thread for each test process: xdist runs as many processes as there are cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


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
