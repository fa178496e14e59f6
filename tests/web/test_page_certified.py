"""The page of a model: a prompt, and tokens that are proved to follow it; in a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import Page, Route, expect

from exactformer.certificates import prove_tokens
from exactformer.checkpoints import open_checkpoint
from exactformer.cli.certify import command as certify_command
from web.models import ATTACK, broken_folder, gpt2_folder, hostile_worksheet
from web.overflow import enlarge, overflowing, unreached
from web.serving import Serving, until

WORDS = "hello my name is"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with as many tokens as GPT-2 has, which are then GPT-2's."""
    return gpt2_folder(tmp_path_factory.mktemp("models") / "worded", vocabulary=50_257, positions=512)


@pytest.fixture(scope="module")
def worded(texts: Path) -> Iterator[Serving]:
    with Serving(workers=2, model=str(texts)) as serving:
        yield serving


def finished(page: Page) -> None:
    expect(page.locator(".end button, .end .problem").first).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()


def asked(page: Page, server: Serving, prompt: str, more: str = "") -> Page:
    page.goto("about:blank")
    page.goto(f"{server.address}/#certified?prompt={quote(prompt)}{more}")
    finished(page)
    return page


def from_the_third_on_unanswered(route: Route) -> None:
    if route.request.post_data_json["number"] < 3:
        route.continue_()


def no_violation(page: Page) -> None:
    results = Axe().run(page)
    told = [(v["id"], v["help"], [node["html"][:200] for node in v["nodes"][:3]]) for v in results.response["violations"]]
    assert told == []


def test_the_page_is_offered_only_where_there_is_a_model(page: Page, server: Serving, worded: Serving) -> None:
    page.goto(f"{server.address}/")
    expect(page.locator(".card").first).to_be_visible()
    assert page.get_by_role("link", name="Certified").count() == 0
    assert page.locator(".card.wide").count() == 0
    page.goto(f"{server.address}/#certified")
    expect(page.locator(".problem")).to_contain_text("exactformer serve MODEL_DIR")
    page.goto(f"{worded.address}/")
    page.get_by_role("link", name="worded: the next token, proved").click()
    expect(page.locator("h1")).to_have_text("The next token, proved")
    expect(page.locator(".facts")).to_contain_text("worded 2 blocks · 8 wide")
    assert page.get_by_role("link", name="Certified").get_attribute("aria-current") == "page"


def test_tokens_are_proved_one_after_the_other(page: Page, worded: Serving, texts: Path) -> None:
    page.goto(f"{worded.address}/#certified")
    page.get_by_label("The text to continue").fill(WORDS)
    page.get_by_label("tokens", exact=True).fill("4")
    page.get_by_role("button", name="Prove").click()
    finished(page)
    ids = [31373, 616, 1438, 318]
    expected = list(prove_tokens(open_checkpoint(texts).model, ids, 4))
    claims = page.locator(".claim.proved")
    assert claims.count() == 4
    for n, one in enumerate(expected):
        claim = claims.nth(n)
        assert claim.locator("summary > .token").first.get_attribute("title") == f"token {one.token}"
        assert claim.locator(".lead-over .token").get_attribute("title") == f"token {one.runner_up}"
        assert one.margin is not None
        assert float(claim.locator(".lead-over .n").inner_text()) == pytest.approx(float(one.margin[0]), rel=0.1)
    assert page.locator(".continued .given").count() == 4
    assert page.locator(".continued").inner_text().replace("\n", "").startswith(WORDS)
    first = claims.first
    assert first.locator(".logits tbody tr").count() == 5
    assert first.locator(".logits tbody td").first.inner_text() == str(expected[0].token)
    expect(page).to_have_url(re.compile(re.escape("prompt=hello+my+name+is&tokens=4")))
    expect(page.locator("#live")).to_contain_text("Token 4: ")


def test_the_radius_is_a_plot_with_words_and_a_table(page: Page, worded: Serving) -> None:
    claim = asked(page, worded, WORDS).locator(".claim").first
    plot = claim.get_by_role("img", name="Error bound by layer")
    assert plot.locator("circle").count() == 4
    assert plot.locator("desc").inner_html().startswith("From ")
    claim.get_by_text("Limbs, bits and error bounds as a table").click()
    rows = claim.locator(".by-layer tbody tr")
    assert rows.locator("th").all_inner_texts() == ["embedding", "block 0", "block 1", "logits"]
    bits, radius = rows.nth(1).locator("td").all_inner_texts()[1:]
    assert int(bits) >= 53
    assert 0 < float(radius) < 1


