r"""The Weisfeiler-Lehman optimal assignment kernel (Kriege, Giscard & Wilson, 2016): the control for sets of graphs.

.. math:: k(G, G') = \sum_{h=0}^{5}\sum_q \min\bigl(c^{(h)}_q(G),\,c^{(h)}_q(G')\bigr),

with :math:`c^{(h)}_q(G)` the number of nodes of colour q at depth h. A test compares it with grakel's, which is the
same and takes time for each pair of graphs; here it is one product of sparse matrices.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from torch import Tensor

from girl.evaluation.svm import C_GRID, FOLDS
from girl.graph.batch import Batch
from girl.graph.colors import Colors, occurrences, refine, row_colors
from girl.graph.set_bands import rounded
from girl.splits import Split

#: Refinements of the colours, as grakel has them by default.
DEPTH = 5


def wl_oa(data: Batch, depth: int = DEPTH) -> NDArray[np.float64]:
    """The kernel of all pairs of graphs of a set, n × n."""
    assert data.graph_id is not None
    graph_id = data.graph_id.cpu().numpy()
    kernel = np.zeros((data.num_graphs, data.num_graphs))
    colors = row_colors(rounded(data.x))
    for step in range(depth + 1):
        counts = _exact_columns(colors, graph_id, data.num_graphs)
        kernel += (counts @ counts.T).toarray()
        if step < depth:
            colors = refine(colors, data.graph)
    return kernel


def _exact_columns(colors: Colors, graph_id: NDArray[np.int64], num_graphs: int) -> scipy.sparse.csr_matrix:
    """A column for each colour and count: 1 if the graph has the colour at least so often."""
    graphs, entry = occurrences(colors, graph_id)
    names, column = np.unique(entry, return_inverse=True)
    return scipy.sparse.csr_matrix((np.ones(len(entry)), (graphs, column)), shape=(num_graphs, len(names)))


def score_kernel(kernel: NDArray[np.float64], y: Tensor, split: Split, seed: int) -> tuple[float, float, float]:
    """The mean accuracy of the inner folds, that on the test graphs, and C, as :class:`girl.evaluation.svm.KernelSVM`.

    The same folds and values of C; only the kernel is given.
    """
    train = torch.cat([split.train, split.val]).sort().values.numpy()
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(SVC(kernel="precomputed"), {"C": C_GRID}, scoring="accuracy", cv=folds)
    search.fit(kernel[np.ix_(train, train)], y[train].numpy())
    test = search.score(kernel[np.ix_(split.test.numpy(), train)], y[split.test].numpy())
    return float(search.best_score_), float(test), float(search.best_params_["C"])
