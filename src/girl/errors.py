"""Mistakes that are a user's to mend: shown as one line, never as a traceback."""

from __future__ import annotations


class InputError(ValueError):
    """What was given cannot be used; the message names it, says what is expected and how to mend it."""
