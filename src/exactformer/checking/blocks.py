"""The worksheets of a page: the whole of a TOML file, or the blocks of a page that are worksheets."""

from __future__ import annotations

from dataclasses import dataclass

from exactformer.checking.pages.found import Fence
from exactformer.checking.pages.ours import OURS
from exactformer.checking.pages.page import Page
from exactformer.messages import quoted
from exactformer.worksheets import WorksheetError


@dataclass(frozen=True)
class Block:
    text: str
    start: int  # the place of its first character in the text of the page


def blocks(page: Page) -> list[Block]:
    """
    >>> page = Page("# Title\\n```toml\\n[model]\\n```\\n~~~toml\\nother = 1\\n~~~\\n", "lesson.md")
    >>> [page.line(block.start) for block in blocks(page)]
    [3]
    """
    if page.kind == "worksheet":
        return [Block(" " + page.text[1:] if page.text.startswith("\ufeff") else page.text, 0)]
    fences = [each for each in page.found() if isinstance(each, Fence)]
    for fence in fences:
        if fence.nearly:
            raise WorksheetError(f"{page.name}:{page.line(fence.span[0])}: {nearly(fence)}")
    return [Block(page.text[slice(*fence.body)], fence.body[0]) for fence in fences if fence.is_worksheet(page.text)]


def nearly(fence: Fence) -> str:
    return f"{quoted(fence.info)} is nearly a worksheet: did you mean toml {OURS}?"
