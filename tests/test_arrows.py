"""Packages import in one direction only, imports inside functions included; docs/architecture.md has the order and the map."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "exactformer"
PAGE = ROOT / "docs" / "architecture.md"
EVERYWHERE = {
    "files",
    "hashing",
    "interruption",
    "messages",
    "painting",
    "progress",
    "showing",
}  # small, without imports


def imports(path: Path) -> set[str]:
    """All that a module imports of exactformer, wherever in it: `from exactformer.numbers import decide` is numbers.decide."""
    package = ("exactformer", *path.relative_to(SOURCE).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()  # of an import that starts with dots
            module = ".".join((*above, node.module) if node.module else above)
            found |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"exactformer(\.\w+)+", node.value):
            found.add(node.value)  # a module that is read when it is first asked for
    return {name.removeprefix("exactformer.") for name in found if name.startswith("exactformer.")}


def imported(path: Path) -> set[str]:
    """The packages of exactformer that a module imports."""
    return {name.split(".")[0] for name in imports(path)} - {"__version__"}


def graph() -> dict[str, set[str]]:
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        arrows[package] |= imported(path) - {package}
    return arrows


def order(lowest: str = "numbers") -> list[str]:
    """The packages as docs/architecture.md lists them, the lowest first; or the modules of numbers/."""
    (line,) = re.findall(rf"^    ({lowest} ← .*(?:\n    ← .*)*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for level in line.split("←") for name in level.split()]


def against(arrows: dict[str, set[str]], places: list[str]) -> list[str]:
    """The imports of what does not stand before the importer."""
    return [f"{name} imports {other}" for n, name in enumerate(places) for other in sorted(arrows[name]) if other not in places[:n]]


def test_arrows_point_one_way() -> None:
    arrows = {package: others - EVERYWHERE for package, others in graph().items()}
    assert {package for package in arrows if not package.startswith("__")} - EVERYWHERE == set(order())
    assert against(arrows, order()) == []


def test_modules_of_numbers_import_what_stands_before_them() -> None:
    """What is asked of the package itself stands above them all: it would close a circle."""
    paths = {path.stem: path for path in (SOURCE / "numbers").glob("*.py") if path.stem != "__init__"}
    arrows = {
        name: {f"{other}.__init__".split(".")[1] for other in imports(path) if other.split(".")[0] == "numbers"}
        for name, path in paths.items()
    }
    assert set(paths) == set(order("errors"))
    assert against(arrows, order("errors")) == []


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
