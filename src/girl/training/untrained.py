"""A method before its first step, and embeddings that need no training: the baselines of a recipe."""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.batch import Batch
from girl.graph.subspace import principal_directions
from girl.methods.bands import BandSettings
from girl.methods.base import Method
from girl.methods.encoder_method import EncoderMethod
from girl.methods.girl import GIRLSettings
from girl.methods.graph_bands import GraphBandSettings
from girl.methods.registry import method_of
from girl.training.recipe import Recipe

#: Without weights, features of more columns than this are first reduced to principal components.
MAX_COLUMNS = 2048


def resolve_recipe(recipe: Recipe, data: Batch) -> Recipe:
    """The recipe with settings that do not apply to the graph switched off.

    The kernel readout is for sets of graphs only. Features that are only node ids are not kept beside the layers. The
    default for one graph, given a set, becomes the default for sets, with those settings that differ from the default.
    """
    if data.graph_id is not None and isinstance(recipe.method, BandSettings):
        default = BandSettings()
        values = {item.name: getattr(recipe.method, item.name) for item in fields(default)}
        given = {name: value for name, value in values.items() if value != getattr(default, name)}
        recipe = replace(recipe, method=GraphBandSettings(**given))
    if data.graph_id is None and method_of(recipe.method).level == "graphs":
        raise InputError(f"method: {recipe.name} given one graph, expected a set of graphs, such as mutag")
    if data.graph_id is None and recipe.encoder.readout_rank:
        recipe = replace(recipe, encoder=replace(recipe.encoder, readout_rank=0))
    if not recipe.trains:
        return recipe
    if not data.x.shape[1]:
        raise InputError("x: the graph has no node features; expected some, or the default recipe, which needs none")
    if recipe.encoder.keep and data.x.is_ids:
        return replace(recipe, encoder=replace(recipe.encoder, keep=0.0))
    return recipe


def untrained_method(inputs: int, recipe: Recipe, device: torch.device | str = "cpu") -> Method:
    """The method before its first step. Its weights depend on the seed only.

    Args:
        inputs: columns of the features.
        recipe: encoder, method and seed.
        device: where to put it.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.train.seed)
        method = method_of(recipe.method).build(inputs, recipe.encoder, recipe.method)
    return method.to(device)


def embed_untrained(data: Batch, recipe: Recipe, part: Batch | None = None) -> Tensor:
    """Embeddings (n × k) by the untrained method: the baseline that shows what training adds.

    The features that stand beside the layers are not trained, so the baseline has them too. For the default recipe,
    which has no layers, it is the encoder of the recipe ``encoder``, as wide as the embedding; for sets of graphs, that
    of the recipe ``graphs``.

    Args:
        data: the graph to embed.
        recipe: encoder, method and seed.
        part: the nodes that training would see; by default all.
    """
    part = data if part is None else part
    recipe = resolve_recipe(recipe, part)
    if isinstance(recipe.method, GraphBandSettings):
        recipe = Recipe.load("graphs").with_values({"directed": recipe.encoder.directed}).with_seed(recipe.train.seed)
    if isinstance(recipe.method, BandSettings):
        values = {"hidden": recipe.method.dim, "keep": 0.0, "directed": recipe.encoder.directed}
        recipe = Recipe.encoder_default().with_values(values).with_seed(recipe.train.seed)
        part, data = (
            (_with_unit_rows(batch) for batch in (part, data)) if part is not data else (_with_unit_rows(data),) * 2
        )
    method = untrained_method(data.x.shape[1], resolve_recipe(recipe, part), data.x.device)
    method.prepare(part, torch.Generator(data.x.device).manual_seed(recipe.train.seed))
    vectors = method.finish(part)
    return vectors if part is data else method.embed(data)


def embed_without_weights(data: Batch, recipe: Recipe) -> Tensor:
    """Embeddings (n × k) by the recipe's encoder without weights and activations: what smoothing alone gives.

    Every linear map is the identity. Features of more than 2,048 columns are replaced by their leading principal
    components. The parts of the embedding and their scales are the recipe's.
    """
    recipe = resolve_recipe(recipe, data)
    generator = torch.Generator(data.x.device).manual_seed(recipe.train.seed)
    n, d = data.x.shape
    hidden = d if d <= MAX_COLUMNS else min(recipe.encoder.hidden, n)
    encoder = replace(recipe.encoder, hidden=hidden, activation="none", norm="none", heads=1)
    # It is not trained, so the target that needs no preparation will do.
    method = untrained_method(d, Recipe(encoder, GIRLSettings(targets=("input",)), recipe.train), data.x.device)
    directions = torch.eye(d, device=data.x.device) if hidden == d else None
    if directions is None:
        directions, _ = principal_directions(data.x.__matmul__, data.x.t_matmul, (n, d), hidden, generator)
    assert isinstance(method, EncoderMethod)
    method.encoder.set_identity(directions)
    method.prepare(data, generator)
    return method.finish(data)


def _with_unit_rows(batch: Batch) -> Batch:
    """The batch with features of the same length in each row, as the recipe ``encoder`` has them."""
    return replace(batch, x=batch.x.normalized("l2"))
