"""Processed datasets: what was read from the raw files, as one file of :mod:`girl.store`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from girl import store
from girl.datasets.dataset import NodeDataset
from girl.errors import DamagedError

#: Raised when what is written, or how raw files are read, changes: older files are then made again.
FORMAT = 5

_PARTS = ("train", "validation", "test")

#: Fields of a dataset that are JSON values.
_FIELDS = ("name", "classes", "multilabel", "inductive", "protocols", "stand_in", "metric")


def save_graph(path: Path, dataset: NodeDataset) -> None:
    """Write ``dataset`` to ``path`` atomically."""
    tensors = dataset.data.to_dict()
    if dataset.data.x.shape[0] < 2**31:
        tensors["edge_index"] = tensors["edge_index"].int()  # half the bytes to read
    for protocol, masks in dataset.fixed.items():
        tensors |= {f"{protocol}/{part}": mask for part, mask in zip(_PARTS, masks, strict=True)}
    value = {"format": FORMAT, "data": list(dataset.data.keys()), "fixed": list(dataset.fixed)}
    store.save(path, tensors, value | {field: getattr(dataset, field) for field in _FIELDS})


def load_graph(path: Path, name: str) -> NodeDataset:
    """The dataset ``name`` in ``path``. Raises DamagedError if a byte has changed, or it is of another version."""
    tensors, value = store.load(path)
    check(path, name, value)
    tensors["edge_index"] = tensors["edge_index"].long()
    fixed = {}
    for protocol in value["fixed"]:
        train, validation, test = (tensors[f"{protocol}/{part}"] for part in _PARTS)
        fixed[protocol] = (train, validation, test)
    fields = {field: value[field] for field in _FIELDS} | {"protocols": tuple(value["protocols"])}
    return NodeDataset(data=Data(**{key: tensors[key] for key in value["data"]}), fixed=fixed, **fields)


def check(path: Path, name: str, value: Any) -> None:
    """Complain unless ``value``, which :func:`girl.store.load_value` read from ``path``, describes ``name``."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise DamagedError(path, "written by another version of girl")
    if value["name"] != name:
        raise DamagedError(path, f"holds {value['name']}, not {name}")
