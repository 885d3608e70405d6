"""The floating types of a computation."""

import torch
from torch import Tensor


def wide_dtype(x: Tensor) -> torch.dtype:
    """float64, or float32 on devices without float64 (MPS).

    For r x r matrices and the exact path: kernel matrices are too ill-conditioned for float32, and next to the
    products over n rows the wider type costs little.
    """
    return torch.float32 if x.device.type == "mps" else torch.float64


def working_dtype(x: Tensor) -> torch.dtype:
    """The type of sums over rows: that of ``x``, but float32 for the half types of mixed precision."""
    return torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
