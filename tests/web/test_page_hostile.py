"""Injection attempts in every field that a page shows: nothing of them runs, all of them are shown as the text that they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from exactformer.web import single_file
from exactformer.worksheets import example_text, loads

Visit = Callable[[str], Page]
ATTACK = "<img/src=x/onerror=window.hit=1>"
WORSE = "</script><script>window.hit=1</script>"
TITLE = f"{ATTACK} {WORSE} &lt;b&gt;"


def hostile_worksheet() -> str:
    text = example_text("capstone").replace("The whole transformer, by hand", TITLE).replace("Two dimensions", WORSE)
    text = text.replace('["a", "b", "c"]', f'["{ATTACK}", "{WORSE}", "javascript:window.hit=1"]')
    return text.replace('tokens = "a b"', f'tokens = ["{ATTACK}", "{WORSE}"]')


def untouched(page: Page) -> None:
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script").count() == 0


def test_a_worksheet_full_of_markup(visit: Visit, page: Page, tmp_path: Path) -> None:
    file = tmp_path / f"{ATTACK.replace('/', '∕')}.toml"
    file.write_text(hostile_worksheet(), encoding="utf-8")
    visit("")
    page.locator("#worksheet-file").set_input_files(file)
    expect(page.locator("h1")).to_have_text(TITLE)
    expect(page.locator(".change select").first).to_have_count(1)
    for _ in range(29):
        page.locator("body").press("ArrowRight")
    expect(page.locator(".output")).to_contain_text(ATTACK)
    source = page.url.split("#")[1].split("?")[0]
    for view in (
        "/break?break=no-mask",
        "/circuits",
        f"/backward?target={quote(ATTACK + ' ' + WORSE)}",
        "?step=probs&number=probs[1,0]",
    ):
        visit(f"#{source}{view}")
        page.wait_for_timeout(300)
        untouched(page)
    visit("")
    expect(page.locator(".recent")).to_contain_text(ATTACK)
    untouched(page)


def test_addresses_and_fields_full_of_markup(visit: Visit, page: Page) -> None:
    attack = quote(ATTACK)
    for address in (
        attack,
        f"capstone/{attack}",
        f"capstone?step={attack}&number={attack}[0]&position={attack}",
        f"capstone?edit={attack}",
        f"capstone?edit=tokens={attack}",
        f"capstone/break?break={attack}",
        f"capstone?arithmetic={attack}",
        f"capstone/backward?target={attack}",
        f"capstone?head={attack}&number=embed[9,9]",
    ):
        page.goto("about:blank")
        visit(f"#{address}")
        page.wait_for_timeout(150)
        untouched(page)
    visit("#check")
    page.locator("#check-text").fill(f'[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.7"]\n# {ATTACK}{WORSE}\n')
    page.locator("#check-name").fill(ATTACK)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator(".marked")).to_contain_text(ATTACK)
    untouched(page)


def test_a_single_file_full_of_markup(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(single_file.render(loads(hostile_worksheet()).trace()), encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("h1")).to_have_text(TITLE)
    untouched(page)
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1'; document.body.append(s); }"
    )
    assert page.evaluate("window.hit") is None  # its policy allows no script but its own
