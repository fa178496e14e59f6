"""Other versions of Python than that of the tests: those that are installed, with the packages that are installed for them.

Compiled packages belong to one version. Where another one has none, every module is at least read as Python of that version.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from children import PATIENCE

ROOT = Path(__file__).parent.parent
VERSIONS = [
    line.rsplit(" ", 1)[1]
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    if line.startswith("Programming Language :: Python :: 3.")
]
COMPILED = """
import sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.py"):
    compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
"""
TRACED = "import exactformer as xf; t = xf.load('capstone').trace('a b'); assert t.token(1) == 'a' and t.output[1].proved"


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """The command of a version; pyenv has shims for those that are not chosen, which end with 127."""
    command = shutil.which(f"python{request.param}")
    homes = sorted(Path.home().glob(f".pyenv/versions/{request.param}.*/bin/python"))
    command = str(homes[-1]) if homes else command
    if command is None or run(command, "pass").returncode:
        pytest.skip(f"Python {request.param} is not installed")
    return command


def run(python: str, program: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-B", "-c", program, *args], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_every_module_is_python_of_this_version(python: str) -> None:
    done = run(python, COMPILED, str(ROOT / "src"))
    assert done.returncode == 0, done.stderr


def test_a_pass_is_traced_where_the_packages_are_installed(python: str) -> None:
    if run(python, "import flint, numpy, click, tokenizers").returncode and python != sys.executable:
        pytest.skip("what exactformer needs is not installed for it")
    done = run(python, f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {TRACED}")
    assert done.returncode == 0, done.stderr
