"""Theorems on the page, in a real browser: about what a circuit says, with parts left out, and about where a head looks."""

from __future__ import annotations

import re
from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

Visit = Callable[[str], Page]


def test_a_sequence_that_refutes_a_claim_opens_at_its_pattern(visit: Visit, page: Page) -> None:
    visit("#capstone/theorem?without=blocks.0.mlp&pattern=0.0+itself+%3E%3D+9%2F10&upto=2")
    report = page.locator(".looking-at .report")
    expect(report.locator(".stamp")).to_have_text("✗ refuted")
    expect(report.locator(".statement")).to_contain_text("head 0 of block 0 puts at least 9/10 on its own token")
    expect(report.locator(".nearest")).to_contain_text("Farthest beyond the bound: 0.500000000000, at position 1 of c b")
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert Axe().run(page).response["violations"] == []
    report.locator(".nearest a").click()
    expect(page.locator(".panel h2")).to_contain_text("attn.pattern at 1")
    expect(page).to_have_url(re.compile(re.escape("edit=blocks.0.mlp%3Dzero")))
    page.go_back()
    expect(report.locator("li a").first).to_be_visible()
    report.locator("li a").first.click()
    expect(page.locator(".step h2")).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape("step=blocks.0.attn.pattern")))


def test_a_claim_about_a_pattern_is_made_with_fields(visit: Visit, page: Page) -> None:
    visit("#induction/theorem?length=2")
    box = page.locator(".looking-at")
    expect(box.locator(".report")).to_have_count(0)
    box.get_by_label("weight").fill("much")
    box.get_by_role("button", name="Prove").click()
    expect(box.locator(".problem")).to_contain_text("claim: 'much' is not a number")
    expect(box.get_by_label("weight")).to_have_attribute("aria-invalid", "true")
    box.get_by_label("weight").fill("99/100")
    box.get_by_label("up to how many tokens").fill("3")
    page.keyboard.press("Enter")
    expect(box.locator(".stamp")).to_have_text("✓ proved")
    expect(box.locator(".nearest a")).to_have_text("! ! !")


def test_a_rule_fails_without_a_head(visit: Visit, page: Page) -> None:
    visit("#induction/theorem?length=3")
    page.get_by_role("button", name="Leave out a part").click()
    expect(page.get_by_label("part", exact=True)).to_be_focused()
    box = page.locator(".ruling")
    box.get_by_label("claim").select_option(label="the rule fails for some input")
    box.get_by_role("button", name="Prove").click()
    expect(box.locator(".statement")).to_have_text("The rule fails for some input.")
    expect(box.locator(".stamp")).to_have_text("✓ proved")
    expect(box.locator("li").first).to_have_text("refuted: after ! a ! it says ! (tied with a), where a is demanded")
    assert Axe().run(page).response["violations"] == []
    box.locator("li a").nth(4).click()
    expect(page.locator(".step h2")).to_be_visible()
    expect(page).to_have_url(
        re.compile(re.escape("#induction?edit=blocks.0.attn.head.0%3Dzero&edit=tokens%3Da+b+a&step=logits") + "$")
    )


def test_circuits_open_their_sizes(visit: Visit, page: Page) -> None:
    visit("#capstone/circuits")
    sizes = page.locator(".sizes").first
    sizes.locator("summary").click()
    expect(sizes.locator("tbody tr").first).to_have_text("largestcc2")
    expect(sizes.locator("tbody tr", has_text="Frobenius norm")).to_contain_text("3.16")
    assert Axe().run(page).response["violations"] == []
