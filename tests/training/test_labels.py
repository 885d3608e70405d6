from __future__ import annotations

import torch
from sklearn.metrics import accuracy_score, f1_score

from girl.training.labels import Labels

NODES = torch.arange(50)


def test_classes_are_scored_by_accuracy():
    logits = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    y = torch.arange(50) % 3
    labels = Labels(y, NODES[:0], NODES[:0], 3)
    assert labels.metric == "accuracy"
    assert labels.score(logits, NODES[10:40]) == accuracy_score(y[10:40], logits[10:40].argmax(1))


def test_several_labels_are_scored_by_micro_f1():
    logits = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    y = (torch.randn(50, 3, generator=torch.Generator().manual_seed(1)) > 0).long()
    labels = Labels(y, NODES[:0], NODES[:0], 3)
    assert labels.metric == "micro-F1"
    assert labels.score(logits, NODES) == f1_score(y, logits > 0, average="micro")
    assert labels.score(-torch.ones(50, 3), NODES) == 0
    assert Labels(0 * y, NODES, NODES, 3).score(-torch.ones(50, 3), NODES) == 1  # nothing to find, nothing found


def test_induced_labels_train_on_every_node():
    labels = Labels(torch.arange(50), NODES[::2], NODES[1::2], 50).induced(NODES[::2])
    assert labels.y.tolist() == list(range(0, 50, 2))
    assert labels.train.tolist() == list(range(25))
    assert len(labels.val) == 0
