"""The notebooks in examples/ run from the first cell to the last, and give what stands in them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
NAMES = ("capstone", "circuit_and_theorem", "float_error", "lesson_checked", "stories_certified")


@pytest.fixture(scope="module")
def run() -> ModuleType:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    spec = importlib.util.spec_from_file_location("run_examples", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_all_of_them_are_here() -> None:
    assert tuple(sorted(path.stem for path in FOLDER.glob("*.ipynb"))) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_gives_what_stands_in_it(name: str, run: ModuleType) -> None:
    import nbformat

    path = FOLDER / f"{name}.ipynb"
    assert run.texts(run.executed(path)) == run.texts(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_been_run(name: str) -> None:
    import json

    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
    assert any("text/html" in output.get("data", {}) for cell in code for output in cell["outputs"])
