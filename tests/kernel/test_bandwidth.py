from __future__ import annotations

import torch

from girl.kernel.bandwidth import squared_width
from girl.kernel.chunks import ChunkedRows
from tests.helpers.samples import normal, seeded


def test_mean_is_the_mean_over_all_pairs():
    x = normal(30, 4)
    pairs = torch.cdist(x, x).square()
    torch.testing.assert_close(squared_width(ChunkedRows(x, 7), "mean"), pairs.mean())


def test_median_is_the_median_over_distinct_pairs():
    x = normal(31, 4)
    pairs = torch.pdist(x).square()
    torch.testing.assert_close(squared_width(ChunkedRows(x), "median"), pairs.median())


def test_median_of_many_rows_comes_from_a_sample():
    x = normal(5000, 4)
    width = squared_width(ChunkedRows(x), "median", seeded(1))
    truth = torch.pdist(x).square().median()
    assert abs(float(width / truth) - 1) < 0.05


def test_a_number_is_sigma():
    assert float(squared_width(ChunkedRows(normal(5, 2)), 3.0)) == 18.0


def test_mean_keeps_its_digits_far_from_the_origin():
    x = normal(1000, 3)
    far = (x + 1000).float()
    expected = squared_width(ChunkedRows(far.double()), "mean")
    torch.testing.assert_close(squared_width(ChunkedRows(far), "mean").double(), expected, rtol=1e-4, atol=0)
