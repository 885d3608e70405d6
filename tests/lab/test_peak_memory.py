from __future__ import annotations

import numpy as np
import psutil

from girl.lab.peak_memory import in_fresh_process, peak_bytes, reset_peak, resident_bytes

MEGABYTE = 1_000_000


def grown(size):
    """Bytes by which the peak rises while ``size`` bytes are held for a moment."""
    reset_peak()
    before = peak_bytes()
    np.ones(size, dtype=np.uint8).sum()
    return peak_bytes() - before


def test_the_peak_keeps_what_was_released():
    assert 90 * MEGABYTE < in_fresh_process(grown, 100 * MEGABYTE) < 150 * MEGABYTE
    assert peak_bytes() >= resident_bytes() - MEGABYTE


def test_a_reset_forgets_an_earlier_peak():
    np.ones(200 * MEGABYTE, dtype=np.uint8).sum()
    if not reset_peak():
        return  # only Linux can
    assert peak_bytes() < psutil.Process().memory_info().rss + 50 * MEGABYTE


def test_a_fresh_process_does_not_have_the_peak_of_its_parent():
    held = np.ones(600 * MEGABYTE, dtype=np.uint8)
    assert in_fresh_process(peak_bytes) < peak_bytes() - len(held) // 2
