"""docs/gallery.md: every slip that it shows is one, and the checker says of it what the page prints."""

from __future__ import annotations

import re
from pathlib import Path

from exactformer.checking import check_text
from exactformer.checking.report import lines

PAGE = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)


def test_ten_pages_with_a_source_each() -> None:
    slips = [body for title, body in SECTIONS if title != "What is no slip"]
    assert len(slips) >= 10
    assert all(re.match(r"\n\[[^]]+\]\(https://[^)]+\)\. ", body) for body in slips)
    assert len(re.findall(r"^\| .* \| .* \| .* \| \[", PAGE, re.MULTILINE)) == len(slips)


def test_what_is_said_is_what_is_printed() -> None:
    for title, body in SECTIONS:
        (sheet,) = re.findall(r"```toml exactformer\n(.*?)```", body, re.DOTALL)
        (printed,) = re.findall(r"```text\n(.*?)```", body, re.DOTALL)
        report = check_text(sheet, "page.toml")
        assert report.first_wrong is not None, title
        said = [re.sub(r"^page\.toml:(?:[0-9]+:)? |; first wrong.*", "", line) for line in lines(report)]
        shown = printed.splitlines()
        if "…" in shown:
            left = shown.index("…")
            assert shown[left + 1 :] == said[-1:], title
            shown, said = shown[:left], said[:left]
        assert shown == said[: len(shown)], title


def test_the_table_has_numbers_that_are_wrong() -> None:
    for title, body in SECTIONS[:-1]:
        row = re.search(rf"^\| [^|]+ \| ([^|]+) \| ([^|]+) \| \[{re.escape(title[0].lower() + title[1:])}\]", PAGE, re.MULTILINE)
        assert row is not None, title
        (sheet,) = re.findall(r"```toml exactformer\n(.*?)```", body, re.DOTALL)
        found = {(finding.printed, finding.true) for finding in check_text(sheet).findings if finding.bad}
        assert (row[1], row[2]) in found, title