def test_claims_look_like_the_rest_of_the_page(page: Page, worded: Serving) -> None:
    """Lessons have claims, too, which are grey and small: their style does not reach these."""
    asked(page, worded, WORDS)
    style = "x => { const found = getComputedStyle(x); return [found.color, found.fontSize]; }"
    title, claim = (page.locator(where).first.evaluate(style) for where in ("h1", ".claim"))
    assert claim[0] == title[0]
    assert claim[1] == page.locator("body").evaluate(style)[1]


def test_a_link_asks_again_and_goes_back(page: Page, worded: Serving) -> None:
    asked(page, worded, WORDS, "&tokens=2")
    told = page.locator(".claim > summary").all_inner_texts()
    assert page.get_by_label("tokens", exact=True).input_value() == "2"
    page.reload()
    finished(page)
    assert page.locator(".claim > summary").all_inner_texts() == told
    page.get_by_label("The text to continue").fill("other words")
    page.keyboard.press("Enter")
    expect(page.locator(".continued")).to_contain_text("other words")
    finished(page)
    page.go_back()
    expect(page.locator(".continued")).to_contain_text(WORDS)
    assert page.get_by_label("The text to continue").input_value() == WORDS


def test_the_certificate_is_downloaded_and_confirmed(page: Page, worded: Serving, texts: Path, tmp_path: Path) -> None:
    asked(page, worded, WORDS, "&tokens=2&top=3")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the certificate").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert [len(claim["top"]) for claim in json.loads(file.read_text())["tokens"]] == [3, 3]
    done = CliRunner().invoke(certify_command, [str(texts), "--verify", str(file)])
    assert (done.exit_code, "confirmed" in done.output) == (0, True), done.output


def test_ids_where_tokens_have_no_names(page: Page, proving: Serving) -> None:
    page.goto(f"{proving.address}/#certified")
    page.get_by_label("The ids of the tokens to continue").fill("3 4 5")
    page.get_by_role("button", name="Prove").click()
    finished(page)
    assert page.locator(".continued .given").all_inner_texts() == ["#3", "#4", "#5"]
    assert page.locator(".claim.proved").count() == 3


def test_what_is_refused_is_one_line(page: Page, proving: Serving) -> None:
    asked(page, proving, "3 40")
    expect(page.locator(".end .problem")).to_have_text("ids: position 1: no token has the id 40: the vocabulary has 0 to 39")
    page.get_by_label("The ids").fill("")
    page.get_by_role("button", name="Prove").click()
    expect(page.locator(".end .problem")).to_have_text("ids: is empty: give at least one token")


def test_numbers_out_of_range_are_named_and_nothing_is_asked(page: Page, proving: Serving) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    tokens = page.get_by_label("tokens", exact=True)
    asked(page, proving, "3", "&tokens=99")
    line = page.get_by_role("alert")
    expect(line).to_have_text("tokens: 1 to 20")
    assert (tokens.input_value(), tokens.get_attribute("aria-invalid")) == ("99", "true")
    asked(page, proving, "3", "&top=x&cap=26&digits=2.5")
    expect(line).to_have_text("logits shown: 1 to 50; precision limit: 4 to 25; decimals: 0 to 80")
    page.goto(f"{proving.address}/#certified?prompt=3&tokens=1&digits=")
    expect(line).to_have_text("decimals: 0 to 80")
    page.get_by_label("decimals").fill("-1")
    page.get_by_role("button", name="Prove").click()
    expect(line).to_have_text("decimals: 0 to 80")
    assert not any(url.endswith("/api/certify") for url in requests)
    page.get_by_label("decimals").fill("0")
    page.get_by_role("button", name="Prove").click()
    finished(page)
    assert (line.count(), page.locator(".claim.proved").count()) == (0, 1)


