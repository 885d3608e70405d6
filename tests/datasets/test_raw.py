from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from girl.datasets.raw import MARKER, is_stand_in, missing, offered_protocols, read_raw, read_raw_splits
from girl.datasets.registry import find
from girl.errors import DamagedError


@pytest.fixture
def copy(mirror, tmp_path):
    """Copies a dataset's raw files to where they may be damaged."""

    def make(name: str) -> Path:
        shutil.copytree(mirror / find(name).folder, tmp_path / find(name).folder, copy_function=shutil.copyfile)
        return tmp_path / find(name).folder

    return make


def test_a_file_cut_between_lines_is_noticed_by_the_counts(copy, tmp_path):
    path = copy("usa-airports") / "usa-airports.edgelist"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:9000]))
    with pytest.raises(DamagedError, match="usa/raw: .*edges, expected 13,599"):
        read_raw(find("usa-airports"), tmp_path)


def test_a_missing_file_is_named(copy, tmp_path):
    (copy("texas") / "out1_graph_edges.txt").unlink()
    assert missing(tmp_path / "texas/raw", find("texas").files) == ["out1_graph_edges.txt"]
    with pytest.raises(DamagedError, match="out1_graph_edges.txt: is missing"):
        read_raw(find("texas"), tmp_path)


@pytest.mark.parametrize("file", ["out1_node_feature_label.txt", "out1_graph_edges.txt"])
@pytest.mark.parametrize("text", ["", "x", "node_id\tfeature\tlabel\n", "<html>\n<body>\n</body>\n</html>\n", "<html>"])
def test_text_that_is_not_the_file_is_named_in_one_line(file, text, copy, tmp_path):
    (copy("texas") / file).write_text(text)
    with pytest.raises(DamagedError, match=f"{file}: is (empty|damaged or cut short)") as caught:
        read_raw(find("texas"), tmp_path)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.path == tmp_path / "texas/raw" / file


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # numpy leaves a damaged archive open
@pytest.mark.parametrize(
    ("name", "file"),
    [("dblp", "dblp.npz"), ("cora", "ind.cora.allx"), ("cora", "ind.cora.graph"), ("minesweeper", "minesweeper.npz")],
)
def test_a_file_that_was_cut_short_is_named(name, file, copy, tmp_path):
    path = copy(name) / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DamagedError, match=f"{file}: is damaged or cut short"):
        read_raw(find(name), tmp_path)


def test_splits_of_another_number_of_nodes_are_refused(mirror, tmp_path):
    entry = find("cora")
    masks = {key: np.ones(5, bool) for key in ("train_mask", "val_mask", "test_mask")}
    (tmp_path / entry.splits_folder).mkdir(parents=True)
    for file in entry.splits_files:
        np.savez(tmp_path / entry.splits_folder / file, **masks)
    with pytest.raises(DamagedError, match="geom-gcn/raw: the splits are of another number of nodes"):
        read_raw_splits(entry, tmp_path)


def test_a_marker_makes_a_stand_in_whose_counts_may_differ(copy, tmp_path):
    folder = copy("texas")
    path = folder / "out1_graph_edges.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:200]))
    assert not is_stand_in(find("texas"), tmp_path)
    (folder / MARKER).write_text("{}")
    assert is_stand_in(find("texas"), tmp_path)
    assert read_raw(find("texas"), tmp_path).stand_in


def test_protocols_without_their_files_are_not_offered():
    entry = find("cora")
    assert offered_protocols(entry, {}) == ("full", "random-10-10-80", "random-60-20-20")
    assert offered_protocols(entry, dict.fromkeys(("public", "geom-gcn"))) == entry.protocols
    assert offered_protocols(find("minesweeper"), {}) == ()
