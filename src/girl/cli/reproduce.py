"""`girl reproduce nodes`, `ablation` and `objective`: the tables on real graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from girl.cli.app import DATA, OUT, RUN
from girl.cli.app import out as console
from girl.errors import InputError


def nodes(
    *,
    out: Annotated[Path, Parameter(group=OUT)] = Path("results"),
    datasets: Annotated[list[str] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    methods: Annotated[list[str] | None, Parameter(group=RUN, consume_multiple=True, negative="")] = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 10,
    probes: Annotated[
        list[Literal["linear", "mlp"]] | None, Parameter(group=RUN, consume_multiple=True, negative="")
    ] = None,
    jobs: Annotated[int, Parameter(group=RUN)] = 1,
) -> None:
    """Node classification with frozen representations: controls, untrained encoders, GIRL as published, default, tuned.

    Writes OUT/nodes/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        out: folder for the numbers.
        datasets: which of the datasets; all that the table has if not given.
        data_root: where datasets are kept; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
        methods: which rows; all if not given.
        seeds: seeds, each with a split of its own where the protocol has several.
        probes: linear, mlp or both; linear if not given.
        jobs: processes, one core each; -1 for one on each core. The numbers do not depend on it.
    """
    from girl.experiments import nodes as experiment
    from girl.experiments.cells import Results, run_cells

    cells = experiment.cells(
        datasets or list(experiment.PROTOCOLS), methods or list(experiment.METHODS), _at_least_one(seeds)
    )
    compute = experiment.Compute(data_root, mirror, probes or ["linear"])
    run_cells(cells, compute, Results(out / "nodes"), jobs, console)


def ablation(
    *,
    out: Annotated[Path, Parameter(group=OUT)] = Path("results"),
    datasets: Annotated[list[str] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 3,
    jobs: Annotated[int, Parameter(group=RUN)] = 1,
) -> None:
    """Kinds of layer (GCN, GATv2, GraphConv, SAGE) × depth 1 to 5, untrained and trained by GIRL.

    Writes OUT/ablation/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        out: folder for the numbers.
        datasets: of Cora, CiteSeer, PubMed and Photo, which; all if not given.
        data_root: where datasets are kept; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
        seeds: seeds of each encoder.
        jobs: processes, one core each; -1 for one on each core. The numbers do not depend on it.
    """
    from girl.experiments import ablation as experiment
    from girl.experiments.cells import Results, run_cells
    from girl.experiments.nodes import Compute

    cells = experiment.cells(datasets or list(experiment.DATASETS), _at_least_one(seeds))
    run_cells(cells, Compute(data_root, mirror), Results(out / "ablation"), jobs, console)


def objective(
    *,
    out: Annotated[Path, Parameter(group=OUT)] = Path("results"),
    datasets: Annotated[list[str] | None, Parameter(group=DATA, consume_multiple=True, negative="")] = None,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 3,
    jobs: Annotated[int, Parameter(group=RUN)] = 1,
) -> None:
    """The default objective with one part changed at a time: residuals, targets, hidden features, whitening.

    Writes OUT/objective/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        out: folder for the numbers.
        datasets: of Cora, CiteSeer, PubMed, Photo and Texas, which; all if not given.
        data_root: where datasets are kept; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
        seeds: seeds of each variant.
        jobs: processes, one core each; -1 for one on each core. The numbers do not depend on it.
    """
    from girl.experiments import objective as experiment
    from girl.experiments.cells import Results, run_cells
    from girl.experiments.nodes import Compute

    cells = experiment.cells(datasets or list(experiment.DATASETS), _at_least_one(seeds))
    run_cells(cells, Compute(data_root, mirror), Results(out / "objective"), jobs, console)


def _at_least_one(seeds: int) -> int:
    if seeds < 1:
        raise InputError(f"--seeds: given {seeds}, expected at least 1")
    return seeds
