from __future__ import annotations

import json

import numpy as np
import pytest

SMALL = [
    "--hidden",
    "16",
    "--rank",
    "16",
    "--target-rank",
    "8",
    "--epochs",
    "3",
    "--targets",
    "features",
    "neighborhood",
]


@pytest.fixture(scope="module")
def run(girl):
    done = girl("pretrain", "texas", "--protocol", "geom-gcn", "--out", "texas", *SMALL)
    assert done.returncode == 0, done.stderr
    return done


def test_pretrain_leaves_a_run_with_embeddings(girl, run):
    assert "texas: 183 nodes" in run.stdout
    assert "ρ̂ layer 1" in run.stdout
    config = json.loads((girl.folder / "texas" / "config.json").read_text())
    assert config["recipe"]["encoder"]["hidden"] == 16
    assert config["recipe"]["method"]["targets"] == ["features", "neighborhood"]
    assert config["recipe"]["train"]["lr"] == 0.002  # of the tuned recipe: what is not given stands
    assert len(np.load(girl.folder / "texas" / "embeddings.npy")) == 183


def test_the_same_command_finds_its_work_done_and_another_is_refused(girl, run):
    again = girl("pretrain", "texas", "--protocol", "geom-gcn", "--out", "texas", *SMALL)
    assert again.returncode == 0, again.stderr
    assert "epoch 1/3" not in again.stdout
    other = girl("pretrain", "texas", "--out", "texas", *SMALL, "--lr", "0.1")
    assert other.returncode == 2
    assert "holds another run" in other.stderr


def test_evaluate_shows_the_controls_beside_it(girl, run):
    done = girl("evaluate", "texas", "--splits", "2")
    assert done.returncode == 0, done.stderr
    for word in ("raw", "sgc", "untrained encoder", "GIRL", "±", "geom-gcn", "accuracy"):
        assert word in done.stdout
    rows = json.loads((girl.folder / "texas" / "scores.json").read_text())["rows"]
    assert all(len(row["test"]) == 2 for row in rows)


def test_a_recipe_from_a_file(girl):
    (girl.folder / "mine.yaml").write_text("encoder: {conv: sage, hidden: 8}\ntrain: {epochs: 2}\n")
    done = girl("pretrain", "texas", "--recipe", "mine.yaml", "--epochs", "1", "--rank", "8", "--out", "yaml")
    assert done.returncode == 0, done.stderr
    recipe = json.loads((girl.folder / "yaml" / "config.json").read_text())["recipe"]
    assert (recipe["encoder"]["conv"], recipe["encoder"]["hidden"], recipe["train"]["epochs"]) == ("sage", 8, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pretrain", "texsa", "--out", "x"], ["texsa", "texas"]),
        (["pretrain", "texas", "--protocol", "public", "--out", "x"], ["public", "geom-gcn"]),
        (["pretrain", "texas", "--recipe", "none.toml", "--out", "x"], ["none.toml", "no such file"]),
        (["pretrain", "texas", "--hidden", "0", "--out", "x"], ["hidden", "at least 1"]),
        (["evaluate", "nowhere"], ["nowhere", "girl pretrain"]),
        (["reproduce", "nodes", "--datasets", "coar"], ["coar", "cora"]),
        (["search", "digits"], ["digits", "node tables"]),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(girl, arguments, words):
    done = girl(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr
    assert not (girl.folder / "x").exists()
    assert not (girl.folder / "results").exists()


def test_stand_ins_say_so_and_inductive_training_sees_training_nodes_only(girl):
    made = girl("datasets", "make-stand-in", "ppi", "--scale", "0.005")
    assert made.returncode == 0, made.stderr
    done = girl("pretrain", "ppi", "--out", "ppi", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "stand-in" in done.stdout
    config = json.loads((girl.folder / "ppi" / "config.json").read_text())
    assert config["nodes"] < len(np.load(girl.folder / "ppi" / "embeddings.npy"))
    scores = girl("evaluate", "ppi")
    assert scores.returncode == 0, scores.stderr
    assert "micro-F1" in scores.stdout
    assert "stand-in" in scores.stdout


def test_another_method_by_its_name(girl):
    done = girl("methods")
    assert done.returncode == 0, done.stderr
    for word in ("girl", "dgi", "bgrl", "Thakoor", "temperature"):
        assert word in done.stdout
    small = ["--hidden", "16", "--epochs", "2"]
    done = girl("pretrain", "texas", "--method", "cca-ssg", "--set", "drop_features=0.5", *small, "--out", "other")
    assert done.returncode == 0, done.stderr
    assert "difference" in done.stdout
    method = json.loads((girl.folder / "other" / "config.json").read_text())["recipe"]["method"]
    assert method == {"name": "cca-ssg", "drop_features": 0.5, "drop_edges": 0.3, "decorrelation": 0.001}
    done = girl("evaluate", "other", "--splits", "1")
    assert done.returncode == 0, done.stderr
    assert "cca-ssg" in done.stdout
    assert "GIRL" not in done.stdout
    refused = girl("report", "other")
    assert refused.returncode == 2
    assert "given a run of cca-ssg, expected one of GIRL" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "bgrk"], "did you mean 'bgrl'"),
        (["--method", "bgrl", "--targets", "smooth"], "targets: given with another recipe"),
        (["--method", "bgrl", "--set", "drop-features-1=2"], "drop_features_1: given 2"),
        (["--method", "bgrl", "--set", "hide"], "expected NAME=VALUE"),
        (["--method", "bgrl", "--recipe", "paper"], "expected only one of them"),
        (["--method", "graphcl"], "expected a set of graphs"),
    ],
)
def test_mistakes_about_methods(girl, arguments, words):
    done = girl("pretrain", "texas", *arguments, "--out", "none")
    assert done.returncode == 2
    assert words in done.stderr
    assert not (girl.folder / "none").exists()


def test_sets_of_graphs_are_learned_and_judged_as_graphs(girl):
    small = ["--hidden", "8", "--epochs", "2"]
    done = girl("pretrain", "mutag", "--method", "graphcl", *small, "--out", "molecules")
    assert done.returncode == 0, done.stderr
    assert "mutag: 188 graphs, 3,371 nodes" in done.stdout
    assert np.load(girl.folder / "molecules" / "embeddings.npy").shape == (188, 24)
    done = girl("evaluate", "molecules", "--splits", "2")
    assert done.returncode == 0, done.stderr
    for word in ("bag of nodes", "untrained encoder", "graphcl", "svm", "10-fold"):
        assert word in done.stdout
    for command, words in (
        (["report", "molecules"], "given a run of graphcl, expected one of GIRL"),
        (["train", "mutag"], "given a set of 188 graphs"),
    ):
        refused = girl(*command)
        assert refused.returncode == 2
        assert words in refused.stderr


def test_a_set_of_graphs_has_a_report(girl):
    done = girl("pretrain", "mutag", "--hidden", "8", "--epochs", "2", "--out", "set")
    assert done.returncode == 0, done.stderr
    assert "girl report set" in done.stdout
    done = girl("report", "set")
    assert done.returncode == 0, done.stderr
    page = (girl.folder / "set" / "report.html").read_text(encoding="utf-8")
    for words in ("Each point is a graph", "bag of nodes", "188 labelled graphs", "number of nodes"):
        assert words in page
    assert "Is the graph in it?" not in page
