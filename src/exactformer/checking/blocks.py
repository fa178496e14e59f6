"""The worksheets of a page: the whole of a TOML file, or the blocks of a page that are worksheets."""

from __future__ import annotations

from dataclasses import dataclass

from exactformer.checking.pages.found import Fence
from exactformer.checking.pages.ours import OURS
from exactformer.checking.pages.page import Page
from exactformer.messages import quoted


@dataclass(frozen=True)
class Block:
    text: str
    start: int  # the place of its first character in the text of the page
    problem: str = ""  # of one that is nearly a worksheet


def blocks(page: Page) -> list[Block]:
    """
    >>> page = Page("# Title\\n```toml\\n[model]\\n```\\n~~~toml\\nother = 1\\n~~~\\n", "lesson.md")
    >>> [page.line(block.start) for block in blocks(page)]
    [3]
    """
    if page.kind == "worksheet":
        return [Block(" " + page.text[1:] if page.text.startswith("\ufeff") else page.text, 0)]
    found = []
    for fence in page.found():
        if isinstance(fence, Fence) and fence.nearly:
            found.append(Block("", fence.span[0], f"{page.name}:{page.line(fence.span[0])}: {nearly(fence)}"))
        if isinstance(fence, Fence) and fence.is_worksheet(page.text):
            found.append(Block(page.text[slice(*fence.body)], fence.body[0]))
    return found


def nearly(fence: Fence) -> str:
    return f"{quoted(fence.info)} is nearly a worksheet: did you mean toml {OURS}?"
