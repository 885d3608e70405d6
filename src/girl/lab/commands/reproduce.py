"""`girl reproduce nodes`, `graphs`, `checks`, `ablation`, `objective` and `depth`: the tables on real graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from girl.cli.app import DATA, OUT, RUN, console
from girl.errors import InputError

if TYPE_CHECKING:
    from girl.lab.cells import Cell


#: Options that the experiments share.
Folder = Annotated[Path, Parameter(group=OUT, help="folder for the numbers.")]
Names = Annotated[list[str] | None, Parameter(group=DATA, consume_multiple=True, negative="")]
Root = Annotated[
    Path | None,
    Parameter(group=DATA, help="where datasets are kept; by default GIRL_DATA or the user's cache folder."),
]
Mirror = Annotated[
    Path | None,
    Parameter(group=DATA, help="a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR."),
]
Jobs = Annotated[
    int,
    Parameter(group=RUN, help="processes, one core each; -1 for one on each core. The numbers do not depend on it."),
]


def nodes(
    *,
    out: Folder = Path("results"),
    datasets: Names = None,
    data_root: Root = None,
    mirror: Mirror = None,
    methods: Annotated[list[str] | None, Parameter(group=RUN, consume_multiple=True, negative="")] = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 10,
    probes: Annotated[
        list[Literal["linear", "mlp"]] | None, Parameter(group=RUN, consume_multiple=True, negative="")
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Node classification with frozen representations: controls, untrained encoders, GIRL as published, default, tuned.

    With `--methods all` also the other methods that `girl methods` lists, each with its published recipe and the same
    time, and with the encoder of its publication or GIRL's, whichever validates better on the first seed. Writes
    OUT/nodes/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        datasets: which of the datasets; all that the table has if not given.
        methods: which rows, by name, or "all"; those of GIRL and its controls if not given.
        seeds: seeds, each with a split of its own where the protocol has several.
        probes: linear, mlp or both; linear if not given.
    """
    from girl.lab import nodes as experiment

    kinds = probes or ["linear"]
    compute = experiment.Compute(data_root, mirror, kinds)
    names = _known(datasets) or list(experiment.PROTOCOLS)
    _compare(experiment, names, methods, seeds, compute, out / "nodes", jobs, kinds)


