"""Results as files: Markdown for people, JSON for programs. Each is written whole, so that nobody reads half a table."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mpmath

from benchmarks.result import Result, Table

RESULTS = Path(__file__).parent / "results"
_SHORT = 132  # characters
_PACKAGES = ("exactformer", "python-flint", "numpy", "mpmath", "sympy")


def versions() -> dict[str, str]:
    """What was measured: a ratio means little without the versions on both of its sides."""
    packages = {name: version(name) for name in _PACKAGES}
    packages["mpmath"] += f" ({mpmath.libmp.BACKEND} integers)"  # with gmpy2 it is another program
    return {"Python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}", **packages}


def write(result: Result, folder: Path = RESULTS, by: str = "make bench") -> list[Path]:
    """Write `result` as Markdown, which says what command wrote it, and JSON; the paths written."""
    found = versions()
    folder.mkdir(parents=True, exist_ok=True)
    data = {"benchmark": result.name, "versions": found, **result.data}
    return [
        _write_whole(folder / f"{result.name}.md", markdown(result, found, by)),
        _write_whole(folder / f"{result.name}.json", in_lines(data) + "\n"),
    ]


def in_lines(data: Any, indent: str = "") -> str:
    """JSON in which whatever is short stands in a line.

    >>> print(in_lines({"short": [1, 2, {"x": None}]}))
    {"short": [1, 2, {"x": null}]}
    >>> print(in_lines({"rows": [{"a": 1}, {"b": "long" * 30}]})[:31])
    {
     "rows": [
      {"a": 1},
      {"b"
    """
    whole, inner = json.dumps(data, ensure_ascii=False), indent + " "
    if len(whole) <= _SHORT or not isinstance(data, dict | list | tuple):
        return whole
    if isinstance(data, dict):
        parts, ends = [f"{json.dumps(str(key), ensure_ascii=False)}: {in_lines(value, inner)}" for key, value in data.items()], "{}"
    else:
        parts, ends = [in_lines(value, inner) for value in data], "[]"
    return f"{ends[0]}\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}{ends[1]}"


def markdown(result: Result, found: dict[str, str], by: str) -> str:
    parts = [_table(part) if isinstance(part, Table) else part for part in result.parts]
    measured = "Measured with " + ", ".join(f"{name} {value}" for name, value in found.items() if name != "machine")
    return "\n\n".join([f"# {result.title}", *parts, f"{measured}, on {found['machine']}. Written by `{by}`."]) + "\n"


def _table(table: Table) -> str:
    lines = [table.columns, ("---",) * len(table.columns), *table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _write_whole(path: Path, text: str) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return path
