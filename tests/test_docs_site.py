"""The documentation as a site: a link that leads nowhere ends the build; every page and every public name is in it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import exactformer
from children import PATIENCE
from cli_runs import refused

pytest.importorskip("furo")
ROOT = Path(__file__).parent.parent


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        "-d",
        str(out / "trees"),
        ".",
        str(out / "site"),
    ]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    done = build(ROOT, out)
    assert done.returncode == 0, done.stderr
    return out / "site"


def test_every_page_is_there(site: Path) -> None:
    for page in [*ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/results/*.md"), ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]:
        assert (site / page.relative_to(ROOT).with_suffix(".html")).is_file(), page
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    page = (site / "docs" / "api.html").read_text(encoding="utf-8")
    assert [name for name in exactformer.__all__ if f'id="exactformer.{name}"' not in page] == []


def test_links_stay_in_the_site(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?:]+)"', page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    text = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    pages = 'def contents() -> str:\n    return ""\n'
    (tmp_path / "docs" / "conf.py").write_text(re.sub(r"def contents.*?(?=\n\n\n)", pages, text, flags=re.DOTALL), encoding="utf-8")
    (tmp_path / "README.md").write_text("# Here\n\n[there](docs/nowhere.md)\n", encoding="utf-8")
    done = build(tmp_path, tmp_path)
    assert done.returncode != 0
    assert "nowhere" in done.stderr


def test_a_folder_that_is_no_site_is_one_line(tmp_path: Path) -> None:
    line = refused("serve", "--no-open", "--port", "0", "--docs", str(tmp_path))
    assert line == f"{tmp_path}: has no index.html: make docs writes one to build/docs"
