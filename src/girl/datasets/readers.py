"""Read raw files through the dataset's own class of torch_geometric; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch_geometric.datasets as pyg
from sklearn.datasets import load_digits
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.io.tu import read_tu_data

from girl.datasets.dataset import Masks
from girl.datasets.facebook import read_facebook
from girl.datasets.npz import read_heterophilous, read_npz
from girl.datasets.ogb import read_ogb
from girl.datasets.planetoid import read_planetoid
from girl.datasets.registry import Entry
from girl.graph.nearest import nearest_neighbors
from girl.graph.structure import StructureEncoding
from girl.kernel.sparse import to_csr_or_dense

#: A graph and the splits published with it.
GraphAndSplits = tuple[Data, dict[str, Masks]]

#: The class of each family. Raw files of the first five are read here; their classes only download them.
_CLASSES = {
    "planetoid": pyg.Planetoid,
    "citation-full": pyg.CitationFull,
    "amazon": pyg.Amazon,
    "coauthor": pyg.Coauthor,
    "facebook": pyg.LINKXDataset,
    "webkb": pyg.WebKB,
    "airports": pyg.Airports,
    "actor": pyg.Actor,
    "wikics": pyg.WikiCS,
    "reddit": pyg.Reddit,
    "reddit2": pyg.Reddit2,
    "ppi": pyg.PPI,
}

#: Nearest neighbours that a digit is connected to.
NEIGHBORS = 10

#: Eigenvectors among the features of usa-airports-structural.
POSITIONS = 32


def read(entry: Entry, root: Path) -> GraphAndSplits:
    """The graph of ``entry`` from its raw files below ``root``."""
    folder = root / entry.folder
    match entry.family:
        case "digits":
            return _digits(), {}
        case "tu":
            return _graph_set(entry, root), {}
        case "ogb":
            split = next(file.split("/")[1] for file in entry.files if file.startswith("split/"))
            data, masks = read_ogb(folder, split, inverse=entry.name == "ogbn-products")
            return data, {"ogb": masks}
        case "ppi":
            return _union(_process(entry, root))
        case "heterophilous":
            data, masks = read_heterophilous(folder / entry.files[0])
            if entry.name == "minesweeper":
                # One category, the number of mines nearby; the first column says that it is unknown.
                data.column_group = torch.zeros(data.x.shape[1], dtype=torch.long)
            return data, {"official": masks}
        case "facebook":
            return read_facebook(folder / entry.files[0]), {}
        case "planetoid":
            data = read_planetoid(folder, entry.name)
        case "citation-full" | "amazon" | "coauthor":
            data = read_npz(folder / entry.files[0])
        case _:
            data = _process(entry, root)[0][0]
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


def _digits() -> Data:
    """scikit-learn's digits: 1,797 images of 8 × 8 pixels in [0, 1], each connected to its ten nearest neighbours."""
    pixels, labels = load_digits(return_X_y=True)
    x, edges = torch.from_numpy(pixels / 16).float(), nearest_neighbors(pixels / 16, NEIGHBORS)
    return Data(x=x, edge_index=edges, y=torch.from_numpy(labels).long())


def read_splits(entry: Entry, root: Path) -> Masks:
    """The ten geom-gcn splits beside a Planetoid graph; n × 10 each."""
    parts: list[list[Tensor]] = [[], [], []]
    for name in entry.splits_files:
        path = root / entry.splits_folder / name
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            for part, key in zip(parts, ("train_mask", "val_mask", "test_mask"), strict=True):
                part.append(torch.from_numpy(file[key]).bool())
    train, validation, test = (torch.stack(part, dim=1) for part in parts)
    return train, validation, test


def download(entry: Entry, root: Path) -> None:
    """Download the raw files to below ``root`` by the dataset's own class."""
    if entry.family == "tu":
        dataset = pyg.TUDataset.__new__(pyg.TUDataset)  # its constructor would also write the processed graphs
        dataset.root, dataset.name, dataset.cleaned = str(root / "TUDataset"), entry.folder.split("/")[1], False
        dataset.download()
    else:
        _construct(entry, root, _process=lambda self: None)


def _process(entry: Entry, root: Path) -> list[list[Data]]:
    """The graphs that the class would save. They are intercepted: no file is written, so none can be half written."""
    saved: list[list[Data]] = []
    _construct(
        entry,
        root,
        _download=lambda self: None,
        _process=lambda self: self.process(),
        save=lambda self, graphs, path: saved.append(graphs),
    )
    return saved


def _construct(entry: Entry, root: Path, **overrides: Callable[..., None]) -> None:
    """Construct the dataset of torch_geometric with some of its methods replaced."""
    base, folder = _CLASSES[entry.family], entry.folder.split("/")[0]
    one_graph = entry.family in ("actor", "wikics", "reddit", "reddit2", "ppi")  # its class takes no name
    arguments = (root / folder,) if one_graph else (root, folder)
    options = {"is_undirected": True} if entry.family == "wikics" else {}
    type(base.__name__, (base,), {"load": lambda self, path: None, **overrides})(*map(str, arguments), **options)


def _columns(train: Tensor, validation: Tensor, test: Tensor) -> Masks:
    """Masks as n × k; one that all splits share (WikiCS' test nodes) is repeated.

    WikiCS also has nodes for early stopping. They are left out: here the validation nodes also decide when to stop.
    """
    masks = [mask.bool().view(len(mask), -1) for mask in (train, validation, test)]
    width = max(mask.shape[1] for mask in masks)
    train, validation, test = (mask.expand(-1, width).contiguous() for mask in masks)
    return train, validation, test


def _union(splits: list[list[Data]]) -> GraphAndSplits:
    """PPI: 20 training, 2 validation and 2 test graphs as their disjoint union."""
    batch = Batch.from_data_list([graph for split in splits for graph in split])
    owner = torch.cat([torch.full((sum(len(g.y) for g in split),), i) for i, split in enumerate(splits)])
    train, validation, test = ((owner == i).view(-1, 1) for i in range(3))
    data = Data(x=to_csr_or_dense(batch.x), edge_index=batch.edge_index.contiguous(), y=batch.y)
    return data, {"public": (train, validation, test)}


def _graph_set(entry: Entry, root: Path) -> Data:
    """A set of graphs as their disjoint union; features are the one-hot node labels, as is usual."""
    data, slices, sizes = read_tu_data(str(root / entry.folder), entry.folder.split("/")[1])
    first = slices["x"]
    graph = torch.repeat_interleave(torch.arange(len(first) - 1), first.diff())
    owner = torch.repeat_interleave(torch.arange(len(first) - 1), slices["edge_index"].diff())
    x = data.x[:, sizes["num_node_attributes"] :].float()
    return Data(x=to_csr_or_dense(x), edge_index=data.edge_index + first[owner], y=data.y.long(), graph=graph)
