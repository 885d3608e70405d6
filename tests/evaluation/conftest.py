from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

Blobs = Callable[..., tuple[Tensor, Tensor]]


@pytest.fixture
def blobs() -> Blobs:
    """Noisy classes in d dimensions, far from the origin and with columns of different scales."""

    def make(n: int, d: int, classes: int = 4, seed: int = 0, std: float = 1.5) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        y = torch.randint(0, classes, (n,), generator=generator)
        centers = torch.randn(classes, d, generator=generator)
        x = centers[y] + std * torch.randn(n, d, generator=generator)
        return 7 * x * torch.linspace(0.1, 1, d) + 5, y

    return make
