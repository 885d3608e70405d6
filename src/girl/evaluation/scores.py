"""Probe scores of embeddings beside their baselines: raw features, propagated features and the untrained encoder."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from girl import splits as protocols
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.evaluation.baselines import BASELINES, bag_of_nodes
from girl.evaluation.metrics import Summary, summarize
from girl.evaluation.neighborhood import BAG, GIRL, UNTRAINED
from girl.evaluation.probe import Kind, Score, probe
from girl.evaluation.svm import KernelSVM
from girl.splits import Protocol
from girl.training.batch import fingerprint
from girl.training.cached_batch import cached_batch, cached_part
from girl.training.run import Run
from girl.training.untrained import embed_untrained


@dataclass(frozen=True)
class Row:
    """The scores of one representation under one protocol and one probe, one for each split."""

    representation: str
    protocol: str
    kind: Kind
    scores: tuple[Score, ...]

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.scores[0].metric

    @property
    def test(self) -> Summary:
        """Mean and standard deviation of the test scores."""
        return summarize([score.test for score in self.scores])

    @property
    def val(self) -> Summary:
        """Mean and standard deviation of the validation scores."""
        return summarize([score.val for score in self.scores])

    def to_dict(self) -> dict[str, Any]:
        """The row as plain values for JSON."""
        return {
            "representation": self.representation,
            "protocol": self.protocol,
            "probe": self.kind,
            "metric": self.metric,
            "val": [score.val for score in self.scores],
            "test": [score.test for score in self.scores],
        }


@dataclass(frozen=True)
class Evaluation:
    """The scores of a run's embedding and of its baselines, the embedding last."""

    dataset: NodeDataset
    protocol: str
    probe: Kind
    splits: list[int]
    rows: list[Row]
    seed: int
    """The seed of the run's training."""

    @property
    def title(self) -> str:
        """Dataset, protocol, probe and number of splits."""
        count = len(self.splits)
        return f"{self.dataset.title}, {self.protocol}, {self.probe} probe, {count} split{'s' if count > 1 else ''}"

    def __str__(self) -> str:
        """A line for each representation, with mean and standard deviation of the test score in percent."""
        width = max(len(row.representation) for row in self.rows)
        lines = [f"{row.representation:<{width}}  {row.test}" for row in self.rows]
        return "\n".join([f"{self.title}: test {self.rows[0].metric}", *lines])

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values for JSON."""
        return {
            "dataset": self.dataset.name,
            "stand_in": self.dataset.stand_in,
            "splits": self.splits,
            "seed": self.seed,
            "rows": [row.to_dict() for row in self.rows],
        }


def score_splits(
    name: str, h: Tensor, dataset: NodeDataset, protocol: Protocol, splits: Sequence[int], kind: Kind = "linear"
) -> Row:
    """Probe one representation on several splits."""
    y, multilabel, metric = dataset.data.y, dataset.multilabel, dataset.metric
    svm = KernelSVM(h.detach().cpu()) if kind == "svm" else None
    scores = [
        probe(h, y, protocol.split(dataset, index), kind, multilabel=multilabel, metric=metric, seed=index, svm=svm)
        for index in splits
    ]
    return Row(name, protocol.name, kind, tuple(scores))


def baseline_representations(dataset: NodeDataset) -> Iterator[tuple[str, Tensor]]:
    """Representations that need no training, by name: what any method, and its untrained encoder, has to beat."""
    if dataset.graphs:
        yield BAG, bag_of_nodes(dataset.data)
        return
    for name, baseline in BASELINES.items():
        yield name, baseline(dataset.data)


def evaluate_run(
    run: Run, dataset: NodeDataset, *, protocol: str | None = None, probe: Kind | None = None, splits: int = 10
) -> Evaluation:
    """Probe a run's embedding and its baselines on the same splits.

    Args:
        run: a run of `girl pretrain` on the dataset.
        dataset: the dataset, as :func:`girl.datasets.load` returns it.
        protocol: the name of the split protocol; by default the run's.
        probe: the kind of probe; by default ``"linear"``, for sets of graphs ``"svm"``.
        splits: at most this many splits. On inductive data only the split that the run was trained on is used: its
            training saw test nodes of the others.
    """
    if splits < 1:
        raise InputError(f"splits: given {splits}, expected at least 1")
    trained_protocol = run.config.get("protocol", dataset.protocols[0])
    rule = protocols.get(protocol or trained_protocol)
    check_inductive_protocol(dataset, rule.name, [trained_protocol])
    chosen = [run.config.get("split", 0)] if dataset.inductive else list(range(min(splits, rule.count(dataset))))
    batch = cached_batch(dataset.data, run.recipe.encoder)
    seen = cached_part(batch, rule.split(dataset, chosen[0]).train) if dataset.inductive else batch
    if run.config.get("fingerprint") != fingerprint(seen):
        raise InputError(
            f"run: it was trained on a graph other than {dataset.title} as it is now: another stand-in, version or "
            "recipe. Run the `girl pretrain` command again with another output folder"
        )
    kind: Kind = probe or ("svm" if dataset.graphs else "linear")
    rows = [score_splits(name, h, dataset, rule, chosen, kind) for name, h in baseline_representations(dataset)]
    rows.append(score_splits(UNTRAINED, embed_untrained(batch, run.recipe, seen), dataset, rule, chosen, kind))
    name = GIRL if run.recipe.name in ("girl", "bands", "graph-bands") else run.recipe.name
    rows.append(score_splits(name, run.embed(batch), dataset, rule, chosen, kind))
    return Evaluation(dataset, rule.name, kind, chosen, rows, run.recipe.train.seed)


def check_inductive_protocol(dataset: NodeDataset, protocol: str, allowed: Collection[str]) -> None:
    """Refuse a protocol whose test nodes inductive training has seen."""
    if dataset.inductive and protocol not in allowed:
        raise InputError(
            f"protocol: given {protocol!r}, expected {' or '.join(map(repr, allowed))}: {dataset.name} is inductive, "
            "and training sees that protocol's training nodes"
        )
