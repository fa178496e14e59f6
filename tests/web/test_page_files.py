"""What the page hands out, opened again; and worksheets that are brought to it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import exactformer as xf
from exactformer.worksheets import example_text, loads

Visit = Callable[[str], Page]
EDITED = "#capstone?edit=W_E[1,1]=1/3&edit=tokens=b+a"


def exported(page: Page, label: str) -> tuple[str, str]:
    page.locator(".tools .menu summary").click()
    with page.expect_download() as download:
        page.locator(".menu").get_by_role("button", name=label, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


def test_json_latex_and_markdown(visit: Visit, page: Page) -> None:
    visit(EDITED)
    name, text = exported(page, "JSON")
    document = json.loads(text)
    assert (name, document["tokens"], document["model"]["weights"]["W_E"][1]) == ("capstone.json", ["b", "a"], ["0", "1/3"])
    name, text = exported(page, "LaTeX")
    assert name == "capstone.tex"
    assert text.count(r"\end{document}") == 1
    name, text = exported(page, "Markdown")
    assert (name, text.startswith("# The whole transformer, by hand")) == ("capstone.md", True)


def test_the_worksheet_is_the_pass_on_the_page(visit: Visit, page: Page) -> None:
    visit(EDITED + "&edit=norm=pre&edit=mask=none")
    name, text = exported(page, "Worksheet")
    again = loads(text, name)
    assert again.tokens == ("b", "a")
    assert (again.model.config.norm, again.model.config.mask) == ("pre", "none")
    assert again.model.weights.W_E[1, 1] == xf.exact("1/3")


def test_the_diagram_is_a_picture_of_its_own(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.pattern")
    name, text = exported(page, "Diagram (SVG)")
    assert name == "pipeline.svg"
    texts = [element.text for element in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert {"attention", "MLP", "~", "*"} <= set(texts)


def test_the_single_file_opens_from_disk(visit: Visit, page: Page, tmp_path: Path) -> None:
    visit(EDITED)
    _, text = exported(page, "One HTML file")
    file = tmp_path / "pass.html"
    file.write_text(text, encoding="utf-8")
    page.context.set_offline(True)
    page.goto(file.as_uri() + "#?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]")
    expect(page.locator(".step h2")).to_have_text("Softmax of each row")
    expect(page.locator(".panel .decimal")).to_be_visible()


@pytest.mark.large
def test_the_poster_is_exported_and_opened_again(visit: Visit, page: Page, tmp_path: Path) -> None:
    visit("#poster?step=token")
    name, text = exported(page, "Worksheet")
    assert (name, len(text) < 4_000, 'W_E = "drawn 1 by 1/1000"' in text) == ("poster.toml", True, True)
    again, before = loads(text, name), loads(example_text("poster"))
    assert (again.tokens, again.notes) == (before.tokens, before.notes)
    weights = zip(again.model.weights.named(), before.model.weights.named(), strict=True)
    assert all((one == other).all() for (_, one), (_, other) in weights)
    _, text = exported(page, "One HTML file")
    file = tmp_path / "poster.html"
    file.write_text(text, encoding="utf-8")
    page.context.set_offline(True)
    page.goto(file.as_uri() + "#?step=logits")
    winner = page.locator("table.writes td.winner button.n")
    expect(winner).to_be_visible()
    page.get_by_role("button", name="1 ĠHex").click()
    expect(page.locator('[data-at="1 22212"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".panel .decimal")).to_be_visible()


def test_printing_gives_a_clean_handout(visit: Visit, page: Page) -> None:
    visit("#capstone?step=blocks.0.attn.pattern")
    page.emulate_media(media="print")
    for gone in (".top", ".controls", ".tools"):
        assert not page.locator(gone).is_visible()
    assert page.locator("table.writes").is_visible()
    assert page.pdf()[:5] == b"%PDF-"


def test_a_worksheet_is_chosen_and_remembered(visit: Visit, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(example_text("capstone").replace("by hand", "my own"), encoding="utf-8")
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    expect(page.locator("h1")).to_have_text("The whole transformer, my own")
    page.reload()
    expect(page.locator("h1")).to_have_text("The whole transformer, my own")
    page.get_by_role("link", name="Examples").click()
    expect(page.locator(".recent")).to_contain_text("The whole transformer, my own")


def test_a_worksheet_is_dropped(visit: Visit, page: Page) -> None:
    visit("")
    text = example_text("length4")
    drop = """(area, text) => { const data = new DataTransfer(); data.items.add(new File([text], 'dropped.toml'));
      area.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); }"""
    page.locator(".drop").evaluate(drop, text)
    expect(page.locator("h1")).to_have_text("Attention over four tokens, with its gradient")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("not toml", "bad.toml: is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 5)"),
        (example_text("capstone").replace("dim = 2", 'dim = "2"'), "bad.toml: model.dim is '2', not a whole number"),
        (example_text("capstone").replace('"a b"', '"a z"'), "position 1: the token 'z' is not in the vocabulary (a, b, c)"),
    ],
)
def test_a_bad_worksheet_gets_the_line_of_the_command_line(
    visit: Visit, page: Page, tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text, encoding="utf-8")
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    expect(page.locator(".problem")).to_have_text(problem)
