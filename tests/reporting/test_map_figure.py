from __future__ import annotations

import torch
from matplotlib.image import imread

from girl.reporting.map_figure import draw_maps


def test_every_embedding_has_a_panel_and_every_class_a_colour(tmp_path):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(60) % 12
    embeddings = {"dense": torch.randn(60, 5, generator=generator), "sparse": torch.eye(60).to_sparse_csr()}
    path = draw_maps(tmp_path / "map", embeddings, labels, "A title")
    text = path.with_suffix(".svg").read_text()
    for words in ("A title", "dense", "sparse", "class", ">11<"):
        assert words in text
    pixels = imread(path)[..., :3].reshape(-1, 3)
    strong = pixels[pixels.max(1) - pixels.min(1) > 0.3]
    assert len({tuple(pixel) for pixel in strong.round(1)}) >= 10
