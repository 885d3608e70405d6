from __future__ import annotations

import pytest
import torch

from girl.kernel.bandwidth import squared_width
from girl.kernel.chunks import ChunkedRows
from girl.kernel.features import JITTER, fourier_map, kernel_matrix, nystrom_map, orthogonal_frequencies
from tests.helpers.samples import normal, seeded


def exact(x):
    return torch.exp(-torch.cdist(x, x).square() / (2 * 1.5**2))


def width(x):
    return squared_width(ChunkedRows(x), 1.5)


def test_kernel_matrix_is_gaussian():
    x = normal(20, 3)
    torch.testing.assert_close(kernel_matrix(ChunkedRows(x), width(x)), exact(x))


@pytest.mark.parametrize("landmarks", ["uniform", "rpcholesky"])
def test_nystrom_is_exact_on_its_landmarks_and_never_above_k(landmarks):
    x = normal(60, 3)
    phi = nystrom_map(ChunkedRows(x), width(x), 20, landmarks, torch.float64, seeded())(x)
    error = exact(x) - phi @ phi.T
    assert phi.shape == (60, 20)
    assert float(torch.linalg.eigvalsh(error).min()) > -1e-8  # K - K̂ is positive semi-definite
    assert int((error.diagonal() < 2 * JITTER).sum()) >= 20


def test_pivoted_landmarks_leave_less_unexplained_than_uniform_ones():
    x = torch.cat([normal(280, 3) * 0.05, normal(20, 3, seed=1) * 3])  # a dense clump and a few far rows
    unexplained = {"uniform": 0.0, "rpcholesky": 0.0}
    for landmarks in unexplained:
        for seed in range(5):
            phi = nystrom_map(ChunkedRows(x), width(x), 20, landmarks, torch.float64, seeded(seed))(x)  # type: ignore[arg-type]
            unexplained[landmarks] += float((exact(x) - phi @ phi.T).trace())
    assert unexplained["rpcholesky"] < 0.5 * unexplained["uniform"]


def test_pivoted_landmarks_stop_when_all_rows_are_explained():
    x = normal(5, 3)[torch.arange(50) % 5]
    phi = nystrom_map(ChunkedRows(x), width(x), 20, "rpcholesky", torch.float64, seeded())(x)
    assert phi.shape[1] == 5
    torch.testing.assert_close(phi @ phi.T, exact(x), atol=1e-3, rtol=0)


@pytest.mark.parametrize("rank", [1, 2, 7, 64])
def test_fourier_rows_have_norm_one(rank):
    x = normal(10, 3)
    phi = fourier_map(ChunkedRows(x), width(x), rank, torch.float64, seeded())(x)
    assert phi.shape[1] == rank + rank % 2
    torch.testing.assert_close(phi.square().sum(1), torch.ones(10).double())


def test_fourier_is_unbiased():
    x = normal(8, 3)
    grams = []
    for seed in range(400):
        phi = fourier_map(ChunkedRows(x), width(x), 32, torch.float64, seeded(seed))(x)
        grams.append(phi @ phi.T)
    stack = torch.stack(grams)
    error = (stack.mean(0) - exact(x)) / (stack.std(0) / 20).clamp(min=1e-6)
    assert float(error.abs().max()) < 5  # standard errors


def test_frequencies_are_orthogonal_in_blocks():
    frequencies = orthogonal_frequencies(4, 10, seeded(), torch.device("cpu"))
    assert frequencies.shape == (4, 10)
    for block in frequencies.split(4, dim=1):
        inner = block.T @ block
        assert float((inner - torch.diag(inner.diagonal())).abs().max()) < 1e-4
