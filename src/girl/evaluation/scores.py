"""What a representation is worth: its probe beside raw features, propagated features and the untrained encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from girl.datasets.dataset import NodeDataset
from girl.evaluation.baselines import CONTROLS, bag_of_nodes, raw
from girl.evaluation.metrics import Summary, summarise
from girl.evaluation.neighborhood import BAG
from girl.evaluation.probe import Kind, Score, probe
from girl.evaluation.svm import Machine
from girl.splits import Protocol


@dataclass(frozen=True)
class Row:
    """The scores of one representation under one protocol and one probe, one for each split."""

    representation: str
    protocol: str
    kind: Kind
    scores: tuple[Score, ...]

    @property
    def metric(self) -> str:
        """What was measured."""
        return self.scores[0].metric

    @property
    def test(self) -> Summary:
        """Mean and spread of the test scores."""
        return summarise([score.test for score in self.scores])

    @property
    def val(self) -> Summary:
        """Mean and spread of the validation scores."""
        return summarise([score.val for score in self.scores])

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "representation": self.representation,
            "protocol": self.protocol,
            "probe": self.kind,
            "metric": self.metric,
            "val": [score.val for score in self.scores],
            "test": [score.test for score in self.scores],
        }


def score_splits(
    name: str, h: Tensor, dataset: NodeDataset, protocol: Protocol, splits: Sequence[int], kind: Kind = "linear"
) -> Row:
    """Probe one representation on several splits."""
    y, multilabel = dataset.data.y, dataset.multilabel
    machine = Machine(h.detach().cpu()) if kind == "svm" else None
    found = [
        probe(h, y, protocol.split(dataset, index), kind, multilabel=multilabel, seed=index, machine=machine)
        for index in splits
    ]
    return Row(name, protocol.name, kind, tuple(found))


def controls(dataset: NodeDataset) -> Iterator[tuple[str, Tensor]]:
    """Representations that need no training: what any method has to beat, beside its own untrained encoder."""
    if dataset.graphs:
        yield BAG, bag_of_nodes(raw(dataset.data), dataset.data.graph, dataset.graphs)
        return
    for name, control in CONTROLS.items():
        yield name, control(dataset.data)
