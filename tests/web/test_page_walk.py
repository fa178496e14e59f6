"""The page in a real browser: stepping, opening numbers, following them back to the weights, changing and undoing."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from mpmath import mp
from playwright.sync_api import Page, Route, expect

from web.models import one_head_worksheet

Visit = Callable[[str], Page]
PATTERN = "#capstone?step=blocks.0.attn.pattern"


def title(page: Page) -> str:
    return page.locator(".step h2").inner_text()


def wait_for_step(page: Page, name: str) -> None:
    expect(page.locator(".step .eyebrow")).to_contain_text(name)


def test_home_has_a_card_for_every_example_and_is_small(visit: Visit, page: Page) -> None:
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    visit("")
    assert {"The whole transformer, by hand", "Induction heads, built by hand"} <= set(page.locator(".card h3").all_inner_texts())
    page.click("text=The whole transformer, by hand >> nth=-1")
    page.wait_for_selector(".step table")
    assert 0 < sum(sizes) < 200_000
    page.click("text=Examples")
    expect(page.locator(".recent")).to_contain_text("The whole transformer, by hand")


def test_home_has_the_trained_networks_which_open_in_balls(visit: Visit, page: Page) -> None:
    visit("")
    networks = page.locator("section[aria-labelledby=networks]")
    expect(networks.locator(".card")).to_have_count(6)
    networks.get_by_text("Six letters, sorted").click()
    expect(page.locator(".step table").first).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape("#sorter?arithmetic=arb")))
    page.get_by_role("link", name="Explain").click()
    expect(page.locator(".explaining .told")).to_contain_text("proved: each contribution lies in its enclosure")


def test_stepping_by_button_by_key_by_scrubber_and_by_the_address(visit: Visit, page: Page) -> None:
    visit("#capstone")
    wait_for_step(page, "embed")
    page.get_by_role("button", name="Next step").click()
    wait_for_step(page, "pos_embed")
    page.locator("body").press("ArrowRight")
    wait_for_step(page, "blocks.0.resid_pre")
    page.locator("body").press("ArrowLeft")
    wait_for_step(page, "pos_embed")
    page.get_by_role("slider", name="Step").fill("28")
    wait_for_step(page, "token")
    assert "ahead of c by 1 (proved)" in page.locator(".output").inner_text()
    expect(page).to_have_url(re.compile(re.escape("step=token")))
    assert page.get_by_role("button", name="Next step").is_disabled()
    page.locator("body").press("Home")
    wait_for_step(page, "embed")
    expect(page.locator("#live")).to_contain_text("Step 1 of 29")


def test_play_walks_and_pauses(visit: Visit, page: Page) -> None:
    visit("#capstone")
    page.get_by_role("button", name="Play").click()
    wait_for_step(page, "pos_embed")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_diagram_leads_to_steps_and_positions(visit: Visit, page: Page) -> None:
    visit("#capstone")
    page.get_by_role("link", name="MLP, block 0").click()
    wait_for_step(page, "blocks.0.mlp.pre")
    assert page.locator(".diagram .lit .label").text_content() == "MLP"
    page.locator(".diagram .stage").nth(2).locator("a").nth(2).click()
    wait_for_step(page, "blocks.0.attn.q")
    expect(page).to_have_url(re.compile(re.escape("position=1")))
    assert page.locator(".diagram .node.recovered").count() == 5  # exact again from the first LayerNorm to the logits


def test_tables_have_labels_and_marks(visit: Visit, page: Page) -> None:
    visit(PATTERN)
    written = page.locator("table.writes")
    assert written.locator("thead th").all_inner_texts() == ["a", "b"]
    assert written.locator("tbody th").all_inner_texts() == ["0 a", "1 b"]
    cell = written.locator("button.named").first
    assert cell.get_attribute("aria-label") == "1/(1+e), formula"
    assert cell.locator(".main").evaluate("cell => getComputedStyle(cell, '::before').content") == '"~"'
    assert page.locator("table.reads button.masked").inner_text() == "−∞"
    assert page.locator("table.heat td.cell").nth(1).evaluate("cell => cell.style.getPropertyValue('--weight')") != ""


def test_a_number_opens_and_leads_back_to_a_weight(visit: Visit, page: Page) -> None:
    visit(PATTERN)
    page.locator("table.writes button.named").first.click()
    panel = page.locator(".panel")
    expect(panel.locator("h2")).to_have_text("attn.pattern at 1 “b”, 0 “a”")
    assert panel.locator("math").first.locator("mfrac").count() == 1
    assert panel.locator(".decimal").inner_text() == "0.268941421369995120748840758178"
    assert page.locator("table.reads td.lit").count() == 2
    with mp.workdps(80):
        sigmoid = mp.nstr(1 / (1 + mp.e), 60, strip_zeros=False)
    panel.locator("#digit-count").fill("60")
    panel.locator("#digit-count").press("Enter")
    expect(panel.locator(".decimal")).to_have_text(sigmoid)
    for name, label in (("attn.masked at 1", "1"), ("attn.scores at 1", "1"), ("attn.q at 1", "1"), ("attn.W_Q at 0", "1")):
        panel.locator(".origin .chip", has_text=label).first.click()
        expect(panel.locator("h2")).to_contain_text(name)
        if name.startswith("attn.q"):
            panel.locator(".origin").nth(1).locator(".chip").first.click()
            break
    expect(panel.locator("h2")).to_contain_text("attn.W_Q")
    assert "attn.q" in panel.locator(".feeds").inner_text()
    panel.get_by_role("button", name="← back").click()
    expect(panel.locator("h2")).to_contain_text("attn.q")


def test_a_dot_product_is_spelt_out(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.scores&number=blocks.0.attn.scores[0,1,1]")
    expect(page.locator(".spelt math")).to_have_text("1·1+1·1=2")


def test_a_weight_is_changed_shown_undone_and_reset(visit: Visit, page: Page) -> None:
    visit("#capstone?step=embed&number=W_E[1,1]")
    page.locator("#new-weight").fill("1/3")
    page.get_by_role("button", name="Set").click()
    expect(page.locator("table.writes td.changed")).to_have_count(1)
    assert page.locator("table.writes td.changed").inner_text() == "1/3"
    page.get_by_role("button", name="Change it").click()
    page.get_by_label("mask").select_option("none")
    expect(page.locator(".changes code")).to_have_text(["W_E[1,1]=1/3", "mask=none"])
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".changes code")).to_have_text(["W_E[1,1]=1/3"])
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".changes code")).to_have_count(0)
    expect(page.locator("table.writes td.changed")).to_have_count(0)


def test_tokens_change_and_what_cannot_be_is_told(visit: Visit, page: Page) -> None:
    visit("#capstone?step=token")
    page.get_by_role("button", name="Change it").click()
    page.get_by_label("Token 0").select_option("c")
    expect(page.locator(".output")).to_contain_text("the variance is 0 and ε is 0")
    page.get_by_label("scale").fill("two")
    page.get_by_label("scale").press("Enter")
    expect(page.locator(".problem")).to_contain_text("scale: ")
    assert page.locator(".changes code").all_inner_texts() == ["tokens=c b"]


def test_keyboard_alone_reaches_a_number_and_walks_the_table(visit: Visit, page: Page) -> None:
    visit(PATTERN)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('table.writes button.n')"):
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".panel h2")).to_have_text("attn.pattern at 1 “b”, 1 “b”")
    page.keyboard.press("Escape")
    expect(page.locator(".marks .hint")).to_be_visible()
    wait_for_step(page, "blocks.0.attn.pattern")


def test_swipe_on_a_touch_screen(visit: Visit, page: Page) -> None:
    visit("#capstone")
    swipe = """box => { const at = (type, x) => {
      const touch = new Touch({identifier: 1, target: box, clientX: x, clientY: 300});
      const touches = type === 'touchstart' ? [touch] : [];
      box.dispatchEvent(new TouchEvent(type, {bubbles: true, touches, changedTouches: [touch]})); };
      at('touchstart', 300); at('touchend', 120); }"""
    page.locator(".step header").evaluate(swipe)
    wait_for_step(page, "pos_embed")


def test_backward_walks_from_the_loss_to_the_weights(visit: Visit, page: Page) -> None:
    visit("#capstone/backward?target=a+a")
    wait_for_step(page, "grad.logits")
    assert "cross-entropy" in page.locator(".loss").inner_text()
    page.locator("body").press("End")
    wait_for_step(page, "grad.blocks.0.ln2.b")
    page.goto(page.url.split("?")[0] + "?step=grad.W_E&number=grad.W_E[0,0]")
    expect(page.locator(".panel .origin")).to_have_count(3)


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("#capstone?step=blocks.0.nonsense", "blocks.0.nonsense: there is no such step here; this is the first one"),
        ("#capstone?step=embed&number=W_X[0,0]", "W_X[0,0]: there is no such number here"),
        ("#length4/break?break=nonsense", "nonsense: there is no such mistake"),
        ("#length4/break?break=no-scale&step=nonsense", "nonsense: there is no such step here"),
    ],
)
def test_what_an_address_names_in_vain_is_told(visit: Visit, page: Page, address: str, line: str) -> None:
    visit(address)
    expect(page.locator(".problem")).to_have_text(line)
    if "break" not in address:
        page.get_by_role("button", name="Next step").click()
        wait_for_step(page, "pos_embed")
        expect(page.locator(".problem")).to_have_count(0)


def test_a_table_that_goes_on_to_the_right_fades_there(visit: Visit, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    visit("#length4?step=blocks.0.attn.scores")
    wait_for_step(page, "attn.scores")
    table = page.locator(".scroll").first
    faded = "element => parseFloat(getComputedStyle(element).getPropertyValue('--fade'))"
    here = table.element_handle()
    page.wait_for_function(f"element => ({faded})(element) > 5", arg=here)
    table.evaluate("element => { element.scrollLeft = element.scrollWidth }")
    page.wait_for_function(f"element => ({faded})(element) === 0", arg=here)
    table.evaluate("element => { element.scrollLeft = 0 }")
    page.wait_for_function(f"element => ({faded})(element) > 5", arg=here)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(f"element => ({faded})(element) === 0", arg=here)


def test_breaks_side_by_side(visit: Visit, page: Page) -> None:
    visit("#length4/break")
    page.get_by_label("no-scale").check()
    expect(page.locator(".two table")).to_have_count(2)
    assert "blocks.0.attn.scores" in page.locator(".verdicts .first").first.inner_text()
    assert page.locator(".two section").nth(1).locator("td.changed").count() == 14  # all but two entries, which are 0
    assert "the factor 1/2 is missing" in page.locator(".effects").inner_text()
    page.locator(".two section").nth(1).locator("button.n", has_text="39/400").click()
    expect(page.locator(".panel h2")).to_have_text("attn.scores at 0 “I”, 0 “I”")
    assert page.locator(".broken code").inner_text() == "no-scale"


def test_circuits_and_theorem(visit: Visit, page: Page) -> None:
    visit("#induction/circuits")
    assert "It attends to 1 before, strength 100; copies token to previous." in page.locator(".theory").inner_text()
    page.get_by_role("link", name="Theorem").click()
    expect(page.locator(".stamp")).to_have_text("✓ proved")
    assert "1,364 sequences" in page.locator(".report").inner_text()


def test_check_puts_verdicts_in_place(visit: Visit, page: Page) -> None:
    visit("#check")
    page.get_by_role("button", name="Try the built-in lesson").click()
    expect(page.locator(".counts")).to_contain_text("✗ 24 wrong")
    assert page.locator("mark.wrong").count() == 24
    page.locator("#check-text").fill('[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.71"]\n')
    page.locator("#check-name").fill("mine.toml")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("mark.truncated, mark.last-digit-off")).to_have_text("2.71 2.72")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download corrected version").click()
    assert 'values = ["2.72"]' in download.value.path().read_text()


def large_worksheet(size: int = 64) -> str:
    """As many positions as dimensions, and a head that looks at all of them."""
    rng = random.Random(1)
    rows = [[f"{rng.randint(-3, 3)}/10" for _ in range(size)] for _ in range(size)]
    return one_head_worksheet(rows, "tied")


@pytest.mark.large
def test_rows_of_a_large_pass_are_drawn_as_needed(visit: Visit, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_text(large_worksheet())
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    page.wait_for_selector(".step table")
    page.goto(page.url.split("?")[0] + "?step=blocks.0.attn.pattern")
    page.locator("figure.writes .sight").focus()  # a picture, whose numbers are fetched where they are looked at
    expect(page.locator("figure.writes path.hidden")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.locator("figure.writes .readout .digits")).to_contain_text("= 0.")
    page.get_by_role("button", name="Numbers").click()
    written = page.locator(".windowed table.writes")
    expect(written.locator("button.named").first).to_be_visible()
    assert written.get_attribute("aria-rowcount") == "65"
    page.locator(".windowed").first.evaluate("box => { box.scrollTop = box.scrollHeight }")
    last = written.locator('tr[aria-rowindex="65"]')
    expect(last.locator("button.named").first).to_be_visible()
    last.locator("button.named").first.click()
    expect(page.locator(".panel h2")).to_contain_text("attn.pattern at 63")
    expect(page.locator(".panel .decimal")).to_be_visible()


FRAMES = """async (box) => {
  const frame = () => new Promise(requestAnimationFrame), bottom = box.scrollHeight - box.clientHeight;
  for (let n = 0; n < 120; n++) {
    box.scrollTop = bottom * (n < 60 ? n / 60 : 2 - n / 60);
    await frame();
  }
}"""


@pytest.mark.large
def test_a_large_table_scrolls_smoothly(visit: Visit, page: Page, tmp_path: Path) -> None:
    """Once its rows are there, a frame takes less of the processor than the 17 ms between two frames of a screen."""
    file = tmp_path / "large.toml"
    file.write_text(large_worksheet())
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    table = page.locator(".windowed").first
    expect(table.locator("tbody tr:not(.spacer)")).to_have_count(64)
    table.evaluate(FRAMES)
    table.evaluate("box => { box.scrollTop = box.scrollHeight }")
    expect(table.locator('tr[aria-rowindex="65"]:not(.partial)')).to_have_count(1)
    before = processor_seconds(page)
    table.evaluate(FRAMES)
    assert table.locator("tr.partial").count() == 0
    assert processor_seconds(page) - before < 120 * 0.017


def processor_seconds(page: Page) -> float:
    """What the process of the page has used so far."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    return next(
        float(metric["value"]) for metric in session.send("Performance.getMetrics")["metrics"] if metric["name"] == "ProcessTime"
    )


