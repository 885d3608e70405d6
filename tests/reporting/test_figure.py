from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.image import imread

from girl.reporting.figure import _STYLE as STYLE
from girl.reporting.figure import figure, panels


def draw(path) -> None:
    with figure(path, "a title", "x", "y") as axes:
        axes.plot([0, 1], [1, 0])


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        draw(tmp_path / name)
    for suffix in (".svg", ".png"):
        one, two = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("one", "two"))
        assert one == two
    assert "a title" in (tmp_path / "one.svg").read_text()


def test_panels_are_arranged_in_rows(tmp_path):
    with panels(tmp_path / "panels", "title", ["a", "b", "c"], columns=2) as axes:
        corners = [panel.get_subplotspec() for panel in axes]
    assert [(spec.rowspan.start, spec.colspan.start) for spec in corners] == [(0, 0), (0, 1), (1, 0)]
    height, width, _ = imread(tmp_path / "panels.png").shape
    assert (width, height) == (round(160 * 7.2), round(160 * 7.0))


def test_an_error_while_drawing_leaves_no_file_and_no_changed_style(tmp_path):
    before = [mpl.rcParams[key] for key in STYLE]
    with pytest.raises(RuntimeError, match="broken"), figure(tmp_path / "figure", "title", "x", "y"):
        raise RuntimeError("broken")
    assert not list(tmp_path.iterdir())
    assert [mpl.rcParams[key] for key in STYLE] == before
