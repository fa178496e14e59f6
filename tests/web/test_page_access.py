"""The page for everyone: an automatic check for accessibility in both colour schemes, narrow and wide; reduced motion."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from web.overflow import enlarge, overflowing, unreached

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


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1440), ("light", 360)])
def test_no_violation_is_found(visit: Visit, page: Page, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    for address in ADDRESSES:
        visit(address)
        expect(page.locator(".busy")).to_have_count(0)
        results = Axe().run(page)
        told = [(v["id"], v["help"], [node["html"][:200] for node in v["nodes"][:3]]) for v in results.response["violations"]]
        assert told == [], (address, told)


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