@pytest.mark.large
def test_of_very_many_rows_those_in_sight_are_drawn(visit: Visit, page: Page) -> None:
    visit("#poster?step=embed")
    rows = page.locator(".windowed table.reads tbody tr:not(.spacer)")
    expect(rows.locator("button.n").first).to_be_visible()
    assert rows.count() < 50
    page.locator(".windowed").first.evaluate("box => { box.scrollTop = 31373 * 37 }")
    expect(page.locator('tr[aria-rowindex="31375"] button.n').first).to_be_visible()  # hello
    assert rows.count() < 50


def test_the_largest_logits_are_found_among_many(visit: Visit, page: Page) -> None:
    visit("#poster?step=logits")
    table = page.locator("table.writes")
    winner = table.locator("td.winner button.n")
    expect(winner).to_be_visible()  # the table opens at that of the last position
    assert winner.get_attribute("data-at") == "3 45183"
    page.get_by_role("group", name="Go to the largest").get_by_role("button", name="0 Ġdictated").click()
    expect(table.locator('[data-at="0 34756"]')).to_be_focused()
    assert "Ġdictated" in table.locator("thead th").all_inner_texts()
    values = [float(text.rstrip("…")) for text in table.locator("tbody tr").nth(1).locator(".main").all_inner_texts()]
    assert max(values) == float(winner.inner_text().rstrip("…"))


@pytest.mark.parametrize("width", [360, 768, 1920])
def test_no_width_makes_the_page_scroll_sideways(visit: Visit, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for address in (
        "",
        "#induction?step=blocks.1.attn.pattern&number=blocks.1.attn.pattern[0,5,3]",
        "#length4/break?break=no-scale",
        "#check",
    ):
        visit(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_numbers_that_come_late_do_not_hide_the_step_that_is_meant_by_then(visit: Visit, page: Page) -> None:
    held: list[Route] = []
    page.route(
        "**/api/values", lambda route: held.append(route) if '"probs"' in (route.request.post_data or "") else route.continue_()
    )
    visit("#capstone?step=logits")
    page.wait_for_selector(".step table")
    page.locator("body").press("ArrowRight")
    page.locator("body").press("ArrowRight")
    wait_for_step(page, "token")
    page.wait_for_timeout(1500)  # as long as a reader waits until the page says that it computes the probabilities
    wait_for_step(page, "token")
    assert held
    for route in held:
        route.continue_()
    page.locator("body").press("ArrowLeft")
    wait_for_step(page, "probs")
    page.wait_for_selector(".step:not(.computing) table")
