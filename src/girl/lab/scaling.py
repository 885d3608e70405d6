r"""What training costs on graphs of any size: operations, bytes and messages, and rates fitted to measurements.

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

#: Times that processes wait for each other in a step: ten in the loss, there and back, and once for the gradients.
MEETINGS = 11


@dataclass(frozen=True)
class Work:
    """An epoch: the graph, cut into batches, and the encoder with its loss."""

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
        """Operations of products of dense matrices: the encoder's there and back, and the loss's."""
        encoder = 2 * 2 * self.nodes * self.features * self.hidden
        rows = min(self.rows, self.nodes / self.steps)
        # Features of the kernel there and back; its square, the residuals' and their gradients; the same of targets.
        kernel = 2 * rows * self.rank * (2 * self.hidden + 4 * self.rank + 5 * self.columns)
        return encoder + self.steps * kernel

    @property
    def sparse(self) -> float:
        """Operations of products with the adjacency matrices and their loops, there and back."""
        return 2 * 2 * self.hops * (self.edges + self.nodes) * self.hidden

    @property
    def message(self) -> float:
        """Bytes that a process gives away in a step: the sums of the loss there and back, and the gradients."""
        sums = 2 * self.rank * (DOUBLE * self.rank + FLOAT * self.columns)
        return sums + FLOAT * self.hidden * (self.features + 1)


@dataclass(frozen=True)
class Network:
    """What lies between processes; assumed, not measured."""

    bandwidth: float = 10e9 / 8
    """Bytes a second."""
    latency: float = 50e-6
    """Seconds."""

    def seconds(self, message: float, processes: int) -> float:
        """The messages of a step in a ring, in which everything passes everybody there and back."""
        if processes == 1:
            return 0.0
        rounds = 2 * (processes - 1)
        return rounds / processes * message / self.bandwidth + MEETINGS * rounds * self.latency


@dataclass(frozen=True)
class Rates:
    """Fitted: seconds per operation."""

    dense: float
    sparse: float

    def alone(self, work: Work) -> float:
        """Seconds of an epoch in one process."""
        return self.dense * work.dense + self.sparse * work.sparse

    def shared(self, work: Work, processes: int, efficiency: float, network: Network) -> float:
        """Seconds of an epoch among processes that have as many threads each as one had.

        Each takes a batch in a step, so there are fewer steps; and it loses to its neighbours on the host what two
        were seen to lose.
        """
        share = 1.0 if processes == 1 else efficiency
        waiting = -(-work.steps // processes) * network.seconds(work.message, processes)
        return self.alone(work) / (processes * share) + waiting


def fit(works: Sequence[Work], seconds: Sequence[float]) -> Rates:
    """The rates, none below zero, whose errors are the smallest in proportion to what was measured."""
    dense, sparse = _proportional(np.array([[work.dense, work.sparse] for work in works]), seconds)
    return Rates(dense, sparse)


def fit_size(features: Sequence[float], edges: Sequence[float], measured: Sequence[float]) -> tuple[float, float]:
    """The same of bytes or seconds, each proportional to the bytes of the features and to the edges."""
    return _proportional(np.array([features, edges]).T, measured)


def _proportional(parts: np.ndarray, measured: Sequence[float]) -> tuple[float, float]:
    told = np.array(measured, dtype=float)
    size = parts.max(0)  # so that both columns are of the order of 1
    found, _ = scipy.optimize.nnls(parts / size / told[:, None], np.ones(len(told)))
    first, second = found / size
    return float(first), float(second)
