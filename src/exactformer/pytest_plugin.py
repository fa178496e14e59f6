"""A plugin of pytest: `pytest --exactformer` checks the printed numbers of pages, notebooks and worksheets beside the tests.

Nothing is read unless it is asked for, by the option or by `exactformer = true` in the settings of pytest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("exactformer")
    group.addoption("--exactformer", action="store_true", help="check the printed numbers of lessons, pages and notebooks")
    group.addoption("--exactformer-strict", action="store_true", help="numbers that are cut off instead of rounded fail as well")
    parser.addini("exactformer", "check the printed numbers of lessons, pages and notebooks", type="bool", default=False)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not (parent.config.getoption("--exactformer") or parent.config.getini("exactformer")):
        return None
    from exactformer.checking.pages.page import ENDINGS
    from exactformer.checking.sources import Source

    if file_path.suffix.lower() not in ENDINGS:
        return None
    text = file_path.read_bytes().decode("utf-8", "replace")
    return LessonFile.from_parent(parent, path=file_path) if Source(str(file_path), named=False).concerns(text) else None


class LessonFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield LessonItem.from_parent(self, name="numbers")


class LessonItem(pytest.Item):
    """All printed numbers of a file: they hold together, or the lines that do not are reported."""

    def runtest(self) -> None:
        from exactformer.lessons.checking import check_files

        checked = check_files([self.path], strict=self.config.getoption("--exactformer-strict"))
        if checked.status:
            raise NotRight("\n".join([*checked.problems, checked.report.rstrip("\n")]).strip("\n"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, NotRight) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"numbers of {self.path.name}"


class NotRight(Exception):
    """What is said of a file."""
