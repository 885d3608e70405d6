"""A training as experiments record it: representations, what they took, and what they were worth on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from girl.graph.batch import Batch
from girl.lab.memory import forget_peak, peak, resident
from girl.methods.encoder_method import EncoderMethod
from girl.training.recipe import Recipe
from girl.training.run import pretrain
from girl.training.state import History

#: Looks on the way are after epochs 1, 4, 16, ...: each costs a probe.
GROWTH = 4

#: A look this close to the best one has reached it.
CLOSE = 0.005


class Looks:
    """What representations are worth during training, on validation nodes.

    Args:
        whole: the graph.
        judge: gives the validation score of representations.
    """

    def __init__(self, whole: Batch, judge: Callable[[Tensor], float]) -> None:
        self.whole, self.judge = whole, judge
        self.seen: list[dict[str, float]] = []
        self.most = 0
        self._next = 1

    def __call__(self, method: EncoderMethod, history: History) -> None:
        """Look, if it is time to."""
        if len(history.epochs) < self._next:
            return
        self._next *= GROWTH
        self.most = max(self.most, peak())
        self.add(method.finish(self.whole), history)
        forget_peak()  # the probe's memory is not the training's

    def add(self, h: Tensor, history: History) -> None:
        """Look at representations that are there."""
        found = {"epoch": len(history.epochs), "seconds": round(history.seconds, 3), "val": self.judge(h)}
        self.seen = [one for one in self.seen if one["epoch"] != found["epoch"]] + [found]

    @property
    def best_seconds(self) -> float:
        """Seconds of training until the first look that is as good as the best, but for half a point."""
        enough = max(look["val"] for look in self.seen) - CLOSE
        return next(look["seconds"] for look in self.seen if look["val"] >= enough)


def trained(whole: Batch, recipe: Recipe, judge: Callable[[Tensor], float]) -> tuple[Tensor, dict[str, Any]]:
    """Representations, and seconds, epochs, gigabytes beyond what was there before, losses and looks of their training.

    Args:
        whole: the graph.
        recipe: what is trained.
        judge: gives the validation score of representations.
    """
    forget_peak()
    before = resident()
    looks = Looks(whole, judge)
    run = pretrain(whole, recipe, callback=looks)
    h = run.embed(whole)
    most = max(looks.most, peak())
    looks.add(h, run.history)
    return h, {
        "train_seconds": round(run.history.seconds, 3),
        "epochs": len(run.history.epochs),
        "train_gb": round((most - before) / 1e9, 3),
        "stopped": run.history.stopped,
        "loss": [round(sum(terms.values()), 5) for terms in run.history.epochs],
        "looks": looks.seen,
        "best_seconds": looks.best_seconds,
    }
