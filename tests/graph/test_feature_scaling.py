from __future__ import annotations

import scipy.sparse
import torch

from girl.graph.feature_scaling import FeatureScaling
from girl.graph.node_features import NodeFeatures
from girl.kernel.sparse import to_csr


def fitted(x):
    features = NodeFeatures.from_tensor(x)
    scaling = FeatureScaling(x.shape[1])
    scaling.fit(features)
    return scaling, scaling(features)


def noise(n=50, d=6):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(0))


def test_features_without_negative_numbers_get_rows_of_one_length_and_their_size_is_kept():
    words = noise().abs() * torch.linspace(1, 9, 50).unsqueeze(1)
    scaling, scaled = fitted(words)
    norms = scaled.dense().norm(dim=1)
    torch.testing.assert_close(norms, norms[:1].expand(50), atol=1e-4, rtol=0)
    size = scaling.log_size(NodeFeatures.from_tensor(words))
    assert torch.corrcoef(torch.stack([size, words.sum(1).log()]))[0, 1] > 0.98
    sparse = to_csr(scipy.sparse.csr_matrix(words.numpy()))
    torch.testing.assert_close(fitted(sparse)[1].dense(), scaled.dense())


def test_columns_of_different_units_are_standardised():
    x = noise().abs() * torch.tensor([1.0, 1000.0, 1.0, 1.0, 1.0, 1e-3])
    _, scaled = fitted(x)
    torch.testing.assert_close(scaled.dense().std(0, correction=0), torch.ones(6))


def test_other_features_stay_as_they_are():
    assert torch.equal(fitted(noise())[1].dense(), noise())
