from __future__ import annotations

import pytest
import torch

from girl.methods.base import Method
from girl.training.loop import fit
from girl.training.state import TrainSettings


class Mean(Method):
    """Learns the mean of the features."""

    def __init__(self, inputs):
        super().__init__()
        self.mean = torch.nn.Parameter(torch.zeros(inputs))

    @property
    def width(self):
        return len(self.mean)

    def losses(self, batch, generator):
        return {"error": (batch.x.dense() - self.mean).square().mean()}

    def embed(self, data):
        return (data.x.dense() - self.mean).detach()


def test_a_loss_and_embeddings_make_a_method(data):
    method = Mean(data.x.shape[1])
    fit(method, data, TrainSettings(epochs=400, lr=0.02))
    torch.testing.assert_close(method.mean.detach(), data.x.dense().mean(0), atol=0.02, rtol=0)
    torch.testing.assert_close(method.finish(data), method.embed(data))


def test_optional_hooks_do_nothing(data):
    method = Mean(3)
    before = method.mean.clone()
    method.prepare(data, torch.Generator())
    method.after_step(0.5)
    method.after_epoch(lambda: iter([data]), torch.Generator())
    assert (method.prepared(), method.memory(data, 5), method.score(data), method.observe(data, 1)) == (
        {},
        None,
        None,
        {},
    )
    assert method.choices() == {}
    assert torch.equal(method.mean, before)


def test_a_method_without_embeddings_is_refused():
    class Half(Method):
        def losses(self, batch, generator):
            return {}

    with pytest.raises(TypeError, match="embed"):
        Half()
