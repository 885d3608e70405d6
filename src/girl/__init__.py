"""girl: graph representation learning by kernel regression."""

from girl.kernel import KRLoss, kr_loss, rho

__version__ = "0.1.0"

__all__ = ["KRLoss", "kr_loss", "rho"]
