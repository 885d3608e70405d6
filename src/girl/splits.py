"""Named protocols: which nodes train the probe, which choose its strength and which are scored.

>>> import girl.splits
>>> girl.splits.get("random-10-10-80").name
'random-10-10-80'
"""

from girl.evaluate.split import PROTOCOLS, Protocol, Split, available, get

__all__ = ["PROTOCOLS", "Protocol", "Split", "available", "get"]
