"""Packages import in one direction only, imports inside functions included; docs/architecture.md has the order and the map."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "exactformer"
PAGE = ROOT / "docs" / "architecture.md"
EVERYWHERE = {"files", "hashing", "messages", "progress", "showing"}  # small modules without imports of the package


def imported(path: Path) -> set[str]:
    """The packages of exactformer that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"exactformer(\.\w+)+", node.value):
            names.append(node.value)  # a module that is read when it is first asked for
        found |= {name.split(".")[1] for name in names if name.startswith("exactformer.")}
    return found


def graph() -> dict[str, set[str]]:
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        arrows[package] |= imported(path) - {package}
    return arrows


def order() -> list[str]:
    """The packages as docs/architecture.md lists them, the lowest first."""
    (line,) = re.findall(r"^    (numbers ← .*(?:\n    ← .*)*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for level in line.split("←") for name in level.split()]


def test_arrows_point_one_way() -> None:
    arrows, places = graph(), {name: n for n, name in enumerate(order())}
    wrong = [
        f"{package} imports {other}"
        for package, others in sorted(arrows.items())
        for other in sorted(others - EVERYWHERE)
        if package in places and places.get(other, len(places)) >= places[package]
    ]
    assert wrong == []
    assert {package for package in arrows if not package.startswith("__")} - EVERYWHERE == set(places)


def test_what_is_everywhere_imports_nothing() -> None:
    """But for `showing`, which names the one package that stands above: how things look."""
    found = {name: imported(SOURCE / f"{name}.py") for name in EVERYWHERE}
    assert found == {name: {"render"} if name == "showing" else set() for name in EVERYWHERE}


def test_the_map_is_drawn_from_the_imports() -> None:
    """A row a package: what it imports. When the imports change, the failure shows the new rows."""
    rows = {package: others - EVERYWHERE for package, others in graph().items() if package in order()}
    drawn = re.findall(r"^\| `(\w+)` \| ([\w ]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    anew = "\n".join(f"| `{name}` | {' '.join(sorted(rows[name], key=order().index))} |" for name in order())
    assert {name: set(others.split()) for name, others in drawn} == rows, anew
