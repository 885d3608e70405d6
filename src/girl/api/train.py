"""``girl.train``: a deep node classifier, with or without KR regularisation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from girl import datasets, splits
from girl.console import console_of, print_line
from girl.files import write_json
from girl.training.context import Resume, open_context
from girl.training.supervised import SupervisedRecipe
from girl.training.supervised_run import SupervisedRun, train_on_split


def train(
    dataset: str,
    *,
    protocol: str | None = None,
    split: int = 0,
    out: Path | str | None = None,
    resume: Resume = "auto",
    device: str = "auto",
    verbose: bool | Console = False,
    data_root: Path | str | None = None,
    mirror: Path | str | None = None,
    **settings: Any,
) -> SupervisedRun:
    """Train a deep GNN to classify the nodes of a dataset. What ``girl train`` does.

    The weights of the best epoch on the validation nodes are kept. The test nodes are scored once, at the end.

    Args:
        dataset: a name that :func:`girl.datasets.names` lists.
        protocol: how the nodes are split; by default the dataset's first protocol.
        split: which split of the protocol.
        out: the run's folder: model, configuration, history, scores and checkpoints. None writes nothing.
        resume: ``"auto"`` continues an interrupted run in ``out``; ``"never"`` starts again.
        device: cpu, cuda or auto.
        verbose: whether to print progress, or the console to print to.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.
        **settings: settings of model, regulariser and training by name, such as ``depth=18`` or ``regularizer="kr"``.

    Returns:
        The run. ``run.scores`` has the metric and the scores of train, val and test; ``run.predict`` gives logits.

    See Also:
        girl.KRRegularizer: the regulariser in a training loop of your own.

    >>> run = train("digits", depth=2, hidden=8, epochs=2)
    >>> sorted(run.scores)
    ['metric', 'test', 'train', 'val']
    """
    recipe = SupervisedRecipe().with_values(settings, "settings")
    with open_context(device, console=console_of(verbose), folder=out, resume=resume) as context:
        graph = context.distributed.local_main_first(lambda: datasets.load(dataset, data_root, mirror))
        rule = splits.get(protocol or graph.protocols[0])
        nodes, edges = graph.data.num_nodes, graph.data.edge_index.shape[1]
        print_line(context.console, f"{graph.title}: {nodes:,} nodes, {edges:,} edges; {rule.name} split {split}")
        run = train_on_split(graph, rule, split, recipe, context)
        if context.writes and context.folder is not None:
            write_json(context.folder / "scores.json", run.scores)
    return run
