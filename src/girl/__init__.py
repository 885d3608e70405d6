"""girl: graph embeddings without labels, and deep GNNs that stay trainable, by kernel regression (KR).

The names in ``girl.__all__`` are the public interface. Everything else is private and may change.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

__all__ = [
    "GIRL",
    "KRLoss",
    "KRRegularizer",
    "Recipe",
    "__version__",
    "datasets",
    "embed",
    "evaluate",
    "from_networkx",
    "judge",
    "kr_loss",
    "methods",
    "pretrain",
    "report",
    "rho",
    "splits",
    "to_networkx",
    "train",
]

__version__ = version("girl")

if TYPE_CHECKING:
    from girl import datasets, methods, splits
    from girl.api.embed import embed
    from girl.api.estimator import GIRL
    from girl.api.evaluate import evaluate
    from girl.api.judge import judge
    from girl.api.networkx import from_networkx, to_networkx
    from girl.api.pretrain import pretrain
    from girl.api.report import report
    from girl.api.train import train
    from girl.kernel import KRLoss, kr_loss, rho
    from girl.nn.regularizer import KRRegularizer
    from girl.training.recipe import Recipe

#: The module of each public name. It is imported on first use, so that `import girl` and `girl --help` are fast.
_MODULES = {
    "GIRL": "girl.api.estimator",
    "KRLoss": "girl.kernel",
    "KRRegularizer": "girl.nn.regularizer",
    "Recipe": "girl.training.recipe",
    "embed": "girl.api.embed",
    "evaluate": "girl.api.evaluate",
    "from_networkx": "girl.api.networkx",
    "judge": "girl.api.judge",
    "kr_loss": "girl.kernel",
    "pretrain": "girl.api.pretrain",
    "report": "girl.api.report",
    "rho": "girl.kernel",
    "to_networkx": "girl.api.networkx",
    "train": "girl.api.train",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    elif name in ("datasets", "methods", "splits"):
        value = import_module(f"girl.{name}")
    else:
        raise AttributeError(f"module 'girl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
