"""The paper's tables and figures, each a declaration; results as JSON."""
