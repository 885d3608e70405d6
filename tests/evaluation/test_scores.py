from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from girl import datasets, splits
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.evaluation.neighborhood import BAG, GIRL, UNTRAINED
from girl.evaluation.probe import probe
from girl.evaluation.scores import baseline_representations, check_inductive_protocol, evaluate_run, score_splits
from girl.training.batch import induced_batch, make_batch
from girl.training.recipe import Recipe
from girl.training.run import pretrain

PROTOCOL = "random-60-20-20"
RECIPE = Recipe.encoder_default().with_values({"hidden": 8, "epochs": 2})
N = 120


@pytest.fixture(scope="module")
def dataset() -> NodeDataset:
    """Two classes; features and edges depend on the class."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(N) % 2
    x = torch.randn(N, 6, generator=generator) + y[:, None]
    source = torch.randint(0, N, (400,), generator=generator)
    target = (source + 2 * torch.randint(1, N // 2, (400,), generator=generator)) % N
    return NodeDataset("pairs", Data(x=x, edge_index=torch.stack([source, target]), y=y), 2, protocols=(PROTOCOL,))


def train(dataset: NodeDataset, split: int | None = None):
    batch = make_batch(dataset.data, RECIPE.encoder)
    if split is not None:
        batch = induced_batch(batch, splits.get(PROTOCOL).split(dataset, split).train)
    return pretrain(batch, RECIPE, config={"protocol": PROTOCOL, "split": split or 0})


def test_a_row_has_the_score_of_each_split(dataset):
    rule = splits.get(PROTOCOL)
    row = score_splits("raw", dataset.data.x, dataset, rule, [0, 3])
    alone = [probe(dataset.data.x, dataset.data.y, rule.split(dataset, index), seed=index) for index in (0, 3)]
    assert [(score.val, score.test) for score in row.scores] == [(score.val, score.test) for score in alone]
    assert row.test.mean == pytest.approx(sum(score.test for score in alone) / 2)
    assert row.to_dict()["test"] == [score.test for score in alone]


@pytest.mark.parametrize("kind", ["linear", "mlp", "svm"])
def test_the_metric_is_that_of_the_dataset(kind, dataset):
    rule, x, y = splits.get(PROTOCOL), dataset.data.x, dataset.data.y
    row = score_splits("raw", x, replace(dataset, metric="AUC"), rule, [1], kind)
    alone = probe(x, y, rule.split(dataset, 1), kind, metric="AUC", seed=1)
    assert (row.metric, row.to_dict()["metric"]) == ("AUC", "AUC")
    assert (row.scores[0].val, row.scores[0].test) == (alone.val, alone.test)
    assert score_splits("raw", x, dataset, rule, [1], kind).metric == "accuracy"


def test_minesweeper_is_scored_by_auc_and_its_features_alone_say_little(mirror, cache):
    minesweeper = datasets.load("minesweeper", cache, mirror)
    row = score_splits("raw", minesweeper.data.x, minesweeper, splits.get("official"), [0, 1])
    assert row.metric == "AUC"
    assert 0.5 <= row.test.mean < 0.6


def test_a_run_is_scored_beside_its_baselines_on_the_same_splits(dataset):
    run = train(dataset)
    result = evaluate_run(run, dataset, splits=2)
    assert [row.representation for row in result.rows] == ["raw", "sgc", "hops", "ppr", UNTRAINED, GIRL]
    assert result.splits == [0, 1]
    assert result.probe == "linear"
    expected = score_splits(GIRL, run.vectors, dataset, splits.get(PROTOCOL), [0, 1])
    assert result.rows[-1].to_dict() == expected.to_dict()
    assert result.to_dict()["rows"][-1] == expected.to_dict()
    assert (result.to_dict()["dataset"], result.to_dict()["seed"]) == ("pairs", 0)


def test_inductive_data_is_scored_on_the_split_of_training_only(dataset):
    inductive = replace(dataset, inductive=True)
    result = evaluate_run(train(inductive, split=4), inductive, splits=10)
    assert result.splits == [4]
    with pytest.raises(InputError, match="is inductive"):
        evaluate_run(train(inductive, split=4), inductive, protocol="random-10-10-80")
    check_inductive_protocol(dataset, "random-10-10-80", [PROTOCOL])


def test_another_graph_than_that_of_training_is_refused(dataset):
    run = train(dataset)
    data = dataset.data.clone()
    data.edge_index = data.edge_index[:, 1:]
    with pytest.raises(InputError, match="a graph other than pairs"):
        evaluate_run(run, replace(dataset, data=data))
    with pytest.raises(InputError, match="given 0, expected at least 1"):
        evaluate_run(run, dataset, splits=0)


def test_the_baseline_of_a_set_of_graphs_is_the_bag_of_nodes():
    data = Data(
        x=torch.eye(4), edge_index=torch.zeros(2, 0).long(), y=torch.tensor([0, 1]), graph=torch.tensor([0, 0, 1, 1])
    )
    ((name, h),) = baseline_representations(NodeDataset("sets", data, 2))
    assert name == BAG
    assert h.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
