from __future__ import annotations

import hashlib

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from girl.datasets.dataset import NodeDataset
from girl.errors import InputError
from girl.splits import PROTOCOLS, Protocol, available, get, labelled

PINNED = {
    "public": "2dc2710060ee0314",
    "full": "e8c0b8079d8d8982",
    "random-10-10-80": "4cc5f01db039fe20",
    "random-60-20-20": "ea4cd5683059a40b",
    "geom-gcn": "2dc2710060ee0314",
    "official": "2dc2710060ee0314",
    "ogb": "a6324ddec8fc4e1d",
    "10-fold": "91cfd0fff9907c53",
}
RANDOM = {"random-10-10-80": (0.1, 0.1, 0.8), "random-60-20-20": (0.6, 0.2, 0.2)}


def dataset(n: int, unknown: float = 0.2, columns: int = 3, seed: int = 0) -> NodeDataset:
    """Labels, some of them unknown, and ``columns`` fixed splits of a third each that leave a tenth out."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=generator)
    y[torch.rand(n, generator=generator) < unknown] = -1
    part = torch.stack([torch.randperm(n, generator=generator) * 10 // (3 * n) for _ in range(columns)], 1)
    masks = (part == 0, part == 1, part == 2)
    return NodeDataset("toy", Data(y=y, num_nodes=n), 4, fixed={"public": masks, "geom-gcn": masks})


def nodes(split) -> torch.Tensor:
    return torch.cat([split.train, split.val, split.test])


@settings(deadline=None, max_examples=30)
@given(
    name=st.sampled_from(["public", "full", "geom-gcn", *RANDOM]),
    n=st.integers(40, 300),
    index=st.integers(0, 100),
    seed=st.integers(0, 5),
)
def test_parts_are_disjoint_sorted_and_labelled(name, n, index, seed):
    data = dataset(n, seed=seed)
    split = get(name).split(data, index)
    all_nodes = nodes(split)
    assert len(all_nodes.unique()) == len(all_nodes)
    assert bool(labelled(data)[all_nodes].all())
    for part in (split.train, split.val, split.test):
        assert part.dtype == torch.int64
        assert torch.equal(part, part.sort().values)


@settings(deadline=None, max_examples=30)
@given(name=st.sampled_from(list(RANDOM)), n=st.integers(40, 300), index=st.integers(0, 1000))
def test_random_splits_cover_all_labels_in_their_fractions(name, n, index):
    data = dataset(n)
    known = int(labelled(data).sum())
    split = get(name).split(data, index)
    assert len(nodes(split)) == known
    for size, fraction in zip(split.sizes, RANDOM[name], strict=True):
        assert abs(size - fraction * known) <= 1


@settings(deadline=None, max_examples=20)
@given(name=st.sampled_from(list(RANDOM)), first=st.integers(0, 1000), second=st.integers(0, 1000))
def test_a_random_split_depends_on_its_index_alone(name, first, second):
    data = dataset(200)
    torch.manual_seed(second)  # whatever was drawn before does not matter
    one, two = get(name).split(data, first), get(name).split(data, second)
    assert torch.equal(one.train, get(name).split(data, first).train)
    assert torch.equal(one.train, two.train) == (first == second)


def digest(protocol: Protocol, data: NodeDataset) -> str:
    parts = [part.tolist() for i in range(25) for split in [protocol.split(data, i)] for part in vars(split).values()]
    return hashlib.sha256("".join(map(str, parts)).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", PINNED)
def test_splits_never_change(name):
    """Published scores depend on these splits: neither numpy, scikit-learn nor our code may change them."""
    i = torch.arange(200)
    if name == "10-fold":
        data = NodeDataset("graphs", Data(y=i * i // 7 % 2, graph=i, num_nodes=200), 2)
    else:
        part = torch.stack([(7 * i + 3 * column) % 10 // 3 for column in range(3)], 1)
        masks = part == 0, part == 1, part == 2
        one_test_set = masks[0][:, :1], masks[1][:, :1], masks[2][:, 0]
        y = (i * i // 7 % 4).masked_fill(i % 5 == 3, -1)
        fixed = {"public": masks, "geom-gcn": masks, "official": masks, "ogb": one_test_set}
        data = NodeDataset("nodes", Data(y=y, num_nodes=200), 4, fixed=fixed)
    assert digest(get(name), data) == PINNED[name]


def test_every_protocol_is_pinned():
    assert PINNED.keys() == PROTOCOLS.keys()


def test_protocols_of_other_fractions_draw_other_nodes():
    data = dataset(200)
    small, large = (get(name).split(data, 0) for name in RANDOM)
    assert not set(small.train.tolist()) <= set(large.train.tolist())


@pytest.mark.parametrize("index", [0, 1, 2])
def test_full_trains_on_all_nodes_that_public_does_not_hold_out(index):
    data = dataset(100)
    public, full = get("public").split(data, index), get("full").split(data, index)
    assert torch.equal(full.val, public.val)
    assert torch.equal(full.test, public.test)
    assert set(public.train.tolist()) < set(full.train.tolist())
    assert torch.equal(nodes(full).sort().values, torch.nonzero(labelled(data)).flatten())


def test_fixed_splits_are_columns_and_wrap_around():
    data = dataset(100, unknown=0, columns=3)
    protocol = get("geom-gcn")
    assert protocol.count(data) == 3
    train = [split.train for split in protocol.splits(data)]
    assert len(train) == 3
    assert torch.equal(train[1], torch.nonzero(data.fixed["geom-gcn"][0][:, 1]).flatten())
    assert torch.equal(protocol.split(data, 4).train, train[1])


def test_official_splits_are_those_of_the_data():
    data = dataset(100, columns=10)
    masks = data.fixed["public"]
    official = NodeDataset("toy", data.data, 4, fixed={"official": masks}, protocols=("official",))
    assert available(official) == ["official", "random-10-10-80", "random-60-20-20"]
    assert get("official").count(official) == 10
    for index, split in enumerate(get("official").splits(official)):
        parts = [torch.nonzero(mask[:, index] & labelled(data)).flatten() for mask in masks]
        assert all(torch.equal(a, b) for a, b in zip((split.train, split.val, split.test), parts, strict=True))


def test_one_test_set_serves_many_training_sets():
    data = dataset(100, unknown=0, columns=3)
    train, val, test = data.fixed["public"]
    data.fixed["public"] = (train & ~test[:, :1], val & ~test[:, :1], test[:, 0])
    splits = list(get("public").splits(data))
    assert len(splits) == 3
    assert torch.equal(splits[0].test, splits[2].test)


def test_counts():
    data = dataset(100, columns=1)
    assert {name: get(name).count(data) for name in available(data)} == {
        "public": 1,
        "full": 1,
        "geom-gcn": 1,
        "random-10-10-80": 20,
        "random-60-20-20": 20,
    }


@pytest.mark.parametrize("call", ["split", "count"])
def test_a_protocol_that_does_not_apply_names_those_that_do(call):
    data = NodeDataset("toy", dataset(50).data, 4, protocols=("random-60-20-20",))
    for name in ("public", "full", "ogb"):
        with pytest.raises(InputError, match=f"toy has no '{name}' split; it has 'random-60-20-20', 'random-10-10-80'"):
            getattr(get(name), call)(data)


def test_a_negative_index_is_refused():
    with pytest.raises(InputError, match="index"):
        get("public").split(dataset(50), -1)


def test_a_node_with_several_labels_is_labelled_if_all_are_known():
    y = torch.tensor([[0.0, 1.0], [1.0, -1.0], [float("nan"), 0.0]])
    assert labelled(NodeDataset("toy", Data(y=y), 2, multilabel=True)).tolist() == [True, False, False]


def test_a_protocol_shows_its_name():
    assert repr(PROTOCOLS["public"]) == "<protocol public>"


@pytest.mark.parametrize("name", ["full", "random-10-10-80"])
def test_a_graph_without_labels_is_refused(name):
    masks = dataset(40).fixed
    with pytest.raises(InputError, match=r"bare: given a graph without labels \(y\)"):
        get(name).split(NodeDataset("bare", Data(num_nodes=40), 4, fixed=masks))


def test_every_protocol_is_found_by_its_name():
    for name, protocol in PROTOCOLS.items():
        assert get(name) is protocol
        assert protocol.name == name


def test_an_unknown_name_gets_close_matches():
    with pytest.raises(InputError, match="did you mean 'random-10-10-80'"):
        get("random-10-10-8")
    with pytest.raises(InputError, match="expected one of 'public', 'full'"):
        get("xyz")