@pytest.mark.parametrize("width", [360, 1280])
def test_decimals_are_shown_in_full_and_it_is_said_where_they_fall_short(page: Page, proving: Serving, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    asked(page, proving, "3 4 5", "&tokens=1&digits=40")
    assert page.locator(".short").count() == 0
    whole = "[...document.querySelectorAll('.logits .scroll')].every((box) => box.scrollWidth <= box.clientWidth)"
    assert page.evaluate(whole)
    assert page.evaluate("[...document.querySelectorAll('.logits .token')].every((box) => box.getClientRects().length === 1)")
    expect(page.locator("figcaption")).to_contain_text("A hollow point is below the axis.")
    asked(page, proving, "3 4 5", "&tokens=1&digits=80&cap=6")
    expect(page.locator(".claim.proved summary .short")).to_have_text("its logits are not known to 80 decimals with 6 limbs")
    no_violation(page)


def test_what_overflows_has_a_name_and_is_reached_by_tab(page: Page, proving: Serving) -> None:
    page.set_viewport_size({"width": 360, "height": 900})
    asked(page, proving, "3 4 5", "&tokens=8")
    enlarge(page)
    assert unreached(page) == []
    assert overflowing(page) == {"continued", "scroll"}


def test_numbers_have_help(page: Page, proving: Serving) -> None:
    page.goto(f"{proving.address}/#certified")
    limbs, decimals = page.get_by_label("precision limit"), page.get_by_label("decimals")
    expect(limbs).to_have_accessible_description("precision limit: in limbs of 21 bits, the first for the whole part")
    expect(decimals).to_have_accessible_description("decimals: 0 for as many as the token needs")


def test_undecided_is_shown_as_undecided(page: Page, capstone: Serving) -> None:
    asked(page, capstone, "c b", "&tokens=1")
    claim = page.locator(".claim")
    expect(claim.locator(".status")).to_have_text("? undecided")
    expect(claim.locator(".lead-over")).to_have_text("a LayerNorm of variance 0 with ε = 0")
    expect(claim.locator(".why")).to_have_text(
        re.compile(r"Given up at 25 limbs, after \d+ passes: nothing is claimed of this token")
    )
    assert page.locator(".continued .token.undecided").inner_text() == "?"
    assert page.locator(".proved").count() == 0
    no_violation(page)


def test_keyboard_alone(page: Page, worded: Serving) -> None:
    page.goto(f"{worded.address}/#certified")
    expect(page.get_by_label("The text to continue")).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "certified-prompt":
            break
    page.keyboard.type(WORDS)
    page.keyboard.press("Enter")
    finished(page)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.claims li:nth-child(2) summary')"):
            break
    page.keyboard.press("Enter")
    expect(page.locator(".claim").nth(1).locator(".logits table")).to_be_visible()


def test_cancel_ends_it_and_keeps_what_is_proved(page: Page, tmp_path: Path) -> None:
    folder = gpt2_folder(tmp_path / "slow")
    with Serving(workers=2, model=str(folder)) as server:
        asked(page, server, "3", "&tokens=1")
        page.get_by_label("The ids").fill("3 4")
        os.kill(server.app.state.certifier._process.pid, signal.SIGSTOP)  # it takes as long as it has to
        page.get_by_role("button", name="Prove").click()
        expect(page.locator(".proving")).to_have_text("Proving token 1 …")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".end")).to_have_text("Cancelled.")
        expect(page.get_by_role("button", name="Prove")).to_be_enabled()
        page.get_by_label("The ids").fill("5")
        page.get_by_label("tokens", exact=True).fill("10")
        page.route("**/api/certify", from_the_third_on_unanswered)
        page.get_by_role("button", name="Prove").click()
        expect(page.locator(".claim.proved").first).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".end")).to_contain_text("Cancelled.")
        proved = page.locator(".claim.proved").count()
        assert 1 <= proved < 3
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the certificate").click()
        assert len(json.loads(download.value.path().read_text())["tokens"]) == proved


def test_leaving_the_page_ends_its_work(page: Page, worded: Serving) -> None:
    asked(page, worded, WORDS, "&tokens=20")
    page.get_by_label("The text to continue").fill("something else altogether")
    page.get_by_role("button", name="Prove").click()
    page.get_by_role("link", name="Examples").click()
    expect(page.locator(".card").first).to_be_visible()
    page.get_by_role("link", name="Certified").click()
    expect(page.get_by_role("button", name="Prove")).to_be_enabled()
    assert page.locator(".claim").count() == 0


