"""Lessons in a browser: prose with live views, numbers that open, a glossary by hover, focus and tap, for everyone."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from children import PATIENCE
from exactformer.lessons import lessons
from web.serving import Serving

Visit = Callable[[str], Page]
_OTHERS = (pytest.param(*size, marks=pytest.mark.large) for size in (("dark", 1440), ("light", 768)))
WIDTHS = [("light", 1440), *_OTHERS, ("light", 360)]
shipped = pytest.mark.skipif(not lessons(), reason="no lessons are shipped")


def read(page: Page, server: Serving, slug: str = "attention-exactly", rest: str = "") -> None:
    page.goto(f"{server.address}/#lesson/{slug}{rest}")
    expect(page.locator("main.lesson h1")).to_be_visible()
    expect(page.locator(".working")).to_have_count(0)


@shipped
@pytest.mark.parametrize(("scheme", "width"), WIDTHS)
def test_no_violation_is_found(page: Page, server: Serving, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    read(page, server)
    page.locator(".bound").nth(3).click()
    expect(page.locator(".opened")).to_be_visible()
    results = Axe().run(page)
    assert [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in results.response["violations"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    expect(page.locator(".problem")).to_have_count(0)


@shipped
def test_lessons_stand_first_on_the_home_page(visit: Visit, page: Page) -> None:
    visit("")
    expect(page.locator("main h2").first).to_have_text("Lessons")
    expect(page.locator(".lesson-list a")).to_have_count(len(lessons()))
    page.locator(".lesson-list a").first.click()
    expect(page.locator("main.lesson h1")).to_be_visible()
    page.locator(".around a.on").click()
    expect(page.locator("main.lesson h1")).not_to_have_text("Attention, exactly")
    page.go_back()
    expect(page.locator("main.lesson h1")).to_have_text("Attention, exactly")


@shipped
def test_a_number_of_the_prose_opens_by_key_and_closes(page: Page, server: Serving) -> None:
    read(page, server)
    number = page.locator(".bound", has_text="0.27")
    number.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".opened h2")).to_be_focused()
    expect(page.locator(".opened")).to_contain_text("formula (not a fraction)")
    expect(number).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="Close the number").click()
    expect(page.locator(".opened")).to_have_count(0)
    expect(number).to_be_focused()


@shipped
def test_a_view_shows_the_one_row_that_it_is_about(page: Page, server: Serving) -> None:
    read(page, server)
    view = page.locator(".view-step").nth(1)  # the shares of the first token
    expect(view.locator("tbody tr:not(.spacer)")).to_have_count(1)
    view.locator("button.n").first.click()
    expect(view.locator(".opened h2")).to_be_visible()


@pytest.mark.parametrize("step", ["blocks.0.attn.pattern", "blocks.0.ln1.out", "token"])
@pytest.mark.parametrize("width", [1440, 360])
def test_the_sentence_of_a_step_is_above_the_fold(visit: Visit, page: Page, step: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    visit(f"#capstone?step={step}")
    box = page.locator(".step .explains").bounding_box()
    bar = page.locator(".controls").bounding_box()
    assert box is not None and bar is not None  # noqa: PT018
    assert box["y"] + box["height"] < bar["y"]


def test_a_term_is_explained_by_focus_hover_and_tap(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.scores")
    term = page.locator(".explains .term", has_text="score")
    tip = page.get_by_role("tooltip").filter(has_text="dot product of a query and a key")
    expect(tip).to_be_hidden()
    term.focus()
    expect(tip).to_be_visible()
    expect(term).to_have_accessible_description("The dot product of a query and a key: how well a question fits a label.")
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    term.hover()
    expect(tip).to_be_visible()
    page.mouse.move(0, 0)
    term.blur()
    expect(tip).to_be_hidden()
    term.click()
    expect(tip).to_be_visible()
    expect(page.locator(".explains .signs .term")).to_have_text(["ᵀ", "·"])


def test_tips_stay_in_a_narrow_window(visit: Visit, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    visit("#capstone?step=blocks.0.attn.scores")
    for term in page.locator(".explains .term").all():
        term.focus()
        assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.skipif("transformer-by-hand" not in lessons("es"), reason="no lesson is shipped in Spanish")
def test_a_lesson_in_spanish(page: Page, server: Serving) -> None:
    read(page, server, "transformer-by-hand", "?language=es")
    expect(page.locator("main.lesson")).to_have_attribute("lang", "es")
    expect(page.locator(".around")).to_contain_text("Siguiente")
    expect(page.locator(".view-title").first).not_to_have_text("Look up each token's vector")
    page.locator(".bound", has_text=re.compile(r"^[\d/.]+$")).first.click()  # one number, not a row
    expect(page.locator(".opened")).to_contain_text("Viene de")
    expect(page.locator(".opened .badge")).to_have_text(re.compile("exacto|fórmula|se simplifica"))
    expect(page.get_by_role("button", name="Ocúltalo y déjame probar")).to_be_visible()
    expect(page.locator(".view-exercise").get_by_role("button", name="Pista").first).to_be_visible()
    page.get_by_role("link", name="English").click()
    expect(page.locator("main.lesson")).to_have_attribute("lang", "en")
    expect(page.locator(".view-exercise").get_by_role("button", name="Hint").first).to_be_visible()


def test_a_lesson_that_is_not_there_is_told(page: Page, server: Serving) -> None:
    page.goto(f"{server.address}/#lesson/none")
    expect(page.get_by_role("alert")).to_contain_text("there is no built-in lesson of that name")


def test_the_api_of_lessons(server: Serving) -> None:
    with httpx.Client(base_url=f"{server.address}/api", timeout=PATIENCE) as client:
        assert [each["slug"] for each in client.get("/lessons").json()["lessons"]] == list(lessons())
        assert len(client.get("/glossary", params={"language": "es"}).json()["terms"]) > 40
        for path in ("/lesson/none", "/lesson/..%2f..%2fx", "/lessons?language=xx", "/glossary?language=../en"):
            refused = client.get(path)
            assert refused.status_code in (404, 422), path
        for slug in lessons():
            data = client.get(f"/lesson/{slug}").json()
            assert data["slug"] == slug
            assert data["tree"][0][0] == "h1"


def test_what_the_worksheet_says_of_a_step_comes_first(visit: Visit, page: Page) -> None:
    visit("#llama?step=embed")
    expect(page.locator(".explains")).to_contain_text("A row of the table for each token. No position is added")
    expect(page.locator(".explains")).to_contain_text("is a row of a table: from here on")
    expect(page.locator(".remarks")).to_have_count(0)  # it is said once


def test_a_lesson_prints_as_a_handout(page: Page, server: Serving) -> None:
    """Views, claims and boxes to write in; no hints, no verdicts, no buttons; nothing is cut off."""
    page.set_viewport_size({"width": 720, "height": 1000})  # as wide as a sheet of paper
    read(page, server, "four-tokens")
    box = page.locator(".view-exercise").first
    box.get_by_role("button", name="Hint").click()
    expect(box.locator(".hints li")).to_have_count(1)
    box.locator("textarea").fill("17")
    box.get_by_role("button", name="Check").click()
    expect(box.locator(".said")).to_be_visible()
    page.emulate_media(media="print")
    for hidden in (".hints", ".said", ".answer .buttons", ".onwards", ".around", ".top"):
        expect(page.locator(hidden).first).to_be_hidden()
    for view in page.locator(".view").all():
        expect(view).to_be_visible()
    expect(box.locator("textarea")).to_be_visible()
    over = (
        "[...document.querySelectorAll('.view .scroll, .view .two section')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert page.evaluate(over) == 0


def test_a_number_opens_whose_table_is_too_large_to_be_here(visit: Visit, page: Page) -> None:
    visit("#poster?step=embed&number=embed[0,0]")
    expect(page.locator(".panel h2")).to_contain_text("embed")
    expect(page.locator(".panel")).to_contain_text("167/200")


def test_a_translation_is_listed_by_its_own_title(visit: Visit) -> None:
    page = visit("")
    titles = page.locator('.lesson-languages[lang="es"] a')
    assert titles.all_inner_texts() == [
        "El transformer entero, a mano",
        "Atención sobre cuatro tokens, hacia delante y hacia atrás",
    ]
