"""A made-up repository: the hook, the steps of the action and the plugin of pytest, run here as they are run there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from children import PATIENCE

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
LESSON = "# L\n\n<!-- exactformer: use capstone -->\n\nIt is <!-- exactformer: pattern[0, 1, 0] -->0.28.\n"
FILES = {
    "docs/lesson.md": LESSON,
    "docs/plain.md": "# Nothing of ours\n",
    "pyproject.toml": "[project]\nname = 'made-up'\n",
    "notes.txt": "exactformer: none of its files\n",
    "test_own.py": "def test_own() -> None:\n    assert True\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = tmp_path / "bin" / "exactformer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exactformer "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    known = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": paths} | environment
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=PATIENCE, check=False)


def hook(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As pre-commit does: the entry, and the files whose names the hook wants."""
    wanted = [file for file in FILES if re.search(HOOKS[name]["files"], file)]
    assert "notes.txt" not in wanted
    return run([*shlex.split(HOOKS[name]["entry"]), *wanted], folder)


def test_the_hooks(repository: Path) -> None:
    done = hook("exactformer-check", repository)
    assert done.returncode == 1
    assert "docs/lesson.md:5: blocks.0.attn.pattern[0, 1, 0]: 0.28 is wrong: 0.27 (0.2689); a new error" in done.stdout
    assert "pyproject" not in done.stdout + done.stderr
    assert hook("exactformer-fix", repository).returncode == 0
    assert (repository / "docs/lesson.md").read_text(encoding="utf-8") == LESSON.replace("0.28", "0.27")


def steps(folder: Path, **inputs: str) -> list[subprocess.CompletedProcess[str]]:
    """The steps of the action but for the installation, with its inputs put in."""
    values = {name: inputs.get(name, each["default"]) for name, each in ACTION["inputs"].items()}
    done = []
    for step in ACTION["runs"]["steps"]:
        if step["name"] != "Install":
            given = {name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: values[m[1]], text) for name, text in step["env"].items()}
            done.append(run([step["shell"], "-eo", "pipefail", "-c", step["run"]], folder, **given))
    return done


def test_the_action(repository: Path) -> None:
    (done,) = steps(repository)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "::error file=docs/lesson.md,line=5,title=exactformer: wrong::blocks.0.attn.pattern[0, 1, 0]: 0.28 is"
    )
    (repository / "docs/lesson.md").write_text(LESSON.replace("0.28", "0.27"), encoding="utf-8")
    assert [done.returncode for done in steps(repository, paths="docs/*.md pyproj*", options="--strict")] == [0]


def test_the_action_runs_nothing_that_an_input_says(repository: Path) -> None:
    steps(repository, paths="$(touch found) `touch found` ; touch found")
    assert not (repository / "found").exists()


def pytest_run(folder: Path, *options: str) -> Any:
    """As its users have it: pytest finds the plugin by itself."""
    return run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options], folder)


def test_the_plugin(repository: Path) -> None:
    done = pytest_run(repository, "--exactformer")
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "lesson.md:5: blocks.0.attn.pattern[0, 1, 0]: 0.28 is wrong: 0.27 (0.2689); a new error" in done.stdout
    assert "Traceback" not in done.stdout
    (repository / "docs/lesson.md").write_text(LESSON.replace("0.28", "0.26"), encoding="utf-8")
    (repository / "pytest.ini").write_text("[pytest]\nexactformer = true\n", encoding="utf-8")
    assert "2 passed" in pytest_run(repository).stdout


def test_the_plugin_is_declared() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"exactformer": "exactformer.pytest_plugin"}


def test_the_documentation_names_what_is_there() -> None:
    page = (ROOT / "docs" / "checking.md").read_text(encoding="utf-8")
    config, workflow = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert {each["id"] for repository in config["repos"] for each in repository["hooks"]} <= set(HOOKS)
    steps = {step["uses"]: step["with"] for step in workflow["jobs"]["numbers"]["steps"]}
    assert set(steps["./exactformer"]) <= set(ACTION["inputs"])