def test_a_model_that_is_prepared_is_waited_for(page: Page, worded: Serving) -> None:
    states: list[dict[str, Any]] = [
        {"state": "loading", "share": 0.1},
        {"state": "preparing", "share": 0.5, "step": "blocks.1.mlp.out"},
    ]
    found = page.request.get(f"{worded.address}/api/about").json()

    def answer(route: Route) -> None:
        state = states.pop(0) if len(states) > 1 else states[0]
        route.fulfill(json=found | {"model": found["model"] | state})

    page.route("**/api/about", answer)
    page.goto(f"{worded.address}/#certified")
    bar = page.get_by_role("progressbar", name="Preparation of the model")
    expect(bar).to_be_visible()
    expect(page.locator(".state")).to_contain_text("norms of blocks.1.mlp.out")
    no_violation(page)
    states[:] = [{"state": "ready", "share": 1}]
    expect(bar).to_have_count(0)


def test_an_address_that_is_opened_early_waits_for_what_the_model_takes(page: Page, proving: Serving) -> None:
    """Before it is loaded, a model does not say whether it takes a text or ids."""
    until(lambda: proving.app.state.certifier.about["state"] == "ready")
    early = {"version": "", "model": {"name": "tiny", "state": "loading", "share": 0}}
    page.route("**/api/about", lambda route: route.fulfill(json=early))
    page.goto(f"{proving.address}/#certified?prompt=3%204&tokens=1")
    expect(page.get_by_role("progressbar", name="Preparation of the model")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".end")).to_have_text("Cancelled.")
    page.get_by_role("button", name="Prove").click()
    page.unroute("**/api/about")
    finished(page)
    assert page.locator(".claim.proved").count() == 1
    assert page.locator(".continued .given").all_inner_texts() == ["#3", "#4"]


def test_a_model_that_failed_says_why(page: Page, tmp_path: Path) -> None:
    with Serving(workers=2, model=str(broken_folder(tmp_path / "nan"))) as server:
        page.goto(f"{server.address}/#certified")
        expect(page.locator(".state .problem")).to_contain_text("b_in: has an entry that is infinite or not a number")
        expect(page.get_by_role("button", name="Prove")).to_be_disabled()


def test_nothing_in_a_prompt_or_a_token_becomes_markup(page: Page, worded: Serving, tmp_path: Path) -> None:
    attacks = (f"{ATTACK} </textarea><script>window.hit=1</script>", "javascript:window.hit=1 \"' &lt;b&gt;")
    for prompt in attacks:
        asked(page, worded, prompt, "&tokens=1")
        assert page.locator(".continued").inner_text().startswith(prompt[:8])
        assert page.get_by_label("The text to continue").input_value() == prompt
    asked(page, worded, ATTACK, f"&tokens={quote(ATTACK)}&cap={quote(ATTACK)}")
    with Serving(workers=2, model=str(hostile_worksheet(tmp_path / "hostile.toml"))) as server:
        until(lambda: server.app.state.certifier.about["state"] == "ready")  # before, it goes by the name of its file
        page.goto(f"{server.address}/")
        expect(page.locator(".card.wide h3")).to_contain_text(ATTACK)
        asked(page, server, ATTACK, "&tokens=2")
        expect(page.locator(".claim .logits")).to_contain_text([ATTACK, ATTACK])
        expect(page.locator(".facts")).to_contain_text(ATTACK)
        asked(page, server, f"{ATTACK}{ATTACK}")
        expect(page.locator(".end .problem")).to_contain_text(ATTACK)
    assert page.evaluate("window.hit") is None
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize(
    ("scheme", "width"),
    [pytest.param("light", 1440, marks=pytest.mark.large), pytest.param("dark", 1920, marks=pytest.mark.large), ("light", 360)],
)
def test_it_is_for_everyone(page: Page, worded: Serving, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    asked(page, worded, f"{WORDS} " * 100)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    no_violation(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{worded.address}/")
    expect(page.locator(".card.wide")).to_be_visible()
    no_violation(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
