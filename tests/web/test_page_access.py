"""The page for everyone: an automatic check for accessibility in both colour schemes, narrow and wide; reduced motion."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from exactformer.lessons import lessons
from exactformer.lessons.languages import languages
from web.overflow import enlarge, overflowing, unreached
from web.serving import Serving

Visit = Callable[[str], Page]
ADDRESSES = (
    "",
    "#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]&edit=W_E[1,1]=1/3",
    "#capstone/backward?step=grad.blocks.0.attn.pattern",
    "#induction?step=blocks.1.attn.pattern&position=3",
    "#length4/break?break=no-scale",
    "#induction/circuits",
    "#capstone/handout",
    "#check",
)


SIZES = [(scheme, width) for scheme in ("light", "dark") for width in (1440, 768, 360)]
VIEWS = (  # of every kind, with what is not there
    *ADDRESSES,
    "#capstone?step=blocks.0.attn.pattern&present=1",
    "#capstone/backward?step=grad.logits&number=grad.logits[1,0]&present=1",
    "#capstone?step=embed",
    "#capstone?step=probs&position=1",
    "#capstone?step=blocks.0.attn.pattern&as=numbers",
    "#capstone?arithmetic=float64&step=blocks.0.attn.pattern",
    "#length4/backward",
    "#induction/theorem",
    "#induction/explain",
    "#llama?step=blocks.0.attn.q_rot",
    "#poster?step=logits",
    "#nothing",
    "#capstone?step=nothing",
    "#lesson/nothing",
)
LESSONS = tuple(f"#lesson/{slug}?language={language}" for language in languages() for slug in lessons(language))


def found_on(visit: Visit, page: Page, scheme: str, width: int, addresses: Iterable[str]) -> dict[str, object]:
    """What axe finds fault with, by address; and where a page is wider than the window."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    found: dict[str, object] = {}
    for address in addresses:
        page.goto("about:blank")
        visit(address)
        expect(page.locator(".busy, .working")).to_have_count(0)
        if address in LESSONS:
            lived(page)
        violations = Axe().run(page).response["violations"]
        if violations:
            found[address] = [(v["id"], v["help"], [node["html"][:200] for node in v["nodes"][:3]]) for v in violations]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found[f"{address} is too wide"] = page.evaluate("document.documentElement.scrollWidth")
    return found


def lived(page: Page) -> None:
    """A lesson as it is used: a number open, an exercise answered wrongly, a hint."""
    page.locator(".bound", has_text=re.compile(r"^-?[\d/.]+$")).first.click()
    expect(page.locator(".opened")).to_be_visible()
    box = page.locator(".view-exercise").first
    box.locator("textarea").fill("17")
    box.locator("button.primary").click()
    expect(box.locator(".said")).to_be_visible()
    box.locator(".buttons button").last.click()
    expect(box.locator(".hints li")).to_have_count(1)


@pytest.mark.parametrize(
    ("scheme", "width"),
    [size if size in (("light", 1440), ("dark", 360)) else pytest.param(*size, marks=pytest.mark.large) for size in SIZES],
)
def test_no_violation_is_found(visit: Visit, page: Page, scheme: str, width: int) -> None:
    """Of all views and lessons some, drawn by a seed: three in every size."""
    drawn = random.Random(16).sample((*VIEWS, *LESSONS), 3 * len(SIZES))
    assert found_on(visit, page, scheme, width, drawn[SIZES.index((scheme, width)) :: len(SIZES)]) == {}


@pytest.mark.large
@pytest.mark.parametrize(("scheme", "width"), SIZES)
@pytest.mark.parametrize("addresses", [VIEWS, LESSONS], ids=["views", "lessons"])
def test_no_violation_is_found_anywhere(visit: Visit, page: Page, scheme: str, width: int, addresses: tuple[str, ...]) -> None:
    assert found_on(visit, page, scheme, width, addresses) == {}


@pytest.mark.large
@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_no_violation_is_found_in_the_page_of_a_model(page: Page, capstone: Serving, scheme: str, width: int) -> None:
    def visit(address: str) -> Page:
        page.goto(f"{capstone.address}/{address}")
        page.wait_for_function("() => document.documentElement.dataset.shown === location.hash")
        return page

    assert found_on(visit, page, scheme, width, ("#certified", "#certified/walk?prompt=a+b", "#certified/walk")) == {}


@pytest.mark.parametrize(
    ("width", "height", "found"),
    [
        (360, 900, {"form", "formula", "marked", "panel", "scroll", "verdicts"}),
        (1440, 500, {"form", "formula", "marked", "panel", "picture", "scroll"}),
    ],
)
def test_whatever_overflows_has_a_name_and_is_reached_by_tab(
    visit: Visit, page: Page, width: int, height: int, found: set[str]
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    seen = set()
    for address in ADDRESSES:
        visit(address)
        expect(page.locator(".busy")).to_have_count(0)
        if address == "#check":
            page.get_by_role("button", name="Try the built-in lesson").click()
            page.wait_for_selector(".marked")
        enlarge(page)
        assert unreached(page) == [], address
        seen |= overflowing(page)
    assert seen == found


def test_a_box_that_fits_is_no_stop_of_the_tab_key(visit: Visit, page: Page) -> None:
    visit("#capstone?step=embed")
    table = page.locator(".scroll").first
    expect(table).not_to_have_attribute("tabindex", "0")
    page.set_viewport_size({"width": 360, "height": 900})
    enlarge(page)
    expect(table).to_have_attribute("tabindex", "0")
    expect(table).to_have_accessible_name("embed, computed in this step")


def test_the_arrow_keys_scroll_what_has_the_focus(visit: Visit, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    visit("#length4?step=blocks.0.attn.scores")
    enlarge(page)
    before = page.url
    for box in page.locator(".formula, .scroll").all():
        expect(box).to_have_attribute("tabindex", "0")
        box.focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())
    assert page.url == before


def test_nothing_moves_for_those_who_want_no_motion(visit: Visit, page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    visit("#capstone")
    assert page.locator("td.cell").first.evaluate("cell => getComputedStyle(cell).transitionDuration") == "0s"


def test_stepping_does_not_move_the_controls(visit: Visit, page: Page) -> None:
    visit("#capstone")
    places = set()
    for _ in range(6):
        places.add(str(page.locator(".controls").bounding_box()))
        places.add(str(page.get_by_role("button", name="Next step").bounding_box()))
        page.get_by_role("button", name="Next step").click()
        page.wait_for_timeout(50)
    assert len(places) == 2
