"""Reports on small graphs, with ids and columns that look like markup."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import torch

from girl.evaluation.quality import measure
from girl.reporting.report_data import ReportData

HOSTILE = "</script><b id=evil>&amp;\u2028"


def communities(n: int = 90, groups: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """An embedding, edges and groups; nodes of a group are similar and often connected."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(n) % groups
    h = torch.randn(groups, 6, generator=generator)[group] * 2 + torch.randn(n, 6, generator=generator)
    nearest = (h[:, None] - h).norm(dim=2).fill_diagonal_(torch.inf).topk(min(4, n - 1), largest=False).indices
    return h, torch.stack([torch.arange(n).repeat_interleave(nearest.shape[1]), nearest.flatten()]), group


def make_report(n: int = 90, **changes: object) -> ReportData:
    """The content of a report on a graph; ``changes`` replace fields."""
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
    fields = {
        "title": "A graph & its <people>",
        "facts": {"nodes": n, "edges": 1234, "share": 0.12345, "file": "edges.csv"},
        "notes": ["3 edges led <nowhere>"],
        "ids": pl.Series("name", [HOSTILE, *(f"node {i}" for i in range(1, n))]),
        "embedding": h.numpy(),
        "edge_index": edges.numpy(),
        "columns": columns,
        "label": "team",
        "history": [{"layer 1": 0.9 - 0.01 * i, "layer 2": 0.8 - 0.02 * i} for i in range(20)],
        "settings": {"seed": 0, "encoder": {"hidden": 6, "conv": "gcn"}},
        "embeddings": Path("/somewhere/<here>.parquet"),
    }
    fields |= changes
    if "quality" not in fields:
        labels = fields["columns"][fields["label"]] if fields["label"] else None
        fields["quality"] = measure(fields["embedding"], fields["edge_index"], features=h[:, :2], labels=labels)
    return ReportData(**fields)


def make_set_report(n: int = 40, **changes: object) -> ReportData:
    """The content of a report on a set of graphs."""
    sizes = {"nodes": np.arange(10, 10 + n), "edges": np.arange(20, 20 + n)}
    h, _, group = communities(n)
    names = [["red", "green", "blue"][g] for g in group.tolist()]
    fields = {
        "ids": pl.Series("name", [HOSTILE, *(f"graph {i}" for i in range(1, n))]),
        "edge_index": None,
        "sizes": sizes,
        "quality": measure(h, None, features=h[:, :2], labels=names),
    }
    return make_report(n, **fields | changes)
