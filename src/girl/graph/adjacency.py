"""The adjacency matrix of a list of edges: the only place where one is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from girl.errors import InputError
from girl.kernel.sparse import csr, index_dtype


def check_edge_index(edge_index: Any, num_nodes: int) -> None:
    """Raise an error unless ``edge_index`` is a 2 × m tensor of integers from 0 to ``num_nodes`` - 1."""
    if edge_index is None:
        raise InputError("edge_index: the graph has no edges, expected a 2 × m matrix, empty if there are none")
    if not isinstance(edge_index, Tensor):
        raise InputError(f"edge_index: given a {type(edge_index).__name__}, expected a tensor of integers, 2 × m")
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        shape = " × ".join(map(str, edge_index.shape)) or "a single number"
        raise InputError(f"edge_index: given {shape}, expected 2 × m: a row of sources and a row of targets")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise InputError(f"edge_index: given {edge_index.dtype}, expected integers; call .long() if they are whole")
    if edge_index.numel():
        for node in (int(edge_index.min()), int(edge_index.max())):
            if not 0 <= node < num_nodes:
                raise InputError(f"edge_index: given node {node}, expected 0 to {num_nodes - 1}")


def unique_edges(
    source: NDArray[Any], target: NDArray[Any], num_nodes: int, directed: bool, edge_weight: NDArray[Any] | None = None
) -> scipy.sparse.csr_matrix:
    """Every edge once, as a scipy matrix with an entry at (source, target), by the rule of :func:`build_adjacency`.

    Undirected edges have source < target. Without weights the entries are ones. Counting, as scipy does it, is faster
    than sorting and needs less memory.
    """
    kind = np.int32 if index_dtype(len(source), num_nodes) == torch.int32 else np.int64
    source, target = source.astype(kind, copy=False), target.astype(kind, copy=False)
    values = np.ones(len(source), np.int8) if edge_weight is None else edge_weight
    if (loops := source == target).any():
        source, target, values = source[~loops], target[~loops], values[~loops]
    del loops
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    edges = scipy.sparse.csr_matrix((values, (source, target)), shape=(num_nodes, num_nodes))
    edges.sum_duplicates()
    if edge_weight is None:
        edges.data[:] = 1
    return edges


def build_adjacency(
    edge_index: Tensor, num_nodes: int, directed: bool = False, edge_weight: Tensor | None = None
) -> Tensor:
    """The adjacency matrix of edges source → target: a CSR tensor whose row i holds the sources of the edges into i.

    The rule for repeated edges, everywhere in girl: self-loops are dropped, the weights of repeated edges are added,
    and unless ``directed``, an edge listed in either direction is the same edge. Without weights every edge counts
    once, however often it is listed. A list that has all undirected edges in both directions thus gives the same
    matrix as one that has them once: both have twice the weights, which are then divided by their mean.

    Args:
        edge_index: sources and targets, 2 × m.
        num_nodes: n.
        directed: whether an edge leads from its source to its target only.
        edge_weight: positive weights (m). They are divided by the mean of the matrix's entries, so that their unit does
            not matter beside the self-loops of weight 1 that some layers add.
    """
    check_edge_index(edge_index, num_nodes)
    if edge_index.device.type == "cpu":
        weight = None if edge_weight is None else edge_weight.detach().double().numpy()
        source, target = edge_index.numpy()
        edges = unique_edges(source, target, num_nodes, directed, weight)
        edges = edges.T.tocsr() if directed else edges + edges.T
        crow, col, values = (torch.from_numpy(part) for part in (edges.indptr, edges.indices, edges.data))
    else:
        crow, col, values = _build_by_sorting(edge_index, num_nodes, directed, edge_weight)
    if edge_weight is None:
        values = torch.ones(col.numel(), device=col.device)
    else:
        values = (values / values.mean().clamp(min=1e-30)).float()
    return csr(crow, col, values, (num_nodes, num_nodes))


def _build_by_sorting(
    edge_index: Tensor, num_nodes: int, directed: bool, edge_weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Row pointers, columns and summed weights, for devices other than the CPU."""
    source, target = edge_index.long()
    weight = torch.ones_like(source, dtype=torch.float64) if edge_weight is None else edge_weight.double()
    if not directed:
        source, target, weight = torch.cat([source, target]), torch.cat([target, source]), torch.cat([weight, weight])
    keep = source != target
    entry, inverse = torch.unique(target[keep] * num_nodes + source[keep], return_inverse=True)
    values = weight.new_zeros(entry.numel()).index_add_(0, inverse, weight[keep])
    count = torch.bincount(entry // max(num_nodes, 1), minlength=num_nodes)
    col = (entry % max(num_nodes, 1)).to(index_dtype(entry.numel(), num_nodes))
    return torch.cat([count.new_zeros(1), count.cumsum(0)]), col, values
