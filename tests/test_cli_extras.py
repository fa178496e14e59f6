"""What an extra brings, and is not installed: one line that names the extra, and status 2."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import exactformer as xf
import exactformer.lessons
from cli_runs import refused, run
from exactformer.messages import NotInstalled
from exactformer.numbers.sympy_bridge import from_sympy, to_sympy

PAGE = "the page needs its extra: pip install 'exactformer[web]' (in a clone: pip install -e '.[web]')"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, where what reads Markdown is not installed."""
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    monkeypatch.delitem(sys.modules, "exactformer.lessons.paging", raising=False)
    monkeypatch.delattr(exactformer.lessons, "paging", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("options", [(), ("--lesson", "mine.md")])
def test_a_site_says_what_it_needs(folder: Path, options: tuple[str, ...]) -> None:
    assert run("lesson", "new", "mine").returncode == 0  # which needs no page
    assert refused("site", "out", *options) == PAGE
    assert [path.name for path in folder.iterdir()] == ["mine.md"]


def test_a_lesson_as_a_page_says_what_it_needs(folder: Path) -> None:
    with pytest.raises(NotInstalled, match=r"^the page needs its extra: pip install 'exactformer\[web\]'"):
        exactformer.lessons.page(exactformer.lessons.read("# Hi\n"))


@pytest.mark.parametrize("missing", ["starlette.applications", "uvicorn"])
def test_so_does_the_page(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for module in ("exactformer.web.app", "exactformer.web.listening"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert refused("serve", "--no-open", "--port", "0") == PAGE


def test_numbers_for_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    for translated in (to_sympy, from_sympy):
        with pytest.raises(NotInstalled, match=r"^SymPy is not installed: pip install 'exactformer\[sympy\]'"):
            translated(xf.exp(1))


def test_onnx_and_dask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "exactformer[onnx]" in refused("oracle", "onnx", "--installed")
    assert "exactformer[distributed]" in refused("prove", "induction", "--length", "2", "--cluster", "tcp://127.0.0.1:1")
