"""Your turn on the page: a number hides, an answer is judged, hints come one at a time; and pages that check without a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from benchmarks.trials import answers
from mpmath import mp
from playwright.sync_api import Page, expect

from exactformer.exercises import find_cell, judged
from exactformer.exercises.hidden import hidden, revealed
from exactformer.worksheets import load
from web.serving import Serving

Visit = Callable[[str], Page]
SHARE = "#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]"
SMALL = ("capstone",)


def turn(visit: Visit) -> Page:
    page = visit(SHARE)
    page.get_by_role("button", name="Hide it and let me try").click()
    expect(page.locator(".answer .question")).to_contain_text("What is blocks.0.attn.pattern[0, 1, 0]")
    return page


def test_a_number_hides_until_it_is_found(visit: Visit) -> None:
    page = turn(visit)
    hidden_cell = page.locator(".matrix.writes .cell.open")
    assert hidden_cell.locator("button").get_attribute("aria-label") == "hidden: your turn"
    expect(hidden_cell.locator(".main")).to_be_hidden()
    expect(page.locator(".panel")).not_to_contain_text("proved digits")
    page.get_by_label("Your answer").fill("e/(1+e)")
    page.keyboard.press("Enter")
    expect(page.locator(".said.bad")).to_contain_text("Wrong; it fits this slip: the column after is used")
    page.get_by_label("Your answer").fill("0.27")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".said.open")).to_contain_text("3 decimals count")
    page.get_by_label("Your answer").fill("e/(e + e^2) =\n1/(1+e)")
    page.keyboard.press("Enter")
    expect(page.locator(".said.good")).to_contain_text("Equal (proved)")
    expect(hidden_cell.locator(".main")).to_be_visible()
    page.get_by_role("button", name="Show the number").click()
    expect(page.locator(".panel")).to_contain_text("proved digits")


def test_hints_one_at_a_time_by_the_keyboard_alone(visit: Visit) -> None:
    page = turn(visit)
    expect(page.get_by_label("Your answer")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    for count in (1, 2, 3):
        page.keyboard.press("Enter")
        expect(page.locator(".answer .hints li")).to_have_count(count)
    expect(page.locator(".answer .derivation")).to_be_empty()
    page.keyboard.press("Enter")
    expect(page.locator(".answer .derivation .line")).to_have_count(4)
    expect(page.locator("#live")).to_contain_text("= 1/(1+e)")


def test_another_number_is_shown_when_it_is_opened(visit: Visit) -> None:
    page = turn(visit)
    page.locator(".matrix.writes button.n").nth(3).click()
    expect(page.locator(".panel h2")).to_contain_text("1 “b”, 1 “b”")
    expect(page.locator(".blanked")).to_have_count(0)
    expect(page.locator(".answer")).to_have_count(0)


def test_what_is_typed_is_never_markup(visit: Visit) -> None:
    page = turn(visit)
    page.get_by_label("Your answer").fill("<img src=x onerror=alert(1)>")
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_contain_text("is not part of a number here")
    assert page.locator(".answer img").count() == 0


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 360)])
def test_no_violation_is_found_while_answering(visit: Visit, page: Page, scheme: Any, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    turn(visit)
    page.get_by_label("Your answer").fill("1/3")
    page.keyboard.press("Enter")
    expect(page.locator(".said.bad")).to_be_visible()
    for _ in range(4):
        page.locator(".answer .buttons button").last.click()
        expect(page.locator(".answer [aria-disabled]")).to_have_count(0)
    violations = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# -- without a server: exactly.js
def in_page(page: Page, server: Serving, body: str, argument: Any = None) -> Any:
    """What a function says that has the module as `exactly`."""
    if not page.url.startswith(server.address):
        page.goto(f"{server.address}/icon.svg")
    return page.evaluate(f"async (given) => {{ const exactly = await import('/exactly.js'); {body} }}", argument)


def test_forms_have_the_digits_that_mpmath_finds(page: Page, server: Serving) -> None:
    forms = {
        "e": mp.e, "pi": mp.pi, "exp(50)": "exp(50)", "log(10)": "log(10)", "√2": "sqrt(2)", "sin(3)": "sin(3)",
        "cos(100)": "cos(100)",
        "tanh(1/2)": "tanh(0.5)", "erf(3/2)": "erf(1.5)", "2^(1/3)": "mpf(2)**(mpf(1)/3)", "e/(1+e)": "e/(1+e)",
        "e^-20": "exp(-20)",
        "log(1/1000)": "-log(1000)", "(1+√5)/2": "(1+sqrt(5))/2", "ln(2)²": "log(2)**2",
    }  # fmt: skip
    show = "return given.map((text) => String(exactly.value(text).v));"
    with mp.workdps(120):
        for text, digits in zip(forms, in_page(page, server, show, list(forms)), strict=True):
            source = forms[text]
            value = eval(source, {name: getattr(mp, name) for name in dir(mp)}) if isinstance(source, str) else +source  # noqa: S307
            assert abs(mp.mpf(digits) / mp.mpf(10) ** 90 - value) < mp.mpf(10) ** -62 * max(1, abs(value)), text


def judgements(page: Page, server: Serving, asked: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = in_page(
        page,
        server,
        "return given.map(([answer, kept]) => exactly.judge(answer, exactly.revealed(kept)));",
        [list(each) for each in asked],
    )
    return found


def test_the_page_says_what_the_server_says(page: Page, server: Serving) -> None:
    trace = load("capstone").trace()
    asked = [
        (answer, find_cell(trace, name))
        for name, texts in {
            "blocks.0.attn.pattern[0, 1, 0]": "1/(1+e)|e/(e+e^2)|0.269|0.268|0.27|0.270|e/(1+e)|1/(1+e|x|e/(e+e^2)=1/(1+e)=1/2|",
            "blocks.0.ln2.std[1, 0]": "3/2|1.5|6/4|sqrt(9)/2|√2²·3/4|1.499|1.50|3|-3/2|9/0|(1,5)",
            "logits[1, 1]": "-1|−1|-1.000|1|-1+0|cos(pi)|e^0-2|sin(pi)-1",
            "blocks.0.attn.masked[0, 0, 1]": "-inf|−∞|0",
            "token[1, 0]": "a|b",
        }.items()
        for answer in texts.split("|")
    ]
    found = judgements(page, server, [(answer, hidden(cell)) for answer, cell in asked])
    for (answer, cell), said in zip(asked, found, strict=True):
        ours = judged(answer, cell)
        assert (said["right"], said["good"]) == (ours.right, ours.good), (answer, cell.name, said)
        if ours.kind != "unreadable":
            assert said["kind"] == ours.kind, (answer, cell.name, said)
    assert found[0]["message"] == "agrees to 60 digits"


def test_equal_forms_and_near_misses_without_a_server(page: Page, server: Serving) -> None:
    """Of those that the trial makes. What agrees in more than 60 digits is not told apart here, and not asked."""
    equal = [answers.equal_answer(n, SMALL) for n in range(60)]
    said = judgements(page, server, [(each.text, hidden(each.cell)) for each in equal])
    assert [(each.text, verdict) for each, verdict in zip(equal, said, strict=True) if not verdict["right"]] == []
    near = [
        each
        for each in (answers.near_answer(n, SMALL) for n in range(80))
        if answers.apart(str(each.cell.value), each.text) > 1e-50
    ]
    said = judgements(page, server, [(each.text, hidden(each.cell)) for each in near])
    assert len(near) > 50
    assert [(each.text, verdict) for each, verdict in zip(near, said, strict=True) if verdict["right"]] == []


def test_hostile_answers_end_in_the_page(page: Page, server: Serving) -> None:
    kept = hidden(find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]"))
    texts = [text for text in answers.HOSTILE if "\ud83e" not in text]
    said = judgements(page, server, [(text, kept) for text in texts])
    assert [text[:40] for text, verdict in zip(texts, said, strict=True) if verdict["right"] or "\n" in verdict["message"]] == []


def test_hidden_answers_are_not_in_plain_text(page: Page, server: Serving) -> None:
    cell = find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]")
    kept = hidden(cell)
    assert "1+e" not in json.dumps(kept)
    assert "0.26894" not in json.dumps(kept)
    assert in_page(page, server, "return exactly.revealed(given);", kept) == revealed(kept)
    asked = in_page(page, server, "return exactly.asker(given)({ answer: '1/(1+e)', hints: 4 });", kept)
    assert asked["judgement"]["right"] is True
    assert (len(asked["hints"]), asked["last"], len(asked["derivation"])) == (3, True, 4)
