from __future__ import annotations

from pathlib import Path

from girl.errors import DamagedError, InputError


def test_a_damaged_file_is_an_input_error_of_one_line_with_path_problem_and_remedy():
    error = DamagedError(Path("a/b.npz"), "is cut short", "fetch it again")
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)
    assert str(error) == "a/b.npz: is cut short; fetch it again"
    assert (error.path, error.problem) == (Path("a/b.npz"), "is cut short")
    assert str(DamagedError(Path("a"), "is empty")) == "a: is empty"
