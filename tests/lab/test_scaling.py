"""The scaling model: what it counts, and that fitting finds the rates that made the times."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

import girl
from girl.lab.scaling import MEETINGS, Network, Rates, Work, fit, fit_size

WORKS = [
    Work(170_000, 2_000_000, 128, 8),
    Work(230_000, 100_000_000, 602, 12),
    Work(2_400_000, 60_000_000, 100, 122),
]


def test_operations_of_a_graph_that_can_be_counted_by_hand():
    work = Work(nodes=100, edges=300, features=5, steps=2, hidden=4, hops=3, rows=20, rank=8, columns=6)
    encoder = 2 * (2 * 100 * 5 * 4)  # x W, and its gradient
    kernel = 2 * (2 * 20 * 8) * (2 * 4 + 4 * 8 + 5 * 6)
    assert work.dense == encoder + kernel
    assert work.sparse == 2 * 3 * 2 * (300 + 100) * 4
    assert work.message == 2 * 8 * (8 * 8 + 4 * 6) + 4 * 4 * 6


def test_what_is_sent_does_not_depend_on_the_graph():
    assert Work(10, 10, 128, 1).message == Work(10**8, 10**10, 128, 5000).message


def test_what_the_loss_sends_is_what_the_model_says(tmp_path, monkeypatch):
    work = Work(4096, 0, 0, 1, hidden=32, rank=256, columns=96)
    dist.init_process_group("gloo", f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        meetings = mock.Mock(side_effect=dist.all_reduce)
        monkeypatch.setattr(dist, "all_reduce", meetings)
        loss = girl.KRLoss(features="fourier", rank=work.rank, group=dist.new_group())
        x = torch.randn(work.rows, work.hidden, requires_grad=True)
        loss(x, torch.randn(work.rows, 48), torch.randn(work.rows, 48), generator=torch.Generator()).backward()
    finally:
        dist.destroy_process_group()
    gradients = 4 * work.hidden
    assert loss.communicator.bytes_sent == pytest.approx(work.message - gradients, rel=0.02)
    assert meetings.call_count + 1 == MEETINGS


@given(st.floats(1e-12, 1e-9), st.floats(1e-12, 1e-9))
def test_fitting_finds_the_rates(dense, sparse):
    made = Rates(dense, sparse)
    found = fit(WORKS, [made.alone(work) for work in WORKS])
    assert found.dense == pytest.approx(dense, rel=1e-6)
    assert found.sparse == pytest.approx(sparse, rel=1e-6)


def test_no_rate_is_below_zero():
    first, second = fit_size([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.1, 3.2])
    assert first > 0
    assert second == 0


def test_messages_are_the_price_of_sharing():
    rates, work, network = Rates(1e-11, 1e-10), WORKS[2], Network()
    alone = rates.alone(work)
    assert rates.shared(work, 1, 0.5, network) == alone
    assert network.seconds(work.message, 1) == 0
    spent = [rates.shared(work, count, 0.9, network) for count in (2, 8, 64)]
    assert spent == sorted(spent, reverse=True)
    assert spent[0] == pytest.approx(alone / 1.8 + 61 * network.seconds(work.message, 2))
    assert all(time > alone / count for time, count in zip(spent, (2, 8, 64), strict=True))
