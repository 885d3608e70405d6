"""Kernel regression: tensors in, tensors out. This package knows no graphs and no files."""

from girl.kernel.estimate import RhoEstimate, estimate_rho, rho
from girl.kernel.loss import KRLoss, kr_loss

__all__ = ["KRLoss", "RhoEstimate", "estimate_rho", "kr_loss", "rho"]
