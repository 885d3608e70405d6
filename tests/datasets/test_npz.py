from __future__ import annotations

import shutil

import pytest
import torch
from torch_geometric.datasets import Amazon, CitationFull

from girl import datasets


@pytest.mark.parametrize(("name", "of"), [("photo", Amazon), ("dblp", CitationFull)])
def test_the_graph_is_that_of_the_class(name, of, mirror, cache, tmp_path):
    ours = datasets.load(name, cache, mirror).data
    folder = datasets.describe(name).folder
    shutil.copytree(mirror / folder, tmp_path / folder)
    theirs = of(str(tmp_path), name)[0]
    x = ours.x.to_dense() if ours.x.layout == torch.sparse_csr else ours.x
    assert torch.equal(x, theirs.x)
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert torch.equal(ours.y, theirs.y)
