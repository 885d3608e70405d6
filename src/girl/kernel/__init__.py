"""The mathematics of kernel regression. Tensors in, tensors out; no graphs, no files."""

from girl.kernel.estimate import Estimate, estimate, rho
from girl.kernel.loss import KRLoss, kr_loss

__all__ = ["Estimate", "KRLoss", "estimate", "kr_loss", "rho"]
