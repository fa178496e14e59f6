"""The packages that others install: both are built, all that belongs to them is in them, and the wheel alone is enough to work."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import cli_runs
import exactformer
from children import PATIENCE

build = pytest.importorskip("build")
requirements = pytest.importorskip("packaging.requirements")
ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "__pycache__", "*.egg-info", "results", "images")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel made of it, as `python -m build` makes them, without a network."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(ROOT, folder / "source", ignore=LEFT_OUT)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(folder / "source")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def program(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment that has the wheel, and what it says that it needs, and nothing else."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=PATIENCE)
    (site,) = place.glob("lib/python*/site-packages")
    for name in needed(PROJECT["dependencies"]):
        found = distribution(name)
        for entry in {str(file).split("/")[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / entry).exists():
                (site / entry).symlink_to(Path(str(found.locate_file(entry))))
    (wheel,) = packages.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, timeout=PATIENCE)
    return place / "bin" / "exactformer"


def needed(wanted: list[str]) -> set[str]:
    """What is installed here of what is wanted, and of what that wants."""
    found: set[str] = set()
    waiting = [requirements.Requirement(each) for each in wanted]
    while waiting:
        each = waiting.pop()
        if each.name not in found and (each.marker is None or each.marker.evaluate({"extra": ""})):
            found.add(each.name)
            waiting += map(requirements.Requirement, distribution(each.name).requires or ())
    return found


def alone(program: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [str(program), *args], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_the_wheel_has_every_file_of_the_package(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    files = {str(file.relative_to(source)) for file in source.rglob("*") if file.is_file()}
    ours = {name for name in files if "__pycache__" not in name and ".egg-info" not in name}
    assert inside == ours


def test_the_sdist_has_all_that_a_clone_has(packages: Path) -> None:
    (sdist,) = packages.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    files = {str(file.relative_to(packages / "source")) for file in (packages / "source").rglob("*") if file.is_file()}
    ours = {name for name in files if ".egg-info" not in name and not name.startswith("build/")}
    assert ours - inside == set()
    assert {"LICENSE", "CITATION.cff", "SECURITY.md", "CHANGELOG.md", "Makefile", "tests/test_packages.py"} <= inside


def test_what_the_wheel_says_of_itself(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    said = zipfile.ZipFile(wheel).read(f"exactformer-{exactformer.__version__}.dist-info/METADATA").decode()
    assert f"Version: {exactformer.__version__}\n" in said
    assert "License-Expression: MIT\n" in said
    assert "Description-Content-Type: text/markdown\n" in said
    assert len(re.findall("^Classifier: ", said, re.MULTILINE)) == len(PROJECT["classifiers"])


def test_what_an_index_shows_leads_nowhere_that_it_does_not_have(packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    said = zipfile.ZipFile(wheel).read(f"exactformer-{exactformer.__version__}.dist-info/METADATA").decode()
    shown, readme = said.partition("\n\n")[2], (ROOT / "README.md").read_text(encoding="utf-8")
    assert {target for target in re.findall(r"\]\(([^)]*)\)", shown) if not target.startswith(("https:", "#"))} == set()
    assert "docs/images" not in shown
    assert "`docs/web.md`" in shown
    assert re.findall("(?m)^#+ .*", shown) == re.findall("(?m)^#+ .*", readme)
    assert re.findall(r"(?ms)^```.*?^```$", shown) == re.findall(r"(?ms)^```.*?^```$", readme)


def test_a_trace_from_an_empty_folder(program: Path, tmp_path: Path) -> None:
    done = alone(program, tmp_path, "trace")
    assert (done.returncode, re.sub(r"(?m)^exactformer: \d+ s, .*\n", "", done.stderr)) == (0, "")
    assert done.stdout == cli_runs.run("trace").stdout
    assert list(tmp_path.iterdir()) == []


def test_the_commands_of_the_readme_with_the_wheel_alone(program: Path, tmp_path: Path) -> None:
    """One process for all of them, since starting each would take longer than what it does."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    exactformer (.*?) *(?:#.*)?$", text, re.MULTILINE)
    assert len(lines) > 3
    script = "import sys; from exactformer.cli import main\n"
    script += f"for args in {[shlex.split(line) for line in lines if not slow(line)]!r}:\n"
    script += "    sys.argv[1:] = args\n    try: main()\n    except SystemExit as end: assert not end.code, (args, end.code)\n"
    done = alone(program.with_name("python"), tmp_path, "-I", "-c", script)
    assert done.returncode == 0, done.stderr


def slow(line: str) -> bool:
    return line.startswith("prove induction")


def test_the_page_says_what_it_needs(program: Path, tmp_path: Path) -> None:
    done = alone(program, tmp_path, "serve", "--no-open")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exactformer: the page needs its extra: pip install 'exactformer[web]'")


def test_versions_agree() -> None:
    assert PROJECT["version"] == exactformer.__version__
    assert f"\nversion: {exactformer.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_pictures_of_the_readme_are_there() -> None:
    """A package index has no files beside the text: setup.py takes them out of what it shows."""
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert pictures
    for picture in pictures:
        assert re.fullmatch(r"docs/images/[\w-]+\.png", picture)
        assert (ROOT / picture).is_file()


def test_every_format_is_in_the_table() -> None:
    """What files call themselves in the source, and what docs/formats.md says of them."""
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "exactformer").rglob("*.py"))
    formats = set(re.findall(r'"(exactformer [a-z ]+ \d+)"', source))
    table = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    assert len(formats) > 10
    assert {name for name in formats if f"`{name}`" not in table} == set()
