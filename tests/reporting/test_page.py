from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
import torch

from girl.evaluation.quality import measure
from girl.reporting import map_data, page
from girl.reporting.page import render, write_report
from girl.reporting.report_data import ReportData
from tests.helpers.reports import HOSTILE, communities, make_report, make_set_report


class Page(HTMLParser):
    """What a browser sees: elements with their attributes, and their text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words = ""
        self._in: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._in = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._in = None

    def handle_data(self, data):
        if self._in == "script":
            self.scripts[-1] += data
        elif self._in != "style":
            self.words += data

    @property
    def data(self):
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def report() -> ReportData:
    return make_report()


@pytest.fixture(scope="module")
def html(report) -> str:
    return render(report)


def test_the_same_report_gives_the_same_bytes(report, html, tmp_path):
    write_report(tmp_path / "report.html", report)
    assert (tmp_path / "report.html").read_bytes() == html.encode()


def test_a_read_only_embedding_is_accepted(report, html):
    fixed = report.embedding.copy()
    fixed.flags.writeable = False
    assert measure(fixed, report.edge_index).width == 6
    assert render(replace(report, embedding=fixed)) == html


def test_strings_from_the_data_stay_text(html):
    seen = Page(html)
    assert seen.data["ids"][0] == HOSTILE
    assert len(seen.scripts) == 3
    assert not any(attributes.get("id") == "evil" for _, attributes in seen.elements)
    assert not any(tag in ("people", "nowhere", "here", "i") for tag, _ in seen.elements)
    assert "A graph & its <people>" in seen.words
    assert "3 edges led <nowhere>" in seen.words
    assert '"<here>.parquet"' in seen.words


def test_the_page_loads_nothing(html):
    seen = Page(html)
    links = [a[key] for _, a in seen.elements for key in ("src", "href", "srcset", "action") if key in a]
    assert all(re.match(r"#|data:", link or "") for link in links)
    policy = next(a["content"] for _, a in seen.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    own = html.replace(page.get_plotlyjs(), "")
    assert set(re.findall(r"https?://[^\s\"')]+", own)) == {"http://www.w3.org/2000/svg"}
    assert html.count("plotly.js v") == 1


def test_every_section_is_there(html):
    seen = Page(html)
    parts = [a["id"] for tag, a in seen.elements if tag == "section" and "id" in a]
    assert parts == ["data", "training", "map", "quality", "use"]
    for words in ("1,234", "edges.csv", "layer 2", "seen in training", "raw features", "of 6", "hidden"):
        assert words in seen.words


def test_ids_of_the_page_are_unique_and_labels_lead_somewhere(html):
    seen = Page(html)
    ids = [a["id"] for _, a in seen.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in seen.elements:
        for key in ("for", "aria-labelledby", "aria-controls"):
            assert attributes.get(key, ids[0]) in ids


def test_nearest_nodes_and_graph_neighbors_are_sorted_by_similarity(report, html):
    data = Page(html).data
    h = torch.from_numpy(report.embedding)
    unit = torch.nn.functional.normalize(h - h.mean(0))
    similarity = (unit @ unit.T).fill_diagonal_(-2)
    assert data["nearest"] == similarity.topk(10).indices.tolist()
    assert data["nearest_similarity"][5] == pytest.approx(similarity[5].topk(10).values.tolist(), abs=1e-3)
    for node in range(len(h)):
        both = report.edge_index[:, (report.edge_index == node).any(0)]
        others = set(both.ravel().tolist()) - {node}
        assert data["degree"][node] == len(others)
        best = sorted(others, key=lambda other: -float(similarity[node, other]))[:10]
        assert data["neighbors"][node] == best


def test_the_map_is_the_principal_plane(report, html):
    x, y = Page(html).data["maps"]["principal components"]
    plane = np.array([x, y]).T
    centred = report.embedding - report.embedding.mean(0)
    values = np.linalg.svd(centred, compute_uv=False)
    assert np.linalg.norm(plane, axis=0) == pytest.approx(values[:2], rel=1e-3)
    assert abs(np.corrcoef(plane.T)[0, 1]) < 1e-3
    assert Page(html).data["explained"] == pytest.approx((values[:2] ** 2).sum() / (values**2).sum(), abs=1e-3)


def test_a_large_graph_is_sampled_and_the_page_says_so(report, monkeypatch):
    monkeypatch.setattr(map_data, "MAX_SHOWN", 40)
    seen = Page(render(report))
    data = seen.data
    assert len(data["ids"]) == 40 == len(data["nearest"]) == len(data["columns"][0]["codes"])
    assert "random sample of 40 of 90 nodes" in seen.words
    shown = set(data["ids"])
    away = {other for row in data["neighbors"] for other in row if isinstance(other, str)}
    assert away
    assert away <= set(report.ids) - shown
    assert max(max(row) for row in data["nearest"]) < 40
    assert not away & shown


def test_umap_is_a_second_projection_if_installed(report, monkeypatch):
    class FakeUMAP:
        def __init__(self, **settings):
            assert settings["random_state"] == 0

        def fit_transform(self, h):
            return h[:, :2]

    monkeypatch.setattr(map_data, "find_spec", lambda name: object())
    monkeypatch.setattr(map_data, "import_module", lambda name: type("umap", (), {"UMAP": FakeUMAP}))
    assert list(Page(render(report)).data["maps"]) == ["principal components", "UMAP"]


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("edges", ["none", "some"])
def test_small_graphs_without_columns_or_training_have_a_page(n, edges):
    _, some, _ = communities(n) if n > 1 else (None, torch.zeros(2, 0, dtype=torch.int64), None)
    bare = {
        "columns": pl.DataFrame(),
        "label": None,
        "history": [],
        "notes": [],
        "facts": {},
        "settings": {},
        "edge_index": some.numpy() if edges == "some" else np.zeros((2, 0), dtype=np.int64),
        "embedding": np.random.default_rng(0).normal(size=(n, 1 if n == 2 else 4)).astype(np.float32),
        "ids": pl.Series("id", range(n)),
    }
    h, index = bare["embedding"], bare["edge_index"]
    seen = Page(render(make_report(90, **bare, quality=measure(h, index))))
    assert len(seen.data["ids"]) == n
    assert "No model was trained" in seen.words
    assert "No label column was given" in seen.words


def test_a_collapsed_embedding_gives_an_alert_at_the_top(report):
    same = np.ones_like(report.embedding)
    seen = Page(render(replace(report, embedding=same, quality=measure(same, report.edge_index))))
    assert any(a.get("role") == "alert" for _, a in seen.elements)
    assert seen.words.index("has collapsed") < seen.words.index("Your data as girl read it")


def test_a_good_embedding_gives_no_alert(html):
    assert not any(a.get("role") == "alert" for _, a in Page(html).elements)


def test_the_number_of_columns_is_limited():
    report = make_report(30, columns=pl.DataFrame({f"c{i}": np.arange(30.0) for i in range(70)}), label=None)
    seen = Page(render(report))
    assert len(seen.data["columns"]) == 2 + map_data.MAX_COLUMNS
    assert "10 more columns are not shown" in seen.words


def test_a_failed_report_leaves_the_old_one(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(np.linalg.LinAlgError):
        write_report(path, replace(report, embedding=np.full_like(report.embedding, np.nan)))
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_each_point_of_a_set_is_a_graph():
    seen = Page(render(make_set_report()))
    data = seen.data
    assert data["unit"] == "graph"
    assert [column["name"] for column in data["columns"][:4]] == [
        "team",
        "cluster (k-means)",
        "number of nodes",
        "number of edges",
    ]
    assert data["columns"][3]["values"][:2] == [20, 21]
    assert not {"neighbors", "degree", "neighbor_similarity"} & set(data)
    words = " ".join(seen.words.split())
    for phrase in ("Each point is a graph", "Graphs by number of nodes", "bag of nodes", "one row for each graph"):
        assert phrase in words
    for phrase in ("Does it keep the graph?", "Neighbours in the graph", "raw features", "nearest within", "each node"):
        assert phrase not in words
    parts = [a["id"] for tag, a in seen.elements if tag == "section" and "id" in a]
    assert parts == ["data", "training", "map", "quality", "use"]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_sets_have_a_page(n):
    h = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    bare = {"columns": pl.DataFrame(), "label": None, "embedding": h, "quality": measure(h, None)}
    assert len(Page(render(make_set_report(n, **bare))).data["ids"]) == n
