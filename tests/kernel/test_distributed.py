"""The loss of the global batch: N processes get what one process gets that holds all rows."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.distributed as dist

from girl.kernel.checks import EqualRowsError, NotFiniteError
from girl.kernel.distributed import Communicator
from girl.kernel.loss import KRLoss, kr_loss
from tests.helpers.processes import together

pytestmark = pytest.mark.processes

#: Every path of the loss, for the rows of :func:`samples`.
CASES: dict[str, dict[str, object]] = {
    "default": {},
    "fourier": {"features": "fourier", "rank": 16},
    "fourier in chunks": {"features": "fourier", "rank": 16, "chunk_size": 7},
    "fourier, in-sample": {"features": "fourier", "rank": 16, "residual": "insample", "root": False},
    "nystrom": {"features": "nystrom", "rank": 16},
    "rpcholesky": {"features": "nystrom", "rank": 16, "landmarks": "rpcholesky"},
    "clamp": {"features": "nystrom", "rank": 16, "smoother": "clamp"},
    "p = 1.5": {"features": "fourier", "rank": 16, "p": 1.5},
    "bandwidth 2": {"features": "fourier", "rank": 16, "bandwidth": 2.0},
    "paper": {"features": "exact", "smoother": "clamp", "residual": "insample"},
    "exact, median": {"features": "exact", "bandwidth": "median"},
}

#: The number of rows on each process, 90 in all: even, uneven, with one row or none.
ROW_COUNTS = {2: ((45, 45), (90, 0), (1, 89)), 4: ((20, 30, 39, 1), (0, 50, 0, 40))}

#: Number of processes, type of the rows, and tolerance.
SETUPS = ((2, torch.float64, 1e-10), (4, torch.float32, 1e-5))


def samples(dtype):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(90, 6, generator=generator, dtype=dtype) + 0.5
    dense = torch.randn(90, 3, generator=generator, dtype=dtype) + x[:, :3].sin()
    sparse = torch.randn(90, 5, generator=generator, dtype=dtype).relu()
    sparse[:40, 4] = 0  # a column that is empty on some processes
    return x, dense, sparse


def losses_of_rows(group, start, end, dtype):
    """Loss, gradients and the generator's next number for rows start:end, for every case."""
    results = {}
    for name, options in CASES.items():
        x, dense, sparse = (t[start:end] for t in samples(dtype))
        x, dense = x.clone().requires_grad_(), dense.clone().requires_grad_()
        generator = torch.Generator().manual_seed(3 if group is None or dist.get_rank() == 0 else 17)
        value = kr_loss(x, dense, sparse.to_sparse_csr(), **options, group=group, generator=generator)
        (3 * value).backward()
        results[name] = (value.detach(), x.grad, dense.grad, torch.rand(1, generator=generator))
    return results


def losses_of_process(group, row_counts, dtype):
    rank = dist.get_rank()
    starts = [sum(counts[:rank]) for counts in row_counts]
    return [
        losses_of_rows(group, start, start + counts[rank], dtype)
        for start, counts in zip(starts, row_counts, strict=True)
    ]


def all_results():
    """Run by four processes; two of them also form a group of their own while the others wait."""
    pair = dist.new_group([0, 1])
    groups = {2: pair, 4: dist.group.WORLD}
    results = {}
    for count, dtype, _ in SETUPS:
        results[count] = losses_of_process(groups[count], ROW_COUNTS[count], dtype) if dist.get_rank() < count else None
    if dist.get_rank() < 2:
        results |= {"bytes": bytes_sent(pair), "errors": errors(pair), "collectives": collectives(pair)}
    dist.barrier()
    return results


def bytes_sent(group):
    """Bytes that a process sends for a loss and its backward, by the number of rows."""
    results = {}
    for rows in (100, 1000, 10_000):
        loss = KRLoss(features="fourier", rank=32, group=group)
        x = torch.randn(rows, 8, generator=torch.Generator().manual_seed(dist.get_rank())).requires_grad_()
        loss(x, x.detach()[:, :4].sin(), generator=torch.Generator().manual_seed(0)).backward()
        results[rows] = loss.communicator.bytes_sent
    return results


