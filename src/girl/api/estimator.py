"""GIRL as a scikit-learn estimator."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Data, Dataset

from girl.console import console_of
from girl.errors import InputError
from girl.files import write_json
from girl.graph.nearest import nearest_neighbors
from girl.graph.node_features import num_extra_columns
from girl.graph.union import disjoint_union
from girl.kernel.sparse import to_csr_or_dense
from girl.methods.bands import BandSettings
from girl.methods.girl import GIRLSettings
from girl.nn.encoder import EncoderSettings
from girl.training.batch import make_batch
from girl.training.context import open_context, select_device
from girl.training.recipe import Recipe
from girl.training.run import Run, load_run, pretrain, save_run
from girl.training.state import TrainSettings

#: A graph, a set of graphs, or rows that become a nearest-neighbour graph.
GraphLike: TypeAlias = Data | Sequence[Data] | Dataset | ArrayLike

#: The settings of a recipe, each of which is a parameter of the estimator. The seed is ``random_state``.
SETTINGS = tuple(
    item.name
    for kind in (BandSettings, EncoderSettings, GIRLSettings, TrainSettings)
    for item in fields(kind)
    if item.name != "seed"
)


def _with_settings(init: Callable[..., None]) -> Callable[..., None]:
    """Replace ``**settings`` in the signature by all settings, as ``get_params`` and ``GridSearchCV`` need them."""
    signature = inspect.signature(init)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    settings = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in SETTINGS]
    init.__signature__ = signature.replace(parameters=[*parameters, *settings])  # type: ignore[attr-defined]
    return init


class GIRL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embeddings of the nodes of a graph, or of the graphs of a list, learned without labels.

    ``fit`` takes a torch_geometric ``Data`` with ``x`` and ``edge_index`` (and maybe ``edge_weight``), such as
    :func:`girl.from_networkx` makes. It also takes a plain array, whose rows are then connected to their nearest
    neighbours. Of a list of ``Data``, or a ``Dataset``, each graph gets one row.

    Args:
        recipe: ``"default"`` (a list of graphs has a default of its own), ``"encoder"``, ``"graphs"`` or another
            shipped recipe by name, a TOML, YAML or JSON file, or a :class:`girl.Recipe`.
        n_neighbors: for a plain array, the number of nearest neighbours.
        random_state: seed of every random choice.
        device: cpu, cuda or auto.
        verbose: whether to print progress.
        **settings: any setting of the recipe by its name: ``dim`` or ``bands`` of the default, ``hidden``, ``epochs``
            or ``dropout`` of the recipe ``"encoder"``, which they select. None leaves the recipe's value. All of them
            can be changed by ``set_params`` and searched by ``GridSearchCV``.

    Attributes:
        embedding_: the embeddings of the training graph (n × k).
        recipe_: the recipe that was used.
        history_: the losses of each epoch.
        n_features_in_: the number of feature columns.

    See Also:
        girl.embed: the same for files and tables.
        girl.pretrain: the same for named datasets, and for other methods.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(60, 5))
    >>> GIRL(dim=8).fit_transform(x).shape
    (60, 8)
    """

    @_with_settings
    def __init__(
        self,
        recipe: str | Recipe = "default",
        *,
        n_neighbors: int = 10,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        self.recipe = recipe
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        if unknown := sorted(set(settings) - set(SETTINGS)):
            Recipe.encoder_default().with_values(dict.fromkeys(unknown), "GIRL")  # raises, names the nearest setting
        for name in SETTINGS:
            setattr(self, name, settings.get(name))

    def fit(self, data: GraphLike, y: object = None) -> Self:
        """Learn from a graph, or a list of graphs. ``y`` is ignored: it is there for pipelines."""
        graph = self._graph(data, reset=True)
        recipe = self._recipe(graph)
        self.n_features_in_ = 0 if graph.x is None else graph.x.shape[1]
        with open_context(self.device, console=console_of(self.verbose)) as context:
            run = pretrain(make_batch(graph, recipe.encoder, context.device), recipe, context)
        assert run.vectors is not None
        self.embedding_: NDArray[np.float32] = run.vectors.cpu().numpy()
        return self._set_run(run)

    def fit_transform(self, data: GraphLike, y: object = None) -> NDArray[np.float32]:
        """Learn from a graph, or a list of graphs, and return its embeddings (n × k)."""
        return self.fit(data).embedding_

    def transform(self, data: GraphLike) -> NDArray[np.float32]:
        """Embeddings of the nodes of a graph, or of the graphs of a list (n × k), with the same feature columns."""
        check_is_fitted(self)
        graph = self._graph(data, reset=False)
        given = 0 if graph.x is None else graph.x.shape[1]
        if given != self.n_features_in_:
            raise InputError(f"x: given {given} features, expected {self.n_features_in_} as in the graph of fit")
        return self.run_.embed(make_batch(graph, self.recipe_.encoder, select_device(self.device))).cpu().numpy()

    def save(self, folder: Path | str) -> None:
        """Write the fitted estimator to a folder: weights as safetensors, the rest as JSON."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        if isinstance(self.recipe, Recipe):
            params["recipe"] = {"values": self.recipe.to_dict()}
        if not isinstance(self.random_state, int):
            params["random_state"] = self.recipe_.train.seed
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_run(self.run_, folder)
        write_json(folder / "estimator.json", params)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read what :meth:`save` wrote, or a run of ``girl embed`` or ``girl pretrain``."""
        run = load_run(Path(folder))
        path = Path(folder) / "estimator.json"
        params = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"recipe": run.recipe}
        if isinstance(params["recipe"], dict):
            params["recipe"] = Recipe().with_values(params["recipe"]["values"], str(path))
        estimator = cls(**params)
        estimator.n_features_in_ = run.config["inputs"] - num_extra_columns(run.recipe.encoder.normalize)
        return estimator._set_run(run)

    def _set_run(self, run: Run) -> Self:
        self.run_ = run
        self.recipe_ = run.recipe
        self.history_ = run.history.epochs
        self._n_features_out = run.method.width  # read by ClassNamePrefixFeaturesOutMixin
        return self

    def _graph(self, data: GraphLike, *, reset: bool) -> Data:
        if isinstance(data, Dataset) or (isinstance(data, list | tuple) and len(data) and isinstance(data[0], Data)):
            return disjoint_union(list(data))
        if isinstance(data, Data):
            return data
        rows = validate_data(self, data, reset=reset, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2)
        x = torch.from_numpy(np.ascontiguousarray(rows)) if isinstance(rows, np.ndarray) else rows
        return Data(x=to_csr_or_dense(x), edge_index=nearest_neighbors(rows, self.n_neighbors))

    def _recipe(self, graph: Data) -> Recipe:
        settings = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        if isinstance(self.recipe, Recipe):
            recipe = self.recipe
        elif self.recipe == "default":
            recipe = Recipe.default_for(settings, "graph" in graph)
        else:
            recipe = Recipe.load(self.recipe)
        if "encoding" in graph:  # columns of a table, which were scaled when they were encoded
            recipe = recipe.with_values({"normalize": "none"})
        seed = self.random_state
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31))
        return recipe.with_values(settings, "GIRL").with_seed(seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
