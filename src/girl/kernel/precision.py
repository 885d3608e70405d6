"""Which floating type each part of the computation uses."""

from __future__ import annotations

import torch
from torch import Tensor


def wide(x: Tensor) -> torch.dtype:
    """The widest floating type of ``x``'s device: float64, or float32 on devices that have no float64 (MPS).

    Matrices of size r x r and everything on the exact path use it: next to the products over n rows they cost
    little, and the conditioning of a kernel matrix is where float32 would be lost.
    """
    return torch.float32 if x.device.type == "mps" else torch.float64


def working(x: Tensor) -> torch.dtype:
    """The type of sums over rows: that of ``x``, and float32 for the half types of mixed precision."""
    return torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
