"""Pictures of steps, the sliders of a row of logits, and the walk through a pass of a model; in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from web.serving import Serving

Visit = Callable[[str], Page]
PATTERN = "step=blocks.0.attn.pattern"
DRAWN = """async ([rows, form]) => {
  const { picture } = await import("./picture.js");
  const values = Array.from({ length: rows }, (_, i) =>
    Array.from({ length: rows }, (_, j) =>
      j > i ? { status: "masked", text: "-inf" } : { status: "exact", text: `${j + 1}/${i + 9}` }));
  const step = { name: "s", shape: [rows, rows], axes: ["position", "position"], heat: true, reads: [] };
  const figure = picture(step, { values, tokens: values.map((_, i) => `t${i}`), form });
  document.getElementById("main").replaceChildren(figure);
  figure.picture.look([rows - 1, 0]);
  const paths = figure.querySelectorAll(".board > svg:first-child path").length;
  return { paths, read: figure.querySelector(".readout").textContent };
}"""
COUNTED = """() => {
  window.moves = 0;
  const { animate } = Element.prototype;
  Element.prototype.animate = function (...given) { moves++; return animate.apply(this, given); };
}"""


def no_violation(page: Page) -> None:
    results = Axe().run(page)
    told = [(v["id"], v["help"], [node["html"][:200] for node in v["nodes"][:3]]) for v in results.response["violations"]]
    assert told == []


def test_attention_over_eight_tokens_is_first_seen_as_a_picture(visit: Visit, page: Page) -> None:
    visit(f"#context?{PATTERN}")
    expect(page.locator("figure.writes .sight")).to_be_visible()
    assert page.locator(".step table").count() == 0
    page.get_by_role("button", name="Numbers").click()
    expect(page.locator(".step table.writes")).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape("as=numbers")))
    page.go_back()
    expect(page.locator("figure.writes .sight")).to_be_visible()


def test_a_few_tokens_are_first_seen_as_numbers(visit: Visit, page: Page) -> None:
    visit(f"#capstone?{PATTERN}")
    expect(page.locator(".step table.writes")).to_be_visible()
    page.get_by_role("button", name="Picture").click()
    expect(page.locator("figure.writes")).to_be_visible()
    expect(page.locator("figure.writes .key")).to_contain_text("hidden by the mask")
    assert page.locator("figure.writes path.hidden").count() == 1


def test_arrow_keys_go_from_number_to_number(visit: Visit, page: Page) -> None:
    visit(f"#capstone?{PATTERN}&as=picture")
    sight, read = page.locator("figure.writes .sight"), page.locator("figure.writes .readout")
    before = page.url
    sight.focus()
    expect(read).to_contain_text("“a” (0) looks at “a” (0)")
    page.keyboard.press("ArrowDown")
    expect(read).to_contain_text("“b” (1) looks at “a” (0)")
    expect(read.locator("math")).to_be_visible()
    expect(read).to_contain_text("0.26894142…")
    page.keyboard.press("ArrowDown")  # there is no third row
    expect(read).to_contain_text("“b” (1)")
    assert page.url == before  # and no other step was gone to
    page.keyboard.press("Enter")
    expect(page.locator(".panel h2")).to_contain_text("attn.pattern at 1 “b”, 0 “a”")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(read).to_contain_text("hidden by the mask")


def test_the_pointer_reads_the_number_under_it(visit: Visit, page: Page) -> None:
    visit("#length4?step=blocks.0.attn.scores&as=picture")
    box = page.locator("figure.writes .board").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 20)
    read = page.locator("figure.writes .readout")
    expect(read).to_contain_text("“.” (3) and “.” (3)")
    expect(read.locator(".n.exact")).to_be_visible()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + box["height"] - 20)
    expect(page.locator(".panel h2")).to_contain_text("attn.scores at 3 “.”, 3 “.”")
    expect(page.locator("figure.writes .over .open")).to_be_visible()


def test_a_ribbon_is_as_wide_as_its_weight(visit: Visit, page: Page) -> None:
    visit(f"#capstone?{PATTERN}&as=picture")
    page.get_by_role("button", name="Ribbons").click()
    widths = {}
    for ribbon in page.locator(".ribbon").all():
        thick = re.search(r"v([\d.]+)", ribbon.get_attribute("d") or "")
        assert thick is not None
        widths[ribbon.get_attribute("data-at")] = float(thick[1])
    assert set(widths) == {"0 0", "1 0", "1 1"}
    assert widths["1 0"] / widths["0 0"] == pytest.approx(0.268941, abs=1e-3)
    assert widths["1 0"] + widths["1 1"] == pytest.approx(widths["0 0"], abs=0.02)
    page.locator("figure.writes .sight").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".over .band.now")).to_have_count(1)


@pytest.mark.parametrize("rows", [64, 256])
def test_large_pictures_are_a_few_paths(visit: Visit, page: Page, rows: int) -> None:
    visit("")
    drawn: dict[str, Any] = page.evaluate(DRAWN, [rows, "heat"])
    assert drawn["paths"] <= 2 * 24 + 4  # one for each shade, however many cells
    assert drawn["read"].startswith(f"“t{rows - 1}” ({rows - 1}) looks at “t0” (0) 1/{rows + 8}")


def test_ribbons_that_nobody_would_see_are_counted_and_not_drawn(visit: Visit, page: Page) -> None:
    visit("")
    drawn: dict[str, Any] = page.evaluate(DRAWN, [256, "ribbons"])
    shown = re.search(r"([\d,]+) thinner", page.locator(".key").inner_text())
    assert shown is not None
    assert drawn["paths"] + int(shown[1].replace(",", "")) == 256 * 257 // 2


def test_sliders_give_exact_probabilities(visit: Visit, page: Page) -> None:
    visit("#capstone?step=probs")
    bars = page.locator(".bars li")
    expect(bars).to_have_count(3)
    expect(page.locator(".choosing .told")).to_have_text("3 of 3 tokens may be drawn (proved)")
    page.get_by_role("slider", name="top-p").fill("90")
    expect(page.locator(".choosing .told")).to_have_text("2 of 3 tokens may be drawn (proved)")
    expect(bars.nth(2)).to_contain_text("cut off")
    page.get_by_role("slider", name="temperature").fill("10")
    expect(page.locator(".slider output").first).to_have_text("0.5")
    expect(bars.first.locator("[aria-label]")).to_have_attribute("aria-label", "e^2/(1+e^2), formula")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".choosing .told")).to_have_text("3 of 3 tokens may be drawn (proved)")


def test_the_pipeline_moves_only_for_those_who_want_motion(visit: Visit, page: Page) -> None:
    page.emulate_media(reduced_motion="no-preference")
    visit("#capstone?step=embed")
    page.evaluate(COUNTED)
    page.keyboard.press("End")
    expect(page.locator(".progress")).to_contain_text("29 / 29")
    page.wait_for_function("() => window.moves > 0")
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("() => { window.moves = 0 }")
    page.keyboard.press("Home")
    expect(page.locator(".progress")).to_contain_text("1 / 29")
    expect(page.locator(".stage.lit .label")).to_have_text("embed")
    assert page.evaluate("() => window.moves") == 0


def test_what_a_change_reaches_is_marked_in_the_pipeline(visit: Visit, page: Page) -> None:
    visit(f"#capstone?{PATTERN}&edit=W_E[1,1]=1/3&as=picture")
    expect(page.locator(".diagram .delta").first).to_be_visible()
    expect(page.locator("figure.writes .over .changed")).to_have_count(1)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 768), ("light", 360)])
def test_no_violation_is_found_in_pictures(visit: Visit, page: Page, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    for address in (f"#context?{PATTERN}", "#capstone?step=probs", "#capstone?step=blocks.0.resid_mid&as=picture"):
        visit(address)
        expect(page.locator(".busy")).to_have_count(0)
        no_violation(page)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_pass_of_the_model_is_walked_through(page: Page, proving: Serving) -> None:
    page.goto(f"{proving.address}/#certified?prompt=3 4 5&tokens=1")
    page.get_by_role("link", name="Walk through the pass").click()
    expect(page.locator(".step h2")).to_be_visible()
    expect(page.locator("td .n.ball").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".progress")).to_contain_text("2 / ")
    page.goto(
        f"{proving.address}/#certified/walk?prompt=3 4 5&step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,2,1]&as=picture"
    )
    expect(page.locator(".panel .enclosure")).to_be_visible()
    expect(page.locator(".panel .links").first).to_contain_text("attn.masked")
    expect(page.locator("figure.writes path.hidden")).to_have_count(1)
    no_violation(page)
    page.goto(f"{proving.address}/#certified/walk?prompt=3 4 5&step=logits")
    expect(page.locator(".choosing .told")).to_have_text("40 of 40 tokens may be drawn (proved)")
    page.goto(f"{proving.address}/#certified/walk?prompt=3 400")
    expect(page.locator(".problem")).to_contain_text("position 1")
