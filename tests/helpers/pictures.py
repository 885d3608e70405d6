"""What a picture shows, as numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np


def drawn_fraction(path: Path) -> float:
    """The fraction of a PNG's pixels that differ from its corner, the background."""
    pixels = matplotlib.image.imread(path)
    return float(np.any(pixels != pixels[0, 0], axis=-1).mean())
