"""A run: a graph and a recipe in, a trained method and representations out, kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from torch import Tensor
from torch_geometric.data import Data

import girl
from girl import store
from girl.console import phase
from girl.errors import InputError
from girl.files import replacing, write_json
from girl.graph.features import Features
from girl.graph.graph import Graph, check_edges
from girl.graph.subspace import principal_directions
from girl.methods.base import Batch
from girl.methods.encoder_method import EncoderMethod
from girl.methods.girl import GIRLSettings
from girl.methods.registry import method_of
from girl.nn.encoder import EncoderSettings, shared
from girl.training.distributed import ALONE, World
from girl.training.loop import Resume, fit
from girl.training.memory import check_memory
from girl.training.recipe import Recipe
from girl.training.state import History

#: Columns up to which features go into an encoder without weights as they are.
WEIGHTLESS = 2048

#: The layout of a run's folder; raised when an older program could not read a newer folder.
FORMAT = 2


@dataclass
class Run:
    """A method, trained or not, with what it was trained on."""

    recipe: Recipe
    method: EncoderMethod
    about: dict[str, Any] = field(default_factory=dict)
    """What it was trained on, in plain values."""
    history: History = field(default_factory=History)
    vectors: Tensor | None = None
    """Representations of the training graph (n × k), right after training."""

    def embed(self, whole: Batch) -> Tensor:
        """Representations of all nodes of a graph (n × k)."""
        return self.method.embed(whole)


def device_of(name: str = "auto") -> torch.device:
    """A device by name; ``auto`` is the fastest one present."""
    if name != "auto":
        try:
            return torch.zeros(0, device=name).device
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"device: given {name!r}, which this machine does not offer ({error})") from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    # Apple's GPU has no CSR products: the CPU is faster there than falling back for each of them.
    return torch.device("cpu")


def batch_of(data: Data, settings: EncoderSettings, device: torch.device | str = "cpu") -> Batch:
    """A graph as an encoder of these settings sees it: features, edges and, if there is one, ``edge_weight``."""
    if data.x is None:
        raise InputError("x: the graph has no node features, expected a matrix with a row for each node")
    nodes = data.x.shape[0]
    check_edges(data.edge_index, nodes)
    x = data.x.coalesce() if data.x.layout == torch.sparse_coo else data.x
    values = x if x.layout == torch.strided else x.values()
    if not bool(torch.isfinite(values).all()):
        raise InputError("x: given NaN or infinite features, expected finite numbers: fill or drop them first")
    weight = data.edge_weight
    if weight is not None and (bad := (~(torch.isfinite(weight) & (weight > 0))).nonzero()).numel():
        raise InputError(f"edge_weight: edge {int(bad[0])} has weight {weight[bad[0]].item():g}, expected above 0")
    graph = Graph.from_edges(data.edge_index, nodes, settings.directed, weight)
    graphs = data.graph if "graph" in data else None
    count = 0
    if graphs is not None:
        count = data.graphs if "graphs" in data else len(data.y)
    return Batch(Features.of(x, settings.normalise), graph, None, graphs, count).to(device)


def settle(recipe: Recipe, whole: Batch) -> Recipe:
    """The recipe with what it leaves to the graph decided: features that are only ids are not kept, nodes not read."""
    if whole.graphs is None and method_of(recipe.method).level == "graphs":
        raise InputError(f"method: {recipe.name} given one graph, expected a set of graphs, such as mutag")
    if whole.graphs is None and recipe.encoder.readout_rank:
        recipe = replace(recipe, encoder=replace(recipe.encoder, readout_rank=0))
    if recipe.encoder.keep and whole.x.is_ids:
        return replace(recipe, encoder=replace(recipe.encoder, keep=0.0))
    return recipe


def untrained(inputs: int, recipe: Recipe, device: torch.device | str = "cpu") -> EncoderMethod:
    """The method before its first step: its weights depend on the seed only."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        method = method_of(recipe.method).build(inputs, recipe.encoder, recipe.method)
    return method.to(device)


def embed_untrained(whole: Batch, recipe: Recipe, part: Batch | None = None) -> Tensor:
    """Representations of all nodes by the method before its first step (n × k): the control of :func:`pretrain`.

    The features' part of a representation is not trained: the control has it too, from the nodes of ``part`` (all if
    not given) that training would have seen.
    """
    part = whole if part is None else part
    method = untrained(whole.x.shape[1], settle(recipe, part), whole.x.device)
    method.prepare(part, torch.Generator(whole.x.device).manual_seed(recipe.train.seed))
    vectors = method.finish(part)
    return vectors if part is whole else method.embed(whole)


def embed_weightless(whole: Batch, recipe: Recipe) -> Tensor:
    """Representations of all nodes by the recipe's encoder without weights: what smoothing alone is worth.

    Every map of the encoder is the identity, and nothing is bent; features of more than 2,048 columns go in as their
    leading principal components. Parts and their scales are the recipe's.
    """
    recipe = settle(recipe, whole)
    generator = torch.Generator(whole.x.device).manual_seed(recipe.train.seed)
    n, d = whole.x.shape
    hidden = d if d <= WEIGHTLESS else min(recipe.encoder.hidden, n)
    encoder = replace(recipe.encoder, hidden=hidden, activation="none", norm="none", heads=1)
    # It is not trained: nothing is to be prepared for it.
    method = untrained(d, Recipe(encoder, GIRLSettings(targets=("input",)), recipe.train), whole.x.device)
    directions = torch.eye(d, device=whole.x.device) if hidden == d else None
    if directions is None:
        directions, _ = principal_directions(whole.x.__matmul__, whole.x.t_matmul, (n, d), hidden, generator)
    method.encoder.set_maps(directions)
    method.prepare(whole, generator)
    return method.embed(whole)


