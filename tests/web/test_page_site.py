"""The site: a folder of files, opened from disk, where nothing can be fetched and no server answers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from cli_runs import run
from exactformer.web import sources
from exactformer.web.site import SiteError, write
from exactformer.worksheets import Worksheet

Open = Callable[[str], None]
traced = Worksheet.trace
NUMBER = "blocks.0.attn.pattern[0,1,0]"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    write(folder, names=("capstone", "poster"), taught=("attention-exactly", "transformer-by-hand"))
    return folder


def test_it_says_how_many_pages_are_done_and_computes_each_pass_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where passes are soon forgotten."""
    monkeypatch.setattr(sources, "_passes", OrderedDict())
    monkeypatch.setattr(sources, "_NUMBERS", 0)
    monkeypatch.setattr(Worksheet, "trace", lambda sheet, *args, **how: computed.append(sheet) or traced(sheet, *args, **how))
    told: list[tuple[int, int]] = []
    computed: list[Worksheet] = []
    write(tmp_path / "site", lambda *pages: told.append(pages), names=("capstone", "length4", "llama"), taught=())
    passes = len(list((tmp_path / "site" / "data").glob("pass-*.js")))
    assert told == [(done, passes) for done in range(passes)]
    assert passes == len(computed) > 10


@pytest.fixture
def visit_file(page: Page, written: Path) -> Open:
    def visit(address: str) -> None:
        page.goto("about:blank")
        page.goto(f"file://{written}/index.html{address}")

    return visit


def test_home_is_small_and_asks_for_nothing_elsewhere(visit_file: Open, page: Page, written: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visit_file("")
    expect(page.locator(".card")).to_have_count(4)  # two lessons, two examples
    names = {url for url in asked if not url.startswith("about:")}
    assert all(name.startswith(f"file://{written}/") for name in names)
    files = {Path(name.removeprefix("file://").split("#")[0]) for name in names}
    assert sum(file.stat().st_size for file in files) < 200_000


def test_a_number_opens_and_is_followed_back_to_the_weights(visit_file: Open, page: Page) -> None:
    visit_file(f"#capstone?step=blocks.0.attn.pattern&number={NUMBER}")
    panel = page.locator(".panel")
    expect(panel).to_contain_text("0.26894142136999512")
    for label, name in (
        ("attn.masked", "attn.masked"),
        ("attn.scores", "attn.scores"),
        ("attn.q", "attn.q"),
        ("attn.W_Q", "attn.W_Q"),
    ):
        panel.locator(".origin", has_text=label).first.locator(".chip").first.click()
        expect(panel.locator("h2")).to_contain_text(name)


def test_views_that_were_computed_beforehand(visit_file: Open, page: Page) -> None:
    visit_file("#capstone/backward")
    expect(page.locator(".stage-box")).to_contain_text("grad")
    visit_file("#capstone/break?break=no-mask")
    expect(page.locator(".verdicts")).to_contain_text("first to differ")
    visit_file("#capstone/circuits")
    expect(page.locator("main")).to_contain_text("QK")


def test_what_was_not_says_what_it_needs(visit_file: Open, page: Page) -> None:
    visit_file("#capstone?edit=mask=none")
    expect(page.locator(".problem")).to_contain_text("exactformer serve")
    visit_file("#capstone")
    page.get_by_role("button", name="Change it").click()
    expect(page.locator(".trouble")).to_contain_text("exactformer serve")


def test_of_a_large_vocabulary_the_largest_logits_are_there(visit_file: Open, page: Page) -> None:
    visit_file("#poster?step=logits")
    expect(page.locator(".stage-box .winner").first).to_be_visible()
    assert page.evaluate("exactformer !== undefined")


def test_a_lesson_is_read_and_its_exercises_are_checked_in_the_page(visit_file: Open, page: Page) -> None:
    visit_file("#lesson/attention-exactly")
    expect(page.locator("h1")).to_have_text("Attention, exactly")
    expect(page.locator(".view-step table").first).to_be_visible()
    expect(page.locator(".view-picture figure").first).to_be_visible()
    exercises = page.locator(".view-exercise")
    for n, (answer, said) in enumerate((("2", "Wrong"), ("1/2", "Equal"), ("1/(1+e) + e/(1+e)", "60 digits"))):
        exercises.nth(n).locator("textarea").fill(answer)
        exercises.nth(n).get_by_role("button", name="Check").click()
        expect(exercises.nth(n).locator("[role=status]")).to_contain_text(said)
    visit_file("#lesson/transformer-by-hand?language=es")
    expect(page.locator("h1")).to_have_text("El transformer entero, a mano")


def test_what_only_an_exercise_asks_for_is_not_written_out(written: Path) -> None:
    """The second exercise of the lesson is about other tokens, whose pass is shown nowhere."""
    found = [file.read_text(encoding="utf-8") for file in (written / "data").glob("pass-*.js")]
    (blank,) = (text for text in found if '"tokens":["b","a"]' in text)
    assert '"values":{}' in blank
    assert '"1/2"' not in blank


def test_one_step_for_somebodys_page(visit_file: Open, page: Page) -> None:
    visit_file("#capstone?step=blocks.0.attn.pattern&embed=1")
    expect(page.locator(".stage-box")).to_contain_text("softmax")
    for part in (".top", ".pass-head", ".controls", ".map"):
        expect(page.locator(part)).to_be_hidden()
    link = page.get_by_role("link", name="Open the whole pass")
    assert "embed" not in (link.get_attribute("href") or "embed")
    assert Axe().run(page).response["violations"] == []
    visit_file(f"#capstone?step=blocks.0.attn.pattern&number={NUMBER}&embed=1")
    expect(page.locator(".panel")).to_contain_text("0.2689")
    expect(page.locator(".stage-box")).to_be_hidden()


def test_only_an_empty_place_or_an_old_site_is_written_to(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years")
    with pytest.raises(SiteError, match="is not empty, and no site of ours"):
        write(mine, names=(), taught=())
    assert (mine / "thesis.txt").read_text() == "years"
    site = tmp_path / "site"
    write(site, names=(), taught=())
    (site / "data" / "old.js").write_text("")
    write(site, names=(), taught=())
    assert not (site / "data" / "old.js").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(SiteError, match="is not a folder"):
        write(tmp_path / "file", names=(), taught=())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "mine", "site"]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "site", stop, names=("capstone",), taught=())
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_says_that_nothing_was_written(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with patch("exactformer.web.tasks.read_lesson", side_effect=KeyboardInterrupt):
        assert run("site", str(folder)) == (130, "", "exactformer: interrupted: nothing was written\n")

    def all_but_done(folder: Path, tell: Callable[[int, int], None], **how: object) -> int:
        tell(9, 9)
        raise KeyboardInterrupt

    with patch("exactformer.web.site.write", all_but_done):  # when it may be there
        assert run("site", str(folder)) == (130, "", "exactformer: interrupted\n")
