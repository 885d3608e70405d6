"""``girl.pretrain``: embeddings of a graph without labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from torch_geometric.data import Data, Dataset

from girl import datasets, splits
from girl.console import console_of, print_line
from girl.errors import InputError
from girl.evaluation.scores import check_inductive_protocol
from girl.graph.union import disjoint_union
from girl.nn.encoder import shared_encoders
from girl.training.batch import make_batch
from girl.training.cached_batch import cached_batch, cached_part
from girl.training.context import Context, Resume, open_context
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import Run
from girl.training.run import pretrain as pretrain_batch
from girl.training.run_folder import save_embedding


def pretrain(
    data: str | Data | Sequence[Data] | Dataset,
    recipe: str | Path | Recipe = "tuned",
    *,
    method: str = "girl",
    protocol: str | None = None,
    split: int = 0,
    out: Path | str | None = None,
    resume: Resume = "auto",
    device: str = "auto",
    verbose: bool | Console = False,
    data_root: Path | str | None = None,
    mirror: Path | str | None = None,
    **settings: Any,
) -> Run:
    """Train a self-supervised method on a graph, and embed the graph. What ``girl pretrain`` does.

    Args:
        data: the name of a dataset, a torch_geometric ``Data``, or a list of them (a set of graphs).
        recipe: ``"tuned"`` (chosen for the dataset on validation nodes; for other methods than GIRL, the published
            one), ``"default"``, another shipped recipe, a file, or a :class:`girl.Recipe`.
        method: a name that :func:`girl.methods.names` lists.
        protocol: how the dataset's nodes are split; only inductive data needs it, whose training sees training nodes
            only. By default the dataset's first.
        split: which split of the protocol.
        out: the run's folder: model, configuration, history, embeddings and checkpoints. None writes nothing.
        resume: ``"auto"`` continues an interrupted run in ``out``; ``"never"`` starts again.
        device: cpu, cuda or auto.
        verbose: whether to print progress, or the console to print to.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.
        **settings: settings of the recipe by name, such as ``epochs=20``.

    Returns:
        The run. ``run.vectors`` are the embeddings (n × k); ``run.embed(data)`` embeds another graph.

    See Also:
        girl.evaluate: how good the embeddings are.
        girl.GIRL: the same as a scikit-learn estimator.

    >>> run = pretrain("digits", "default", hidden=8, epochs=2)
    >>> run.vectors.shape[0]
    1797
    """
    name = datasets.describe(data).name if isinstance(data, str) else None
    is_set = not isinstance(data, str | Data)
    chosen = choose_recipe(recipe, method, name, settings, is_set).with_values(settings, "settings")
    with open_context(device, console=console_of(verbose), folder=out, resume=resume) as context:
        if name is not None:
            return _pretrain_dataset(name, chosen, protocol, split, context, data_root, mirror)
        assert not isinstance(data, str)
        graph = data if isinstance(data, Data) else disjoint_union(list(data))
        return pretrain_batch(make_batch(graph, chosen.encoder, context.device), chosen, context)


def choose_recipe(
    recipe: str | Path | Recipe,
    method: str,
    dataset: str | None,
    settings: dict[str, Any] | None = None,
    is_set: bool = False,
) -> Recipe:
    """The recipe by its name, for a method and a dataset; ``settings`` of an encoder lead to a recipe with one.

    Without the name of a dataset, ``is_set`` says whether it is for a set of graphs.
    """
    is_set = is_set or (dataset is not None and bool(datasets.describe(dataset).graphs))
    if recipe in ("tuned", "default"):
        chosen = method_recipe(method, dataset if recipe == "tuned" else None)
        untuned = recipe == "default" or not chosen.trains or (is_set and dataset is None)
        return Recipe.default_for(settings or {}, is_set) if method == "girl" and untuned else chosen
    chosen = recipe if isinstance(recipe, Recipe) else Recipe.load(recipe)
    if method not in ("girl", chosen.name):
        raise InputError(f"method: given {method!r} with a recipe of {chosen.name!r}, expected only one of them")
    return chosen


def _pretrain_dataset(
    name: str,
    recipe: Recipe,
    protocol: str | None,
    split: int,
    context: Context,
    root: Path | str | None,
    mirror: Path | str | None,
) -> Run:
    processes = context.distributed
    dataset = processes.local_main_first(lambda: datasets.load(name, root, mirror))
    rule = splits.get(protocol or dataset.protocols[0])
    check_inductive_protocol(dataset, rule.name, dataset.protocols)
    parts = rule.split(dataset, split)  # also on transductive data: a protocol that the dataset lacks is an error
    with context.phase("building the graph"):
        graph = cached_batch(dataset.data, recipe.encoder, context)
        part = cached_part(graph, parts.train, context) if dataset.inductive else graph
    graphs = f"{dataset.graphs:,} graphs, " if dataset.graphs else ""
    edges = dataset.data.edge_index.shape[1]
    print_line(context.console, f"{dataset.title}: {graphs}{graph.num_nodes:,} nodes, {edges:,} edges")
    config = {"dataset": dataset.name, "protocol": rule.name, "split": split, "stand_in": dataset.stand_in}
    run = pretrain_batch(part, recipe, context, config)
    if part is not graph:
        with shared_encoders(run.method, processes.ranks):
            run.vectors = run.embed(graph)
    if context.writes and context.folder is not None and run.vectors is not None:
        save_embedding(context.folder / "embeddings.npy", run.vectors)
    return run
