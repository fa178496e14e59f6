"""What does not fit on a page, whatever the fonts: letters are made large, and every box that then scrolls is looked at."""

from __future__ import annotations

import contextlib

from playwright.sync_api import Page, TimeoutError

_OVERFLOWING = """() => [...document.querySelectorAll("body *:not(textarea)")].filter((box) => {
  const style = getComputedStyle(box);
  const over = (axis, side) => ["auto", "scroll"].includes(style[`overflow${axis}`]) && box[`scroll${side}`] > box[`client${side}`];
  return box.checkVisibility() && (over("X", "Width") || over("Y", "Height"));
})"""
_UNREACHED = f"""() => ({_OVERFLOWING})().filter((box) => box.getAttribute("tabindex") !== "0" || !box.ariaLabel)
  .map((box) => box.outerHTML.slice(0, 80))"""


def enlarge(page: Page) -> None:
    page.evaluate("() => { document.documentElement.style.fontSize = '40px' }")


def overflowing(page: Page) -> set[str]:
    """The first class of every box that scrolls."""
    return set(page.evaluate(f"() => ({_OVERFLOWING})().map((box) => box.classList[0])"))


def unreached(page: Page) -> list[str]:
    """Boxes that scroll, and have no name or are not reached by Tab."""
    with contextlib.suppress(TimeoutError):
        page.wait_for_function(f"() => !({_UNREACHED})().length")  # they are looked at when they have been laid out
    boxes: list[str] = page.evaluate(_UNREACHED)
    return boxes
