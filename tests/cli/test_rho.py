from __future__ import annotations

import json

import numpy as np
import pytest

from girl.cli import main


def rho(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["rho", *map(str, arguments)])
    printed = capsys.readouterr()
    return stop.value.code or 0, printed.out, printed.err


@pytest.fixture
def files(tmp_path):
    x = np.random.default_rng(0).normal(size=(300, 2))
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "y.csv").write_text("a,b\n" + "\n".join(f"{v**2},{w}" for v, w in x) + "\n")
    (tmp_path / "short.csv").write_text("a\n1\n2\n")
    return tmp_path


def test_rho_prints_an_estimate_with_its_error(files, capsys):
    code, out, _ = rho(capsys, files / "x.npy", files / "y.csv")
    assert code == 0
    assert "±" in out
    assert "standard deviation of Y" in out


def test_independent_columns_have_the_standard_deviation_as_rho(files, capsys):
    y = files / "y.csv"
    code, out, _ = rho(capsys, y, y, "--x-columns", "a", "--y-columns", "b", "--json")
    value = json.loads(out)
    assert (code, value["rows"]) == (0, 300)
    assert value["rho"] == pytest.approx(value["std"], rel=0.1)


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ("none.csv", (), ("none.csv", "no such file")),
        ("short.csv", (), ("short.csv", "2 rows", "expected 300")),
        ("y.csv", ("--y-columns", "c"), ("'c'", "a, b")),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(files, capsys, y, options, words):
    code, _, err = rho(capsys, files / "x.npy", files / y, *options)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert all(word in err for word in words)
