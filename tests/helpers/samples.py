from __future__ import annotations

import torch
from torch import Tensor


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=seeded(seed), dtype=dtype)


def awkward(n: int, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Samples that make kernel matrices ill-conditioned, each in its own way."""
    base = normal(n, 6, dtype=dtype)
    again = torch.randint(0, n // 4, (n,), generator=seeded(1))
    label = torch.randint(0, 20, (n,), generator=seeded(2))
    return {
        "plain": base,
        "far from the origin": base + 1000,
        "duplicated rows": base[again],
        "nearly duplicated rows": base[again] + 1e-4 * normal(n, 6, seed=3, dtype=dtype),
        "one-dimensional": normal(n, 1, seed=4, dtype=dtype) @ normal(1, 12, seed=5, dtype=dtype),
        "columns of all scales": base * torch.tensor([1e4, 1e2, 1, 1e-2, 1e-4, 1], dtype=dtype),
        "heavy tails": base**5,
        "one-hot": torch.nn.functional.one_hot(label, 20).to(dtype),
        "more columns than rows": normal(n, 2 * n, seed=6, dtype=dtype),
        "an outlier": torch.cat([base[1:], base[:1] + 1e3]),
        "a constant column": torch.cat([base, torch.ones(n, 1, dtype=dtype)], 1),
    }