def seen_by(whole: Batch, nodes: Tensor) -> Batch:
    """The graph among some nodes, as a graph of its own: all that inductive training sees."""
    part = whole.part(nodes)
    return Batch(part.x, part.graph)


def fingerprint(whole: Batch) -> str:
    """A fingerprint of the graph. A checkpoint is resumed only if it matches."""
    adjacency = whole.graph.adjacency
    parts = [adjacency.crow_indices(), adjacency.col_indices()]
    parts += [adjacency.values()] if whole.graph.weighted else []
    return store.fingerprint(parts, whole.graphs, list(whole.x.tensors))


def pretrain(
    whole: Batch,
    recipe: Recipe,
    *,
    out: Path | None = None,
    resume: Resume = "auto",
    about: dict[str, Any] | None = None,
    console: Console | None = None,
    watch: Callable[[EncoderMethod, History], None] | None = None,
    world: World = ALONE,
) -> Run:
    """Train on a graph. With ``out``, checkpoints, the model and the history are kept there.

    Args:
        whole: the training graph, as :func:`batch_of` gives it for the recipe's encoder.
        recipe: encoder, objective and training.
        out: the run's folder.
        resume: ``"auto"`` goes on where an interrupted run of the same kind stopped; ``"never"`` starts anew.
        about: what the graph is, kept with the run.
        console: where progress is shown; None shows none.
        watch: called after every epoch; what it takes is not counted as training.
        world: the processes that share every batch; the first one's run is kept.
    """
    recipe = settle(recipe, whole)
    about = {"recipe": recipe.to_dict(), "inputs": whole.x.shape[1], "nodes": whole.size, **(about or {})}
    about["fingerprint"] = fingerprint(whole)
    method = untrained(whole.x.shape[1], recipe, whole.x.device)
    check_memory(method, whole, recipe.train, world.here)
    folder = None if out is None else out / "checkpoints"
    history = fit(
        method,
        whole,
        recipe.train,
        folder=folder,
        resume=resume,
        about=about,
        console=console,
        watch=None if watch is None else partial(watch, method),
        world=world,
    )
    with phase(console if world.first else None, "embedding"), shared(method, world.ranks):
        run = Run(recipe, method, about, history, method.finish(whole))
    if out is not None and world.first:
        save_run(run, out)
    return run


def save_run(run: Run, out: Path) -> None:
    """Keep a run: ``model.safetensors``, ``config.json`` and ``history.json``."""
    save_folder(out, dict(run.method.state_dict()), run.about, run.history)


def save_folder(out: Path, tensors: dict[str, Tensor], about: dict[str, Any], history: History) -> None:
    """Write what every run's folder holds."""
    store.save(out / "model.safetensors", tensors, about)
    write_json(out / "config.json", {"format": FORMAT, "girl": girl.__version__, **about})
    write_json(out / "history.json", vars(history))


def load_folder(out: Path, made_by: str) -> tuple[dict[str, Any], History, dict[str, Tensor]]:
    """Read what :func:`save_folder` wrote: the configuration, the history and the weights.

    Args:
        out: the folder.
        made_by: the commands that write such folders, for messages.
    """
    try:
        config = json.loads((out / "config.json").read_text(encoding="utf-8"))
        history = History(**json.loads((out / "history.json").read_text(encoding="utf-8")))
        tensors, _ = store.load(out / "model.safetensors")
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = f"expected a folder that {made_by} wrote"
        if (out / "checkpoints").exists():
            hint = "it was interrupted: give the command that made it again"
        raise InputError(f"{out}: holds no finished run ({Path(error.filename).name} is missing); {hint}") from error
    except (ValueError, TypeError) as error:
        raise damaged(out, error) from error
    if not isinstance(config, dict) or "format" not in config:
        raise damaged(out, "config.json is not that of a run")
    if config["format"] != FORMAT:
        made = config.get("girl", "an unknown version")
        raise InputError(f"{out}: given format {config['format']}, expected {FORMAT}: made by girl {made}")
    return config, history, tensors


def load_run(out: Path) -> Run:
    """Read what :func:`save_run` wrote."""
    config, history, tensors = load_folder(out, "`girl embed` or `girl pretrain`")
    if config.get("kind") == "supervised":
        raise InputError(f"{out}: given a run of `girl train`, expected one of `girl embed` or `girl pretrain`")
    try:
        recipe = Recipe().with_values(config["recipe"], str(out / "config.json"))
        method = untrained(config["inputs"], recipe)
        method.load_state_dict(tensors)
    except (KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise damaged(out, f"config.json and the model do not fit: {type(error).__name__}") from error
    return Run(recipe, method.eval(), about_of(config), history)


def about_of(config: dict[str, Any]) -> dict[str, Any]:
    """What a configuration says about its run."""
    return {key: value for key, value in config.items() if key not in ("format", "girl")}


def damaged(out: Path, problem: object) -> InputError:
    """The complaint about a run's folder that cannot be used."""
    return InputError(f"{out}: damaged ({problem}); give the command that made it again")


def save_embedding(path: Path, h: Tensor) -> None:
    """Write representations as ``.npy``, whole or not at all."""
    with replacing(path) as beside, beside.open("wb") as file:
        np.save(file, h.cpu().numpy())
