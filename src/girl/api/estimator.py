"""GIRL with scikit-learn's habits: ``GIRL().fit_transform(data)``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Data, Dataset

from girl.errors import InputError
from girl.files import write_json
from girl.graph.nearest import nearest_neighbors
from girl.graph.node_features import num_extra_columns
from girl.graph.union import disjoint_union
from girl.kernel.sparse import to_csr_or_dense
from girl.training.recipe import Recipe, find_recipe
from girl.training.run import Run, batch_of, device_of, load_run, pretrain, save_run

#: What can be learned from.
Given: TypeAlias = Data | Sequence[Data] | Dataset | ArrayLike


class GIRL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Representations of the nodes of a graph, or of the graphs of a list, learned without labels.

    What is given is a torch_geometric ``Data`` with ``x`` and ``edge_index`` (and maybe ``edge_weight``), such as
    :func:`girl.from_networkx` makes; or a plain array, whose rows are then joined to their nearest neighbours; or a
    list of ``Data``, or a ``Dataset``, each graph of which is then represented by one row.

    Settings that are None are the recipe's.

    Args:
        recipe: ``"default"`` (for a list of graphs, ``"graphs"``), another shipped recipe by name, a TOML, YAML or
            JSON file, or a :class:`~girl.training.recipe.Recipe`.
        conv: kind of layer.
        hidden: width of every layer.
        layers: number of layers.
        epochs: passes over the graph; 0 leaves the encoder untrained.
        lr: learning rate.
        clusters: METIS parts of the graph, for graphs that are too large for one batch.
        options: any other setting of the recipe by its name, such as ``{"dropout": 0.2}``.
        neighbours: how many nearest neighbours a row of a plain array is joined to.
        seed: fixes every random choice.
        device: cpu, cuda or auto.
        verbose: whether to show how training goes.

    Attributes:
        history_: each epoch's ρ̂, layer by layer.
        recipe_: the recipe that was used, whole.
        n_features_in_: columns of the features.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(60, 5))
    >>> GIRL(hidden=8, epochs=2).fit_transform(x).shape
    (60, 13)
    """

    def __init__(
        self,
        recipe: str | Recipe = "default",
        *,
        conv: str | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        epochs: int | None = None,
        lr: float | None = None,
        clusters: int | None = None,
        options: dict[str, Any] | None = None,
        neighbours: int = 10,
        seed: int = 0,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.recipe = recipe
        self.conv = conv
        self.hidden = hidden
        self.layers = layers
        self.epochs = epochs
        self.lr = lr
        self.clusters = clusters
        self.options = options
        self.neighbours = neighbours
        self.seed = seed
        self.device = device
        self.verbose = verbose

    def fit(self, data: Given, y: object = None) -> Self:
        """Learn from a graph, or a list of them. ``y`` is not used: it is there for pipelines."""
        graph = self._graph(data, reset=True)
        recipe = self._recipe(graph)
        self.n_features_in_ = graph.x.shape[1]
        run = pretrain(batch_of(graph, recipe.encoder, device_of(self.device)), recipe, console=self._console())
        return self._take(run)

    def transform(self, data: Given) -> NDArray[np.float32]:
        """Representations of the nodes of a graph, or of the graphs of a list (n × k), with the same features."""
        check_is_fitted(self)
        graph = self._graph(data, reset=False)
        if graph.x.shape[1] != self.n_features_in_:
            raise InputError(
                f"x: given {graph.x.shape[1]} features, expected {self.n_features_in_} as in the graph of fit"
            )
        return self.run_.embed(batch_of(graph, self.recipe_.encoder, device_of(self.device))).cpu().numpy()

    def save(self, folder: Path | str) -> None:
        """Keep the fitted estimator in a folder: weights as safetensors, the rest as JSON."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        if isinstance(self.recipe, Recipe):
            params["recipe"] = {"values": self.recipe.to_dict()}
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_run(self.run_, folder)
        write_json(folder / "estimator.json", params)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """What :meth:`save` kept, or a run of ``girl embed`` or ``girl pretrain``; of the same format, or refused."""
        run = load_run(Path(folder))
        path = Path(folder) / "estimator.json"
        params = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"recipe": run.recipe}
        if isinstance(params["recipe"], dict):
            params["recipe"] = Recipe().with_values(params["recipe"]["values"], str(path))
        made = cls(**params)
        made.n_features_in_ = run.about["inputs"] - num_extra_columns(run.recipe.encoder.normalize)
        return made._take(run)

    def _take(self, run: Run) -> Self:
        self.run_ = run
        self.recipe_ = run.recipe
        self.history_ = run.history.epochs
        # What ClassNamePrefixFeaturesOutMixin counts names by.
        self._n_features_out = run.method.width
        return self

    def _graph(self, data: Given, *, reset: bool) -> Data:
        if isinstance(data, Dataset) or (isinstance(data, list | tuple) and len(data) and isinstance(data[0], Data)):
            return disjoint_union(list(data))
        if isinstance(data, Data):
            if data.x is None:
                raise InputError("x: the graph has no node features; girl.from_networkx and `girl embed` make some")
            return data
        rows = validate_data(self, data, reset=reset, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2)
        return Data(x=to_csr_or_dense(_tensor(rows)), edge_index=nearest_neighbors(rows, self.neighbours))

    def _recipe(self, graph: Data) -> Recipe:
        name = "graphs" if self.recipe == "default" and "graph" in graph else self.recipe
        base = name if isinstance(name, Recipe) else find_recipe(name)
        if "encoding" in graph:  # columns of a table, whose scales were set when they were encoded
            base = base.with_values({"normalize": "none"})
        names = ("conv", "hidden", "layers", "epochs", "lr", "clusters")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return base.with_values(given | (self.options or {}), "GIRL").with_seed(self.seed)

    def _console(self) -> Console | None:
        return Console(stderr=True) if self.verbose else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _tensor(rows: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(rows)) if isinstance(rows, np.ndarray) else rows
