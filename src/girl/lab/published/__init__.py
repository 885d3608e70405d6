"""The numbers of Fishman et al. (ICML 2023), as printed there."""

from __future__ import annotations

import csv
from importlib.resources import files


def table(name: str) -> list[dict[str, str]]:
    """The rows of a published table, such as ``synthetic_1d``."""
    text = files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
