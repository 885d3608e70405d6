"""A dataset's labels and one of its splits, as supervised training wants them."""

from __future__ import annotations

from torch import Tensor

from girl.datasets.dataset import NodeDataset
from girl.evaluation.metrics import accuracy, micro_f1
from girl.splits import Split
from girl.training.supervised import Labels


def labels_of(dataset: NodeDataset, split: Split) -> Labels:
    """Labels of the dataset's nodes, to be learned from the training nodes of a split."""
    measure = of_several if dataset.multilabel else of_classes
    dataset.check_nodes("supervised training")
    return Labels(dataset.data.y, split.train, split.val, dataset.classes, measure)


def of_classes(logits: Tensor, y: Tensor) -> float:
    """Accuracy of the most likely class."""
    return accuracy(logits.argmax(1), y)


def of_several(logits: Tensor, y: Tensor) -> float:
    """Micro-F1 of labels of more than even odds."""
    return micro_f1(logits > 0, y)
