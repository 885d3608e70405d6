"""The experiments, in the order of the command's help: ``girl reproduce`` and the renderer walk this list."""

from __future__ import annotations

from girl.lab.ablation import Ablation
from girl.lab.checks import Checks
from girl.lab.default import Default
from girl.lab.default_graphs import DefaultGraphs
from girl.lab.depth import Depth
from girl.lab.experiment import Experiment
from girl.lab.graphs import Graphs
from girl.lab.judge import Judge
from girl.lab.nodes import Nodes
from girl.lab.objective import Objective
from girl.lab.synthetic import Synthetic

EXPERIMENTS: tuple[Experiment, ...] = (
    Synthetic(),
    Default(),
    Judge(),
    DefaultGraphs(),
    Nodes(),
    Graphs(),
    Checks(),
    Ablation(),
    Objective(),
    Depth(),
)
