from __future__ import annotations

import pytest
import torch
from sklearn.metrics import f1_score

from girl.errors import InputError
from girl.evaluation.metrics import accuracy, compare, micro_f1, roc_auc, summarize


def test_accuracy_is_the_fraction_of_correct_predictions():
    assert accuracy(torch.tensor([0, 1, 2, 1]), torch.tensor([0, 1, 1, 1])) == 0.75


def test_micro_f1_equals_that_of_scikit_learn():
    generator = torch.Generator().manual_seed(0)
    predicted, y = (torch.rand(50, 7, generator=generator) > cut for cut in (0.5, 0.7))
    assert micro_f1(predicted, y.float()) == pytest.approx(f1_score(y, predicted, average="micro"))


def test_micro_f1_without_positive_labels():
    none, one = torch.zeros(3, 2), torch.tensor([[1, 0], [0, 0], [0, 0]])
    assert micro_f1(none, none) == 1
    assert micro_f1(one, none) == 0


def test_auc_is_the_fraction_of_pairs_in_the_right_order():
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 2, (60,), generator=generator)
    scores = (torch.randn(60, generator=generator) + y).mul(4).round()  # rounded: some are equal
    gap = scores[y == 1].unsqueeze(1) - scores[y == 0]
    assert roc_auc(scores, y) == pytest.approx(float((gap > 0).double().mean() + (gap == 0).double().mean() / 2))
    assert roc_auc(-scores, y) == pytest.approx(1 - roc_auc(scores, y))


def test_a_summary_prints_as_in_tables():
    assert str(summarize([0.81, 0.82, 0.83])) == "82.00 ± 1.00"
    assert str(summarize([0.8123])) == "81.23"
    with pytest.raises(InputError, match="given none"):
        summarize([])


def test_paired_differences_cancel_the_difficulty_of_splits():
    base = [0.5, 0.7, 0.9, 0.6]
    better = [score + gain for score, gain in zip(base, (0.01, 0.02, 0.01, 0.02), strict=True)]
    result = compare(better, base)
    assert result.difference == pytest.approx(0.015)
    assert result.error == pytest.approx(0.01 / 3**0.5 / 2)
    assert str(result) == "+1.50 ± 0.29"
    assert str(compare([0.5], [0.6])) == "-10.00"
    with pytest.raises(InputError, match="given 1 and 2"):
        compare([0.1], [0.1, 0.2])
