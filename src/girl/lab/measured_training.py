"""A training as experiments record it: the embedding, what it took, and the validation score along the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from girl.graph.batch import Batch
from girl.lab.peak_memory import peak_bytes, reset_peak, resident_bytes
from girl.methods.base import Method
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.state import History

#: Scores are taken after epochs 1, 4, 16, ...: each costs a probe.
GROWTH = 4

#: A score this close to the best one has reached it.
TOLERANCE = 0.005


class ValidationCurve:
    """The validation score of the embedding during training.

    Args:
        batch: the graph.
        score: gives the validation score of an embedding.
    """

    def __init__(self, batch: Batch, score: Callable[[Tensor], float]) -> None:
        self.batch, self.score = batch, score
        self.points: list[dict[str, float]] = []
        """With the keys epoch, seconds and val."""
        self.peak = 0
        """Of the training's memory until now, in bytes."""
        self._next = 1

    def __call__(self, method: Method, history: History) -> None:
        """Called after every epoch: add a point, if it is time to."""
        if len(history.epochs) < self._next:
            return
        self._next *= GROWTH
        self.peak = max(self.peak, peak_bytes())
        self.add(method.finish(self.batch), history)
        reset_peak()  # the probe's memory is not the training's

    def add(self, h: Tensor, history: History) -> None:
        """Add the score of an embedding; it replaces one of the same epoch."""
        point = {"epoch": len(history.epochs), "seconds": round(history.seconds, 3), "val": self.score(h)}
        self.points = [one for one in self.points if one["epoch"] != point["epoch"]] + [point]

    @property
    def best_seconds(self) -> float:
        """Seconds of training until the first score within half a point of the best."""
        enough = max(point["val"] for point in self.points) - TOLERANCE
        return next(point["seconds"] for point in self.points if point["val"] >= enough)


def train_measured(batch: Batch, recipe: Recipe, score: Callable[[Tensor], float]) -> tuple[Tensor, dict[str, Any]]:
    """The embedding after training, and its record: seconds, epochs, memory beyond the data, losses and scores.

    Args:
        batch: the graph.
        recipe: what is trained, and how.
        score: gives the validation score of an embedding.
    """
    reset_peak()
    before = resident_bytes()
    curve = ValidationCurve(batch, score)
    run = pretrain(batch, recipe, callback=curve)
    assert run.vectors is not None  # of a run that was just trained
    peak = max(curve.peak, peak_bytes())
    curve.add(run.vectors, run.history)
    return run.vectors, {
        "train_seconds": round(run.history.seconds, 3),
        "epochs": len(run.history.epochs),
        "train_gb": round((peak - before) / 1e9, 3),
        "stopped": run.history.stopped,
        "loss": [round(sum(terms.values()), 5) for terms in run.history.epochs],
        "looks": curve.points,
        "best_seconds": curve.best_seconds,
    }
