"""Training: the loop, its checkpoints and its progress. The only room that knows optimisers."""
