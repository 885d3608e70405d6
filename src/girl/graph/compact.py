"""Features as CSR where most entries are zero, and dense where that would be larger."""

from __future__ import annotations

from typing import Any

import scipy.sparse
import torch
from torch import Tensor

from girl.kernel.sparse import csr

#: Below this share of entries a product with CSR is faster, and it is smaller below a third.
DENSITY = 0.15


def compact(x: Any) -> Tensor:
    """A dense tensor or a scipy matrix, n × d, as float32: CSR below :data:`DENSITY`, else dense."""
    if isinstance(x, Tensor):
        if int(x.count_nonzero()) >= DENSITY * x.numel():
            return x.float().contiguous()
        x = scipy.sparse.csr_matrix(x.float().numpy())
    x = scipy.sparse.csr_matrix(x, dtype="float32")
    if x.nnz >= DENSITY * x.shape[0] * x.shape[1]:
        return torch.from_numpy(x.toarray())
    x.sort_indices()
    crow, col = torch.from_numpy(x.indptr).long(), torch.from_numpy(x.indices).long()
    return csr(crow, col, torch.from_numpy(x.data), (x.shape[0], x.shape[1]))
