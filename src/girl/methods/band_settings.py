"""Checks that the settings of bands of nodes and of bands of graphs share."""

from __future__ import annotations

from typing import Protocol

from girl.errors import InputError
from girl.kernel.checks import check_choice, check_int, check_number


class _Settings(Protocol):
    """What the settings of bands of nodes and of graphs have in common."""

    @property
    def dim(self) -> int: ...
    @property
    def bands(self) -> tuple[str, ...]: ...
    @property
    def scales(self) -> tuple[float, ...]: ...
    @property
    def sharpen(self) -> float: ...
    @property
    def judge_rows(self) -> int: ...
    @property
    def judge_block(self) -> int: ...
    @property
    def judge_repeats(self) -> int: ...


def check_bands(settings: _Settings, known: tuple[str, ...]) -> None:
    """Refuse settings that make no sense; ``known`` are the names of all bands."""
    check_int("dim", settings.dim, 1)
    if not settings.bands:
        raise InputError(f"bands: given none, expected one or more of {', '.join(known)}")
    for name in settings.bands:
        check_choice("bands", name, known)
    if settings.scales and len(settings.scales) != len(settings.bands):
        raise InputError(
            f"scales: given {len(settings.scales)} for {len(settings.bands)} bands, expected one for each of "
            f"{', '.join(settings.bands)}"
        )
    for scale in settings.scales:
        check_number("scales", scale, 0)
    if settings.scales and not any(settings.scales):
        raise InputError("scales: given only zeros, expected at least one above 0")
    check_number("sharpen", settings.sharpen, 0, low_open=True)
    check_int("judge_rows", settings.judge_rows, 10)
    check_int("judge_block", settings.judge_block, 10)
    check_int("judge_repeats", settings.judge_repeats, 1)
