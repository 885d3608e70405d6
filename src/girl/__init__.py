"""girl: graph representations without labels, and deep GNNs that stay trainable, by kernel regression (KR)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "GIRL",
    "KRLoss",
    "KRRegularizer",
    "__version__",
    "datasets",
    "embed",
    "from_networkx",
    "kr_loss",
    "rho",
    "splits",
    "to_networkx",
]

if TYPE_CHECKING:
    from girl import datasets, splits
    from girl.api.embed import embed
    from girl.api.estimator import GIRL
    from girl.api.networkx import from_networkx, to_networkx
    from girl.kernel import KRLoss, kr_loss, rho
    from girl.nn.regularizer import KRRegularizer

#: Where each public name lives. They are imported when first used: `import girl` and `girl --help` wait for nothing.
_HOME = {
    "GIRL": "girl.api.estimator",
    "KRLoss": "girl.kernel",
    "KRRegularizer": "girl.nn.regularizer",
    "embed": "girl.api.embed",
    "from_networkx": "girl.api.networkx",
    "kr_loss": "girl.kernel",
    "rho": "girl.kernel",
    "to_networkx": "girl.api.networkx",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    elif name in ("datasets", "splits"):
        found = import_module(f"girl.{name}")
    else:
        raise AttributeError(f"module 'girl' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
