r"""A model of what training costs: operations, bytes and messages, with rates that are fitted to measurements.

An epoch of GIRL on :math:`n` nodes with :math:`e` entries in the batches' adjacency matrices is

.. math:: t = \frac{\alpha\,D + \beta\,E}{P} + S\,m(P),

:math:`D` operations of dense products, :math:`E` of sparse ones, :math:`P` processes, :math:`S` steps and the time
:math:`m(P)` that the messages of a step take. Seconds per operation :math:`\alpha, \beta` are fitted; the network's
bandwidth and latency are assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.optimize

#: Bytes of a number, and of one in the kernel's sums over rows.
FLOAT, DOUBLE = 4, 8

#: All-reduces in a step: ten in the loss, forward and backward, and one for the gradients.
ALL_REDUCES = 11


@dataclass(frozen=True)
class Epoch:
    """An epoch of GIRL: the graph, cut into batches, and the encoder with its loss."""

    nodes: int
    edges: int
    """Entries of the adjacency matrices of all batches."""
    features: int
    steps: int
    hidden: int = 128
    hops: int = 10
    rows: int = 4096
    """Nodes that the loss sees in a step."""
    rank: int = 256
    columns: int = 128
    """Of all targets."""

    @property
    def dense(self) -> float:
        """Operations of products of dense matrices: the encoder's, forward and backward, and the loss's."""
        encoder = 2 * 2 * self.nodes * self.features * self.hidden
        rows = min(self.rows, self.nodes / self.steps)
        # Features of the kernel, forward and backward; products of them with themselves and with the targets.
        kernel = 2 * rows * self.rank * (2 * self.hidden + 4 * self.rank + 5 * self.columns)
        return encoder + self.steps * kernel

    @property
    def sparse(self) -> float:
        """Operations of products with the adjacency matrices and their self-loops, forward and backward."""
        return 2 * 2 * self.hops * (self.edges + self.nodes) * self.hidden

    @property
    def message(self) -> float:
        """Bytes that a process sends in a step: the sums of the loss, forward and backward, and the gradients."""
        sums = 2 * self.rank * (DOUBLE * self.rank + FLOAT * self.columns)
        return sums + FLOAT * self.hidden * (self.features + 1)


@dataclass(frozen=True)
class Network:
    """The network between processes; assumed, not measured."""

    bandwidth: float = 10e9 / 8
    """Bytes a second."""
    latency: float = 50e-6
    """Seconds."""

    def seconds(self, message: float, processes: int) -> float:
        """The time of a step's ring all-reduces."""
        if processes == 1:
            return 0.0
        rounds = 2 * (processes - 1)
        return rounds / processes * message / self.bandwidth + ALL_REDUCES * rounds * self.latency


#: Ten gigabits a second.
NETWORK = Network()


@dataclass(frozen=True)
class Rates:
    """Seconds per operation, fitted."""

    dense: float
    sparse: float

    def seconds(self, epoch: Epoch, processes: int = 1, efficiency: float = 1.0, network: Network = NETWORK) -> float:
        """Seconds of an epoch with ``processes``, each with as many threads as the one that was measured.

        Each process takes a batch in a step, so there are fewer steps. ``efficiency`` is what was measured with two
        processes on one host.
        """
        computing = self.dense * epoch.dense + self.sparse * epoch.sparse
        if processes == 1:
            return computing
        waiting = -(-epoch.steps // processes) * network.seconds(epoch.message, processes)
        return computing / (processes * efficiency) + waiting


def fit_rates(epochs: Sequence[Epoch], seconds: Sequence[float]) -> Rates:
    """The rates of measured epochs."""
    return Rates(*proportional([e.dense for e in epochs], [e.sparse for e in epochs], seconds))


def proportional(first: Sequence[float], second: Sequence[float], measured: Sequence[float]) -> tuple[float, float]:
    """Factors a, b ≥ 0 of ``measured ≈ a·first + b·second`` with the least squares of relative errors."""
    parts, values = np.array([first, second], dtype=float).T, np.array(measured, dtype=float)
    size = parts.max(0)  # so that both columns are of the order of 1
    factors, _ = scipy.optimize.nnls(parts / size / values[:, None], np.ones(len(values)))
    a, b = factors / size
    return float(a), float(b)
