from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
import torch

import girl
from girl import Recipe
from girl.api.report import report as report_run
from girl.errors import InputError
from girl.tables import InputSettings, read_embeddings

SMALL = {"hidden": 8, "epochs": 2, "rank": 16, "target_rank": 8}


def tables(n=60, seed=0):
    """People of three towns who know whom they live with."""
    rng = np.random.default_rng(seed)
    town = np.arange(n) % 3
    a, b = rng.integers(0, n, (2, 12 * n))
    same = (town[a] == town[b]) & (a != b)
    edges = pl.DataFrame({"from": [f"p{i}" for i in a[same]], "to": [f"p{i}" for i in b[same]]})
    nodes = pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.normal(40 + 5 * town, 3),
            "town": [["Ulm", "Bonn", "Kiel"][i] for i in town],
            "member": rng.random(n) < 0.5,
        }
    )
    return edges, nodes


@pytest.fixture
def files(tmp_path):
    edges, nodes = tables()
    edges.write_csv(tmp_path / "edges.csv")
    nodes.write_parquet(tmp_path / "nodes.parquet")
    return tmp_path


def embed(files, *args, label="town", **extra):
    settings = extra.pop("settings", InputSettings(label=label))
    return girl.embed(files / "edges.csv", files / "nodes.parquet", *args, settings=settings, options=SMALL, **extra)


def test_files_and_tables_in_memory_are_the_same(files):
    from_files = embed(files)
    in_memory = girl.embed(*tables(), settings=InputSettings(label="town"), options=SMALL)
    assert np.array_equal(from_files.vectors, in_memory.vectors)
    assert from_files.ids.to_list() == tables()[1]["name"].to_list()
    assert from_files.table().columns[:2] == ["name", "e0"]
    assert from_files.folder is None


def test_labels_never_reach_the_embedding(files):
    edges, nodes = tables()
    shuffled = nodes.with_columns(pl.col("town").shuffle(seed=1))
    first = girl.embed(edges, nodes, settings=InputSettings(label="town"), options=SMALL)
    second = girl.embed(edges, shuffled, settings=InputSettings(label="town"), options=SMALL)
    assert np.array_equal(first.vectors, second.vectors)


def test_a_run_holds_all_that_there_is_to_keep(files):
    made = embed(files, out=files / "e.csv", folder=files / "run")
    kept = {path.name for path in (files / "run").iterdir()}
    expected = {"model.safetensors", "config.json", "history.json", "nodes.parquet", "summary.json", "report.html"}
    assert expected <= kept
    assert "e.csv" not in kept
    ids, vectors = read_embeddings(files / "e.csv")
    assert ids.to_list() == made.ids.to_list()
    assert np.allclose(vectors, made.vectors, atol=1e-6)
    page = made.report.read_text(encoding="utf-8")
    assert "Ulm" in page
    # The report is made anew from the folder alone, to the byte.
    made.report.unlink()
    assert report_run(files / "run").read_text(encoding="utf-8") == page
    (files / "e.csv").unlink()
    with pytest.raises(InputError, match="which is gone"):
        report_run(files / "run")


def test_a_saved_model_embeds_the_same_graph_the_same_and_another_one(files):
    made = embed(files, folder=files / "run", report=False)
    again = girl.embed(
        files / "edges.csv",
        files / "nodes.parquet",
        model=files / "run",
        settings=InputSettings(label="town"),
        half=True,
    )
    assert again.vectors.dtype == np.float16
    assert np.allclose(again.vectors, made.vectors, atol=1e-3)
    edges, nodes = tables(30, seed=1)
    other = girl.embed(edges, nodes.with_columns(new=pl.lit(1)), model=files / "run")
    assert other.vectors.shape == (30, made.vectors.shape[1])
    assert any("new" in note for note in other.graph.notes)
    with pytest.raises(InputError, match="age"):
        girl.embed(edges, nodes.drop("age"), model=files / "run")
    with pytest.raises(InputError, match="one or the other"):
        girl.embed(edges, nodes, model=files / "run", options={"lr": 0.1})


