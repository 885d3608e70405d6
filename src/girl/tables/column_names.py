"""Usual names of columns, by which roles are guessed. All are compared in the form of :func:`simple_name`."""

from __future__ import annotations

_PAIRS = """
source-target src-dst src-dest from-to sourceid-targetid srcid-dstid fromid-toid fromnode-tonode sourcenode-targetnode
fromnodeid-tonodeid id1-id2 node1-node2 node1id-node2id nodeid1-nodeid2 numericid1-numericid2 user1-user2
user1id-user2id userid1-userid2 source-destination origin-destination sender-receiver citing-cited follower-followee
parent-child start-end head-tail left-right u-v i-j a-b x-y row-col
"""

#: Usual names of an edge's source and target, best guess first.
END_PAIRS = tuple(tuple(pair.split("-")) for pair in _PAIRS.split())
ENDS = frozenset(name for pair in END_PAIRS for name in pair)

#: Usual names of a node table's id column, best guess first.
IDS = ("id", "nodeid", "node", "nodes", "uid", "userid", "newid", "name", "key", "index", "idx", "column1")

WEIGHT = "weight"
TIMES = ("time", "timestamp", "datetime", "date", "ts", "createdat")

_ROW_IDS = ("id", "index", "idx", "unnamed0", "row", "rowid")


def simple_name(name: str) -> str:
    """Lower-case letters and digits only: ``Node_1``, ``node 1`` and ``node1`` are the same name."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def is_id_name(name: str) -> bool:
    """Whether columns of this name usually hold ids or row numbers."""
    return simple_name(name) in _ROW_IDS or name.lower().endswith(("_id", " id"))


def default_names(count: int) -> list[str]:
    """Names for columns that have none: column_1, column_2 and so on."""
    return [f"column_{index + 1}" for index in range(count)]
