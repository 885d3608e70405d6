from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from girl.errors import InputError
from girl.tables.matrix import read_matrix

VALUES = np.array([[1.5, 2.0], [3.0, -4.0], [0.0, 6.5]])


def write(path: Path) -> Path:
    table = pl.DataFrame(VALUES, schema=["a", "b"])
    match path.suffix:
        case ".npy":
            np.save(path, VALUES)
        case ".npz":
            scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(VALUES))
        case ".csv":
            table.write_csv(path)
        case ".tsv":
            table.write_csv(path, separator="\t")
        case ".parquet":
            table.write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".tsv", ".parquet"])
def test_every_format_gives_the_same_numbers(tmp_path, suffix):
    np.testing.assert_array_equal(read_matrix(write(tmp_path / f"m{suffix}")), VALUES)


def test_columns_are_chosen_by_name_and_a_header_is_optional(tmp_path):
    np.testing.assert_array_equal(read_matrix(write(tmp_path / "m.csv"), ["b"]), VALUES[:, 1:])
    (tmp_path / "bare.csv").write_text("1,2\n3,4\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "bare.csv"), [[1, 2], [3, 4]])


def test_vectors_booleans_and_integers_become_columns_of_numbers(tmp_path):
    np.save(tmp_path / "v.npy", np.array([1, 2, 3]))
    assert read_matrix(tmp_path / "v.npy").shape == (3, 1)
    (tmp_path / "b.csv").write_text("a,b\ntrue,1\nfalse,2\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "b.csv"), [[1, 1], [0, 2]])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.csv", None, ("gone.csv", "no such file")),
        ("m.xls", "1", (".xls", ".parquet")),
        ("empty.csv", "", ("empty.csv: is empty",)),
        ("word.csv", "a,b\n1,2\n3,x\n", ("row 3, column 'b': 'x' is not a number",)),
        ("hole.csv", "a,b\n1,2\n3,\n", ("row 3, column 'b' is missing",)),
        ("nan.csv", "a,b\n1,2\n3,nan\n", ("row 3, column 'b' is missing",)),
        ("column.csv", "a,b\n1,\n3,\n", ("row 2, column 'b' is missing", "2 such cells")),
        ("bareword.csv", "1,2\n3,4\n5,x\n", ("row 3, column 'column_2': 'x' is not a number",)),
        ("barehole.csv", "1,2\n3,4\n5,\n", ("row 3, column 'column_2' is missing",)),
        ("firsthole.csv", "1,\n3,4\n5,6\n", ("first line holds the number '1'", "fill the gap")),
        ("firstna.tsv", "NA\t2\n3\t4\n", ("first line holds the number '2'", "fill the gap")),
        ("numbered.csv", "id,0,1\n3,4,5\n", ("first line holds the number '0'", "name every column")),
        ("bad.npy", "not an array", ("bad.npy", "cannot be read")),
    ],
)
def test_errors_name_file_and_problem(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_matrix(path)
    for word in words:
        assert word in str(caught.value)


def test_missing_columns_and_files_without_names_are_errors(tmp_path):
    with pytest.raises(InputError, match="no column 'z'.*a, b"):
        read_matrix(write(tmp_path / "m.csv"), ["z"])
    with pytest.raises(InputError, match="no column names"):
        read_matrix(write(tmp_path / "m.npy"), ["a"])


def test_a_pickle_is_never_run(tmp_path):
    np.save(tmp_path / "p.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read"):
        read_matrix(tmp_path / "p.npy")


def test_rows_and_columns_of_arrays_and_parquet_are_counted_from_one(tmp_path):
    np.save(tmp_path / "m.npy", np.array([[1, 2], [3, np.nan]]))
    with pytest.raises(InputError, match="row 2, column 2 is missing"):
        read_matrix(tmp_path / "m.npy")
    pl.DataFrame({"a": [1.0, 3.0], "b": [2.0, None]}).write_parquet(tmp_path / "m.parquet")
    with pytest.raises(InputError, match="row 2, column 'b' is missing"):
        read_matrix(tmp_path / "m.parquet")
    pl.DataFrame({"a": ["1", "x"]}).write_parquet(tmp_path / "w.parquet")
    with pytest.raises(InputError, match="row 2, column 'a': 'x' is not a number"):
        read_matrix(tmp_path / "w.parquet")
    pl.DataFrame({"a": [[1], [2]]}).write_parquet(tmp_path / "l.parquet")
    with pytest.raises(InputError, match="column 'a' holds List.*not numbers"):
        read_matrix(tmp_path / "l.parquet")


def test_a_comma_in_a_name_is_part_of_it(tmp_path):
    (tmp_path / "m.csv").write_text('"a,1",b\n1,2\n3,4\n')
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.csv", ["a,1"]), [[1], [3]])
