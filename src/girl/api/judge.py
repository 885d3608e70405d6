"""``girl.judge``: how good a representation is, without labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch_geometric.data import Data

from girl import datasets
from girl.errors import InputError
from girl.evaluation.controls import CONTROLS, control
from girl.evaluation.judge import Judgement, Representation, judge_batch
from girl.graph.batch import Batch
from girl.kernel.checks import check_int
from girl.methods.registry import methods
from girl.nn.encoder import EncoderSettings
from girl.training.batch import make_batch
from girl.training.recipe import Recipe, method_recipe
from girl.training.run import pretrain
from girl.training.untrained import embed_untrained

#: Representations that have a name, beside the methods that ``girl.methods.names()`` lists.
NAMED = (*CONTROLS, "untrained", "default", "encoder")


def judge(
    data: str | Data,
    representation: str | Recipe | Callable[[Data], ArrayLike | Tensor],
    *,
    rows: int = 3000,
    repeats: int = 3,
    random_state: int = 0,
    directed: bool = False,
    data_root: Path | str | None = None,
    mirror: Path | str | None = None,
) -> Judgement:
    """Judge a representation of a graph without labels.

    A quarter of the feature columns and of the edges is hidden; the representation is made of the visible part; and
    leave-one-out kernel regression explains the hidden part from it. The better it does, the better the representation
    predicts labels that features and edges depend on. See :doc:`/judge` for the evidence, and for where it fails.

    Args:
        data: a torch_geometric ``Data``, or the name of a dataset. Columns that were made from one value, such as those
            of a category, are hidden together if ``data.column_group`` (d numbers) says so; near copies always are.
        representation: a function that takes the visible graph, a ``Data`` with all nodes, and returns a matrix with a
            row for each node. Or a name: raw, sgc, hops, ppr, positions, concatenated, untrained, default, encoder or
            a method that :func:`girl.methods.names` lists. Or a :class:`girl.Recipe`, which is trained each time.
        rows: nodes at which the hidden part is explained, at most. The cost is linear in them.
        repeats: how often columns and edges are hidden anew.
        random_state: seed of what is hidden.
        directed: whether the edges have a direction.
        data_root: where datasets are cached.
        mirror: a folder of raw files to copy from instead of downloading.

    Example:
        >>> import girl
        >>> digits = girl.datasets.load("digits").data
        >>> result = girl.judge(digits, "ppr", repeats=1)
        >>> sorted(result.explained), min(result.explained.values()) > 0.2
        (['columns', 'neighbors', 'positions'], True)

    See Also:
        girl.evaluate: the same question with labels.
    """
    check_int("rows", rows, 10)
    check_int("repeats", repeats, 1)
    if isinstance(data, str):
        dataset = datasets.load(data, data_root, mirror)
        dataset.check_nodes("the judge")
        data = dataset.data
    batch = make_batch(data, EncoderSettings(normalize="none", directed=directed))
    if batch.graph_id is not None:
        raise InputError("data: given a set of graphs, expected one graph")
    return judge_batch(batch, _function(representation), rows=rows, repeats=repeats, seed=random_state)


def _function(representation: str | Recipe | Callable[[Data], ArrayLike | Tensor]) -> Representation:
    """A representation as a function of a batch."""
    if isinstance(representation, str):
        if representation in CONTROLS:
            return partial(_control, representation)
        names = (*NAMED, *(name for name, entry in methods().items() if entry.level != "graphs"))
        if representation not in names:
            raise InputError(f"representation: given {representation!r}, expected one of {', '.join(names)}")
        if representation == "untrained":
            return lambda batch: embed_untrained(batch, Recipe())
        if representation in ("default", "encoder"):
            representation = Recipe.load(representation)
        else:
            representation = method_recipe(representation)
    if isinstance(representation, Recipe):
        return partial(_train, representation)
    function = representation
    return lambda batch: function(_data(batch))


def _control(name: str, batch: Batch) -> Tensor:
    return control(name, batch, Recipe().method.dim)  # type: ignore[attr-defined]


def _train(recipe: Recipe, batch: Batch) -> Tensor:
    """The embeddings of a recipe that is trained on the visible graph."""
    normalize = recipe.encoder.normalize
    if normalize != "none":
        batch = Batch(batch.x.normalized(normalize), batch.graph)
    vectors = pretrain(batch, recipe).vectors
    assert vectors is not None
    return vectors


def _data(batch: Batch) -> Data:
    """The visible graph as a user's function takes it."""
    data = Data(x=batch.x.dense(), edge_index=batch.graph.edge_index, num_nodes=batch.num_nodes)
    if batch.graph.weighted:
        data.edge_weight = batch.graph.adjacency.values()
    if not torch.is_tensor(data.x) or not data.x.shape[1]:
        del data.x
    return data
