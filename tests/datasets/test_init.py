from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from girl import datasets

SLOW = ("dd", "nci1", "proteins", "physics", "computers")
REAL = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in datasets.names()
    if not datasets.describe(name).stand_in
]


@pytest.mark.parametrize("name", REAL)
def test_counts_are_as_published_and_a_cached_load_gives_the_same(name, mirror, cache):
    entry = datasets.describe(name)
    if entry.folder and not (mirror / entry.folder).is_dir():
        pytest.skip(f"the mirror has no {entry.folder}")
    first, second = (datasets.load(name, cache, mirror) for _ in range(2))
    x, y = first.data.x, first.data.y
    assert tuple(x.shape) == (entry.nodes, entry.features)
    assert first.data.edge_index.shape == (2, entry.edges)
    assert y[y >= 0].unique().tolist() == list(range(entry.classes))
    assert (first.classes, first.metric) == (entry.classes, entry.metric)
    assert ("column_group" in first.data) == (entry.family == "facebook" or name == "minesweeper")
    assert (first.protocols, first.stand_in) == (entry.protocols, False)
    values = x.values() if x.layout == torch.sparse_csr else x
    assert x.dtype == torch.float32
    assert bool(values.isfinite().all())
    assert (x.layout == torch.sparse_csr) == (int(values.count_nonzero()) < 0.15 * x.shape[0] * x.shape[1])
    assert first.data.edge_index.min() >= 0
    assert first.data.edge_index.max() < entry.nodes
    same(first, second)


def same(one, other):
    assert one.data.x.layout == other.data.x.layout
    for a, b in zip(parts(one.data.x), parts(other.data.x), strict=True):
        assert torch.equal(a, b)
    assert one.data.keys() == other.data.keys()
    for key in set(one.data.keys()) - {"x"}:
        assert torch.equal(one.data[key], other.data[key])
    assert (one.name, one.classes, one.protocols) == (other.name, other.classes, other.protocols)
    assert one.metric == other.metric
    assert (one.multilabel, one.inductive, one.stand_in) == (other.multilabel, other.inductive, other.stand_in)
    assert one.fixed.keys() == other.fixed.keys()
    for protocol in one.fixed:
        assert all(torch.equal(a, b) for a, b in zip(one.fixed[protocol], other.fixed[protocol], strict=True))


def parts(x):
    return (x.crow_indices(), x.col_indices(), x.values()) if x.layout == torch.sparse_csr else (x,)


@pytest.mark.parametrize(
    ("name", "protocol", "sizes"),
    [
        ("cora", "public", (140, 500, 1000)),
        ("citeseer", "public", (120, 500, 1000)),
        ("texas", "geom-gcn", (87, 59, 37)),
        ("minesweeper", "official", (5000, 2500, 2500)),
        ("squirrel-filtered", "official", (1053, 718, 452)),
    ],
)
def test_published_splits_have_the_published_sizes(name, protocol, sizes, mirror, cache):
    masks = datasets.load(name, cache, mirror).fixed[protocol]
    assert tuple(int(mask[:, 0].sum()) for mask in masks) == sizes
    assert all(mask.dtype == torch.bool for mask in masks)
    assert not (masks[0] & masks[1] | masks[0] & masks[2] | masks[1] & masks[2]).any()


def test_importing_the_package_does_not_import_torch_geometric():
    code = "import sys, girl.datasets; sys.exit('torch_geometric' in sys.modules or 'ogb' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={**os.environ}, check=False).returncode == 0
