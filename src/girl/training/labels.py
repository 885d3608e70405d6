"""Labels and split masks for supervised training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from sklearn.metrics import f1_score
from torch import Tensor

from girl.datasets.dataset import NodeDataset
from girl.splits import Split


@dataclass(frozen=True)
class Labels:
    """Labels of the nodes, and which of them train and validate."""

    y: Tensor
    """Classes (n), or 0/1 for each of c labels (n × c)."""
    train: Tensor
    """Indices of the training nodes."""
    val: Tensor
    """Indices of the validation nodes."""
    classes: int

    @classmethod
    def of(cls, dataset: NodeDataset, split: Split, device: torch.device | str = "cpu") -> Labels:
        """The labels of a dataset under one of its splits."""
        dataset.check_nodes("supervised training")
        return cls(dataset.data.y.to(device), split.train.to(device), split.val.to(device), dataset.classes)

    @property
    def multilabel(self) -> bool:
        """Whether a node has several labels."""
        return self.y.dim() == 2

    @property
    def metric(self) -> str:
        """The name of the score."""
        return "micro-F1" if self.multilabel else "accuracy"

    def score(self, logits: Tensor, nodes: Tensor) -> float:
        """Accuracy, or micro-F1 at a threshold of one half, of some nodes, from the logits of all (n × classes)."""
        predicted, y = logits[nodes].cpu(), self.y[nodes].cpu()
        if self.multilabel:
            return float(f1_score(y.numpy() > 0, predicted.numpy() > 0, average="micro", zero_division=1.0))
        return float((predicted.argmax(1) == y).double().mean())

    def induced(self, nodes: Tensor) -> Labels:
        """The labels of a subgraph of training nodes: all of them train, none validates."""
        train = torch.arange(len(nodes), device=nodes.device)
        return replace(self, y=self.y[nodes], train=train, val=nodes[:0])
