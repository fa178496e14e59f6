"""Run the notebooks of this folder and keep what they give: `python examples/run.py`, or with the names of some.

Outputs are written without times and counters, so that a run which gives the same leaves the same files.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parent
NOTEBOOKS = tuple(sorted(FOLDER.glob("*.ipynb")))


def executed(path: Path, seconds: int = 600) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new run, from its first cell to its last."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as sockets:  # no ports: one that is free may be taken until the kernel has it
        config = Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"})
        client = NotebookClient(notebook, timeout=seconds, startup_timeout=seconds, kernel_name="python3", config=config)
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
    """What its cells give, as text; what a cell prints comes in pieces, as the machine has time, and counts as one."""
    found: list[str] = []
    for cell in notebook.cells:
        before = None
        for output in cell.outputs if cell.cell_type == "code" else ():
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            if before is not None and before == output.get("name"):
                found[-1] += text
            else:
                found.append(text)
            before = output.get("name")
    return found


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path.name)
