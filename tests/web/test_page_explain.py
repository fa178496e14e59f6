"""The view that takes a logit apart, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from exactformer.render.layout import verdict
from exactformer.worksheets import load

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


def test_units_that_are_not_drawn_are_one_bar(visit: Visit, page: Page) -> None:
    visit("#modular/explain")
    bars = page.locator(".explaining .bars li")
    expect(bars.filter(has_text="· unit ")).to_have_count(5)
    row = next(line for line in str(load("modular").trace().explain()).splitlines() if "other units" in line)
    expect(bars.filter(has_text="59 other units")).to_contain_text(row.split()[4][:8])


def test_the_lens_tells_the_token_after_each_block_as_the_command_line_does(visit: Visit, page: Page) -> None:
    trace = load("induction").trace("a b a")
    visit("#induction/explain?edit=tokens%3Da%20b%20a")
    for position in (2, 1):
        page.get_by_label("position").select_option(str(position))
        looks = trace.lens(position)
        expect(page.locator(".explaining .output li")).to_have_text(
            [
                f"{where} {look.step}: next token {look.output.token}, {verdict(look.output, 'exact')}"
                for where, look in zip(("Before block 0", "After block 0", "After block 1"), looks, strict=True)
            ]
        )
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.locator(".explaining .how").first.evaluate("how => how.getClientRects().length") <= 4  # lines
    assert Axe().run(page).response["violations"] == []


def test_a_logit_next_to_a_simple_number_is_no_row_of_nines(visit: Visit, page: Page) -> None:
    visit("#context/explain")
    expect(page.locator(".explaining .told")).to_contain_text("the logit of c is 100 − 7.44e-42 (proved")
    visit("#similar/explain?arithmetic=arb")
    expect(page.locator(".explaining .told")).to_contain_text("the logit of ran is ≈ 100 (proved")


def test_floats_prove_nothing_on_the_lens(visit: Visit, page: Page) -> None:
    visit("#capstone/explain?arithmetic=float64")
    expect(page.locator(".explaining .output li").last).to_contain_text("next token a, ahead of c by 1.0 (in float64, not proved)")


def test_a_token_over_itself_gets_one_line(visit: Visit, page: Page) -> None:
    visit("#capstone/explain")
    page.get_by_label("logit of", exact=True).select_option("a")
    page.get_by_label("less that of").select_option("a")
    expect(page.locator(".explaining .answer")).to_contain_text("over itself")


def test_a_part_is_left_out_and_the_address_says_so(visit: Visit, page: Page) -> None:
    visit("#induction/explain?edit=tokens%3Da%20b%20a")
    box = page.locator(".ablating")
    box.get_by_label("part", exact=True).select_option("blocks.1.attn.head.0")
    box.get_by_role("button", name="Compute without it").click()
    expect(box.locator(".told")).to_have_text("with blocks.1.attn.head.0=zero: the lead of b over a falls, proved")
    expect(box.locator(".bars li")).to_contain_text(["before100 − 7.44e-42", "after0", "change-100"])
    expect(box.locator(".output li").last).to_contain_text("After: next token !, tied with a, b, c")
    box.get_by_label("writes", exact=True).select_option("from")
    box.get_by_label("the other prompt").fill("b c")
    page.keyboard.press("Enter")
    expect(box.locator(".problem")).to_have_text("blocks.1.attn.head.0: 'b c' has 2 tokens, the input 3: give as many")
    expect(box.get_by_label("the other prompt")).to_have_attribute("aria-invalid", "true")
    box.get_by_label("the other prompt").fill("b c b")
    page.keyboard.press("Enter")
    told = "with blocks.1.attn.head.0=from b c b: the lead of b over a falls, proved"
    expect(box.locator(".told")).to_have_text(told)
    address = page.url
    page.goto("about:blank")
    page.set_viewport_size({"width": 360, "height": 900})
    page.goto(address)
    expect(box.locator(".told")).to_have_text(told)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert Axe().run(page).response["violations"] == []


def test_a_mean_is_over_prompts_one_a_line(visit: Visit, page: Page) -> None:
    visit("#induction/explain?edit=tokens%3Da%20b%20a&ablate=blocks.1.attn.head.0%3Dmean&token=b&over=a")
    box = page.locator(".ablating")
    expect(box.locator(".problem")).to_have_text("prompts: give the prompts of the mean, one a line")
    box.get_by_label("prompts of the mean").fill("a b a\n\nc b a")
    box.get_by_role("button", name="Compute without it").click()
    expect(box.locator(".bars li").last).to_contain_text("change-91.66666")
    expect(page).to_have_url(re.compile(re.escape("&mean=a+b+a&mean=c+b+a") + "$"))
