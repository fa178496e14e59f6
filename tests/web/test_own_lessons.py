"""Lessons of teachers' own: served from their folder, in a site, dropped on the page; files of strangers are refused in a line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from playwright.sync_api import Page, expect

from children import PATIENCE
from exactformer.cli.serve import _lesson
from exactformer.cli.site import command as site_command
from exactformer.lessons import LessonError, read
from exactformer.lessons.building import built
from exactformer.lessons.shelf import Shelf
from exactformer.web.site import SiteError, write
from exactformer.worksheets import example_text
from web.serving import Serving

PATTERN = "blocks.0.attn.pattern"
LESSON = f"""\
---
summary: My own.
next: four-tokens
---
# Mine, all mine

<!-- exactformer: use mine.toml -->

The share is <!-- exactformer: {PATTERN}[0, 1, 0] -->0.27.

<!-- exactformer: picture {PATTERN} -->

<!-- exactformer: step {PATTERN} at 1 -->

<!-- exactformer: break no-mask from blocks.0.attn.masked at 0 -->

<!-- exactformer: claim sum {PATTERN}[0, 1] = 1 -->

> **Your turn.** What is the share?
> <!-- exactformer: exercise {PATTERN}[0, 1, 0] hint "Softmax." -->
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mine")
    (folder / "mine.toml").write_text(example_text("capstone"))
    path = folder / "my-lesson.md"
    path.write_text(built(read(LESSON, str(path), folder)))
    return path


@pytest.fixture(scope="module")
def serving(mine: Path) -> Iterator[Serving]:
    with Serving(workers=2, own=(str(mine),)) as serving:
        yield serving


def walked(page: Page) -> None:
    """All that a built-in lesson has works in this one."""
    expect(page.locator("main.lesson h1")).to_have_text("Mine, all mine")
    expect(page.locator(".working")).to_have_count(0)
    expect(page.locator(".problem")).to_have_count(0)
    expect(page.locator(".view-picture figure")).to_have_count(1)
    expect(page.locator(".view-break table")).to_have_count(2)
    expect(page.locator(".claim")).to_contain_text("✓")
    page.locator(".bound").click()
    expect(page.locator(".opened")).to_contain_text("0.268941421369995120")
    page.locator(".view-exercise textarea").fill("1/(1+e)")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator(".said.good")).to_be_visible()
    expect(page.locator(".around a.on")).to_contain_text("four tokens")
    page.locator(".view-step .onwards a").click()
    expect(page.locator(".step h1, .step h2").first).to_contain_text("Softmax")


def test_a_lesson_is_served_with_the_worksheets_of_its_folder(page: Page, serving: Serving) -> None:
    page.goto(f"{serving.address}/")
    page.locator(".lesson-list a").first.click()
    expect(page).to_have_url(f"{serving.address}/#lesson/my-lesson")
    walked(page)


def test_what_is_changed_is_there_when_it_is_loaded_again(page: Page, serving: Serving, mine: Path) -> None:
    before = mine.read_text()
    try:
        for change, said in (("0.27", "0.28 is wrong"), ("[0, 1] = 1", "is wrong: 1 < 2")):
            mine.write_text(before.replace(change, {"0.27": "0.28"}.get(change, "[0, 1] = 2"), 1))
            page.goto("about:blank")
            page.goto(f"{serving.address}/#lesson/my-lesson")
            expect(page.locator(".problem")).to_contain_text(said)
        expect(page.locator(".claim")).to_contain_text("✗")
        expect(page.locator(".claim")).to_contain_text("is wrong")
    finally:
        mine.write_text(before)


def test_a_lesson_is_in_a_site(page: Page, mine: Path, tmp_path: Path) -> None:
    write(tmp_path / "site", names=("capstone",), taught=("four-tokens",), own=(str(mine),))
    page.goto(f"file://{tmp_path}/site/index.html")
    expect(page.locator(".lesson-list a")).to_have_count(2)
    page.locator(".lesson-list a").first.click()
    walked(page)


def test_a_lesson_that_is_not_right_is_in_no_site(mine: Path, tmp_path: Path) -> None:
    for name in (mine.name, "mine.toml"):
        shutil.copy(mine.parent / name, tmp_path)
    wrong = tmp_path / mine.name
    wrong.write_text(wrong.read_text().replace("0.27.", "0.28."))
    with pytest.raises(SiteError, match=r"my-lesson\.md:9: .*0\.28 is wrong.*a site takes lessons that are right"):
        write(tmp_path / "site", names=(), taught=(), own=(str(wrong),))
    assert not (tmp_path / "site").exists()
    absent = CliRunner().invoke(site_command, [str(tmp_path / "site"), "--lesson", str(tmp_path / "none.md")])
    assert "there is no such file" in str(absent.exception)


def test_a_lesson_dropped_on_the_page(page: Page, serving: Serving, tmp_path: Path) -> None:
    alone = tmp_path / "dropped.md"
    alone.write_text("# Dropped\n\n<!-- exactformer: use capstone -->\n\n<!-- exactformer: claim token = a -->\n")
    page.goto(f"{serving.address}/")
    page.locator("#worksheet-file").set_input_files(alone)
    expect(page.locator("main.lesson h1")).to_have_text("Dropped")
    expect(page.locator(".claim")).to_contain_text("✓")
    page.reload()
    expect(page.locator("main.lesson h1")).to_have_text("Dropped")
    alone.write_text("# Dropped\n\n<!-- exactformer: use mine.toml -->\n")
    page.goto(f"{serving.address}/")
    expect(page.locator(".recent a").first).to_have_text("dropped.md")
    page.locator("#worksheet-file").set_input_files(alone)
    expect(page.get_by_role("alert")).to_contain_text("'mine.toml' cannot be read here: there is no folder of the lesson")


def test_only_worksheets_of_the_folder_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "outside.toml").write_text(example_text("capstone"))
    (folder / "linked.toml").symlink_to(tmp_path / "outside.toml")
    (folder / "large.toml").write_bytes(b"#" * 20_000_001)
    lesson = folder / "lesson.md"
    for name, said in (
        ("../outside.toml", "is not in the folder of the lesson"),
        ("linked.toml", "is not in the folder of the lesson"),
        (f"{tmp_path}/outside.toml", "is not in the folder of the lesson"),
        ("large.toml", "a worksheet may have"),
    ):
        lesson.write_text(f'# L\n\n<!-- exactformer: use "{name}" -->\n')
        with pytest.raises(LessonError, match=said):
            _lesson(str(lesson))
        with Serving(workers=2, own=(str(lesson),)) as serving:
            refused = httpx.get(f"{serving.address}/api/lesson/lesson", timeout=PATIENCE)
        assert refused.status_code == 422
        assert said in refused.json()["error"]


def test_names_that_can_be_addresses() -> None:
    assert _address("root-d.md") == "root-d"
    for name in ("my lesson.md", "a--b.md", "-.md", "é.md", "x.toml", "a/.md"):
        with pytest.raises(LessonError, match="its name becomes its address"):
            _address(name)
    with pytest.raises(LessonError, match="there is another lesson of that name"):
        Shelf.of(["a/x.md", "b/x.md"])


def _address(name: str) -> str:
    return Shelf.of([name]).own[0][0]
