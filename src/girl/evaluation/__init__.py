"""What an embedding is worth: protocols (splits), probes, metrics and controls."""
