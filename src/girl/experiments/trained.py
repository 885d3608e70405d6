"""A training as experiments record it: representations, and what they took."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from girl.experiments.memory import forget_peak, peak, resident
from girl.methods.base import Batch
from girl.train.recipe import Recipe
from girl.train.run import pretrain


def trained(whole: Batch, recipe: Recipe) -> tuple[Tensor, dict[str, Any]]:
    """Representations, and seconds, epochs, gigabytes beyond what was there before, and losses of their training."""
    forget_peak()
    before = resident()
    run = pretrain(whole, recipe)
    h = run.embed(whole)
    return h, {
        "train_seconds": round(run.history.seconds, 3),
        "epochs": len(run.history.epochs),
        "train_gb": round((peak() - before) / 1e9, 3),
        "stopped": run.history.stopped,
        "loss": [round(sum(terms.values()), 5) for terms in run.history.epochs],
    }
