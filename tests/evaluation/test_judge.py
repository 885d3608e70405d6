from __future__ import annotations

import time

import pytest
import torch
from torch_geometric.data import Data

from girl.errors import InputError
from girl.evaluation.controls import control
from girl.evaluation.judge import judge_batch
from girl.nn.encoder import EncoderSettings
from girl.training.batch import make_batch
from tests.helpers.clustered import clustered


@pytest.fixture(scope="module")
def batch():
    return make_batch(clustered(400), EncoderSettings(normalize="none"))


def noise(data):
    return torch.randn(data.num_nodes, 8, generator=torch.Generator().manual_seed(0))


def test_smoothed_features_are_better_than_raw_ones_and_noise_explains_nothing(batch):
    smooth = judge_batch(batch, lambda data: control("ppr", data, 12))
    raw = judge_batch(batch, lambda data: data.x.dense())
    nothing = judge_batch(batch, noise)
    assert smooth.score > raw.score > nothing.score
    for name, share in nothing.explained.items():
        assert abs(share) < 3 * nothing.stderr[name] + 0.01
    assert smooth.explained["neighbors"] > 3 * smooth.stderr["neighbors"]


def test_given_a_class_that_makes_columns_independent_what_knows_more_of_it_scores_higher():
    # Naive Bayes: E[hidden columns | Z] is a linear function of P(class | Z), so the share falls with the noise in Z.
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(300) % 2
    pairs = torch.randint(300, (2, 4500), generator=generator)  # neighbours prefer the other class
    pairs = pairs[:, (label[pairs[0]] != label[pairs[1]]) | (torch.rand(4500, generator=generator) < 0.2)]
    x = torch.randn(300, 16, generator=generator) + 2.0 * label.unsqueeze(1) * (torch.arange(16) % 2)
    data = make_batch(Data(x=x, edge_index=pairs), EncoderSettings(normalize="none"))
    noise = torch.randn(300, 1, generator=generator)
    results = [judge_batch(data, lambda d, s=s: label.unsqueeze(1) + s * noise, repeats=1) for s in (0.05, 0.6, 3)]
    for target in ("columns", "neighbors"):
        shares = [result.explained[target] for result in results]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > shares[-1] + 0.05
    assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)


def test_permuted_rows_explain_nothing(batch):
    order = torch.randperm(400, generator=torch.Generator().manual_seed(0))
    result = judge_batch(batch, lambda data: control("ppr", data, 12)[order])
    assert all(abs(share) < 3 * result.stderr[name] + 0.01 for name, share in result.explained.items())


def test_noise_columns_do_not_change_the_ranking(batch):
    data = clustered(400)
    data.x = torch.cat([data.x, torch.randn(400, 6, generator=torch.Generator().manual_seed(5))], 1)
    wide = make_batch(data, EncoderSettings(normalize="none"))
    functions = [lambda d: control("ppr", d, 12), lambda d: d.x.dense(), noise]
    ranks = [sorted(range(3), key=lambda i: judge_batch(b, functions[i]).score) for b in (batch, wide)]
    assert ranks[0] == ranks[1]


def test_a_copied_column_does_not_make_everything_explained():
    x = torch.randn(300, 10, generator=torch.Generator().manual_seed(0))
    data = clustered(300)
    data.x = torch.cat([x, x], 1)  # each column twice: one copy may be hidden, the other visible
    result = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: d.x.dense())
    assert result.explained["columns"] < 0.05


@pytest.mark.parametrize("sign", [1, -1])
def test_a_near_copy_of_each_column_is_hidden_with_it(sign):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 10, generator=generator)
    data = clustered(300)
    data.x = torch.cat([x, sign * 3 * x + 0.1 * torch.randn(300, 10, generator=generator)], 1)
    result = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: d.x.dense(), repeats=1)
    assert result.explained["columns"] < 0.05


def test_columns_of_one_category_are_not_divided():
    categories = torch.randint(10, (2, 300), generator=torch.Generator().manual_seed(0))
    data = clustered(300)
    data.x = torch.cat([torch.eye(10)[category] for category in categories], 1)  # two categories, one-hot
    alone = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: d.x.dense(), repeats=1)
    assert alone.explained["columns"] > 0.05  # the hidden columns follow from the visible ones of the same category
    data.column_group = torch.arange(20) // 10
    grouped = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: d.x.dense(), repeats=1)
    assert "columns" not in grouped.explained
    assert "2 columns are too few to hide some" in grouped.note


def test_the_judge_of_a_representation_sees_no_hidden_column(batch):
    seen = []

    def look(data):
        seen.append(int((data.x.dense().abs().sum(0) > 0).sum()))
        return data.x.dense()

    judge_batch(batch, look, repeats=2)
    assert seen == [9, 9]  # of 12


@pytest.mark.slow
def test_the_cost_is_linear_in_the_nodes():
    def seconds(n):
        large = make_batch(clustered(n), EncoderSettings(normalize="none"))
        start = time.process_time()
        result = judge_batch(large, lambda d: d.x.dense(), rows=300, repeats=1)
        assert set(result.explained) == {"columns", "neighbors", "positions"}
        return time.process_time() - start

    seconds(1000)
    assert seconds(60_000) < 8 * seconds(15_000)


def test_the_same_seed_gives_the_same_judgement(batch):
    first, second = (judge_batch(batch, lambda data: data.x.dense(), seed=3) for _ in range(2))
    assert first == second
    assert "hidden feature columns" in str(first)


def test_what_cannot_be_judged_is_said():
    data = clustered()
    data.x = data.x[:, :5]
    few = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: d.x.dense())
    assert set(few.explained) == {"neighbors", "positions"}
    assert "too few to hide" in few.note
    data.x, data.num_nodes = None, 120
    none = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: control("positions", d, 8))
    assert set(none.explained) == {"positions"}
    data.x = torch.eye(120).to_sparse_csr()
    ids = judge_batch(make_batch(data, EncoderSettings(normalize="none")), lambda d: control("positions", d, 8))
    assert "only name the nodes" in ids.note


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda d: torch.zeros(400, 3), "the same row for all nodes"),
        (lambda d: torch.zeros(5, 3), "expected 400 rows"),
        (lambda d: torch.full((400, 2), torch.nan), "finite"),
    ],
)
def test_a_representation_of_no_use_is_refused(batch, function, words):
    with pytest.raises(InputError, match=words):
        judge_batch(batch, function)
