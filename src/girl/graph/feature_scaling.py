"""How features are scaled before nodes are compared by them; decided once, on the training graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from girl.graph.node_features import NodeFeatures

#: If columns that most nodes have differ in spread by more than this, they have different units.
UNITS = 30.0


class FeatureScaling(nn.Module):
    """Scales the features of a graph.

    Bags of words, and other features without negative numbers, are scaled to the same length in each row; what this
    loses, the row's size, is kept apart. Columns of different units (years beside incomes) are standardised. Other
    features stay as they are.
    """

    column_scale: Tensor
    unit_rows: Tensor
    size_moments: Tensor

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.register_buffer("column_scale", torch.ones(inputs))
        self.register_buffer("unit_rows", torch.tensor(False))
        self.register_buffer("size_moments", torch.tensor([0.0, 1.0]))

    def fit(self, x: NodeFeatures) -> None:
        """Decide from the features (n × d) of the training graph."""
        self.column_scale.fill_(1)
        if x.sparse is None:
            dense = x.dense()
            std = dense.std(0, correction=0)
            common = std[((dense != 0).float().mean(0) > 0.5) & (std > 0)]
            if len(common) and float(common.max() / common.min()) > UNITS:
                self.column_scale.copy_(torch.where(std > 0, 1 / std, 0.0))
        self.unit_rows.fill_(x.is_nonnegative and bool((self.column_scale == 1).all()))
        log_size = x.row_sizes().log1p()
        self.size_moments.copy_(torch.stack([log_size.mean(), log_size.std(correction=0).clamp(min=1e-6)]))

    def forward(self, x: NodeFeatures) -> NodeFeatures:
        """The scaled features."""
        if bool(self.unit_rows):
            return x.normalized("l2")
        return x if bool((self.column_scale == 1).all()) else NodeFeatures(dense=x.dense() * self.column_scale)

    def log_size(self, x: NodeFeatures) -> Tensor:
        """The logarithm of each row's size (n), standardised."""
        return (x.row_sizes().log1p() - self.size_moments[0]) / self.size_moments[1]
