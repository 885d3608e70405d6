"""What message-passing layers may ask of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from girl.errors import InputError
from girl.graph.propagate import propagate
from girl.kernel.sparse import LinearMap

if TYPE_CHECKING:
    from girl.graph.graph import Graph


class MessageGraph:
    """The base class of graphs that layers run on. What a subclass does not define raises an error."""

    weighted = False

    @property
    def num_nodes(self) -> int:
        """N."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """The device of the graph's tensors."""
        raise NotImplementedError

    @property
    def gcn(self) -> LinearMap:
        """The GCN matrix, n × n."""
        raise self._missing("gcn")

    @property
    def sum(self) -> LinearMap:
        """The sum over in-neighbours, n × n."""
        raise self._missing("sum")

    @property
    def mean(self) -> LinearMap:
        """The mean over in-neighbours, n × n."""
        raise self._missing("mean")

    @property
    def with_self_loops(self) -> Graph:
        """The graph with its edges and a self-loop at every node, for attention."""
        raise self._missing("edges with self-loops")

    def propagate(
        self, x: Tensor, teleport: float, steps: int, *, transpose: bool = False, rows: Tensor | None = None
    ) -> Tensor:
        """Personalised PageRank of the columns of x (n × k) with the GCN matrix: see :mod:`girl.graph.propagate`."""
        return propagate(self.gcn, x, teleport, steps, transpose=transpose, rows=rows)

    def _missing(self, what: str) -> InputError:
        return InputError(f"conv: the layer needs {what}, which a {type(self).__name__} does not have")
