"""GGD: real nodes are distinguished from those of a shuffled graph, node by node."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from girl.graph.batch import Batch
from girl.kernel.checks import check_int, check_number
from girl.methods.augment import random_view, shuffle_features
from girl.methods.encoder_method import EncoderMethod
from girl.nn.convolutions import Linear
from girl.nn.encoder import EncoderSettings
from girl.settings import checking


@dataclass(frozen=True)
class GGDSettings:
    """The view, and the propagation of the final embeddings."""

    drop_features: float = 0.2
    """Fraction of the feature columns dropped at each step."""
    num_hops: int = 5
    """k: embeddings propagated k times are added to the embeddings; 0: nothing is added."""

    def __post_init__(self) -> None:
        with checking():
            check_number("drop_features", self.drop_features, 0, 1)
            check_int("num_hops", self.num_hops, 0)


class GGD(EncoderMethod):
    r"""Graph Group Discrimination (Zheng et al., 2022).

    Deep Graph Infomax without a summary: a node's score is the sum of a linear map of its output,
    :math:`1^\top W h_i`, and distinguishes real nodes from those with shuffled features. Embeddings are
    :math:`H + \hat A^k H`.
    """

    passes = 2

    def __init__(self, inputs: int, encoder: EncoderSettings, settings: GGDSettings) -> None:
        super().__init__(inputs, encoder)
        self.settings = settings
        self.head = Linear(encoder.hidden, encoder.hidden)

    def losses(self, batch: Batch, generator: torch.Generator) -> dict[str, Tensor]:
        """The cross-entropy of real against shuffled nodes."""
        view = random_view(batch, self.settings.drop_features, 0.0, generator)
        groups = (view, shuffle_features(view, generator))
        scores = [self.head(self.encoder(group.x, group.graph)[-1]).sum(1) for group in groups]
        truth = torch.cat([torch.ones(batch.num_nodes), torch.zeros(batch.num_nodes)]).to(scores[0].device)
        return {"groups": binary_cross_entropy_with_logits(torch.cat(scores), truth)}

    @torch.no_grad()
    def transform_layer(self, h: Tensor, data: Batch) -> Tensor:
        """H + ÂᵏH."""
        z = h
        for _ in range(self.settings.num_hops):
            z = data.graph.gcn @ z
        return h + z if self.settings.num_hops else h
