from __future__ import annotations

import gzip

import torch

from girl.datasets.ogb import read_ogb


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.write("".join(f"{line}\n" for line in lines))


def test_a_graph_is_read_from_csv_files_and_missing_labels_are_unknown(tmp_path):
    write(tmp_path / "raw/num-node-list.csv.gz", 3)
    write(tmp_path / "raw/edge.csv.gz", "0,1", "2,0")
    write(tmp_path / "raw/node-feat.csv.gz", "0.5,1", "2,3", "4,-1.5")
    write(tmp_path / "raw/node-label.csv.gz", "1", "nan", "0")
    for name, node in (("train", 2), ("valid", 0), ("test", 1)):
        write(tmp_path / f"split/time/{name}.csv.gz", node)
    data, masks = read_ogb(tmp_path, "time", inverse=False)
    assert data.edge_index.tolist() == [[0, 2], [1, 0]]
    assert data.x.tolist() == [[0.5, 1.0], [2.0, 3.0], [4.0, -1.5]]
    assert data.x.dtype == torch.float32
    assert data.y.tolist() == [1, -1, 0]
    assert [mask.nonzero().tolist() for mask in masks] == [[[2, 0]], [[0, 0]], [[1, 0]]]
    data, _ = read_ogb(tmp_path, "time", inverse=True)
    assert data.edge_index.tolist() == [[0, 1, 2, 0], [1, 0, 0, 2]]