def graphs(
    *,
    out: Folder = Path("results"),
    datasets: Names = None,
    data_root: Root = None,
    mirror: Mirror = None,
    methods: Annotated[list[str] | None, Parameter(group=RUN, consume_multiple=True, negative="")] = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 5,
    probes: Annotated[
        list[Literal["svm", "linear"]] | None, Parameter(group=RUN, consume_multiple=True, negative="")
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Classification of whole graphs with frozen representations, on ten folds: bags of nodes, untrained encoder, GIRL.

    With `--methods all` also the other methods that `girl methods` lists for sets of graphs, each with its published
    recipe and the same time, and with the encoder of its publication or GIRL's, whichever validates better on the first
    seed. Writes OUT/graphs/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        datasets: of NCI1, PROTEINS, DD and MUTAG, which; all if not given.
        methods: which rows, by name, or "all"; GIRL and its controls if not given.
        seeds: seeds, each with ten folds of its own.
        probes: svm, linear or both; svm, as is the custom, if not given.
    """
    from girl.lab import graphs as experiment

    kinds = probes or ["svm"]
    compute = experiment.Compute(data_root, mirror, kinds)
    names = _known(datasets) or list(experiment.DATASETS)
    _compare(experiment, names, methods, seeds, compute, out / "graphs", jobs, kinds)


def checks(
    *,
    out: Folder = Path("results"),
    datasets: Names = None,
    data_root: Root = None,
    mirror: Mirror = None,
    methods: Annotated[list[str] | None, Parameter(group=RUN, consume_multiple=True, negative="")] = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 3,
    jobs: Jobs = 1,
) -> None:
    """Each of the other methods on a dataset of its own paper, under that paper's protocol, beside the published mean.

    Published recipes, without the comparison's limit of time. Writes OUT/checks/DATASET.json after every cell;
    interrupted, the same command goes on.

    Args:
        datasets: on which datasets; all if not given.
        methods: which, by name; all if not given.
        seeds: seeds, each with a split of its own where the protocol has several.
    """
    from girl.lab import checks as experiment
    from girl.lab.cells import Results, run_cells

    cells = experiment.cells(methods or [], _at_least_one(seeds), _known(datasets))
    _check_jobs(jobs)
    run_cells(cells, experiment.Compute(data_root, mirror), Results(out / "checks"), jobs, console)


def ablation(
    *,
    out: Folder = Path("results"),
    datasets: Names = None,
    data_root: Root = None,
    mirror: Mirror = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 3,
    jobs: Jobs = 1,
) -> None:
    """Kinds of layer (GCN, GATv2, GraphConv, SAGE) × depth 1 to 5, untrained and trained by GIRL.

    Writes OUT/ablation/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        datasets: of Cora, CiteSeer, PubMed and Photo, which; all if not given.
        seeds: seeds of each encoder.
    """
    from girl.lab import ablation as experiment

    cells = experiment.cells(_known(datasets) or list(experiment.DATASETS), _at_least_one(seeds))
    _run(cells, data_root, mirror, out / "ablation", jobs)


def objective(
    *,
    out: Folder = Path("results"),
    datasets: Names = None,
    data_root: Root = None,
    mirror: Mirror = None,
    seeds: Annotated[int, Parameter(group=RUN)] = 3,
    jobs: Jobs = 1,
) -> None:
    """The default objective with one part changed at a time: residuals, targets, hidden features, whitening.

    Writes OUT/objective/DATASET.json after every cell; interrupted, the same command goes on.

    Args:
        datasets: of Cora, CiteSeer, PubMed, Photo and Texas, which; all if not given.
        seeds: seeds of each variant.
    """
    from girl.lab import objective as experiment

    cells = experiment.cells(_known(datasets) or list(experiment.DATASETS), _at_least_one(seeds))
    _run(cells, data_root, mirror, out / "objective", jobs)


def depth(
    *,
    out: Folder = Path("results"),
    datasets: Names = None,
    data_root: Root = None,
    mirror: Mirror = None,
    depths: Annotated[list[int] | None, Parameter(group=RUN, consume_multiple=True, negative="")] = None,
    regularizers: Annotated[
        list[Literal["none", "wd", "fa", "kr"]] | None, Parameter(group=RUN, consume_multiple=True, negative="")
    ] = None,
    seeds: Annotated[int | None, Parameter(group=RUN)] = None,
    jobs: Jobs = 1,
) -> None:
    """Deep supervised GNNs: no regularisation, weight decay, a fully-adjacent last layer and KR, over the depth.

    λ and the weight decay are chosen on validation nodes, for each dataset and depth. Writes OUT/depth/DATASET.json
    after every cell; interrupted, the same command goes on.

    Args:
        datasets: which of the datasets; Texas, Actor, Cora, PubMed, Photo, Computers and CS if not given. Reddit,
            Reddit2, ogbn-arxiv, ogbn-products and PPI by their names.
        depths: of 3, 6, 9, 12, 15 and 18, which; all if not given.
        regularizers: of none, wd, fa and kr, which; all if not given.
        seeds: at most this many; 10 splits of Texas and Actor and 5 seeds of the others if not given.
    """
    from girl.lab import depth as experiment
    from girl.lab.cells import Results
    from girl.training.supervised import KINDS

    _check_jobs(jobs)
    experiment.run_depth(
        _known(datasets) or list(experiment.HERE),
        None if seeds is None else _at_least_one(seeds),
        depths or experiment.DEPTHS,
        regularizers or KINDS,
        Results(out / "depth"),
        experiment.Compute(data_root, mirror),
        jobs,
        console,
    )


def _compare(
    experiment: ModuleType,
    names: list[str],
    methods: list[str] | None,
    seeds: int,
    compute: Callable[[Cell], dict[str, Any]],
    folder: Path,
    jobs: int,
    probes: Sequence[str],
) -> None:
    """Rows of GIRL and its controls, and then the other methods, which try two encoders each."""
    from girl.lab.cells import Results, run_cells
    from girl.lab.peers import run_peers

    _check_jobs(jobs)
    rows = methods or list(experiment.METHODS)
    if "all" in rows:
        rows = [*experiment.METHODS, *experiment.peers()]
    others = [name for name in rows if name in experiment.peers()]
    own = [name for name in rows if name not in others]
    results = Results(folder)

    def run(cells: list[Cell]) -> None:
        run_cells(cells, compute, results, jobs, console, probes)

    if own:
        run(experiment.cells(names, own, _at_least_one(seeds)))
    if others:
        run_peers(names, others, _at_least_one(seeds), results, experiment.cells, run)


def _run(
    cells: list[Cell],
    root: Path | None,
    mirror: Path | None,
    folder: Path,
    jobs: int,
    probes: Sequence[Literal["linear", "mlp"]] = ("linear",),
) -> None:
    from girl.lab.cells import Results, run_cells
    from girl.lab.nodes import Compute

    _check_jobs(jobs)
    run_cells(cells, Compute(root, mirror, probes), Results(folder), jobs, console, probes)


def _check_jobs(jobs: int) -> None:
    if not jobs:
        raise InputError("--jobs: given 0, expected a number of processes, or -1 for one on each core")


def _known(names: list[str] | None) -> list[str]:
    """The names as tables have them: capitals do not matter."""
    from girl import datasets

    return [datasets.describe(name).name for name in names or ()]


def _at_least_one(seeds: int) -> int:
    if seeds < 1:
        raise InputError(f"--seeds: given {seeds}, expected at least 1")
    return seeds
