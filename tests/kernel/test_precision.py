import pytest
import torch

from girl.kernel.precision import wide_dtype, working_dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_sums_are_never_in_half_precision_and_small_matrices_are_in_float64(dtype):
    x = torch.zeros(2, dtype=dtype)
    assert working_dtype(x) == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert wide_dtype(x) == torch.float64