def errors(group):
    """The errors of invalid rows on this process, and the value of a valid loss after them."""
    rank = dist.get_rank()
    loss = KRLoss(features="fourier", rank=8, group=group)
    with_nan = torch.randn(10, 2)
    if rank == 1:
        with_nan[3, 1] = float("nan")
    single_row = torch.randn(1 - rank, 2)
    messages = []
    for x in (with_nan, torch.ones(5, 2), single_row):
        try:
            loss(x, x)
        except ValueError as error:
            messages.append((type(error).__name__, str(error)))
    try:
        KRLoss("median", "fourier", group=group)(torch.randn(10, 2), torch.randn(10, 2))
    except ValueError as error:
        messages.append((type(error).__name__, str(error)))
    assert copy.deepcopy(loss).communicator is loss.communicator
    # After these errors the processes must still be in step.
    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(rank))
    return messages, float(loss(x, x.sin()))


def collectives(group):
    communicator = Communicator(group)
    rank = communicator.rank
    x = torch.full((rank + 1, 2), float(rank))
    parts = [torch.full((2,), float(r == rank) * (r + 5)) for r in range(2)]
    communicator.broadcast_parts(parts)
    return {
        "mean": communicator.mean_row(x).tolist(),
        "total": communicator.total_rows(len(x), x.device),
        "parts": torch.stack(parts).tolist(),
        "partition": communicator.partition(5),
        "types": [t.tolist() for t in communicator.all_reduce(torch.tensor([rank]), torch.tensor([0.5]))],
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return together(4, all_results, tmp_path_factory.mktemp("processes"))


@pytest.mark.parametrize(("count", "dtype", "tolerance"), SETUPS)
def test_many_processes_get_the_loss_and_gradient_of_one(count, dtype, tolerance, results):
    expected = losses_of_rows(None, 0, 90, dtype)
    for position, row_counts in enumerate(ROW_COUNTS[count]):
        for name, (value, x_grad, y_grad, next_number) in expected.items():
            for rank, size in enumerate(row_counts):
                rows = slice(sum(row_counts[:rank]), sum(row_counts[:rank]) + size)
                result = results[rank][count][position][name]
                close = {"rtol": tolerance, "atol": tolerance, "msg": lambda text, name=name: f"{name}: {text}"}
                torch.testing.assert_close(result[0], value, **close)
                # DistributedDataParallel averages gradients over processes.
                torch.testing.assert_close(result[1] / count, x_grad[rows], **close)
                torch.testing.assert_close(result[2] / count, y_grad[rows], **close)
            # The generator of process 0 ends where that of a single process ends.
            assert torch.equal(results[0][count][position][name][3], next_number), name


def test_messages_do_not_grow_with_the_number_of_rows(results):
    first, second = (result["bytes"] for result in results[:2])
    assert len(set(first.values())) == 1
    assert first == second
    rank, columns, state = 32, 4, 5056
    # Both sums and their backward, in float64 and float32; the state of the generator; a few scalars and columns.
    assert first[100] < 2 * 8 * (rank * rank + rank * columns) + state + 1000


def test_an_error_on_one_process_is_raised_on_all(results):
    (messages, value), (other_messages, other_value) = (result["errors"] for result in results[:2])
    kinds = [kind for kind, _ in messages]
    assert kinds == [kind for kind, _ in other_messages]
    assert kinds == [NotFiniteError.__name__, EqualRowsError.__name__, "ValueError", "ValueError"]
    assert "another process" in messages[0][1]
    assert "row 3, column 1" in other_messages[0][1]
    assert "all 10 rows are equal" in messages[1][1]
    assert "given 1 row(s)" in messages[2][1]
    assert "expected 'mean' or a number" in messages[3][1]
    assert value == other_value


def test_collectives(results):
    for result in results[:2]:
        assert result["collectives"] == {
            "mean": pytest.approx([2 / 3, 2 / 3]),
            "total": 3,
            "parts": [[5.0, 5.0], [6.0, 6.0]],
            "partition": [slice(0, 2), slice(2, 5)],
            "types": [[1], [1.0]],
        }
