"""Other versions of Python than that of the tests: those that are installed, with the packages that are installed for them.

Compiled packages belong to one version. Where another one has none, every module is at least read as Python of that version.
EXACTFORMER_PYTHONS may name more of them, as PATH names folders: the `bin/python` of virtual environments that have the packages.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from children import PATIENCE

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSIONS = [
    line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if line.startswith("Programming Language :: Python :: 3.")
]
COMPILED = """
import sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.py"):
    compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
"""
TRACED = "import exactformer as xf; t = xf.load('capstone').trace('a b'); assert t.token(1) == 'a' and t.output[1].proved"
DOCTESTS = """
import doctest, functools, importlib, sys, warnings
from pathlib import Path
warnings.filterwarnings("error", module="exactformer")
source, flags = Path(sys.argv[1]), functools.reduce(int.__or__, map(doctest.OPTIONFLAGS_BY_NAME.__getitem__, sys.argv[2:]))
failed = tried = 0
for path in sorted((source / "exactformer").rglob("*.py")):
    try:
        module = importlib.import_module(".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__"))
    except ModuleNotFoundError as error:  # what belongs to an extra
        if error.name.startswith("exactformer"):
            raise
        continue
    done = doctest.testmod(module, optionflags=flags)
    failed, tried = failed + done.failed, tried + done.attempted
assert tried > 500, tried
sys.exit(failed > 0)
"""


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """The command of a version; one that has the packages before one that has none."""
    found = [command for command in commands(request.param) if is_it(command, request.param)]
    if not found:
        pytest.skip(f"Python {request.param} is not installed")
    return next(filter(has_packages, found), found[0])


@pytest.fixture
def equipped(python: str) -> str:
    if not has_packages(python) and python != sys.executable:
        pytest.skip("what exactformer needs is not installed for it")
    return python


def commands(version: str) -> list[str]:
    """Where a version may be; pyenv has shims for those that are not chosen, which end with 127."""
    named = [path for path in os.environ.get("EXACTFORMER_PYTHONS", "").split(os.pathsep) if path]
    homes = sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")), reverse=True)
    return [sys.executable, *named, *homes, *filter(None, [shutil.which(f"python{version}")])]


@functools.cache
def is_it(command: str, version: str) -> bool:
    return run(command, f"import sys; sys.exit(sys.version_info[:2] != tuple(map(int, {version!r}.split('.'))))").returncode == 0


@functools.cache
def has_packages(command: str) -> bool:
    return run(command, "import click, flint, ml_dtypes, numpy, tokenizers").returncode == 0


def run(python: str, program: str, *args: str) -> subprocess.CompletedProcess[str]:
    return started([python, "-B", "-c", program, *args])


def started(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)


def test_every_module_is_python_of_this_version(python: str) -> None:
    """Without a warning, either: what is only warned of today is an error some versions later."""
    for folder in ("src", "benchmarks", "training", "tests"):
        done = started([python, "-B", "-W", "error", "-c", COMPILED, str(ROOT / folder)])
        assert done.returncode == 0, done.stderr


def test_a_pass_is_traced_where_the_packages_are_installed(equipped: str) -> None:
    done = run(equipped, TRACED)
    assert done.returncode == 0, done.stderr


def test_a_theorem_is_proved_by_two_processes(equipped: str, tmp_path: Path) -> None:
    """How processes start, and what is inherited, changes between versions."""
    command = [equipped, "-B", "-m", "exactformer", "prove", "induction", "--length", "4", "--workers", "2"]
    done = started([*command, "--journal", str(tmp_path / "journal")])
    assert (done.returncode, "proved" in done.stdout) == (0, True), done.stderr


def test_a_certificate_of_one_version_is_confirmed_by_another(equipped: str, tmp_path: Path) -> None:
    certificate, exactformer = str(tmp_path / "c.json"), [equipped, "-B", "-m", "exactformer", "certify", "stories"]
    made = started([*exactformer, "--prompt", "Once upon a time", "--max", "1", "-o", certificate])
    assert made.returncode == 0, made.stderr
    confirmed = started([sys.executable, "-B", "-m", "exactformer", "certify", "stories", "--verify", certificate])
    assert (confirmed.returncode, confirmed.stdout.split(":")[0]) == (0, "confirmed"), confirmed.stderr


def test_the_examples_of_the_docstrings(equipped: str) -> None:
    if equipped == sys.executable:
        pytest.skip("pytest runs them itself")
    done = run(equipped, DOCTESTS, str(ROOT / "src"), *PROJECT["tool"]["pytest"]["ini_options"]["doctest_optionflags"].split())
    assert done.returncode == 0, done.stdout + done.stderr
