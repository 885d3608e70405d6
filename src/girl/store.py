"""The library's one file format: tensors and a JSON value in one safetensors file, protected by a digest.

Checkpoints, models, processed datasets, cached graphs and METIS partitions are such files. Tensors are dense or CSR.
They are memory-mapped when loaded: processes that load the same file share its pages, and writing to a tensor changes
the process's own copy, never the file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from girl.errors import DamagedError
from girl.files import replacing

#: Tensors by name, and a JSON value.
Content = tuple[dict[str, Tensor], Any]


def save(path: Path, tensors: dict[str, Tensor], value: Any = None) -> None:
    """Write tensors and a JSON value to ``path`` atomically."""
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items() if tensor.layout != torch.strided}
    arrays = {name: tensor for name, tensor in tensors.items() if name not in shapes}
    for name in shapes:
        arrays |= {f"{name}.{part}": array for part, array in _csr_parts(tensors[name]).items()}
    arrays = {name: array.detach().cpu().contiguous() for name, array in arrays.items()}
    header = {"arrays": fingerprint(arrays), "csr": shapes, "value": value}
    with replacing(path) as temporary:
        try:
            # One entry of metadata: safetensors writes several in a random order, and files would differ.
            save_file(arrays, temporary, {"girl": json.dumps([fingerprint(header), header])})
        except SafetensorError as error:  # it reports a full disk in its own words
            raise OSError(errno.ENOSPC, f"cannot be written ({error})", str(path)) from error


def load(path: Path) -> Content:
    """Read the tensors, memory-mapped, and the JSON value that :func:`save` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedError: a byte has changed, or the file was not written by :func:`save`.
    """
    header, tensors = _read(path, arrays=True)
    if fingerprint(tensors) != header["arrays"]:
        raise DamagedError(path, "its contents do not match their digest")
    for name, (rows, columns) in header["csr"].items():
        crow, col, values = (tensors.pop(f"{name}.{part}") for part in ("crow", "col", "values"))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            tensors[name] = torch.sparse_csr_tensor(crow, col, values, (rows, columns), check_invariants=False)
    return tensors, header["value"]


def load_value(path: Path) -> Any:
    """The JSON value of a file alone, without reading its tensors. Raises as :func:`load` does."""
    return _read(path, arrays=False)[0]["value"]


def cached(path: Path, compute: Callable[[], Content]) -> Content:
    """The content of ``path``; if it is missing or damaged, ``compute`` makes it and it is saved there.

    A file that cannot be written costs the next run the computation, but does not stop this one.
    """
    try:
        return load(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except DamagedError as error:
        warnings.warn(f"{error}; it is made again", stacklevel=3)
    content = compute()
    try:
        save(path, *content)
    except OSError as error:
        warnings.warn(f"{path}: could not be cached ({error.strerror or error})", stacklevel=3)
        return content
    del content  # the mapped copy is shared between processes, and its memory can be reclaimed
    return load(path)


def fingerprint(*values: Any) -> str:
    """A hexadecimal fingerprint of JSON values and tensors (dense or sparse), nested in any way.

    >>> fingerprint([1, "a"], torch.zeros(2)) == fingerprint([1, "a"], torch.zeros(2, 1))
    False
    """
    text = json.dumps(values, sort_keys=True, default=_summary)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _summary(tensor: Tensor) -> list[Any]:
    """Type, shape and checksum of a tensor. CRC-32 is several times faster than a cryptographic hash."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"fingerprint: given {type(tensor).__name__}, expected tensors and JSON values")
    if tensor.layout != torch.strided:
        return [list(tensor.shape), _csr_parts(tensor)]
    flat = tensor.detach().cpu().contiguous()
    flat = flat.as_strided((flat.numel(),), (1,))  # a tensor of one element or none can have any stride
    return [str(tensor.dtype), list(tensor.shape), zlib.crc32(flat.view(torch.uint8).numpy().data)]


def _csr_parts(tensor: Tensor) -> dict[str, Tensor]:
    tensor = tensor.to_sparse_csr()
    return {"crow": tensor.crow_indices(), "col": tensor.col_indices(), "values": tensor.values()}


def _read(path: Path, arrays: bool) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The checked header and, if wanted, the arrays, which are not checked yet."""
    path.stat()  # a missing file is not a damaged one
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()} if arrays else {}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise DamagedError(path, f"not a readable safetensors file ({error})") from error
    try:
        digest, header = json.loads(metadata["girl"])
    except (KeyError, ValueError, TypeError):
        header = None
    if not isinstance(header, dict):
        raise DamagedError(path, "not written by this version of girl")
    if fingerprint(header) != digest:
        raise DamagedError(path, "its header does not match its digest")
    return header, tensors
