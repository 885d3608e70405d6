from __future__ import annotations

import json
import subprocess
import sys

import pytest

from girl.lab.registry import EXPERIMENTS


def test_every_experiment_is_a_command_whose_options_are_its_fields(girl):
    for experiment in EXPERIMENTS:
        done = girl("reproduce", experiment.name, "--help")
        assert done.returncode == 0
        for field in vars(experiment).keys() - {"probes"}:
            assert f"--{field.replace('_', '-')}" in done.stdout


def test_the_help_of_girl_does_not_import_torch():
    code = "import sys; from girl.cli import main\ntry: main(['--help'])\nfinally: assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout


@pytest.mark.slow
def test_the_command_goes_on_where_it_stopped(girl):
    call = ["reproduce", "graphs", "--datasets", "MUTAG", "--methods", "bag of nodes", "--seeds", "1"]
    first = girl(*call)
    assert first.returncode == 0, first.stderr
    assert len(json.loads((girl.folder / "results/graphs/mutag.json").read_text())["cells"]) == 1
    assert "every cell is there already" in girl(*call).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nodes", "--seeds", "0"], "--seeds: given 0"),
        (["nodes", "--methods", "gril"], "given 'gril'"),
        (["ablation", "--datasets", "texas"], "expected one of cora"),
        (["depth", "--depths", "4"], "given 4, expected one of 3"),
        (["synthetic", "--samples", "1"], "--samples: given 1"),
        (["synthetic", "--jobs", "0"], "--jobs: given 0"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(girl, arguments, words):
    done = girl("reproduce", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
