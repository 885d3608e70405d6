from __future__ import annotations

from unittest import mock

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

import girl
from girl.lab.cost_model import ALL_REDUCES, Epoch, Network, Rates, fit_rates, proportional

EPOCHS = [
    Epoch(170_000, 2_000_000, 128, 8),
    Epoch(230_000, 100_000_000, 602, 12),
    Epoch(2_400_000, 60_000_000, 100, 122),
]


def test_operations_of_a_graph_that_can_be_counted_by_hand():
    work = Epoch(nodes=100, edges=300, features=5, steps=2, hidden=4, hops=3, rows=20, rank=8, columns=6)
    encoder = 2 * (2 * 100 * 5 * 4)  # x W, and its gradient
    kernel = 2 * (2 * 20 * 8) * (2 * 4 + 4 * 8 + 5 * 6)
    assert work.dense == encoder + kernel
    assert work.sparse == 2 * 3 * 2 * (300 + 100) * 4
    assert work.message == 2 * 8 * (8 * 8 + 4 * 6) + 4 * 4 * 6


def test_bytes_sent_do_not_depend_on_the_graph():
    assert Epoch(10, 10, 128, 1).message == Epoch(10**8, 10**10, 128, 5000).message


def test_the_loss_sends_the_bytes_of_the_model(tmp_path, monkeypatch):
    work = Epoch(4096, 0, 0, 1, hidden=32, rank=256, columns=96)
    dist.init_process_group("gloo", f"file://{tmp_path / 'rendezvous'}", rank=0, world_size=1)
    try:
        all_reduces = mock.Mock(side_effect=dist.all_reduce)
        monkeypatch.setattr(dist, "all_reduce", all_reduces)
        loss = girl.KRLoss(features="fourier", rank=work.rank, group=dist.new_group())
        x = torch.randn(work.rows, work.hidden, requires_grad=True)
        loss(x, torch.randn(work.rows, 48), torch.randn(work.rows, 48), generator=torch.Generator()).backward()
    finally:
        dist.destroy_process_group()
    gradients = 4 * work.hidden
    assert loss.communicator.bytes_sent == pytest.approx(work.message - gradients, rel=0.02)
    assert all_reduces.call_count + 1 == ALL_REDUCES


@given(st.floats(1e-12, 1e-9), st.floats(1e-12, 1e-9))
def test_fitting_recovers_the_rates_behind_the_times(dense, sparse):
    true = Rates(dense, sparse)
    fitted = fit_rates(EPOCHS, [true.seconds(epoch) for epoch in EPOCHS])
    assert fitted.dense == pytest.approx(dense, rel=1e-6)
    assert fitted.sparse == pytest.approx(sparse, rel=1e-6)


def test_no_rate_is_negative():
    first, second = proportional([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 2.1, 3.2])
    assert first > 0
    assert second == 0


def test_time_falls_with_processes_but_less_than_in_proportion():
    rates, work, network = Rates(1e-11, 1e-10), EPOCHS[2], Network()
    alone = rates.seconds(work)
    assert rates.seconds(work, 1, 0.5, network) == alone
    assert network.seconds(work.message, 1) == 0
    spent = [rates.seconds(work, count, 0.9, network) for count in (2, 8, 64)]
    assert spent == sorted(spent, reverse=True)
    assert spent[0] == pytest.approx(alone / 1.8 + 61 * network.seconds(work.message, 2))
    assert all(time > alone / count for time, count in zip(spent, (2, 8, 64), strict=True))
