"""The room has one entrance, and data flows through its modules in one direction."""

from __future__ import annotations

import ast
from pathlib import Path

import girl.tables

ROOM = Path(girl.tables.__file__).parent
#: Each module imports only those before it.
ORDER = """
messages column_names settings cells text table table_files graph_files sources edges node_table
column_encoders table_encoder user_graph graph_membership graph_set embeddings export matrix
"""
MODULES = ORDER.split()


def imported(path: Path) -> set[str]:
    """The modules of girl that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name for name in modules if name.split(".")[0] == "girl"}


def test_modules_import_only_those_before_them():
    assert {path.stem for path in ROOM.glob("*.py")} == {*MODULES, "__init__"}
    for position, module in enumerate(MODULES):
        inside = {name for name in imported(ROOM / f"{module}.py") if name.startswith("girl.tables")}
        assert inside <= {f"girl.tables.{name}" for name in MODULES[:position]}, module


def test_other_rooms_import_from_the_entrance_only():
    others = [path for path in ROOM.parent.rglob("*.py") if ROOM not in path.parents]
    inside = {f"girl.tables.{name}" for name in MODULES}
    assert {str(path): imported(path) & inside for path in others if imported(path) & inside} == {}


def test_every_exported_name_exists():
    assert sorted(girl.tables.__all__) == sorted(name for name in girl.tables.__all__ if hasattr(girl.tables, name))