def test_without_a_node_table_features_come_from_the_graph(files):
    made = girl.embed(files / "edges.csv", options=SMALL, folder=files / "run", report=False)
    assert made.graph.counts["columns from the graph itself"] == made.graph.data.x.shape[1] > 20
    with pytest.raises(InputError, match="positions in its own graph"):
        girl.embed(files / "edges.csv", model=files / "run")
    roles = girl.embed(files / "edges.csv", options=SMALL, structure="roles", folder=files / "roles", report=False)
    again = girl.embed(files / "edges.csv", model=files / "roles")
    assert np.allclose(again.vectors, roles.vectors, atol=1e-5)
    with pytest.raises(InputError, match="given none for a graph without features"):
        girl.embed(files / "edges.csv", structure="none", options=SMALL)
    with pytest.raises(InputError, match="given 'rolls', expected one of"):
        girl.embed(files / "edges.csv", structure="rolls")


def test_columns_of_the_graph_beside_those_of_the_table(files):
    made = embed(files, structure="both")
    assert (
        made.graph.data.x.shape[1]
        == embed(files).graph.data.x.shape[1] + made.graph.counts["columns from the graph itself"]
    )


@pytest.mark.parametrize("out", ["e.xlsx", "run"])
def test_a_mistake_leaves_nothing_behind(files, out):
    (files / "run").mkdir()
    with pytest.raises(InputError):
        embed(files, out=files / out, folder=files / "new")
    with pytest.raises(InputError, match="twon"):
        embed(files, label="twon", folder=files / "new")
    assert not (files / "new").exists()


def test_files_and_memory_are_not_mixed(files):
    edges, nodes = tables()
    with pytest.raises(InputError, match="expected files too"):
        girl.embed(files / "edges.csv", nodes)
    with pytest.raises(InputError, match="expected tables in memory too"):
        girl.embed(edges, files / "nodes.parquet")


def test_another_graph_in_the_folder_is_refused(files):
    embed(files, folder=files / "run", report=False)
    tables(seed=5)[0].write_csv(files / "edges.csv")
    with pytest.raises(InputError, match="fingerprint"):
        embed(files, folder=files / "run", report=False)
    embed(files, folder=files / "run", report=False, resume="never")


def test_the_estimator_and_embed_make_the_same_choice(files):
    """One default: the same graph, the same bands, the same vectors."""
    made = girl.embed(files / "edges.csv", files / "nodes.parquet", settings=InputSettings(label="town"))
    assert made.run.recipe.name == "bands"
    fitted = girl.GIRL(normalize="none").fit(made.graph.data)
    assert fitted.run_.choice == made.run.choice
    assert np.allclose(fitted.embedding_, made.vectors, atol=1e-6)


def test_a_default_run_is_kept_replayed_and_not_overwritten_by_another_graph(files):
    options = {"settings": InputSettings(label="town"), "folder": files / "run", "report": False}
    made = girl.embed(files / "edges.csv", files / "nodes.parquet", **options)
    again = girl.embed(files / "edges.csv", files / "nodes.parquet", **options)
    assert np.array_equal(made.vectors, again.vectors)
    loaded = girl.GIRL.load(files / "run")
    assert loaded.run_.choice == made.run.choice
    assert np.allclose(loaded.transform(made.graph.data), made.vectors, atol=1e-5)
    tables(seed=5)[0].write_csv(files / "edges.csv")
    with pytest.raises(InputError, match="fingerprint"):
        girl.embed(files / "edges.csv", files / "nodes.parquet", **options)


def test_a_graph_without_a_node_table_has_positions_and_roles(files):
    made = girl.embed(files / "edges.csv", folder=files / "run")
    assert "positions" in made.report.read_text(encoding="utf-8")
    assert set(made.run.choice.scales) == {"positions", "roles"}
    assert np.isfinite(made.vectors).all()
    assert made.vectors.std() > 0


