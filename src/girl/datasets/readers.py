"""Raw files to a graph, through the dataset's own class; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch_geometric.datasets as pyg
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.io.tu import read_tu_data

from girl.datasets import npz
from girl.datasets.dataset import Masks
from girl.datasets.digits import digits
from girl.datasets.ogb import read_ogb
from girl.datasets.planetoid import read_planetoid
from girl.datasets.registry import Entry
from girl.graph.structure import StructureEncoding
from girl.kernel.sparse import to_csr_or_dense

#: A graph and the splits that came with it.
Read = tuple[Data, dict[str, Masks]]

#: The class of each family, and how it is called for an entry below a root.
_CLASSES: dict[str, Callable[[Entry, Path], tuple[type, tuple[Any, ...], dict[str, Any]]]] = {
    "planetoid": lambda e, root: (pyg.Planetoid, (str(root), e.part.split("/")[0]), {}),  # for its download alone
    "citation-full": lambda e, root: (npz.SparseCitationFull, (str(root), e.name), {}),
    "amazon": lambda e, root: (npz.SparseAmazon, (str(root), e.name), {}),
    "coauthor": lambda e, root: (npz.SparseCoauthor, (str(root), e.name), {}),
    "webkb": lambda e, root: (pyg.WebKB, (str(root), e.name), {}),
    "actor": lambda e, root: (pyg.Actor, (str(root / "Actor"),), {}),
    "airports": lambda e, root: (pyg.Airports, (str(root), "usa"), {}),
    "wikics": lambda e, root: (pyg.WikiCS, (str(root / "WikiCS"),), {"is_undirected": True}),
    "reddit": lambda e, root: (pyg.Reddit, (str(root / "Reddit"),), {}),
    "reddit2": lambda e, root: (pyg.Reddit2, (str(root / "Reddit2"),), {}),
    "ppi": lambda e, root: (pyg.PPI, (str(root / "PPI"),), {}),
}


#: Positions among the features of usa-airports-structural.
POSITIONS = 32


def read(entry: Entry, root: Path) -> Read:
    """The graph of ``entry`` from its raw files below ``root``."""
    if entry.family == "digits":
        return digits(), {}
    if entry.family == "tu":
        return _graph_set(entry, root), {}
    if entry.family == "ogb":
        data, masks = read_ogb(root / entry.part, _ogb_split(entry), inverse=entry.name == "ogbn-products")
        return data, {"ogb": masks}
    if entry.family == "planetoid":
        data = read_planetoid(root / entry.part, entry.name)
    else:
        graphs = _process(entry, root)
        if entry.family == "ppi":
            return _union(graphs)
        data = graphs[0][0]
    fixed: dict[str, Masks] = {}
    if "train_mask" in data:
        protocol = "geom-gcn" if entry.family in ("webkb", "actor") else "public"
        fixed[protocol] = _columns(data.train_mask, data.val_mask, data.test_mask)
    if entry.name == "usa-airports-structural":
        # The file lists each flight once, from the larger id to the smaller: its direction means nothing.
        _, columns, _ = StructureEncoding.fit("both", data.edge_index, len(data.y), False, None, count=POSITIONS)
        data.x = torch.from_numpy(columns)
    x = data.x if data.x.layout == torch.sparse_csr else to_csr_or_dense(data.x)
    return Data(x=x, edge_index=data.edge_index.contiguous(), y=data.y.long()), fixed


def read_splits(entry: Entry, root: Path) -> Masks:
    """The ten geom-gcn splits beside a Planetoid graph; n × 10 each."""
    parts: list[list[Tensor]] = [[], [], []]
    for name in entry.splits_files:
        path = root / entry.splits_part / name
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            for part, key in zip(parts, ("train_mask", "val_mask", "test_mask"), strict=True):
                part.append(torch.from_numpy(file[key]).bool())
    train, validation, test = (torch.stack(part, dim=1) for part in parts)
    return train, validation, test


def download(entry: Entry, root: Path) -> None:
    """Let the dataset's own class fetch its raw files to below ``root``."""
    if entry.family == "tu":
        fetched = pyg.TUDataset.__new__(pyg.TUDataset)  # its constructor would also write what it makes of them
        fetched.root, fetched.name, fetched.cleaned = str(root / "TUDataset"), entry.part.split("/")[1], False
        fetched.download()
        return
    found, arguments, options = _CLASSES[entry.family](entry, root)
    quiet = {"_process": lambda self: None, "load": lambda self, path: None}
    type(found.__name__, (found,), quiet)(*arguments, **options)


def _process(entry: Entry, root: Path) -> list[list[Data]]:
    """What the class would save: it is caught on its way to disk, so that no half-written cache can arise."""
    found, arguments, options = _CLASSES[entry.family](entry, root)
    saved: list[list[Data]] = []
    caught = {
        "_download": lambda self: None,
        "_process": lambda self: self.process(),
        "save": lambda self, graphs, path: saved.append(graphs),
        "load": lambda self, path: None,
    }
    type(found.__name__, (found,), caught)(*arguments, **options)
    return saved


def _columns(train: Tensor, validation: Tensor, test: Tensor) -> Masks:
    """Masks as n × k; one that all splits share (WikiCS' test nodes) is repeated.

    WikiCS also has nodes for early stopping; they are in no part, since hyper-parameters and stopping are both chosen
    on the validation nodes here.
    """
    masks = [mask.bool().view(len(mask), -1) for mask in (train, validation, test)]
    width = max(mask.shape[1] for mask in masks)
    train, validation, test = (mask.expand(-1, width).contiguous() for mask in masks)
    return train, validation, test


def _union(splits: list[list[Data]]) -> Read:
    """PPI: 20 graphs to train on, 2 to validate, 2 to test, as one graph of 24 pieces."""
    batch = Batch.from_data_list([graph for split in splits for graph in split])
    owner = torch.cat([torch.full((sum(len(g.y) for g in split),), i) for i, split in enumerate(splits)])
    train, validation, test = ((owner == i).view(-1, 1) for i in range(3))
    data = Data(x=to_csr_or_dense(batch.x), edge_index=batch.edge_index.contiguous(), y=batch.y)
    return data, {"public": (train, validation, test)}


def _graph_set(entry: Entry, root: Path) -> Data:
    """A set of graphs as their disjoint union; features are the nodes' labels, one-hot, as is the custom."""
    data, slices, sizes = read_tu_data(str(root / entry.part), entry.part.split("/")[1])
    first = slices["x"]
    graph = torch.repeat_interleave(torch.arange(len(first) - 1), first.diff())
    owner = torch.repeat_interleave(torch.arange(len(first) - 1), slices["edge_index"].diff())
    x = data.x[:, sizes["num_node_attributes"] :].float()
    return Data(x=to_csr_or_dense(x), edge_index=data.edge_index + first[owner], y=data.y.long(), graph=graph)


def _ogb_split(entry: Entry) -> str:
    return next(file.split("/")[1] for file in entry.files if file.startswith("split/"))
