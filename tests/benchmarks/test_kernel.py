"""The benchmark runs, and what it compares with computes what it claims."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from girl import KRLoss

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "kernel.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("kernel_bench", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_alternatives_compute_the_same_loss(bench):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 4, generator=generator, dtype=torch.float64).requires_grad_()
    y = torch.randn(50, 3, generator=generator, dtype=torch.float64)
    ours = KRLoss.paper()(x, y)
    (grad,) = torch.autograd.grad(ours, x)
    for other in (bench.published, bench.eigh_autograd):
        loss = other(x, y)
        (theirs,) = torch.autograd.grad(loss, x)
        assert loss.item() == pytest.approx(ours.item(), rel=1e-3)  # theirs adds 1e-5 under the root
        torch.testing.assert_close(theirs, grad, rtol=2e-2, atol=1e-5)


@pytest.mark.slow
def test_it_runs(tmp_path):
    out = tmp_path / "kernel.json"
    command = [sys.executable, str(SCRIPT), "--quick", "--out", str(out)]
    # One thread: beside other tests, threads would wait for each other in vain.
    subprocess.run(command, check=True, capture_output=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    result = json.loads(out.read_text())
    assert result["quick"]
    assert {row["n"] for row in result["against"]} == {256, 512}
    assert result["sparse"]["ratio"] > 0
