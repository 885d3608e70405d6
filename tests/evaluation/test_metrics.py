from __future__ import annotations

import pytest
import torch
from sklearn.metrics import f1_score

from girl.errors import InputError
from girl.evaluation.metrics import accuracy, compare, micro_f1, summarise


def test_accuracy():
    assert accuracy(torch.tensor([0, 1, 2, 1]), torch.tensor([0, 1, 1, 1])) == 0.75


def test_micro_f1_is_scikit_learns():
    generator = torch.Generator().manual_seed(0)
    guess, truth = (torch.rand(50, 7, generator=generator) > cut for cut in (0.5, 0.7))
    assert micro_f1(guess, truth.float()) == pytest.approx(f1_score(truth, guess, average="micro"))


def test_micro_f1_without_any_yes():
    none, some = torch.zeros(3, 2), torch.tensor([[1, 0], [0, 0], [0, 0]])
    assert micro_f1(none, none) == 1
    assert micro_f1(some, none) == 0


def test_summary_reads_as_in_tables():
    assert str(summarise([0.81, 0.82, 0.83])) == "82.00 ± 1.00"
    assert str(summarise([0.8123])) == "81.23"
    with pytest.raises(InputError, match="given none"):
        summarise([])


def test_pairs_cancel_what_they_share():
    base = [0.5, 0.7, 0.9, 0.6]
    better = [score + gain for score, gain in zip(base, (0.01, 0.02, 0.01, 0.02), strict=True)]
    found = compare(better, base)
    assert found.difference == pytest.approx(0.015)
    assert found.error == pytest.approx(0.01 / 3**0.5 / 2)
    assert str(found) == "+1.50 ± 0.29"
    assert str(compare([0.5], [0.6])) == "-10.00"
    with pytest.raises(InputError, match="given 1 and 2"):
        compare([0.1], [0.1, 0.2])
