"""Numbers are rewritten where they stand; every other character stays."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from exactformer.checking import check_files, check_text, fix_text
from exactformer.reading.toml_places import positions
from exactformer.worksheets import WorksheetError

STYLES = """\
# 0.27 in a comment stays, and so does "0.9"
title = "0.9"
claims = [ { operation = "softmax", of = [0, 1], values = [0.9, '0.9'] } ]  # 0.9
"""
TABLES = """\
[[ claims ]]\t# one
"operation" = 'softmax'
of = [
  0,  # "0.9" ] }
  1,
]
values = [
  "0.9",   # first
  +0.1_0,
]
[[claims]]
operation = "exp"
of = [1, "-2"]
values = [" 2.71 ", \"\"\"1.4e-1\"\"\"]
[[claims]]
operation = "sum"
of = [1, 2]
value = 4
"""
FIXED_TABLES = (
    TABLES.replace('"0.9",  ', '"0.3",  ').replace("+0.1_0", "+0.73").replace(" 2.71 ", " 2.72 ").replace("value = 4", "value = 3")
)


@pytest.mark.parametrize(
    ("text", "fixed"),
    [(STYLES, STYLES.replace("[0.9, '0.9']", "[0.3, '0.7']")), (TABLES, FIXED_TABLES)],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_numbers_change(text: str, fixed: str, end: str) -> None:
    before = text.replace("\n", end)
    assert fix_text(before, check_text(before)) == fixed.replace("\n", end)


def test_a_byte_order_mark_stays() -> None:
    text = "\ufeff" + STYLES
    assert fix_text(text, check_text(text)) == "\ufeff" + STYLES.replace("[0.9, '0.9']", "[0.3, '0.7']")


def test_what_cannot_be_put_right_is_refused() -> None:
    text = '[[claims]]\noperation = "layer_norm"\nof = [2, 2]\nepsilon = 0\nvalues = ["0.0", "0.0"]\n'
    report = check_text(text, "mine.toml")
    with pytest.raises(WorksheetError, match=r"mine.toml:5: claims.0.values.* cannot be corrected"):
        fix_text(text, report)


def test_a_report_of_another_text_is_refused() -> None:
    text = '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["2.71"]\n'
    with pytest.raises(WorksheetError):
        fix_text("# one line more\n" + text, check_text(text))


def test_a_markdown_file_fails_is_fixed_and_passes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    before = (
        "# Softmax of 0 and 1\n\nIt is 0.27 and 0.72:\n\n"
        '```toml\n[[claims]]\noperation = "softmax"\nof = [0, 1]\nvalues = ["0.27", "0.72"]\n```\n\n```toml\nother = 0.72\n```\n'
    )
    page.write_text(before, encoding="utf-8")
    page.chmod(0o640)
    out, _, status = check_files([page])
    assert status == 1
    assert f"{page}:9: softmax[1]: 0.72 is wrong: 0.73 (0.7311); a new error\n" in out
    out, _, status = check_files([page], fix=True)
    assert (status, out.splitlines()[-1]) == (0, f"{page}: 1 rewritten")
    assert page.read_text(encoding="utf-8") == before.replace('"0.72"', '"0.73"')
    assert page.stat().st_mode & 0o777 == 0o640
    assert check_files([page]).status == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.md"]


def test_positions_agree_with_tomllib() -> None:
    for text in (STYLES, TABLES, Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")):
        raw = tomllib.loads(text, parse_float=str)
        for path, (start, end) in positions(text).items():
            value = raw
            for part in path:
                value = value[part]  # type: ignore[index, call-overload]
            if isinstance(value, str) and "\\" not in text[start:end]:
                assert text[start:end] == value, path
