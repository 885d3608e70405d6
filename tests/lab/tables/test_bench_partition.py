from __future__ import annotations

from girl.lab.tables.bench_partition import partition_loss


def test_the_sentence_names_every_graph():
    rows = [{"dataset": name, "stand_in": False, "all": 0.56, "half": 0.54} for name in ("computers", "digits")]
    text = partition_loss({"fraction": 0.5, "parts": 32, "rows": rows})
    assert "sees 50 % of the entries, for 32 parts: Computers 54 instead of 56 %, digits 54 instead of 56 %." in text
