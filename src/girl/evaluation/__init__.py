"""Measurements of embeddings: probes, baselines and label-free quality. Nothing here trains an encoder or draws."""
