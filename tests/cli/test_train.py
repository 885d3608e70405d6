from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.helpers.pictures import drawn_fraction

SMALL = ["--hidden", "16", "--epochs", "6", "--lr", "0.01", "--protocol", "geom-gcn"]


@pytest.fixture(scope="module")
def runs(girl):
    for kind in ("none", "kr"):
        done = girl("train", "texas", "--depth", "4", "--regularizer", kind, "--watch", "3", *SMALL)
        assert done.returncode == 0, done.stderr
    return done


def test_train_leaves_a_model_and_its_scores(girl, runs):
    assert "texas: 183 nodes" in runs.stdout
    assert "validation" in runs.stdout
    folder = girl.folder / "runs" / "texas-kr-4"
    scores = json.loads((folder / "scores.json").read_text())
    assert scores["metric"] == "accuracy"
    assert 0 < scores["test"] <= 1
    config = json.loads((folder / "config.json").read_text())
    assert config["recipe"]["model"]["depth"] == 4
    history = json.loads((folder / "history.json").read_text())
    assert [noted["epoch"] for noted in history["observed"]] == [1, 3, 6]
    assert set(history["observed"][0]) == {"epoch", *(f"layer {i}" for i in range(1, 5))}


def test_the_same_command_finds_its_work_done(girl, runs):
    again = girl("train", "texas", "--depth", "4", "--regularizer", "kr", "--watch", "3", *SMALL)
    assert again.returncode == 0, again.stderr
    assert "epoch 1/6" not in again.stdout
    other = girl("train", "texas", "--depth", "4", "--out", "runs/texas-kr-4", *SMALL, "--weight", "3")
    assert other.returncode == 2
    assert "weight (1.0, now 3.0)" in other.stderr


def test_diagnose_draws_runs_side_by_side(girl, runs):
    done = girl("diagnose", "runs/texas-none-4", "runs/texas-kr-4", "--out", "labels")
    assert done.returncode == 0, done.stderr
    assert "features" in done.stdout
    found = json.loads((girl.folder / "labels.json").read_text())
    assert [len(run["layers"]) for run in found["runs"]] == [5, 5]
    assert all(0 < share < 2 for run in found["runs"] for share in run["layers"])
    assert 0.02 < drawn_fraction(girl.folder / "labels.png") < 0.9
    ElementTree.parse(girl.folder / "labels.svg")  # raises unless it is well-formed


def test_diagnose_reads_runs_without_labels_too(girl):
    made = girl("pretrain", "texas", "--out", "plain", "--epochs", "1", "--hidden", "8", "--protocol", "geom-gcn")
    assert made.returncode == 0, made.stderr
    done = girl("diagnose", "plain", "--out", "plain-labels")
    assert done.returncode == 0, done.stderr
    assert len(json.loads((girl.folder / "plain-labels.json").read_text())["runs"][0]["layers"]) == 2


@pytest.mark.parametrize("kind", ["weight_decay", "fully_adjacent"])
def test_every_regulariser_is_a_command(girl, kind):
    done = girl("train", "texas", "--depth", "2", "--regularizer", kind, *SMALL)
    assert done.returncode == 0, done.stderr
    assert f"texas-{kind}-2" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "texas", "--regularizer", "krr"], "krr"),
        (["train", "texas", "--depth", "0"], "depth: given 0"),
        (["train", "texsa"], "texas"),
        (["train", "texas", "--protocol", "public"], "public"),
        (["diagnose", "nowhere"], "nowhere: no finished run"),
        (["diagnose"], "RUNS"),
        (["evaluate", "runs/texas-kr-4"], "a run of `girl train`"),
    ],
)
def test_mistakes_are_one_line(girl, runs, arguments, words):
    done = girl(*arguments)
    assert done.returncode != 0
    assert words in (done.stderr + done.stdout)
    assert "Traceback" not in done.stderr
