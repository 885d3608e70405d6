"""The import order of the rooms, read from the imports themselves."""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "girl"

#: What each room may import, beside itself and the base modules.
BASE = {"errors", "files", "store", "console", "settings", "threads"}
ROOMS = {
    "kernel": set(),
    "graph": {"kernel"},
    "nn": {"kernel", "graph"},
    "methods": {"kernel", "graph", "nn"},
    "tables": {"kernel", "graph", "datasets"},
    "datasets": {"kernel", "graph"},
    "splits": {"datasets"},
    "training": {"kernel", "graph", "nn", "methods", "datasets", "splits"},
    "evaluation": {"kernel", "graph", "nn", "methods", "datasets", "splits", "tables", "training"},
    "reporting": {"kernel", "graph", "nn", "methods", "datasets", "splits", "tables", "training", "evaluation"},
    "api": {
        "kernel", "graph", "nn", "methods", "datasets", "splits", "tables", "training", "evaluation", "reporting"
    },
}  # fmt: skip
ROOMS["cli"] = ROOMS["api"] | {"api"}
ROOMS["lab"] = ROOMS["cli"] | {"cli"}


def imports(path: Path) -> set[str]:
    """The rooms that a module imports, anywhere in it."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            first, *rest = name.split(".")
            if first == "girl" and rest:
                rooms.add(rest[0])
    return rooms


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_the_rooms_before_it(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):  # the front door, which opens rooms when they are asked for
        return
    allowed = BASE | {"__version__"} | ({room} if room in BASE else ROOMS[room] | {room})
    assert imports(path) <= allowed


def test_every_room_is_listed():
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ROOMS) - {"splits"}


def test_no_file_is_longer_than_400_lines():
    long = {str(p.relative_to(SOURCE)): n for p in SOURCE.rglob("*.py") if (n := len(p.read_text().splitlines())) > 400}
    assert not long


def test_contributing_draws_the_import_graph():
    graph: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        rooms = {"base" if name in BASE | {"__version__"} else name for name in imports(path) | {room}}
        room = "base" if room in BASE else room
        graph.setdefault(room, set()).update(rooms - {room})

    def reachable(room: str) -> set[str]:
        return graph[room].union(*(reachable(other) for other in graph[room])) if graph[room] else set()

    arrows = {
        (room, other)
        for room in graph
        for other in graph[room]
        if not any(other in reachable(between) for between in graph[room])
    }
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^  (\w+) --> (\w+)$", page, flags=re.MULTILINE)) == arrows


def test_the_walks_of_contributing_name_functions_that_exist():
    page = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names = re.findall(r"`(girl\.[\w.]+)`", page)
    assert len(names) > 25
    for name in names:
        pkgutil.resolve_name(name)


def test_every_module_has_a_test_of_its_own():
    tests = Path(__file__).parent
    missing = []
    for path in SOURCE.rglob("*.py"):
        relative = path.relative_to(SOURCE)
        if path.name.startswith("__"):
            continue
        if not (tests / relative.parent / f"test_{path.name}").exists():
            missing.append(str(relative))
    assert not missing
