"""The page for everyone: an automatic check for accessibility in both colour schemes, narrow and wide; reduced motion."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

Visit = Callable[[str], Page]
ADDRESSES = (
    "",
    "#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]&edit=W_E[1,1]=1/3",
    "#capstone/backward?step=grad.blocks.0.attn.pattern",
    "#induction?step=blocks.1.attn.pattern&position=3",
    "#length4/break?break=no-scale",
    "#induction/circuits",
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
