from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from rich.console import Console

from girl.errors import InputError
from girl.lab.cells import Results
from girl.lab.experiment import CellExperiment
from girl.training.recipe import Recipe

COMPUTED = []


@dataclass(frozen=True, kw_only=True)
class Example(CellExperiment):
    """Two methods; the second is interrupted on seed 2 while ``broken``."""

    name = "example"
    available = ("cora", "texas")
    datasets: tuple[str, ...] = ("cora",)
    seeds: int = 3
    lr: float = 0.1
    broken: bool = False

    def recipes(self, dataset, seed):
        return {"raw": None, "girl": Recipe.encoder_default().with_values({"lr": self.lr}).with_seed(seed)}

    def compute(self, cell):
        if self.broken and (cell.method, cell.seed) == ("girl", 2):
            raise KeyboardInterrupt
        COMPUTED.append((cell.dataset, cell.method, cell.seed))
        return {"rows": [{"protocol": "public", "probe": "linear", "val": cell.seed / 10}]}

    def render(self, results, folder):
        return {}


def run(experiment, folder):
    COMPUTED.clear()
    experiment.run(folder, 1, Console(quiet=True))
    return list(COMPUTED)


def test_a_cell_is_computed_once(tmp_path):
    assert len(run(Example(), tmp_path)) == 6
    assert run(Example(), tmp_path) == []
    saved = json.loads((tmp_path / "example" / "cora.json").read_text())["cells"]
    assert all({"provenance", "seconds", "peak_gb"} <= cell.keys() for cell in saved)


def test_seeds_are_computed_one_after_the_other(tmp_path):
    computed = run(Example(datasets=("texas", "cora")), tmp_path)
    assert [seed for *_, seed in computed] == sorted(seed for *_, seed in computed)


def test_an_interrupted_run_is_resumed(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(Example(broken=True), tmp_path)
    assert run(Example(), tmp_path) == [("cora", "girl", 2)]


def test_a_changed_recipe_is_computed_again_and_only_today_s_is_current(tmp_path):
    run(Example(), tmp_path)
    assert {one["method"] for one in Example(lr=0.2).current(tmp_path)} == {"raw"}
    assert {method for _, method, _ in run(Example(lr=0.2), tmp_path)} == {"girl"}
    assert len(Example(lr=0.2).current(tmp_path)) == 6


def test_results_of_more_seeds_and_datasets_than_the_default_are_current(tmp_path):
    run(Example(seeds=5, datasets=("cora", "texas")), tmp_path)
    assert len(Example().current(tmp_path)) == len(Results(tmp_path / "example").all()) == 20
    assert Example().current(tmp_path / "none") == []


def test_capitals_of_a_dataset_do_not_matter():
    assert Example(datasets=("CoRa",)).checked().datasets == ("cora",)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"datasets": ("coar",)}, "cora"),
        ({"datasets": ("citeseer",)}, "given 'citeseer', expected one of cora, texas"),
        ({"seeds": 0}, "--seeds: given 0"),
    ],
)
def test_mistakes_are_errors_before_anything_is_computed(wrong, words, tmp_path):
    with pytest.raises(InputError, match=words):
        run(replace(Example(), **wrong), tmp_path)
    with pytest.raises(InputError, match="--jobs: given 0"):
        Example().run(tmp_path, 0, Console(quiet=True))
    assert not list(tmp_path.iterdir())
