from __future__ import annotations

import pytest

from girl.lab.experiment import CellExperiment
from girl.lab.registry import EXPERIMENTS

CELLS = [experiment for experiment in EXPERIMENTS if isinstance(experiment, CellExperiment)]


def test_names_differ_and_every_experiment_has_help():
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    assert all(type(experiment).__doc__ for experiment in EXPERIMENTS)


@pytest.mark.parametrize("experiment", CELLS, ids=lambda experiment: experiment.name)
def test_the_default_options_are_valid_and_cells_differ(experiment):
    cells = experiment.checked().cells()
    assert len({cell.key for cell in cells}) == len(cells) > 0
    assert {cell.dataset for cell in cells} == set(experiment.datasets) <= set(experiment.available)
