"""docs/lessons.md: its pieces, put together, are a lesson that is built and right."""

from __future__ import annotations

import re
from pathlib import Path

from exactformer.lessons import View, built, check_text, read

PAGE = (Path(__file__).parents[2] / "docs" / "lessons.md").read_text(encoding="utf-8")


def test_the_pieces_make_a_lesson() -> None:
    pieces = re.findall(r"````markdown\n(.*?)````", PAGE, re.DOTALL)
    assert len(pieces) == 4
    lesson = read("\n".join(pieces), "page.md")
    once = built(lesson)
    assert "?" not in re.sub(r"position\?", "", once)
    assert check_text(once, "page.md").status == 0
    kinds = {block.kind for block in lesson.blocks if isinstance(block, View)}
    assert kinds == {"step", "picture", "number", "claim", "break", "exercise"}


def test_messages_are_as_printed() -> None:
    """Each line that the page prints is said of a lesson with that mistake."""
    shown = re.search(r"```text\n(my-lesson\.md:3: .*?)```", PAGE, re.DOTALL)
    assert shown is not None
    use = "<!-- exactformer: use capstone -->\n"
    wrong = check_text(
        use + "a <!-- exactformer: blocks.0.attn.pattern[0, 1, 0] -->0.28\n<!-- exactformer: step embed -->\n", "l.md"
    )
    said = [f"{finding.place}: {finding.true}" for finding in wrong.findings if finding.kind == "view"]
    assert said[0] in shown[1]
    assert "0.28 is wrong: 0.27 (0.2689); a new error" in shown[1]
