"""One thread for each test process: xdist runs as many processes as there are cores."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
