from __future__ import annotations

import io

import numpy as np
from rich.console import Console

from girl.api.demo import run_demo
from tests.helpers.pictures import drawn_fraction


def test_the_demo_beats_raw_pixels_and_leaves_embeddings_and_a_picture(tmp_path):
    made = run_demo(tmp_path, Console(file=io.StringIO()))
    score = {row.representation: row.test.mean for row in made.rows}
    assert score["GIRL"] > score["raw pixels"]
    assert len(np.load(made.embeddings)) == 1797
    assert 0.02 < drawn_fraction(made.picture) < 0.9
