"""A picture of representations: their first two principal components, by class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import torch
from torch import Tensor

from girl.reporting.figure import panels
from girl.reporting.map_data import principal


def draw_maps(path: Path, maps: Mapping[str, Tensor], labels: Tensor, title: str) -> Path:
    """Draw representations of the same nodes side by side, each in its own plane.

    Principal components know no labels; only the colours do. What looks apart here is apart.

    Args:
        path: where to, without a suffix: .svg and .png are written.
        maps: representations (n × d) by name.
        labels: classes (n).
        title: of the whole picture.
    """
    classes = labels.unique().tolist()
    colours = mpl.colormaps["tab10" if len(classes) <= 10 else "tab20"]
    with panels(path, title, list(maps)) as axes:
        for axis, h in zip(axes, maps.values(), strict=True):
            plane, _, _ = principal((h.to_dense() if h.layout != torch.strided else h).numpy())
            for place, label in enumerate(classes):
                nodes = labels == label
                axis.scatter(
                    plane[nodes, 0], plane[nodes, 1], s=5, color=colours(place % colours.N), label=str(label), lw=0
                )
            axis.set_xticks([])
            axis.set_yticks([])
            axis.grid(visible=False)
        axes[-1].legend(title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=3)
    return path.with_suffix(".png")
