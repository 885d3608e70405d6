from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
import torch

from girl.errors import InputError
from girl.evaluation.quality import measure
from girl.reporting import map_data as mapdata
from girl.reporting import page
from girl.reporting.map_data import column
from girl.reporting.page import ReportData, render, write_report

HOSTILE = "</script><b id=evil>&amp;\u2028"


def communities(n: int = 90, groups: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """An embedding, edges and groups: nodes of a group are joined and alike."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(n) % groups
    h = torch.randn(groups, 6, generator=generator)[group] * 2 + torch.randn(n, 6, generator=generator)
    near = (h[:, None] - h).norm(dim=2).fill_diagonal_(torch.inf).topk(min(4, n - 1), largest=False).indices
    return h, torch.stack([torch.arange(n).repeat_interleave(near.shape[1]), near.flatten()]), group


def make_report(n: int = 90, **changes: object) -> ReportData:
    h, edges, group = communities(n)
    columns = pl.DataFrame(
        {
            "team": [None if i == 7 else ["red", "green", "blue"][g] for i, g in enumerate(group.tolist())],
            "age": [None if i == 3 else 20.5 + i for i in range(n)],
            "active": [i % 2 == 0 for i in range(n)],
            "joined": [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(n)],
            "tags": [["a"] * (i % 3) for i in range(n)],
            "motto": [f"<i>motto</i> {i}" for i in range(n)],
        }
    )
    given = {
        "title": "A graph & its <people>",
        "facts": {"nodes": n, "edges": 1234, "share": 0.12345, "file": "edges.csv"},
        "notes": ["3 edges led <nowhere>"],
        "ids": [HOSTILE, *(f"node {i}" for i in range(1, n))],
        "embedding": h.numpy(),
        "edge_index": edges.numpy(),
        "columns": columns,
        "label": "team",
        "history": [{"layer 1": 0.9 - 0.01 * i, "layer 2": 0.8 - 0.02 * i} for i in range(20)],
        "settings": {"seed": 0, "encoder": {"hidden": 6, "conv": "gcn"}},
        "usage": 'import polars as pl\ntable = pl.read_parquet("<here>.parquet")\n',
    }
    given |= changes
    if "quality" not in given:
        labels = given["columns"][given["label"]] if given["label"] else None
        given["quality"] = measure(given["embedding"], given["edge_index"], features=h[:, :2], labels=labels)
    return ReportData(**given)


def make_set_report(n: int = 40, **changes: object) -> ReportData:
    """A report on a set of graphs."""
    sizes = {"nodes": np.arange(10, 10 + n), "edges": np.arange(20, 20 + n)}
    h, _, group = communities(n)
    names = [["red", "green", "blue"][g] for g in group.tolist()]
    given = {
        "ids": [HOSTILE, *(f"graph {i}" for i in range(1, n))],
        "edge_index": None,
        "sizes": sizes,
        "quality": measure(h, None, features=h[:, :2], labels=names),
    }
    return make_report(n, **given | changes)


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, and their text."""

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


def test_an_embedding_that_must_not_be_written_to_is_read(report, html):
    fixed = report.embedding.copy()
    fixed.flags.writeable = False
    assert measure(fixed, report.edge_index).width == 6
    assert render(replace(report, embedding=fixed)) == html


def test_what_users_wrote_stays_text(html):
    seen = Page(html)
    assert seen.data["ids"][0] == HOSTILE
    assert len(seen.scripts) == 3
    assert not any(attributes.get("id") == "evil" for _, attributes in seen.elements)
    assert not any(tag in ("people", "nowhere", "here", "i") for tag, _ in seen.elements)
    assert "A graph & its <people>" in seen.words
    assert "3 edges led <nowhere>" in seen.words
    assert '"<here>.parquet"' in seen.words


def test_nothing_is_fetched(html):
    seen = Page(html)
    links = [a[key] for _, a in seen.elements for key in ("src", "href", "srcset", "action") if key in a]
    assert all(re.match(r"#|data:", link or "") for link in links)
    policy = next(a["content"] for _, a in seen.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    own = html.replace(page.get_plotlyjs(), "")
    assert set(re.findall(r"https?://[^\s\"')]+", own)) == {"http://www.w3.org/2000/svg"}
    assert html.count("plotly.js v") == 1


def test_each_part_is_there(html):
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


def test_neighbours_are_the_nearest_and_the_joined(report, html):
    data = Page(html).data
    h = torch.from_numpy(report.embedding)
    unit = torch.nn.functional.normalize(h - h.mean(0))
    likeness = (unit @ unit.T).fill_diagonal_(-2)
    assert data["near"] == likeness.topk(10).indices.tolist()
    assert data["nearness"][5] == pytest.approx(likeness[5].topk(10).values.tolist(), abs=1e-3)
    for node in range(len(h)):
        both = report.edge_index[:, (report.edge_index == node).any(0)]
        others = set(both.ravel().tolist()) - {node}
        assert data["degree"][node] == len(others)
        best = sorted(others, key=lambda other: -float(likeness[node, other]))[:10]
        assert data["joined"][node] == best


def test_the_map_is_the_principal_plane(report, html):
    x, y = Page(html).data["maps"]["principal components"]
    plane = np.array([x, y]).T
    centred = report.embedding - report.embedding.mean(0)
    values = np.linalg.svd(centred, compute_uv=False)
    assert np.linalg.norm(plane, axis=0) == pytest.approx(values[:2], rel=1e-3)
    assert abs(np.corrcoef(plane.T)[0, 1]) < 1e-3
    assert Page(html).data["held"] == pytest.approx((values[:2] ** 2).sum() / (values**2).sum(), abs=1e-3)


def test_large_graphs_are_drawn_in_part_and_that_is_said(report, monkeypatch):
    monkeypatch.setattr(mapdata, "SHOWN", 40)
    seen = Page(render(report))
    data = seen.data
    assert len(data["ids"]) == 40 == len(data["near"]) == len(data["columns"][0]["codes"])
    assert "40 of 90 nodes are on the map" in seen.words
    place = {name: at for at, name in enumerate(data["ids"])}
    away = {other for row in data["joined"] for other in row if isinstance(other, str)}
    assert away
    assert away <= set(report.ids) - set(place)
    assert max(max(row) for row in data["near"]) < 40
    assert all(other not in place for other in away)


def test_umap_is_a_second_plane_where_it_is_installed(report, monkeypatch):
    class Stand:
        def __init__(self, **settings):
            assert settings["random_state"] == 0

        def fit_transform(self, h):
            return h[:, :2]

    monkeypatch.setattr(mapdata, "find_spec", lambda name: object())
    monkeypatch.setattr(mapdata, "import_module", lambda name: type("umap", (), {"UMAP": Stand}))
    assert list(Page(render(report)).data["maps"]) == ["principal components", "UMAP"]


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("edges", ["none", "some"])
def test_small_graphs_without_anything_have_a_page(n, edges):
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
        "ids": [str(i) for i in range(n)],
    }
    h, index = bare["embedding"], bare["edge_index"]
    seen = Page(render(make_report(90, **bare, quality=measure(h, index))))
    assert len(seen.data["ids"]) == n
    assert "Nothing was trained" in seen.words
    assert "No column was named as the label" in seen.words


def test_a_collapse_is_said_at_the_top(report):
    same = np.ones_like(report.embedding)
    seen = Page(render(replace(report, embedding=same, quality=measure(same, report.edge_index))))
    assert any(a.get("role") == "alert" for _, a in seen.elements)
    assert seen.words.index("has collapsed") < seen.words.index("What went in")


def test_a_sound_embedding_raises_no_alarm(html):
    assert not any(a.get("role") == "alert" for _, a in Page(html).elements)


def test_columns_that_are_empty_are_left_out_and_many_are_cut():
    assert column(pl.Series("a", [None, None])) is None
    report = make_report(30, columns=pl.DataFrame({f"c{i}": np.arange(30.0) for i in range(70)}), label=None)
    seen = Page(render(report))
    assert len(seen.data["columns"]) == 2 + mapdata.COLUMNS
    assert "10 further columns are left out" in seen.words


def test_a_report_that_fails_leaves_the_old_one(report, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(InputError):
        write_report(path, replace(report, ids=report.ids[:5]))
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_of_a_set_each_point_is_a_graph():
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
    assert not {"joined", "degree", "likeness"} & set(data)
    words = " ".join(seen.words.split())
    for told in ("Each point is a graph", "Graphs by their number of nodes", "bag of nodes", "one row for each graph"):
        assert told in words
    for other in ("Is the graph in it?", "Neighbours in the graph", "raw features", "nearest within", "each node:"):
        assert other not in words
    parts = [a["id"] for tag, a in seen.elements if tag == "section" and "id" in a]
    assert parts == ["data", "training", "map", "quality", "use"]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_sets_have_a_page(n):
    h = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    bare = {"columns": pl.DataFrame(), "label": None, "embedding": h, "quality": measure(h, None)}
    assert len(Page(render(make_set_report(n, **bare))).data["ids"]) == n


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_index": None}, "expected edges of nodes, or sizes of graphs"),
        ({"ids": []}, "no nodes"),
        ({"ids": ["a", "b"]}, "expected 2 rows"),
        ({"columns": pl.DataFrame({"team": ["red"]})}, "given 1 rows, expected 90"),
        ({"label": "colour"}, "given 'colour', expected one of team"),
    ],
)
def test_mistakes_are_named(report, change, message):
    with pytest.raises(InputError, match=message):
        render(replace(report, **change))
