"""What users met in a browser and stumbled over, each once: marks, addresses, what is computed, undone, covered or cut off."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from exactformer.web import single_file
from exactformer.worksheets import example_text, load
from web.models import one_head_worksheet
from web.test_page_walk import wait_for_step

Visit = Callable[[str], Page]
UNREADABLE = "the worksheet in this address cannot be read: the address was cut off, or changed"
CUT = """() => [...document.querySelectorAll(".step .scroll")].filter((box) => box.scrollWidth > box.clientWidth + 1)
  .map((box) => `${box.querySelector(".caption-name").textContent}: ${box.scrollWidth} > ${box.clientWidth}`)"""


# -- marks
def test_a_ball_has_its_mark_and_is_cut_off_visibly(visit: Visit, page: Page) -> None:
    visit("#poster?step=logits")
    winner = page.locator("table.writes td.winner button.n")
    expect(winner).to_have_class("n ball")
    assert re.fullmatch(r"4\.0\d+…", winner.inner_text())
    assert winner.locator(".main").evaluate("cell => getComputedStyle(cell, '::after').content") == '"±"'
    assert page.locator(".diagram .mark.ball").first.text_content() == "±"
    expect(page.locator(".legend")).to_contain_text("decimal with guaranteed digits")


def test_the_opened_column_of_a_large_weight_is_shown(visit: Visit, page: Page) -> None:
    visit("#poster?step=logits&number=logits[3,45183]")
    expect(page.locator("table.reads thead th", has_text="Ġslaying")).to_be_visible()
    expect(page.locator('table.reads td.lit [data-at="3 45183"]')).to_be_visible()


def test_a_float_is_not_equal_to_its_formula(visit: Visit, page: Page) -> None:
    visit("#capstone?arithmetic=float64&step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]")
    expect(page.locator(".spelt math")).to_contain_text("≈0.2689414213699951")
    visit("#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]")
    expect(page.locator(".spelt math")).not_to_contain_text("≈")


def test_a_token_cannot_turn_the_page_round(visit: Visit, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "turned.toml"
    file.write_text(example_text("capstone").replace('"a"', '"\u202eab"').replace('tokens = "a b"', 'tokens = ["\u202eab", "b"]'))
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    expect(page.locator("table.writes tbody th").first).to_have_text("0 \\u202eab")
    assert "\u202e" not in page.locator("main").inner_text()


# -- addresses
@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("#%E0%A4%A", "%E0%A4%A: there is no built-in example of that name"),
        ("#constructor", "constructor: there is no built-in example of that name"),
        ("#capstone?head=-5", "head -5: there is no such head here; this is head 0"),
        ("#context?step=blocks.0.attn.pattern&head=2", "head 2: there is no such head here; this is head 0"),
        ("#capstone?position=2", "position 2: there is no such position here"),
        ("#capstone?step=embed&number=embed[9,9]", "embed[9,9]: there is no such number here"),
        ("#sheet:AAAA", UNREADABLE),
    ],
)
def test_an_address_that_names_nothing_gets_a_message(visit: Visit, page: Page, address: str, line: str) -> None:
    visit(address)
    expect(page.locator(".problem")).to_contain_text(line)


def test_a_short_worksheet_travels_in_the_address(visit: Visit, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(example_text("capstone").replace("by hand", "my own"), encoding="utf-8")
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    expect(page.locator("h1")).to_have_text("The whole transformer, my own")
    expect(page).to_have_url(re.compile(re.escape("#sheet%3A")))
    assert len(page.url) < 6_000
    page.evaluate("localStorage.clear()")  # as in the browser of somebody else
    address = page.url
    page.goto("about:blank")
    page.goto(f"{address}?step=blocks.0.attn.pattern&as=numbers")
    expect(page.locator("h1")).to_have_text("The whole transformer, my own")
    wait_for_step(page, "attn.pattern")


def test_a_long_worksheet_stays_in_its_browser(visit: Visit, page: Page, tmp_path: Path) -> None:
    rng = random.Random(1)
    noise = "".join(f"# {rng.randrange(10**30)}\n" for _ in range(400))
    file = tmp_path / "long.toml"
    file.write_text(example_text("capstone") + noise)
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    wait_for_step(page, "embed")
    expect(page).to_have_url(re.compile(re.escape("#own%3A")))


# -- what is on its way, and what was done
def test_a_step_that_is_being_computed_says_so(visit: Visit, page: Page) -> None:
    visit("#context")
    held: list[Route] = []
    page.route("**/api/values", lambda route: held.append(route))
    page.get_by_role("slider", name="Step").fill("19")
    expect(page.locator(".computing h2")).to_have_text("Softmax of each row")
    expect(page.locator(".computing [role=status]")).to_have_text("Computing without rounding …")
    expect(page.locator(".progress")).to_have_text("20 / 27")
    page.unroute("**/api/values")  # which lets go on what was held
    expect(page.locator(".computing")).to_have_count(0)
    wait_for_step(page, "blocks.1.attn.pattern")


def test_a_weight_changed_where_it_is_opened_gives_notice_and_is_undone(visit: Visit, page: Page) -> None:
    visit("#capstone?step=embed&number=W_E[1,1]")
    for value in ("1/3", "1/5"):
        page.locator("#new-weight").fill(value)
        page.get_by_role("button", name="Set").click()
        expect(page.locator(".made")).to_contain_text(f"W_E[1,1]={value}")
    page.locator(".made").get_by_role("button", name="Undo").click()
    expect(page.locator(".made code")).to_have_text("W_E[1,1]=1/3")
    page.locator(".step h2").click()
    page.keyboard.press("Control+z")
    expect(page.locator(".made")).to_have_count(0)
    expect(page.locator("table.writes td.changed")).to_have_count(0)


def test_going_backward_and_forward_again_keeps_the_step(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.pattern&position=1")
    page.get_by_role("link", name="Backward").click()
    wait_for_step(page, "grad.logits")
    page.get_by_role("button", name="Next step").click()
    page.get_by_role("link", name="Forward").click()
    wait_for_step(page, "blocks.0.attn.pattern")
    expect(page).to_have_url(re.compile(re.escape("position=1")))
    page.get_by_role("link", name="Backward").click()
    wait_for_step(page, "grad.blocks.0.ln2.out")


def test_a_gradient_is_named_once(visit: Visit, page: Page) -> None:
    visit("#capstone/backward")
    expect(page.locator(".step .eyebrow")).to_have_text("grad.logits")
    expect(page.locator(".step h2")).to_have_text("Gradient of logits")


def test_remarks_are_those_of_the_head_that_is_shown(visit: Visit, page: Page) -> None:
    visit("#context?step=blocks.0.attn.pattern&head=1")
    said = page.locator(".remarks li")
    assert {re.match(r"head \d|position", text).group() for text in said.all_text_contents()} == {"head 1", "position"}  # type: ignore[union-attr]


def test_the_single_file_keeps_its_subtitle_and_its_step(visit: Visit, page: Page, tmp_path: Path) -> None:
    visit("#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]")
    about = page.locator(".about").inner_text()
    page.locator(".tools .menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="One HTML file").click()
    file = tmp_path / "pass.html"
    file.write_bytes(Path(download.value.path()).read_bytes())
    page.goto(file.as_uri())
    expect(page.locator(".about")).to_have_text(about)
    wait_for_step(page, "blocks.0.attn.pattern")
    expect(page.locator(".panel h2")).to_have_text("attn.pattern at 1 “b”, 0 “a”")
    worksheet = load("length4")
    file.write_text(single_file.render(worksheet.trace(), about=worksheet.about))
    page.goto(file.as_uri())
    expect(page.locator(".about")).to_have_text(worksheet.about)


# -- what is seen
@pytest.mark.parametrize("example", ["induction", pytest.param("context", marks=pytest.mark.large)])
def test_tables_fit_and_remarks_are_above_the_fold(visit: Visit, page: Page, example: str) -> None:
    visit(f"#{example}")
    steps = int(page.locator(".progress").inner_text().split("/")[1])
    for n in range(steps):
        expect(page.locator(".progress")).to_have_text(f"{n + 1} / {steps}")
        page.wait_for_selector(".step:not(.computing) :is(table, figure)")
        page.wait_for_function(f"() => !({CUT})().length")
        for box in page.locator(".remarks").all():
            assert box.evaluate("box => box.getBoundingClientRect().bottom") < 840
        page.locator("body").press("ArrowRight")


def long_worksheet(length: int = 16) -> str:
    """Sixteen positions whose weights are all formulas."""
    rows = [[f"{(i * 5 + j * 3) % 7}/10" for j in range(4)] for i in range(length)]
    return one_head_worksheet(rows, "none")


def test_sixteen_positions_are_seen_at_once_and_an_opened_row_is_scrolled_to(visit: Visit, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "sixteen.toml"
    file.write_text(long_worksheet())
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    page.wait_for_selector(".step table")
    address = page.url
    page.goto(f"{address}?step=blocks.0.attn.pattern")
    wait_for_step(page, "attn.pattern")
    page.wait_for_function(f"() => !({CUT})().length")
    page.goto(f"{address}?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,15,12]&as=numbers")
    expect(page.locator("td.open")).to_have_count(1)
    expect(page.locator("td.open")).to_be_in_viewport(ratio=1)
    page.wait_for_function("""() => {
      const [cell, bar] = ["td.open", ".controls"].map((name) => document.querySelector(name).getBoundingClientRect());
      return cell.bottom < bar.top;
    }""")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (768, 1024), (360, 740)])
def test_the_sheet_of_a_number_does_not_cover_it(visit: Visit, page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    visit("#induction?step=blocks.1.attn.pattern&number=blocks.1.attn.pattern[0,5,3]")
    expect(page.locator(".panel h2")).to_be_visible()
    page.wait_for_function("""() => {
      const [cell, panel] = ["td.open", ".panel"].map((name) => document.querySelector(name).getBoundingClientRect());
      return cell.top >= 0 && cell.left >= 0 && cell.right <= innerWidth && (cell.bottom <= panel.top || cell.right <= panel.left);
    }""")


@pytest.mark.parametrize(
    "example",
    [
        *("capstone", "llama", "length4"),
        *(pytest.param(name, marks=pytest.mark.large) for name in ("context", "induction", "poster", "similar", "skip")),
    ],
)
def test_no_label_of_the_pipeline_runs_into_another(visit: Visit, page: Page, example: str) -> None:
    visit(f"#{example}")
    collisions = """() => {
      const boxes = [...document.querySelectorAll(".diagram text")].filter((text) => text.textContent)
        .map((text) => [text.textContent, text.getBoundingClientRect()]);
      const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
      return boxes.flatMap(([one, a], n) => boxes.slice(n + 1).filter(([, b]) => meet(a, b)).map(([other]) => `${one} ${other}`));
    }"""
    assert page.evaluate(collisions) == []


def test_a_long_form_fades_where_it_goes_on(visit: Visit, page: Page) -> None:
    visit("#poster?step=logits&number=logits[3,45183]")
    form = page.locator(".panel .form.spelt")
    expect(form).to_be_visible()
    assert form.evaluate("box => box.scrollWidth > box.clientWidth")
    page.wait_for_function("box => parseFloat(getComputedStyle(box).getPropertyValue('--fade')) > 5", arg=form.element_handle())


def test_bars_leave_room_for_digits_without_a_math_font(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]")
    fraction = page.locator(".panel mfrac").first
    gap = fraction.evaluate("bar => parseFloat(getComputedStyle(bar.lastElementChild).paddingTop)")
    assert gap > 1
    assert "STIX Two Math" in fraction.evaluate("bar => getComputedStyle(bar).fontFamily")


# -- what is drawn as an equation is true as drawn
@pytest.mark.parametrize("address", ["#capstone?step=logits", "#poster?step=blocks.0.attn.qk", "#length4?step=blocks.0.attn.qk"])
def test_a_product_is_drawn_with_sizes_that_fit(visit: Visit, page: Page, address: str) -> None:
    visit(address)
    sizes = page.locator(".equation table").evaluate_all(
        """tables => tables.map((table) =>
          [table.tBodies[0].querySelectorAll("tr:not(.spacer)").length, table.tHead.querySelectorAll("th").length])"""
    )
    (rows, columns), left, right = sizes
    assert left == [rows, right[0]]
    assert right[1] == columns
    assert page.locator(".equation .caption-name").last.inner_text().endswith("ᵀ")
    assert page.locator(".equation .sign").all_inner_texts() == ["=", "·"]


def test_a_transposed_number_opens_as_itself(visit: Visit, page: Page) -> None:
    visit("#capstone?step=logits")
    page.locator(".equation table").last.locator('[data-at="0 2"]').click()
    expect(page.locator(".panel h2")).to_have_text("W_E at c, 0")


def test_a_lookup_is_drawn_as_a_lookup(visit: Visit, page: Page) -> None:
    visit("#capstone?step=embed")
    assert page.locator(".equation .sign").all_inner_texts() == ["←"]
    assert page.locator("tr.picked th").all_inner_texts() == ["a → 0", "b → 1"]
    expect(page.locator(".equation .caption-role").last).to_have_text("weight, one row for each token")


# -- taken away: copied, printed, shown to a class
WATCHED = """box => {
  box.said = [];  // what it says for a moment, and may have said of an earlier copy
  new MutationObserver(() => box.said.push(box.textContent)).observe(box, {childList: true});
}"""


def copied(page: Page, menu: str, form: str) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    box = page.locator(menu)
    summary = box.locator("summary")
    summary.evaluate(WATCHED)
    summary.click()
    box.get_by_role("button", name=form).click()
    page.wait_for_function("box => box.said.includes('copied ✓')", arg=summary.element_handle())
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_a_number_is_copied(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]")
    assert copied(page, ".panel .copy", "LaTeX").startswith(r"\mathtt{attn.pattern}_{0,1,0} = \frac{1}{1+e} \approx 0.26894142")
    assert copied(page, ".panel .copy", "Markdown").startswith("`blocks.0.attn.pattern[0, 1, 0]` = `1/(1+e)` ≈ 0.26894142")
    assert copied(page, ".panel .copy", "NumPy") == "(1)/(1+np.e)"


def test_a_matrix_is_copied(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.pattern")
    found = copied(page, "table.writes .copy", "LaTeX")
    assert found.startswith("\\mathtt{attn.pattern} = \\operatorname{softmax}")
    assert "\\begin{pmatrix}\n1 & 0 \\\\\n\\frac{1}{1+e} & \\frac{e}{1+e}\n\\end{pmatrix}" in found
    assert copied(page, "table.writes .copy", "Markdown").splitlines()[-2:] == [
        "| `a` | `1` | `0` |",
        "| `b` | `1/(1+e)` | `e/(1+e)` |",
    ]
    found = copied(page, "table.writes .copy", "NumPy")
    assert found.startswith("block0_attn_pattern = np.array([[1, 0], [(1)/(1+np.e), (np.e)/(1+np.e)]])")


def test_the_handout_has_every_step(visit: Visit, page: Page) -> None:
    visit("#capstone?step=embed")
    page.locator(".tools .menu summary").click()
    page.get_by_role("button", name="Handout of the whole pass").click()
    expect(page.locator(".handout .line")).to_have_count(29)
    assert page.locator(".handout .line table").count() == 29
    assert "After “a” (position 0): next token a, ahead of c by 1 (proved)" in page.locator(".handout").inner_text()
    page.emulate_media(media="print")
    assert not page.locator(".handout .buttons").is_visible()
    assert page.pdf()[:5] == b"%PDF-"


def test_presenting_shows_a_step_a_screen(visit: Visit, page: Page) -> None:
    visit("#length4?step=blocks.0.attn.qk")
    small = page.locator("table.writes .main").first.evaluate("cell => parseFloat(getComputedStyle(cell).fontSize)")
    page.get_by_role("button", name="Present").click()
    expect(page.locator(".tools")).to_be_hidden()
    expect(page.locator(".map")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    wait_for_step(page, "blocks.0.attn.scores")
    large = page.locator("table.writes .main").first.evaluate("cell => parseFloat(getComputedStyle(cell).fontSize)")
    assert large > 1.5 * small
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    page.keyboard.press("Escape")
    expect(page.locator(".tools")).to_be_visible()


def test_hostile_worksheets_in_addresses_are_refused(visit: Visit, page: Page) -> None:
    for packed in ("", "%00", quote("<img src=x>"), "A" * 5000):
        page.goto("about:blank")
        visit(f"#sheet:{packed}")
        expect(page.locator(".problem")).to_have_text(UNREADABLE)
