"""The pictures of docs/images that show lessons. Look at them before they are kept.

PYTHONPATH=tests:tests/checkpoints python -m web.screenshots
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from exactformer.lessons.built_in import lessons
from exactformer.web.site import write
from web.conftest import CHROMIUM, QUIET, WAIT
from web.serving import Serving

IMAGES = Path(__file__).parents[2] / "docs" / "images"
ASKED = "#capstone?step=blocks.0.attn.pattern&number=blocks.0.attn.pattern[0,1,0]"


def shot(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.locator("html[data-shown]").wait_for()
    page.wait_for_timeout(1500)  # what moves comes to rest
    page.screenshot(path=IMAGES / f"{name}.png")


def answered(page: Page, server: str, answer: str, name: str) -> None:
    page.goto("about:blank")  # the same address again would show what is there
    page.goto(f"{server}/{ASKED}")
    page.get_by_role("button", name="Hide it and let me try").click()
    page.get_by_label("Your answer").fill(answer)
    page.keyboard.press("Enter")
    page.locator(".said").wait_for()
    page.wait_for_timeout(1000)
    page.screenshot(path=IMAGES / f"{name}.png")


def opened(browser: Browser, width: int = 1200, height: int = 800) -> Page:
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.set_default_timeout(WAIT)
    return page


def main() -> None:
    with sync_playwright() as playwright, Serving() as server:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, "--allow-file-access-from-files"])
        page = opened(browser)
        for lesson in lessons():
            shot(page, f"{server.address}/#lesson/{lesson}", f"lesson-{lesson}")
        shot(page, f"{server.address}/#capstone?step=blocks.0.attn.pattern&present=1", "presenting")
        page = opened(browser, height=1000)
        shot(page, f"{server.address}/#induction?step=blocks.1.attn.pattern", "heat-map")
        page.get_by_role("button", name="Picture").click()
        page.wait_for_timeout(1500)
        page.screenshot(path=IMAGES / "heat-map.png")
        answered(page, server.address, "e/(1+e)", "answer-wrong")
        answered(page, server.address, "1/(1+e^1)", "answer-right")
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder) / "site")
            shot(page, (Path(folder) / "site" / "index.html").as_uri(), "site-from-a-file")
        browser.close()


if __name__ == "__main__":
    main()
