"""The view that takes a logit apart, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

Visit = Callable[[str], Page]


def test_a_logit_is_drawn_as_bars_that_are_proved_to_add_up(visit: Visit, page: Page) -> None:
    visit("#induction/explain?edit=tokens%3Da%20b%20a")
    told = page.locator(".explaining .told")
    expect(told).to_contain_text("the logit of b is")
    expect(told).to_contain_text("add up to it exactly")
    expect(page.locator(".explaining .bars li").first).to_contain_text("embed")
    page.get_by_label("logit of", exact=True).select_option("b")
    page.get_by_label("less that of").select_option("a")
    expect(told).to_contain_text("the lead of b over a is")
    assert page.locator(".explaining .bars .fill").nth(5).evaluate("bar => bar.style.width") != "0.00%"
    assert Axe().run(page).response["violations"] == []


def test_a_token_over_itself_gets_one_line(visit: Visit, page: Page) -> None:
    visit("#capstone/explain")
    page.get_by_label("logit of", exact=True).select_option("a")
    page.get_by_label("less that of").select_option("a")
    expect(page.locator(".explaining .answer")).to_contain_text("over itself")
