"""Run the notebooks of this folder and keep what they give: `python examples/run.py`, or with the names of some.

Outputs are written without times and counters, so that a run which gives the same leaves the same files.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
NOTEBOOKS = tuple(sorted(FOLDER.glob("*.ipynb")))


def executed(path: Path, seconds: int = 600) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new run, from its first cell to its last."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=seconds, startup_timeout=seconds, kernel_name="python3")
    client.resources = {"metadata": {"path": str(FOLDER)}}
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What its cells give, as text."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path.name)
