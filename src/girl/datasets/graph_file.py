"""A processed dataset as one safetensors file, described by JSON in its header: fast, whole, and no code in it."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch_geometric.data import Data

from girl.datasets.dataset import NodeDataset
from girl.files import replacing
from girl.kernel.sparse import csr

#: Raised when what is written, or how raw files are read, changes: older files are then made anew.
FORMAT = 3

_PARTS = ("train", "validation", "test")


class UnusableError(Exception):
    """The file is damaged or of another format."""


def write_graph(path: Path, dataset: NodeDataset) -> None:
    """Write ``dataset`` to ``path``, whole or not at all."""
    x, edges = dataset.data.x, dataset.data.edge_index
    tensors: dict[str, Tensor] = {"y": dataset.data.y, "edge_index": edges}
    if x.shape[0] < 2**31:
        tensors["edge_index"] = edges.int()  # half the bytes to read back
    if "graph" in dataset.data:
        tensors["graph"] = dataset.data.graph
    if x.layout == torch.sparse_csr:
        tensors |= {"x.crow": x.crow_indices(), "x.col": x.col_indices().int(), "x.values": x.values()}
    else:
        tensors["x"] = x
    for protocol, masks in dataset.fixed.items():
        tensors |= {f"fixed/{protocol}/{part}": mask for part, mask in zip(_PARTS, masks, strict=True)}
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    about = {
        "format": FORMAT,
        "name": dataset.name,
        "shape": list(x.shape),
        "classes": dataset.classes,
        "multilabel": dataset.multilabel,
        "inductive": dataset.inductive,
        "fixed": list(dataset.fixed),
        "protocols": list(dataset.protocols),
        "stand_in": dataset.stand_in,
        "crc32": _checksum(tensors),
    }
    text = json.dumps(about)
    with replacing(path) as beside:
        try:
            save_file(tensors, beside, metadata={"girl": text, "crc32": str(zlib.crc32(text.encode()))})
        except SafetensorError as error:  # a full disk, in its words
            raise OSError(str(error)) from error


def read_about(path: Path, name: str) -> dict[str, Any]:
    """The description in the header; raises :class:`UnusableError` unless it is that of the dataset ``name``."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
        about: dict[str, Any] = json.loads(header["girl"])
        current = about["format"] == FORMAT
    except Exception as error:  # safetensors has its own error type, JSON and the keys more
        raise UnusableError(f"{path}: damaged") from error
    if not current:
        raise UnusableError(f"{path}: of another version of girl")
    if header.get("crc32") != str(zlib.crc32(header["girl"].encode())):
        raise UnusableError(f"{path}: damaged")
    if about["name"] != name:
        raise UnusableError(f"{path}: holds {about['name']}, not {name}")
    return about


def read_graph(path: Path, name: str) -> NodeDataset:
    """The dataset ``name`` in ``path``; raises :class:`UnusableError` unless every byte is as it was written."""
    about = read_about(path, name)
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except Exception as error:
        raise UnusableError(f"{path}: damaged") from error
    if _checksum(tensors) != about["crc32"]:
        raise UnusableError(f"{path}: damaged")
    if "x" in tensors:
        x = tensors["x"]
    else:
        rows, columns = about["shape"]
        x = csr(tensors["x.crow"], tensors["x.col"].long(), tensors["x.values"], (rows, columns))
    fixed = {}
    for protocol in about["fixed"]:
        train, validation, test = (tensors[f"fixed/{protocol}/{part}"] for part in _PARTS)
        fixed[protocol] = (train, validation, test)
    data = Data(x=x, edge_index=tensors["edge_index"].long(), y=tensors["y"])
    if "graph" in tensors:
        data.graph = tensors["graph"]
    return NodeDataset(
        name=about["name"],
        data=data,
        classes=about["classes"],
        multilabel=about["multilabel"],
        inductive=about["inductive"],
        fixed=fixed,
        protocols=tuple(about["protocols"]),
        stand_in=about["stand_in"],
    )


def _checksum(tensors: dict[str, Tensor]) -> int:
    """Of names, types, shapes and values: safetensors notices a short file but not a changed one."""
    value = 0
    for name, tensor in sorted(tensors.items()):
        value = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), value)
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, value)
    return value
