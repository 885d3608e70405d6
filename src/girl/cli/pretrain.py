"""`girl pretrain` and `girl evaluate`: representations of a named graph, and what they are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table

from girl.cli.app import DATA, OUT, RUN, console, say
from girl.cli.options import (
    NO_BANDS,
    NO_ENCODER,
    NO_OBJECTIVE,
    NO_TRAIN,
    BandOptions,
    EncoderOptions,
    ObjectiveOptions,
    TrainOptions,
    assigned,
    given,
)


def pretrain(
    dataset: Annotated[str, Parameter(group=DATA)],
    /,
    *,
    out: Annotated[Path | None, Parameter(group=OUT)] = None,
    protocol: Annotated[str | None, Parameter(group=DATA)] = None,
    split: Annotated[int, Parameter(group=DATA)] = 0,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    method: Annotated[str, Parameter(group=RUN)] = "girl",
    recipe: Annotated[str, Parameter(group=RUN)] = "tuned",
    set_: Annotated[list[str] | None, Parameter(name="--set", group=RUN, negative="")] = None,
    resume: Annotated[Literal["auto", "never"], Parameter(group=RUN)] = "auto",
    device: Annotated[str, Parameter(group=RUN)] = "auto",
    bands: Annotated[BandOptions, Parameter(name="*")] = NO_BANDS,  # type: ignore[valid-type]
    encoder: Annotated[EncoderOptions, Parameter(name="*")] = NO_ENCODER,  # type: ignore[valid-type]
    objective: Annotated[ObjectiveOptions, Parameter(name="*")] = NO_OBJECTIVE,  # type: ignore[valid-type]
    train: Annotated[TrainOptions, Parameter(name="*")] = NO_TRAIN,  # type: ignore[valid-type]
) -> None:
    """Embed a named graph without labels, by GIRL or another method.

    For example `girl pretrain cora --protocol full --out runs/cora`, then `girl evaluate runs/cora`. If it is
    interrupted, the same command continues it. `torchrun --nproc-per-node 2 -m girl pretrain ...` divides every batch
    among two processes.

    Writes OUT/model.safetensors, config.json, history.json and embeddings.npy (a row for each node, or for each graph
    of a set of graphs).

    Args:
        dataset: a name that `girl datasets` lists.
        out: the run's folder; by default runs/DATASET.
        protocol: how nodes are split; by default the dataset's first protocol. Only inductive data (Reddit, PPI) needs
            it, whose training sees the training nodes only.
        split: which split of the protocol, on inductive data.
        data_root: where datasets are cached; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
        method: one that `girl methods` lists.
        recipe: "tuned" (the one chosen for the dataset on validation nodes; for other methods than GIRL, the published
            one), "default" (for any graph), "encoder" (trains one), "paper" (GIRL as published), or a TOML, YAML or
            JSON file. Options below override it.
        set_: a setting by its name, as in a recipe file: --set temperature=0.5. For methods other than girl, whose
            settings have no options.
        resume: continue an interrupted run (auto), or start again (never).
        device: cpu, cuda or auto.
        bands: settings of the bands that override the recipe.
        encoder: settings of the encoder that override the recipe.
        objective: settings of the objective that override the recipe.
        train: settings of the training that override the recipe.
    """
    from girl.api.pretrain import pretrain as pretrain_dataset
    from girl.datasets import describe

    folder = out or Path("runs") / describe(dataset).name
    run = pretrain_dataset(
        dataset,
        recipe,
        method=method,
        protocol=protocol,
        split=split,
        out=folder,
        resume=resume,
        device=device,
        verbose=console,
        data_root=data_root,
        mirror=mirror,
        **given(bands, encoder, objective, train),
        **assigned(set_ or []),
    )
    stopped = f", stopped early: {run.history.stopped}" if run.history.stopped else ""
    say(f"{len(run.history.epochs)} epochs in {run.history.seconds:.1f} s{stopped}. Saved in {folder}")
    is_girl = run.recipe.name in ("girl", "bands", "graph-bands")
    say(f"next: girl evaluate {folder}" + (f", girl report {folder}" if is_girl else ""))


def evaluate(
    run: Annotated[Path, Parameter(group=DATA)],
    /,
    *,
    protocol: Annotated[str | None, Parameter(group=DATA)] = None,
    data_root: Annotated[Path | None, Parameter(group=DATA)] = None,
    mirror: Annotated[Path | None, Parameter(group=DATA)] = None,
    probe: Annotated[Literal["linear", "mlp", "svm"] | None, Parameter(group=RUN)] = None,
    splits: Annotated[int, Parameter(group=RUN)] = 10,
) -> None:
    """Probe a run's embeddings beside raw features, smoothed features and the untrained encoder.

    For each split, a classifier is fitted on the training nodes, its regularisation is chosen on the validation nodes,
    and it is scored once on the test nodes. Writes RUN/scores.json.

    Args:
        run: a folder that `girl pretrain` wrote.
        protocol: how nodes are split; by default the run's protocol.
        data_root: where datasets are cached; by default GIRL_DATA or the user's cache folder.
        mirror: a folder of raw files to copy from instead of downloading; by default GIRL_MIRROR.
        probe: linear (logistic regression), mlp (two layers with ELU, as in the paper) or svm (a kernel machine). By
            default linear; for sets of graphs svm, as is usual.
        splits: at most this many splits.
    """
    from girl.api.evaluate import evaluate as evaluate_folder

    result = evaluate_folder(run, protocol=protocol, probe=probe, splits=splits, data_root=data_root, mirror=mirror)
    table = Table("representation", f"test {result.rows[0].metric}", "validation", title=result.title)
    for row in result.rows:
        table.add_row(row.representation, str(row.test), str(row.val))
    console.print(table)