def test_directed_weighted_edges_with_odd_nodes(tmp_path):
    """Isolated, missing and doubled things are counted, and none of them stops the work."""
    edges = pl.DataFrame({"u": [1, 1, 2, 3, 3, 9], "v": [2, 2, 1, 3, 1, 1], "weight": [1.0, 2.0, 1.0, 5.0, 0.5, 1.0]})
    nodes = pl.DataFrame({"id": [1, 2, 3, 4], "x": [0.1, None, 3.0, 2.0], "c": ["a", "b", None, "a"]})
    made = girl.embed(edges, nodes, settings=InputSettings(directed=True), options=SMALL)
    assert made.ids.to_list() == [1, 2, 3, 4, 9]
    assert np.isfinite(made.vectors).all()
    counts = made.graph.counts
    assert (counts["duplicate edges"], counts["self-loops"], counts["isolated nodes"]) == (1, 1, 1)
    assert made.graph.data.edge_weight is not None


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import test_embedding
test_embedding.embed_long(Path(sys.argv[1]), sys.argv[3])
"""
LONG = SMALL | {"epochs": 200, "save_every": 1}


def embed_long(folder, what):
    graph = tables() if what == "one graph" else molecules()[:2]
    settings = None if what == "one graph" else InputSettings(graph="molecule")
    girl.embed(*graph, folder=folder, settings=settings, options=LONG, report=False)


@pytest.mark.parametrize("what", ["one graph", "a set of graphs"])
def test_a_killed_run_goes_on_to_the_same_vectors(what, tmp_path):
    here = str(__file__).rsplit("/", 1)[0]
    command = [sys.executable, "-c", CHILD, str(tmp_path / "run"), here, what]
    child = subprocess.Popen(command)
    checkpoints = tmp_path / "run" / "checkpoints"
    while child.poll() is None and not (checkpoints.exists() and any(checkpoints.iterdir())):
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert not (tmp_path / "run" / "embeddings.parquet").exists()
    for name in ("run", "straight"):
        embed_long(tmp_path / name, what)
    found = [read_embeddings(tmp_path / name / "embeddings.parquet")[1] for name in ("run", "straight")]
    assert np.array_equal(*found)


def test_a_report_on_a_named_graph(tmp_path):
    from girl.training.batch import make_batch
    from girl.training.context import Context
    from girl.training.run import pretrain

    digits = girl.datasets.load("digits")
    recipe = Recipe.encoder_default().with_values(SMALL)
    whole = make_batch(digits.data, recipe.encoder)
    run = pretrain(whole, recipe, Context(folder=tmp_path), {"dataset": "digits"})
    page = report_run(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "digits" in text
    assert torch.isfinite(run.embed(whole)).all()


def molecules(count=20, seed=0):
    """Rings and paths of atoms, as tables of edges, of nodes and of graphs."""
    rng = np.random.default_rng(seed)
    edges, nodes, graphs = [], [], []
    for index in range(count):
        name, n, ring = f"m{index}", int(rng.integers(4, 8)), index % 2
        edges += [(name, i, i + 1) for i in range(n - 1)] + ([(name, n - 1, 0)] if ring else [])
        nodes += [(name, i, "CNO"[int(rng.integers(3))]) for i in range(n)]
        graphs.append((name, ["path", "ring"][ring], n))
    return (
        pl.DataFrame(edges, schema=["molecule", "source", "target"], orient="row"),
        pl.DataFrame(nodes, schema=["molecule", "id", "atom"], orient="row"),
        pl.DataFrame(graphs, schema=["molecule", "shape", "atoms"], orient="row"),
    )


MOLECULE = InputSettings(graph="molecule", label="shape")


@pytest.fixture
def molecule_files(tmp_path):
    for frame, name in zip(molecules(), ("edges", "nodes", "graphs"), strict=True):
        frame.write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def embed_set(files, **extra):
    options = {"settings": MOLECULE, "options": SMALL} | extra
    return girl.embed(files / "edges.csv", files / "nodes.csv", graphs=files / "graphs.csv", **options)


@pytest.mark.parametrize("out", ["e.parquet", "e.csv", "e.npy", "e.h5ad"])
def test_a_set_of_graphs_has_a_row_for_each(out, molecule_files):
    made = embed_set(molecule_files, out=molecule_files / out, folder=molecule_files / "run", report=out == "e.csv")
    assert made.vectors.shape == (20, 24)
    assert made.run.recipe.encoder.conv == "gin"
    ids, vectors = read_embeddings(molecule_files / out)
    assert ids.to_list() == [f"m{index}" for index in range(20)]
    assert np.allclose(vectors, made.vectors, atol=1e-6)
    in_memory = girl.embed(*molecules()[:2], graphs=molecules()[2], settings=MOLECULE, options=SMALL)
    assert np.array_equal(in_memory.vectors, made.vectors)
    if made.report is not None:
        page = made.report.read_text(encoding="utf-8")
        assert "Each point is a graph" in page
        assert "number of edges" in page
        # The report is made anew from the folder alone, to the byte.
        made.report.unlink()
        assert report_run(molecule_files / "run").read_text(encoding="utf-8") == page


def test_a_model_of_a_set_embeds_other_graphs(molecule_files):
    made = embed_set(molecule_files, folder=molecule_files / "run", report=False)
    edges, nodes, _ = molecules()
    few = ["m3", "m4"]
    some = [frame.filter(pl.col("molecule").is_in(few)) for frame in (edges, nodes)]
    other = girl.embed(*some, model=molecule_files / "run", settings=InputSettings(graph="molecule"))
    assert np.allclose(other.vectors, made.vectors[3:5], atol=1e-5)
    with pytest.raises(InputError, match="trained on a set of graphs, given one graph"):
        girl.embed(edges.drop("molecule"), model=molecule_files / "run")
    people = girl.embed(*tables(), options=SMALL, folder=molecule_files / "one", report=False)
    assert not people.graph.is_set
    with pytest.raises(InputError, match="trained on one graph, given a set of graphs"):
        girl.embed(*some, model=molecule_files / "one", settings=InputSettings(graph="molecule"))
    with pytest.raises(InputError, match="atom"):
        girl.embed(
            some[0], some[1].drop("atom"), model=molecule_files / "run", settings=InputSettings(graph="molecule")
        )


def test_a_graphs_roles_do_not_depend_on_the_others(molecule_files):
    settings = InputSettings(graph="molecule")
    made = girl.embed(
        molecule_files / "edges.csv", settings=settings, options=SMALL, folder=molecule_files / "run", report=False
    )
    assert made.run.recipe.name == "girl"
    assert made.graph.counts["columns from the graph itself"] == made.graph.data.x.shape[1] == 9
    some = molecules()[0].filter(pl.col("molecule") == "m7")
    alone = girl.embed(some, model=molecule_files / "run", settings=settings)
    assert np.allclose(alone.vectors, made.vectors[7], atol=1e-5)
    for structure in ("positions", "both"):
        with pytest.raises(InputError, match=f"given {structure} for a set of graphs, expected roles"):
            girl.embed(some, settings=settings, structure=structure)
    with pytest.raises(InputError, match="given none for a graph without features, expected roles"):
        girl.embed(some, settings=settings, structure="none", options=SMALL)


def test_the_default_of_a_set_needs_neither_features_nor_a_recipe(molecule_files):
    settings = InputSettings(graph="molecule")
    bare = girl.embed(molecule_files / "edges.csv", settings=settings, folder=molecule_files / "bare")
    assert bare.run.recipe.name == "graph-bands"
    assert bare.graph.data.x is None
    made = embed_set(molecule_files, options={}, folder=molecule_files / "run")
    page = made.report.read_text(encoding="utf-8")
    assert "surroundings of hidden nodes" in page
    assert len(made.vectors) == 20
    edges, nodes, _ = molecules()
    some = [frame.filter(pl.col("molecule").is_in(["m3", "m4"])) for frame in (edges, nodes)]
    other = girl.embed(*some, model=molecule_files / "run", settings=settings)
    assert np.allclose(other.vectors, made.vectors[3:5], atol=1e-4)


def test_labels_of_graphs_never_reach_the_embedding(molecule_files):
    edges, nodes, graphs = molecules()
    first = embed_set(molecule_files)
    shuffled = graphs.with_columns(pl.col("shape").shuffle(seed=1), atoms=0)
    second = girl.embed(edges, nodes, graphs=shuffled, settings=MOLECULE, options=SMALL)
    assert np.array_equal(first.vectors, second.vectors)


def test_a_table_of_graphs_needs_graphs(molecule_files):
    edges, nodes, graphs = molecules()
    with pytest.raises(InputError, match="--graphs: given a table of graphs for one graph"):
        girl.embed(edges, nodes, graphs=graphs)
    with pytest.raises(InputError, match="graphs: given a file for edges in memory"):
        girl.embed(edges, nodes, graphs=molecule_files / "graphs.csv", settings=MOLECULE)
    with pytest.raises(InputError, match="graphs: given a table in memory for edges in"):
        girl.embed(molecule_files / "edges.csv", graphs=graphs, settings=MOLECULE)
