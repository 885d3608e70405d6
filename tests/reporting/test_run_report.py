from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from torch_geometric.data import Data

from girl import datasets
from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.evaluation.quality import measure
from girl.reporting.page import render
from girl.reporting.report_data import ReportData
from girl.reporting.run_report import (
    dataset_labels,
    graph_sizes,
    report_data_from_dataset,
    report_data_from_folder,
    report_data_from_memory,
    save_report_inputs,
)
from girl.tables import InputSettings, read_graph, write_embeddings
from girl.training.batch import make_batch
from girl.training.recipe import Recipe
from girl.training.run import Run
from girl.training.untrained import untrained_method
from tests.helpers.reports import make_report, make_set_report

RECIPE = Recipe.encoder_default().with_values({"hidden": 8})


def a_run(history: list[dict[str, float]]) -> Run:
    run = Run(RECIPE, untrained_method(5, RECIPE))
    run.history.epochs = history
    return run


def assert_same(one: ReportData, two: ReportData) -> None:
    for field in fields(ReportData):
        a, b = getattr(one, field.name), getattr(two, field.name)
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b), field.name
        elif isinstance(a, pl.DataFrame | pl.Series):
            assert a.equals(b), field.name
        elif field.name == "sizes" and a is not None:
            assert all(np.array_equal(a[name], b[name]) for name in ("nodes", "edges"))
        else:
            assert a == b, field.name


@pytest.mark.parametrize("make", [make_report, make_set_report])
def test_a_report_is_the_same_from_memory_and_from_the_folder(make, tmp_path):
    run = a_run([{"layer 1": 0.5}])
    path = tmp_path / "vectors.parquet"
    data = replace(
        make(), title=tmp_path.name, embeddings=path, history=run.history.epochs, settings=run.recipe.to_dict()
    )
    write_embeddings(path, data.ids, data.embedding, data.columns)
    save_report_inputs(tmp_path, data)
    loaded = report_data_from_folder(tmp_path, run)
    assert_same(loaded, data)
    assert render(loaded) == render(data)


@pytest.mark.parametrize("name", ["nodes.parquet", "edges.safetensors", "quality.json", "summary.json"])
def test_a_missing_or_damaged_file_is_reported(name, tmp_path):
    data = replace(make_report(), embeddings=tmp_path / "gone.parquet")
    save_report_inputs(tmp_path, data)
    with pytest.raises(InputError, match="which is gone"):
        report_data_from_folder(tmp_path, a_run([]))
    (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="incomplete|damaged"):
        report_data_from_folder(tmp_path, a_run([]))
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match="girl embed"):
        report_data_from_folder(tmp_path, a_run([]))


def test_a_users_graph_is_shown_with_its_ids_columns_and_label():
    edges = pl.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"]})
    nodes = pl.DataFrame({"name": ["a", "b", "c"], "age": [1.0, 2.0, 4.0], "team": ["x", "y", "x"]})
    graph = read_graph(edges, nodes, InputSettings(label="team"))
    vectors = np.eye(3, dtype=np.float16)
    quality = measure(vectors.astype(np.float32), graph.data.edge_index)
    data = report_data_from_memory(graph, vectors, a_run([]), quality, "my graph", Path("e.csv"))
    assert data.ids.to_list() == ["a", "b", "c"]
    assert data.ids.name == "name"
    assert data.columns.columns == ["age", "team"]
    assert (data.label, data.title, data.facts) == ("team", "my graph", graph.counts)
    assert data.embedding.dtype == np.float32
    assert data.embeddings.is_absolute()


def test_a_named_dataset_is_shown_with_its_counts():
    dataset = replace(datasets.load("digits"), stand_in=True)
    batch = make_batch(dataset.data, RECIPE.encoder)
    vectors = dataset.data.x[:, :6].numpy()
    quality = measure(vectors, dataset.data.edge_index)
    data = report_data_from_dataset(dataset, vectors, a_run([]), quality, batch, Path("e.npy"))
    assert (data.facts["nodes"], data.facts["features"], data.facts["classes"]) == (1797, 64, 10)
    assert data.columns["label"].to_list() == [str(y) for y in dataset.data.y.tolist()]
    assert "stand-in" in data.notes[0]


def test_missing_labels_are_null_and_multilabel_data_has_no_label_column():
    dataset = NodeDataset("few", Data(y=torch.tensor([2, -1, 0])), 3)
    assert dataset_labels(dataset).to_list() == ["2", None, "0"]
    assert dataset_labels(replace(dataset, multilabel=True)) is None


def test_sizes_count_an_edge_once_and_ignore_loops():
    edge_index = torch.tensor([[0, 1, 1, 3, 3], [1, 0, 2, 3, 4]])
    data = Data(edge_index=edge_index, graph=torch.tensor([0, 0, 0, 1, 1]), graphs=3)
    sizes = graph_sizes(data)
    assert sizes["nodes"].tolist() == [3, 2, 0]
    assert sizes["edges"].tolist() == [2, 1, 0]
