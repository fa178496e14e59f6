"""A server of the page, and a real browser: Chromium from the system's packages. Where it is missing, these tests fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from web.models import gpt2_folder
from web.serving import Serving

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first starts contexts faster
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), "chromium")
WAIT = 120_000  # milliseconds for anything on a page: long, since the machine may have other work
expect.set_options(timeout=WAIT)
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


@pytest.fixture(scope="session")
def server() -> Iterator[Serving]:
    with Serving() as serving:
        yield serving


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 folder whose tokens have no names."""
    return gpt2_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def proving(folder: Path) -> Iterator[Serving]:
    """A server that was given that folder."""
    with Serving(workers=2, model=str(folder)) as serving:
        yield serving


@pytest.fixture(scope="session")
def capstone() -> Iterator[Serving]:
    """A server that was given the capstone, whose tokens are words."""
    with Serving(workers=2, model="capstone") as serving:
        yield serving


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(WAIT)
    yield context
    context.close()


def _unexpected(message: ConsoleMessage) -> bool:
    """Refusals by the server, and by the policy of a page that is attacked, are what the tests ask for."""
    return message.type == "error" and "status of 4" not in message.text and "Content Security Policy" not in message.text


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page on which nothing may go wrong unseen."""
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if _unexpected(message) else None)
    yield page
    assert not wrong


@pytest.fixture
def visit(server: Serving, page: Page) -> Callable[[str], Page]:
    """Open an address of the page and wait until a step or a card is there."""

    def open_page(address: str = "") -> Page:
        page.goto(f"{server.address}/{address}")
        page.wait_for_selector(
            ".step table, .step figure, .handout table, .card, .two table, .mistakes, .theory table, .theory form, "
            ".explaining .told, "
            ".check textarea, .problem"
        )
        page.wait_for_function("() => document.documentElement.dataset.shown === location.hash")
        return page

    return open_page
