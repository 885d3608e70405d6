"""A figure of embeddings: their first two principal components, coloured by class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import torch
from torch import Tensor

from girl.reporting.figure import panels
from girl.reporting.map_data import principal_components


def draw_maps(path: Path, embeddings: Mapping[str, Tensor], labels: Tensor, title: str) -> Path:
    """Draw embeddings of the same nodes side by side, each in the plane of its first two principal components.

    Labels only set the colours; the positions do not depend on them.

    Args:
        path: the file without a suffix; .svg and .png are written.
        embeddings: embeddings (n × d) by name.
        labels: classes (n).
        title: the figure's title.
    """
    classes = labels.unique().tolist()
    colors = mpl.colormaps["tab10" if len(classes) <= 10 else "tab20"]
    with panels(path, title, list(embeddings)) as axes:
        for axis, h in zip(axes, embeddings.values(), strict=True):
            plane, _, _ = principal_components((h.to_dense() if h.layout != torch.strided else h).numpy())
            for index, label in enumerate(classes):
                x, y = plane[labels == label].T
                axis.scatter(x, y, s=5, color=colors(index % colors.N), label=str(label), lw=0)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.grid(visible=False)
        axes[-1].legend(title="class", loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=3)
    return path.with_suffix(".png")
