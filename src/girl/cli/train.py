"""`girl train` and `girl diagnose`: deep classifiers of nodes, and where in them the labels go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import DATA, OUT, RUN, console, say
from girl.cli.options import (
    NO_MODEL,
    NO_REGULARIZER,
    NO_SUPERVISED,
    ModelOptions,
    RegularizerOptions,
    SupervisedOptions,
    given,
)


def train(
    dataset: Annotated[str, Parameter(group=DATA)],
    /,
    *,
    out: Annotated[Path | None, Parameter(group=OUT)] = None,
    protocol: Annotated[str | None, Parameter(group=DATA)] = None,
    split: Annotated[int, Parameter(group=DATA)] = 0,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    resume: Annotated[Literal["auto", "never"], Parameter(group=RUN)] = "auto",
    device: Annotated[str, Parameter(group=RUN)] = "auto",
    regularizer: Annotated[RegularizerOptions, Parameter(name="*")] = NO_REGULARIZER,  # type: ignore[valid-type]
    model: Annotated[ModelOptions, Parameter(name="*")] = NO_MODEL,  # type: ignore[valid-type]
    training: Annotated[SupervisedOptions, Parameter(name="*")] = NO_SUPERVISED,  # type: ignore[valid-type]
) -> None:
    """Train a deep GNN to classify the nodes of a named graph, with or without a regulariser.

    For example `girl train cora --depth 18 --regularizer kr`, and `--regularizer none` to compare. The weights of the
    best epoch on the validation nodes are kept. The test nodes are scored once, at the end. If it is interrupted, the
    same command continues it. `torchrun --nproc-per-node 2 -m girl train ...` divides every batch among two processes.

    Writes OUT/model.safetensors, config.json, history.json and scores.json.

    Args:
        dataset: a name that `girl datasets` lists.
        out: the run's folder; by default runs/DATASET-REGULARIZER-DEPTH.
        protocol: how nodes are split; by default the dataset's first protocol.
        split: which split of the protocol.
        data_root: where datasets are cached; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
        resume: continue an interrupted run (auto), or start again (never).
        device: cpu, cuda or auto.
        regularizer: the regulariser and its settings.
        model: settings of the classifier.
        training: settings of the training.
    """
    from girl.api.train import train as train_dataset
    from girl.datasets import describe
    from girl.training.supervised import SupervisedRecipe

    settings = given(regularizer, model, training)
    recipe = SupervisedRecipe().with_values(settings, "command line")
    name = f"{describe(dataset).name}-{recipe.regularizer.regularizer}-{recipe.model.depth}"
    folder = out or Path("runs") / name
    run = train_dataset(
        dataset,
        protocol=protocol,
        split=split,
        out=folder,
        resume=resume,
        device=device,
        verbose=console,
        data_root=data_root,
        mirror=mirror,
        **settings,
    )
    table = Table(title=f"{run.config['dataset']}, {run.config['protocol']}, {name}")
    for part in ("training", "validation", "test"):
        table.add_column(f"{part} {run.scores['metric']}, %")
    table.add_row(*(f"{100 * run.scores[part]:.1f}" for part in ("train", "val", "test")))
    console.print(table)
    stopped = f", stopped: {run.history.stopped}" if run.history.stopped else ""
    say(f"best of {len(run.history.scores)} epochs in {run.history.seconds:.1f} s{stopped}. Saved in {folder}")
    say(f"next: girl diagnose {folder}")


def diagnose(
    runs: Annotated[list[Path], Parameter(group=DATA, consume_multiple=True)],
    /,
    *,
    out: Annotated[Path, Parameter(group=OUT)] = Path("diagnosis"),
    nodes: Annotated[Literal["test", "val", "train"], Parameter(group=RUN)] = "test",
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
) -> None:
    """Show in which layers a trained network loses the labels.

    For each layer, the share of the labels that its output does not explain: 0 means all is there, 1 that all is lost.
    It is measured by leave-one-out kernel regression on nodes that were not trained on. Give several runs to compare
    them, such as one with `--regularizer none` and one with `kr`. Runs trained with `--watch` also show the epochs.

    Writes OUT.svg, OUT.png and OUT.json.

    Args:
        runs: folders that `girl train` or `girl pretrain` wrote.
        out: the files, without a suffix.
        nodes: which nodes are used.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.
    """
    from girl.evaluation.diagnosis import diagnose_run
    from girl.files import write_json
    from girl.reporting.diagnosis import draw_diagnosis

    diagnoses = [diagnose_run(run, nodes, data_root, mirror) for run in runs]
    picture = draw_diagnosis(diagnoses, out)
    write_json(out.with_suffix(".json"), {"nodes": nodes, "runs": [vars(one) for one in diagnoses]})
    table = Table(title=f"share of the labels that a layer does not explain, {nodes} nodes")
    table.add_column("layer")
    for one in diagnoses:
        table.add_column(one.title)
    for layer in range(max(len(one.layers) for one in diagnoses)):
        shares = [f"{one.layers[layer]:.3f}" if layer < len(one.layers) else "" for one in diagnoses]
        table.add_row("features" if layer == 0 else str(layer), *shares)
    console.print(table)
    say(f"picture: {picture}")
