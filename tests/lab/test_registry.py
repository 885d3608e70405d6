from __future__ import annotations

from pathlib import Path

import pytest

from girl.lab.cells import Results
from girl.lab.experiment import CellExperiment
from girl.lab.registry import EXPERIMENTS

RESULTS = Path(__file__).parents[2] / "results"
CELLS = [experiment for experiment in EXPERIMENTS if isinstance(experiment, CellExperiment)]


def test_names_differ_and_every_experiment_has_help():
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    assert all(type(experiment).__doc__ for experiment in EXPERIMENTS)


@pytest.mark.parametrize("experiment", CELLS, ids=lambda experiment: experiment.name)
def test_the_default_options_are_valid_and_cells_differ(experiment):
    cells = experiment.checked().cells()
    assert len({cell.key for cell in cells}) == len(cells) > 0
    assert {cell.dataset for cell in cells} == set(experiment.datasets) <= set(experiment.available)


@pytest.mark.parametrize("experiment", CELLS, ids=lambda experiment: experiment.name)
def test_every_saved_method_is_declared_and_most_results_are_current(experiment):
    saved = Results(RESULTS / experiment.name).all()
    for dataset, method in {(result["dataset"], result["method"]) for result in saved}:
        assert method in experiment.recipes(dataset, 0)
    # A few results wait for a change of their recipe to be computed; a renamed setting would leave none.
    assert len(experiment.current(RESULTS)) >= 0.9 * len(saved)
