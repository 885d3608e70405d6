from __future__ import annotations

import pytest
import torch

from girl import datasets, splits
from girl.lab.search_splits import search_splits


@pytest.mark.parametrize(("name", "protocol"), [("cora", "public"), ("cora", "full"), ("texas", "geom-gcn")])
def test_no_test_node_takes_part_in_a_choice(name, protocol, mirror, cache):
    dataset = datasets.load(name, cache, mirror)
    test = set(splits.get(protocol).split(dataset, 0).test.tolist())
    for split in search_splits(dataset, protocol, 0):
        nodes = torch.cat([split.train, split.val, split.test])
        assert not test & set(nodes.tolist())
        assert not set(split.train.tolist()) & set(split.val.tolist())
