from __future__ import annotations

import pytest
import scipy.sparse
import torch

from girl.graph.compact import compact


@pytest.mark.parametrize(("density", "layout"), [(0.05, torch.sparse_csr), (0.5, torch.strided)])
def test_the_layout_follows_the_density_and_the_entries_stay(density, layout):
    x = torch.rand(40, 30, generator=torch.Generator().manual_seed(0))
    x[torch.rand(40, 30, generator=torch.Generator().manual_seed(1)) > density] = 0
    for given in (x, scipy.sparse.csr_matrix(x.numpy())):
        found = compact(given)
        assert found.layout == layout
        assert torch.equal(found.to_dense() if layout == torch.sparse_csr else found, x)
