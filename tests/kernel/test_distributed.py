"""The loss of the global batch: N processes have what one has that holds all rows."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.distributed as dist

from girl.kernel.checks import EqualRowsError, NotFiniteError
from girl.kernel.loss import KRLoss
from tests.helpers.processes import together

#: Every path of the loss; rows and columns are those of :func:`samples`.
CASES: dict[str, dict[str, object]] = {
    "default": {},
    "fourier": {"features": "fourier", "rank": 16},
    "fourier in chunks": {"features": "fourier", "rank": 16, "chunk": 7},
    "fourier, in-sample": {"features": "fourier", "rank": 16, "residual": "insample", "root": False},
    "nystrom": {"features": "nystrom", "rank": 16},
    "pivoted": {"features": "nystrom", "rank": 16, "landmarks": "rpcholesky"},
    "clamp": {"features": "nystrom", "rank": 16, "smoother": "clamp"},
    "other norm": {"features": "fourier", "rank": 16, "p": 1.5},
    "number": {"features": "fourier", "rank": 16, "bandwidth": 2.0},
    "published": {"features": "exact", "smoother": "clamp", "residual": "insample"},
    "median, gathered": {"features": "exact", "bandwidth": "median"},
}

#: How 90 rows may be shared out: evenly, by no rule, one row here, none there.
SHARES = {2: ((45, 45), (90, 0), (1, 89)), 4: ((20, 30, 39, 1), (0, 50, 0, 40))}


def samples(dtype):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(90, 6, generator=generator, dtype=dtype) + 0.5
    dense = torch.randn(90, 3, generator=generator, dtype=dtype) + x[:, :3].sin()
    sparse = torch.randn(90, 5, generator=generator, dtype=dtype).relu()
    sparse[:40, 4] = 0  # empty for some processes
    return x, dense, sparse


def losses_here(group, start, end, dtype):
    """Loss and gradients of rows start:end, for every case."""
    found = {}
    for name, settings in CASES.items():
        x, dense, sparse = (t[start:end] for t in samples(dtype))
        x, dense = x.clone().requires_grad_(), dense.clone().requires_grad_()
        generator = torch.Generator().manual_seed(3 if group is None or dist.get_rank() == 0 else 17)
        loss = KRLoss(**settings, group=group)
        value = loss(x, dense, sparse.to_sparse_csr(), generator=generator)
        (3 * value).backward()
        found[name] = (value.detach(), x.grad, dense.grad, torch.rand(1, generator=generator))
    return found


def losses_on_ranks(group, shares, dtype):
    rank = dist.get_rank()
    found = []
    for sizes in shares:
        start = sum(sizes[:rank])
        found.append(losses_here(group, start, start + sizes[rank], dtype))
    return found


#: Processes, the type of the rows, and how close they come.
KINDS = ((2, torch.float64, 1e-10), (4, torch.float32, 1e-5))


def everything():
    """Of four processes; of two of them, while the others wait; and what two of them are told."""
    pair = dist.new_group([0, 1])
    groups = {2: pair, 4: dist.group.WORLD}
    found = {}
    for count, dtype, _ in KINDS:
        found[count] = losses_on_ranks(groups[count], SHARES[count], dtype) if dist.get_rank() < count else None
    found["traffic"], found["mistakes"] = (traffic(pair), mistakes(pair)) if dist.get_rank() < 2 else (None, None)
    dist.barrier()
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    return together(4, everything, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize(("count", "dtype", "tolerance"), KINDS)
def test_many_processes_have_the_loss_and_gradient_of_one(count, dtype, tolerance, answers):
    alone = losses_here(None, 0, 90, dtype)
    answers = [found[count] for found in answers]
    for place, sizes in enumerate(SHARES[count]):
        for name, (value, into_x, into_y, drawn) in alone.items():
            for rank, size in enumerate(sizes):
                rows = slice(sum(sizes[:rank]), sum(sizes[:rank]) + size)
                theirs = answers[rank][place][name]
                close = {"rtol": tolerance, "atol": tolerance, "msg": lambda text, name=name: f"{name}: {text}"}
                torch.testing.assert_close(theirs[0], value, **close)
                # To be averaged over processes: that is what DistributedDataParallel does.
                torch.testing.assert_close(theirs[1] / count, into_x[rows], **close)
                torch.testing.assert_close(theirs[2] / count, into_y[rows], **close)
            # The first process draws on where one alone would.
            assert torch.equal(answers[0][place][name][3], drawn), name


def traffic(group):
    """Bytes that a process sends for a loss and its way back, for some numbers of rows."""
    found = {}
    for rows in (100, 1000, 10_000):
        loss = KRLoss(features="fourier", rank=32, group=group)
        x = torch.randn(rows, 8, generator=torch.Generator().manual_seed(dist.get_rank())).requires_grad_()
        loss(x, x.detach()[:, :4].sin(), generator=torch.Generator().manual_seed(0)).backward()
        found[rows] = loss.ranks.sent
    return found


def mistakes(group):
    """What each process is told of rows that no loss can be had of."""
    rank = dist.get_rank()
    loss = KRLoss(features="fourier", rank=8, group=group)
    told = []
    broken = torch.randn(10, 2)
    if rank == 1:
        broken[3, 1] = float("nan")
    few = torch.randn(1 - rank, 2)
    for x in (broken, torch.ones(5, 2), few):
        try:
            loss(x, x)
        except ValueError as error:
            told.append((type(error).__name__, str(error)))
    try:
        KRLoss("median", "fourier", group=group)(torch.randn(10, 2), torch.randn(10, 2))
    except ValueError as error:
        told.append((type(error).__name__, str(error)))
    assert copy.deepcopy(loss).ranks is loss.ranks
    # After all that, the processes are still in step.
    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(rank))
    return told, float(loss(x, x.sin()))


def test_messages_do_not_grow_and_mistakes_are_everyones(answers):
    sent, sent_too = (found["traffic"] for found in answers[:2])
    (told, value), (told_too, value_too) = (found["mistakes"] for found in answers[:2])
    assert len(set(sent.values())) == 1
    assert sent == sent_too
    rank, columns, state = 32, 4, 5056
    # Both sums and their way back, in float64 and float32; the state of the generator; a few scalars and columns.
    assert sent[100] < 2 * 8 * (rank * rank + rank * columns) + state + 1000
    kinds = [name for name, _ in told]
    assert kinds == [name for name, _ in told_too]
    assert kinds == [NotFiniteError.__name__, EqualRowsError.__name__, "ValueError", "ValueError"]
    assert "another process" in told[0][1]
    assert "row 3, column 1" in told_too[0][1]
    assert "all 10 rows are equal" in told[1][1]
    assert "given 1 row(s)" in told[2][1]
    assert "expected 'mean' or a number" in told[3][1]
    assert value == value_too
