"""Pages and examples use the public surface only, the API page documents all of it, and every name on a page exists."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from cyclopts import CycloptsError, MissingArgumentError

import girl
from tests.helpers.pages import DOCS, NOTEBOOKS, PAGES, ROOT, blocks, cells, prose

#: The one page that points into private modules.
PAPER = DOCS / "paper_to_code.md"
API = [*(DOCS / "api").glob("*.md")]
PUBLIC = set(girl.__all__) - {"__version__"}
MODULES = ("datasets", "methods", "splits")


def is_public(dotted: str) -> bool:
    """Whether ``girl.name`` or ``girl.module.name`` is in the public surface, or is an attribute of what is."""
    _, *names = dotted.split(".")
    if not names:
        return True
    if names[0] not in girl.__all__:
        return False
    if len(names) == 1:
        return True
    thing = getattr(girl, names[0])
    if names[0] in MODULES and names[1] not in thing.__all__:
        return False
    for name in names[1:]:
        if not hasattr(thing, name):
            return False
        thing = getattr(thing, name)
    return True


def names_used(code: str) -> set[str]:
    """The dotted names of girl that a piece of Python imports or reads, such as ``girl.datasets.load``."""
    tree = ast.parse(code)
    aliases, names = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name.split(".")[0] == "girl":
                    names.add(item.name)
                    aliases[item.asname or "girl"] = item.name if item.asname else "girl"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "girl":
            for item in node.names:
                names.add(f"{node.module}.{item.name}")
                aliases[item.asname or item.name] = f"{node.module}.{item.name}"
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if parts and isinstance(inner, ast.Name) and inner.id in aliases:
            names.add(".".join([aliases[inner.id], *reversed(parts)]))
    # Of a.b.c, a.b is found too; what an instance or class offers is checked as far as its class has it.
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_use_only_the_public_surface(page):
    text = page.read_text(encoding="utf-8")
    used = {name for _, code in blocks(text, "python") for name in names_used(code)}
    if page != PAPER:
        inline = "\n".join(re.findall(r"`([^`]+)`", prose(text)))
        used |= set(re.findall(r"(?<![\w./-])girl(?:\.[A-Za-z_]\w*)+", inline))
    assert sorted(name for name in used if not is_public(name)) == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.name)
def test_notebooks_use_only_the_public_surface(notebook):
    used = {name for code in cells(notebook, "code") for name in names_used(code)}
    assert used
    assert sorted(name for name in used if not is_public(name)) == []


def test_private_names_are_recognised():
    assert not is_public("girl.training.recipe.Recipe")
    assert not is_public("girl.datasets.registry")
    assert not is_public("girl.datasets.lode")
    assert is_public("girl.KRLoss.paper")
    assert names_used("from girl import datasets as d\nimport girl\nd.load('x')\ngirl.rho(1, 2)") == {
        "girl", "girl.datasets", "girl.datasets.load", "girl.rho",
    }  # fmt: skip


def test_api_pages_document_every_public_name():
    text = "\n".join(page.read_text(encoding="utf-8") for page in API)
    documented = set(re.findall(r"^\.\. auto(?:class|function|module):: girl\.(\w+)$", text, flags=re.MULTILINE))
    assert documented == PUBLIC


@pytest.mark.parametrize("module", MODULES)
def test_public_modules_have_what_they_promise(module):
    thing = getattr(girl, module)
    assert thing.__doc__
    for name in thing.__all__:
        assert hasattr(thing, name), name


def test_api_pages_name_things_that_exist():
    text = "\n".join(page.read_text(encoding="utf-8") for page in API)
    for name in re.findall(r"^\.\. auto\w+:: (girl[\w.]+)$", text, flags=re.MULTILINE):
        resolve(name)


def resolve(dotted: str) -> object:
    """The module, function, class or attribute of this name; AttributeError or ImportError if there is none."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if not error.name or not error.name.startswith("girl"):
                raise
            continue
        for name in parts[cut:]:
            thing = getattr(thing, name)
        return thing
    raise ImportError(dotted)


def paper_names() -> list[str]:
    return sorted(set(re.findall(r"`(girl\.[\w.]+)`", PAPER.read_text(encoding="utf-8"))))


def test_every_name_on_the_paper_page_exists():
    missing = []
    for name in paper_names():
        try:
            resolve(name)
        except (ImportError, AttributeError) as error:
            missing.append(f"{name}: {error}")
    assert len(paper_names()) > 20
    assert missing == []


def commands(page: Path) -> list[str]:
    """The complete `girl` commands of a page, in blocks and in the text."""
    text = page.read_text(encoding="utf-8")
    lines = [line.split(" -m ")[-1] for _, block in blocks(text, "sh") for line in block.splitlines()]  # after torchrun
    lines += re.findall(r"`(girl [^`]+)`", prose(text).replace("\n", " "))
    return sorted({line for line in lines if line.startswith("girl ") and "..." not in line})


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_on_pages_exist_with_their_options(page):
    from girl.cli import app

    wrong = []
    for line in commands(page):
        try:
            # Parses the options and their values, and does not run the command.
            app.parse_args(shlex.split(line, comments=True)[1:], print_error=False, exit_on_error=False)
        except CycloptsError as error:
            if not isinstance(error, MissingArgumentError):  # the text may leave out what every call needs
                wrong.append(f"{line}: {error}")
    assert wrong == []


def test_the_paper_page_names_commands():
    assert {line.split()[2] for line in commands(PAPER) if line.startswith("girl reproduce")} >= {"nodes", "depth"}


def test_recipes_on_the_paper_page_exist():
    text = PAPER.read_text(encoding="utf-8")
    names = set(re.findall(r"recipe `([\w-]+)`", text))
    assert len(names) >= 2
    for name in names:
        girl.Recipe.load(name)


def test_every_label_of_the_paper_is_on_the_page():
    """The numbered objects of the paper, as its text labels them."""
    text = PAPER.read_text(encoding="utf-8")
    for label in (
        *("Theorem 4.1", "Theorem 4.2", "Algorithm 1", "Table 1", "Table 2", "Table C.1", "Table C.2"),
        *(f"Figure {number}" for number in range(1, 7)),
        *("Figure C.1", "Figure C.2", "Figure E.3"),
    ):
        assert label in text, label


def test_paths_named_in_the_contributing_guide_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:src|tests|docs|examples|benchmarks|results)/[\w./-]*)`", text)
    assert paths
    assert [path for path in paths if "NAME" not in path and not (ROOT / path).exists()] == []


def test_links_in_root_pages_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_citation_has_the_paper_and_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == girl.__version__
    assert citation["preferred-citation"]["title"] == "Graph Representation Learning via Aggregation Enhancement"
    assert len(citation["preferred-citation"]["authors"]) == 6


def test_changelog_begins_with_this_version():
    headings = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert girl.__version__ in headings[:2]  # below "Unreleased", if there is one


def test_hooks_and_workflow_run_tools_that_the_project_installs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"].split()[0] for repo in hooks["repos"] for hook in repo["hooks"]]
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = " ".join(tools["project"]["optional-dependencies"]["dev"])
    for entry in entries:
        assert Path(entry).name in extras, entry
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    commands = [step.get("run", "") for job in steps["jobs"].values() for step in job["steps"]]
    assert "make test" in commands


@pytest.mark.parametrize("target", ["check", "test", "docs", "demo", "bench"])
def test_make_targets_that_pages_name_exist(target):
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
