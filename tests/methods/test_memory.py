from __future__ import annotations

from girl.methods.girl import GIRLMethod, GIRLSettings
from girl.methods.grace import GRACE, GRACESettings
from girl.methods.memory import batch_bytes, kernel_bytes, layer_bytes
from girl.nn.encoder import EncoderSettings
from tests.helpers.methods import build


def test_layers_and_batches_are_linear_in_their_nodes(data):
    for conv in ("gcn", "gatv2"):
        settings = EncoderSettings(conv=conv, hidden=8, layers=3)
        assert layer_bytes(settings, data, 60) * 2 == layer_bytes(settings, data, 120)
    assert batch_bytes(data, 60) * 2 == batch_bytes(data, 120)


def test_attention_counts_edges(data):
    plain, attention = (EncoderSettings(conv=conv, hidden=8) for conv in ("gcn", "gatv2"))
    edges = data.graph.adjacency.values().numel()
    n = data.num_nodes
    assert layer_bytes(attention, data, n) == layer_bytes(plain, data, n) * (2 * n + edges) / n


def test_an_exact_kernel_is_quadratic_in_rows_and_a_low_rank_one_linear():
    assert kernel_bytes(200, 16, exact=True) == 4 * kernel_bytes(100, 16, exact=True)
    assert kernel_bytes(200, 16) == 2 * kernel_bytes(100, 16)


def test_fixed_targets_persist_and_sampling_rows_saves_memory(data):
    fixed = build(GIRLMethod, GIRLSettings(target_rank=8), data).memory(data, 120)
    assert fixed.persistent == 2 * 4 * 120 * 8
    assert build(GIRLMethod, GIRLSettings(targets=("input",)), data).memory(data, 120).persistent == 0
    every, sampled = (build(GRACE, GRACESettings(rows=rows), data).memory(data, 120) for rows in (0, 30))
    assert sampled.step < every.step
