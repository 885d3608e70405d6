from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl.nn.encoder import EncoderSettings
from girl.training import cached_batch as module
from girl.training.batch import fingerprint, induced_batch, make_batch
from girl.training.cached_batch import cached_batch, cached_part


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "MIN_EDGES", 1)
    monkeypatch.setenv("GIRL_DATA", str(tmp_path))


def graph(sparse=False, weighted=False):
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(40, 6, generator=generator)
    data = Data(x=torch.relu(x - 0.7).to_sparse_csr() if sparse else x, num_nodes=40)
    data.edge_index = torch.randint(40, (2, 150), generator=generator)
    if weighted:
        data.edge_weight = torch.rand(150, generator=generator) + 0.1
    return data


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_a_cached_batch_equals_a_new_one(tmp_path, monkeypatch, sparse, weighted, directed):
    data, settings = graph(sparse, weighted), EncoderSettings(normalize="zscore", directed=directed)
    expected = make_batch(data, settings)
    nodes = torch.arange(0, 40, 3)
    part = induced_batch(expected, nodes)
    for again in (False, True):
        if again:
            monkeypatch.setattr(module, "make_batch", lambda *_: pytest.fail("built again"))
            monkeypatch.setattr(module, "induced_batch", lambda *_: pytest.fail("built again"))
        batch = cached_batch(data, settings)
        assert fingerprint(batch) == fingerprint(expected)
        assert (batch.graph.symmetric, batch.graph.weighted) == (not directed, weighted)
        assert fingerprint(cached_part(batch, nodes)) == fingerprint(part)
    assert len(list((tmp_path / "batches").iterdir())) == 2


def test_another_graph_or_setting_is_another_file(tmp_path):
    data = graph()
    cached_batch(data, EncoderSettings())
    cached_batch(data, EncoderSettings(hidden=7))  # does not change the batch
    assert len(list((tmp_path / "batches").iterdir())) == 1
    cached_batch(data, EncoderSettings(normalize="none"))
    cached_batch(data, EncoderSettings(directed=True))
    data.x[0, 0] += 1
    cached_batch(data, EncoderSettings())
    assert len(list((tmp_path / "batches").iterdir())) == 4


def test_a_damaged_file_is_made_again(tmp_path):
    data = graph()
    expected = fingerprint(cached_batch(data, EncoderSettings()))
    (path,) = (tmp_path / "batches").iterdir()
    for damage in (b"", path.read_bytes()[:-9], b"something else"):
        path.write_bytes(damage)
        with pytest.warns(UserWarning, match="made again"):
            assert fingerprint(cached_batch(data, EncoderSettings())) == expected
        assert fingerprint(cached_batch(data, EncoderSettings())) == expected


def test_a_batch_that_cannot_be_cached_is_used_all_the_same(tmp_path):
    (tmp_path / "batches").write_text("in the way")
    with pytest.warns(UserWarning, match="could not be cached"):
        batch = cached_batch(graph(), EncoderSettings())
    assert fingerprint(batch) == fingerprint(make_batch(graph(), EncoderSettings()))


def test_small_graphs_are_not_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MIN_EDGES", 1000)
    whole = cached_batch(graph(), EncoderSettings())
    cached_part(whole, torch.arange(9))
    assert not (tmp_path / "batches").exists()
