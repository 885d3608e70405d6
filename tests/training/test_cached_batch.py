"""Training graphs that are kept in the cache."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from girl.nn.encoder import EncoderSettings
from girl.training import cached_batch as kept
from girl.training.batch import fingerprint, induced_batch, make_batch
from girl.training.cached_batch import kept_batch, kept_part


@pytest.fixture(autouse=True)
def all_are_large(monkeypatch):
    monkeypatch.setattr(kept, "KEPT", 1)


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
def test_a_kept_graph_is_the_graph(tmp_path, monkeypatch, sparse, weighted, directed):
    data, settings = graph(sparse, weighted), EncoderSettings(normalise="zscore", directed=directed)
    expected = make_batch(data, settings)
    nodes = torch.arange(0, 40, 3)
    part = induced_batch(expected, nodes)
    for again in (False, True):
        if again:
            monkeypatch.setattr(kept, "make_batch", lambda *_: pytest.fail("made again"))
            monkeypatch.setattr(kept, "induced_batch", lambda *_: pytest.fail("made again"))
        found = kept_batch(data, settings, folder=tmp_path)
        assert fingerprint(found) == fingerprint(expected)
        assert (found.graph.symmetric, found.graph.weighted) == (not directed, weighted)
        assert fingerprint(kept_part(found, nodes, folder=tmp_path)) == fingerprint(part)
    assert len(list(tmp_path.iterdir())) == 2


def test_another_graph_or_setting_is_another_file(tmp_path):
    data = graph()
    kept_batch(data, EncoderSettings(), folder=tmp_path)
    kept_batch(data, EncoderSettings(hidden=7), folder=tmp_path)  # it does not change the graph
    assert len(list(tmp_path.iterdir())) == 1
    kept_batch(data, EncoderSettings(normalise="none"), folder=tmp_path)
    kept_batch(data, EncoderSettings(directed=True), folder=tmp_path)
    data.x[0, 0] += 1
    kept_batch(data, EncoderSettings(), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_damaged_file_is_made_anew(tmp_path):
    data = graph()
    expected = fingerprint(kept_batch(data, EncoderSettings(), folder=tmp_path))
    (path,) = tmp_path.iterdir()
    for damage in (b"", path.read_bytes()[:-9], b"something else"):
        path.write_bytes(damage)
        with pytest.warns(UserWarning, match="made anew"):
            assert fingerprint(kept_batch(data, EncoderSettings(), folder=tmp_path)) == expected
        assert fingerprint(kept_batch(data, EncoderSettings(), folder=tmp_path)) == expected


def test_a_graph_that_cannot_be_kept_is_used_all_the_same(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(UserWarning, match="could not be kept"):
        found = kept_batch(graph(), EncoderSettings(), folder=tmp_path / "file" / "folder")
    assert fingerprint(found) == fingerprint(make_batch(graph(), EncoderSettings()))


def test_small_graphs_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "KEPT", 1000)
    whole = kept_batch(graph(), EncoderSettings(), folder=tmp_path)
    kept_part(whole, torch.arange(9), folder=tmp_path)
    assert not list(tmp_path.iterdir())
