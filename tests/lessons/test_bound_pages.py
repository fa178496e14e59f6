"""Numbers are bound where readers see them: in Markdown, Quarto and MyST, in reStructuredText, in the outputs of notebooks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from exactformer.checking import CheckReport
from exactformer.lessons import LessonError, check_files, check_text, fix_text
from exactformer.messages import Refused

USE = "<!-- exactformer: use capstone -->\n\n"
WEIGHTS = "<!-- exactformer: pattern -->\n"
RIGHT = {"1", "1.", "1.0", "1.00", "0", "0.", "0.00", "0.27", "0.73"}


def wrong(report: CheckReport) -> list[tuple[str, str]]:
    return [(finding.printed, finding.true) for finding in report.findings if finding.bad]


def changed(before: str, after: str) -> list[tuple[str, str]]:
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return [(old.strip(), new.strip()) for old, new in pairs if old != new]


MARKDOWN = {
    "table": "| | a | b |\n|---|---|---|\n| a | 1.00 | |\n| b | 0.28 | 0.73 |\n",
    "table with dots": "| | a | b |\n|---|---|---|\n| a | … | – |\n| b | 0.28 | 0.73 |\n",
    "matrix": "$$\\begin{bmatrix} 1 & 0 \\\\ 0.28 & 0.73 \\end{bmatrix}$$\n",
    "matrix that ends at the mask": "\\[\n\\begin{pmatrix} 1 \\\\ 0.28 & 0.73 \\end{pmatrix}\n\\]\n",
    "output": "```\ntensor([[1.0000, 0.0000],\n        [0.28, 0.73]], grad_fn=<SoftmaxBackward0>)\n```\n",
    "doctest": "```python\n>>> softmax(scores)[:2, :2]\narray([[1.  , 0.  ],\n       [0.28, 0.73]])\n```\n",
    "session": "```console\n$ python -c 'print(3)'\n1.0 0.0\n0.28 0.73\n```\n",
    "a row that is left out": "```\n...\n0.28 0.73\n```\n",
    "Quarto": "```{.text filename=\"out 3\"}\n1 0 0.28 0.73\n```\n",
    "MyST": "```{code-block} text\n:lineno-start: 7\n1 0\n0.28 0.73\n```\n",
    "MyST with front matter": "```{code-block} text\n---\nlineno-start: 7\n---\n1 0\n0.28 0.73\n```\n",
    "MyST's colons": ":::{math}\n\\begin{bmatrix} 1 & 0 \\\\ 0.28 & 0.73 \\end{bmatrix}\n:::\n",
}  # fmt: skip


@pytest.mark.parametrize("block", MARKDOWN.values(), ids=MARKDOWN.keys())
def test_markdown(block: str) -> None:
    text = f"{USE}{WEIGHTS}{block}\nProse with 0.28 in it.\n"
    report = check_text(text, "page.md")
    assert wrong(report) == [("0.28", "0.27")]
    fixed = fix_text(text, report)
    assert check_text(fixed, "page.md").status == 0
    ((before, after),) = changed(text, fixed)
    assert after == before.replace("0.28", "0.27")


def test_notes_and_comments_of_myst() -> None:
    text = f"{USE}````{{note}}\nIt is <!-- exactformer: pattern[0, 1, 0] -->0.28.\n\n% exactformer: pattern\n```\n1 0 0.27 0.74\n```\n````\n"  # noqa: E501
    report = check_text(text, "page.md")
    assert [(finding.printed, finding.line) for finding in report.findings if finding.bad] == [("0.28", 4), ("0.74", 8)]


HIDDEN = """# A page

<!--
```toml exactformer
[[claims]]
operation = "softmax"
name = "weights"
of = [0, 1]
```
-->

<!-- exactformer: weights -->
| a | b |
|---|---|
| 0.28 | 73.1 % |
"""


def test_a_hidden_worksheet_names_an_operation() -> None:
    report = check_text(HIDDEN, "page.md")
    assert [(finding.place, finding.printed, finding.line) for finding in report.findings if finding.bad] == [
        ("weights[0]", "0.28", 15)
    ]
    assert "| 0.27 | 73.1 % |" in fix_text(HIDDEN, report)


def test_claims_in_a_hidden_worksheet_are_checked_and_fixed() -> None:
    text = HIDDEN[: HIDDEN.index("<!-- exactformer: w")].replace("of = [0, 1]", 'of = [0, 1]\nvalues = ["0.28", "0.73"]')
    report = check_text(text, "page.md")
    assert wrong(report) == [("0.28", "0.27")]
    assert fix_text(text, report) == text.replace("0.28", "0.27")


@pytest.mark.parametrize("block", ["```toml exactfromer\n[model]\n```\n", "<!--\n```toml exactformr\n[model]\n```\n-->\n"])
def test_a_fence_that_nearly_is_one_is_told(block: str) -> None:
    for text in (block, USE + block):
        with pytest.raises(Refused, match=r"page.md:[0-9]+: 'toml exact.*' is nearly a worksheet: did you mean toml exactformer"):
            check_text(text, "page.md")


def test_comments_above_each_other_share_a_block() -> None:
    both = "<!-- exactformer: attn.scores -->\n<!-- exactformer: pattern -->\n"
    code = f"{USE}{both}```\nscores [[1 1]\n [1 2]]\nweights [[1 0] [0.28 0.73]]\n```\n"
    assert wrong(check_text(code, "page.md")) == [("0.28", "0.27")]
    formula = (
        f"{USE}{both}$$S = \\begin{{bmatrix}}1&1\\\\1&3\\end{{bmatrix}}, A = \\begin{{bmatrix}}1&0\\\\0.27&0.73\\end{{bmatrix}}$$\n"
    )
    assert wrong(check_text(formula, "page.md")) == [("3", "2")]
    with pytest.raises(LessonError, match="is 2 × 2 numbers, but the code has 1 row of 3"):
        check_text(code.replace("[[1 0] [0.28 0.73]]", "1 0 0.28"), "page.md")
    with pytest.raises(LessonError, match="fewer matrices"):
        check_text(f"{USE}{both}$$\\begin{{bmatrix}}1&1\\\\1&2\\end{{bmatrix}}$$\n", "page.md")


def test_numbers_after_a_text() -> None:
    block = "```\nhead 0, 2 tokens: 1 0 0.28 0.73 of 17\n```\n"
    text = f'{USE}<!-- exactformer: pattern after "tokens:" -->\n{block}'
    assert wrong(check_text(text, "page.md")) == [("0.28", "0.27")]
    with pytest.raises(LessonError, match="'words:' does not stand before a number there"):
        check_text(text.replace('"tokens:"', '"words:"'), "page.md")


def test_columns_and_counting_from_one() -> None:
    text = f"{USE}<!-- exactformer: pattern columns -->\n```\n1 0.28\n0 0.73\n```\n"
    assert [finding.place for finding in check_text(text, "page.md").findings if finding.bad] == ["blocks.0.attn.pattern[0, 1, 0]"]
    text = f"{USE}It is <!-- exactformer: pattern[1, 2, 1] from 1 -->0.28.\n"
    assert [finding.place for finding in check_text(text, "page.md").findings if finding.bad] == ["blocks.0.attn.pattern[0, 1, 0]"]
    whole = f"{USE}<!-- exactformer: count from 1 -->\n{text.removeprefix(USE).replace(' from 1', '')}"
    assert [finding.place for finding in check_text(whole, "page.md").findings if finding.bad] == ["blocks.0.attn.pattern[0, 1, 0]"]
    with pytest.raises(LessonError, match="count: write count from 1"):
        check_text(whole.replace("count from", "count"), "page.md")
    with pytest.raises(LessonError, match="counted from 1, there is no 0"):
        check_text(text.replace("[1, 2, 1]", "[0, 1, 0]"), "page.md")


def test_short_names_that_are_not_clear() -> None:
    with pytest.raises(LessonError, match=r"'out' could be blocks.0.attn.out, blocks.0.ln1.out, .* or .*: say which"):
        check_text(f"{USE}It is <!-- exactformer: out[0, 0] -->1.\n", "page.md")


RST = {
    "simple": "=====  =====\n  a      b\n=====  =====\n1.00   0.00\n0.28   0.73\n=====  =====\n",
    "grid": "+---+------+------+\n|   | a    | b    |\n+===+======+======+\n| a | 1.00 | 0.00 |\n+---+------+------+\n| b | 0.28 | 0.73 |\n+---+------+------+\n",  # noqa: E501
    "table": ".. table:: Weights\n\n   =====  =====\n    a      b\n   =====  =====\n   1.00   0.00\n   0.28   0.73\n   =====  =====\n",  # noqa: E501
    "list": ".. list-table:: Weights\n   :header-rows: 1\n\n   * - at\n     - a\n     - b\n   * - a\n     - 1\n     - 0\n   * - b\n     - 0.28\n     - 0.73\n",  # noqa: E501
    "csv": ".. csv-table:: Weights\n   :header: \"at\", \"a\", \"b\"\n\n   \"a\", 1, 0\n   \"b\", 0.28, 0.73\n",
    "code": ".. code-block:: text\n   :lineno-start: 3\n\n   [[1. 0.]\n    [0.28 0.73]]\n",
    "literal": "The weights\nof the head::\n\n   [[1. 0.]\n    [0.28 0.73]]\n",
    "math": ".. math::\n\n   \\begin{bmatrix} 1 & 0 \\\\ 0.28 & 0.73 \\end{bmatrix}\n",
    "doctest": ">>> weights[:2]\narray([[1.  , 0.  ],\n       [0.28, 0.73]])\n",
    "in a note": ".. note::\n\n   .. exactformer: pattern\n\n   ::\n\n      1 0 0.28 0.73\n",
}  # fmt: skip


@pytest.mark.parametrize("block", RST.values(), ids=RST.keys())
def test_restructured_text(block: str) -> None:
    comment = "" if "exactformer" in block else ".. exactformer: pattern\n\n"
    text = f"Title\n=====\n\n.. exactformer: use capstone\n\n.. a comment\n\n{comment}{block}\nProse with 0.28.\n"
    report = check_text(text, "page.rst")
    assert wrong(report) == [("0.28", "0.27")]
    ((before, after),) = changed(text, fix_text(text, report))
    assert after == before.replace("0.28", "0.27")


def test_worksheets_in_restructured_text() -> None:
    seen = '.. code-block:: toml\n\n   [[claims]]\n   operation = "exp"\n   of = [1]\n   values = ["2.8"]\n'
    hidden = '..\n   ```toml exactformer\n   [[claims]]\n   operation = "exp"\n   of = [1]\n   values = ["2.8"]\n   ```\n\nText.\n'
    for text in (seen, hidden):
        report = check_text(text, "page.rst")
        assert wrong(report) == [("2.8", "2.7")]
        assert fix_text(text, report) == text.replace("2.8", "2.7")
    with pytest.raises(LessonError, match=r"page.rst:1: 'exactfromer: use capstone' is nearly a directive"):
        check_text(".. exactfromer: use capstone\n", "page.rst")


def notebook(*cells: dict[str, Any], **dumps: Any) -> str:
    document = {"cells": list(cells), "metadata": {"title": "é \\ \n"}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, **({"indent": 1, "ensure_ascii": False} | dumps)) + "\n"


def prose(*lines: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": list(lines)}


def code(source: Any, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": list(outputs), "source": source}


def stdout(*lines: str) -> dict[str, Any]:
    return {"name": "stdout", "output_type": "stream", "text": list(lines)}


def shown(text: Any) -> dict[str, Any]:
    return {
        "data": {"image/png": "0.28", "text/plain": text},
        "execution_count": 1,
        "metadata": {},
        "output_type": "execute_result",
    }


CELLS = (
    prose("# Attention with é and 😀\n", "<!-- exactformer: use capstone -->\n", "\n", "It is <!-- exactformer: pattern[0,1,0] -->0.28, −∞."),  # noqa: E501
    code(["# exactformer: pattern\n", "print(0.28, weights)"], stdout("[[1.   0.  ]\n", ' "é" [0.28 0.73]]\n')),
    code("0.28", shown(["0.28"])),
    prose("<!-- exactformer: logits[0] -->"),
    code("logits[0]", shown("array([ 1.0, -1.0,  0.1])")),
)  # fmt: skip


@pytest.mark.parametrize("dumps", [{}, {"ensure_ascii": True}, {"indent": None}, {"indent": "\t", "separators": (",", ":")}])
def test_notebooks(dumps: dict[str, Any]) -> None:
    text = notebook(*CELLS, **dumps)
    report = check_text(text, "lesson.ipynb")
    assert wrong(report) == [("0.28", "0.27"), ("0.28", "0.27"), ("0.1", "0.0")]
    lines = text.splitlines()
    assert all(finding.printed in lines[finding.line - 1] for finding in report.findings)
    fixed = fix_text(text, report)
    assert check_text(fixed, "lesson.ipynb").status == 0
    expected = text.replace("-->0.28,", "-->0.27,").replace("[0.28 0.73", "[0.27 0.73").replace(" 0.1]", " 0.0]")
    assert fixed == expected  # not another byte: neither other outputs, nor pictures, nor the metadata


@pytest.mark.parametrize("dumps", [{}, {"indent": None}])
def test_messages_about_notebooks_name_cells(dumps: dict[str, Any], tmp_path: Path) -> None:
    sheet = tmp_path / "lesson.ipynb"
    sheet.write_text(notebook(*CELLS, **dumps), encoding="utf-8")
    lines = sheet.read_text(encoding="utf-8").splitlines()
    prints = ("-->0.28", "[0.28 0.73", "array([ 1.0, -1.0,  0.1])")
    places = [next(n for n, line in enumerate(lines, 1) if text in line) for text in prints]
    cells = ["cell 1, line 4", "cell 2, line 2 of its output", "cell 5, line 1 of its output"]
    checked = check_files([sheet])
    told = [line.split(": ")[:2] for line in checked.report.splitlines()]
    assert told[:3] == [[f"{sheet}:{place}", cell] for place, cell in zip(places, cells, strict=True)]
    assert "first wrong: blocks.0.attn.pattern[0, 1, 0], cell 1, line 4" in checked.report
    github = check_files([sheet], form="github").report.splitlines()
    sarif = json.loads(check_files([sheet], form="sarif").report)["runs"][0]["results"]
    for n, (line, result) in enumerate(zip(github, sarif, strict=True)):
        assert f",line={places[n]},title" in line
        assert f"::{cells[n]}: " in line
        assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": places[n]}
        assert result["message"]["text"].startswith(f"{cells[n]}: ")
    (document,) = json.loads(check_files([sheet], form="json").report)["files"]
    first, second, _ = (found for found in document["findings"] if found["verdict"] != "right")
    assert (first["line"], first["cell"], first["cell_line"]) == (places[0], 1, 4)
    assert (second["line"], second["cell"], second["cell_line"]) == (places[1], 2, 2)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([prose("# T\n", "\n"), prose("\n", "<!-- exactfromer: use capstone -->\n")], "cell 2, line 2: 'exactfromer: use"),
        ([*CELLS[:1], code(["import numpy\n", "# exactformer: embd\n"], stdout("1"))], "cell 2, line 2: there is no step 'embd'"),
        ([*CELLS[:1], code("import numpy\n# exactformer: embd\n", stdout("1"))], "cell 2, line 2: there is no step 'embd'"),
        ([prose("a\n", "```toml exactformer\n", "[model]\n", "x = 1\n", "```")], "cell 1, line 3: weights is missing"),
    ],
)  # fmt: skip
def test_problems_of_notebooks_name_cells(cells: list[Any], said: str) -> None:
    with pytest.raises(Refused) as refused:
        check_text(notebook(*cells), "lesson.ipynb")
    found = getattr(refused.value, "problems", [str(refused.value)])
    assert any(re.match(rf"lesson\.ipynb:[0-9]+: {re.escape(said)}", problem) for problem in found), found


def test_outputs_stand_one_below_the_other() -> None:
    text = notebook(*CELLS[:1], code("# exactformer: embed[1]", shown(["0"]), stdout("5\n")))
    assert [str(finding.line).split(": ")[1] for finding in check_text(text, "lesson.ipynb").findings[1:]] == [
        "cell 2, line 1 of its output",
        "cell 2, line 2 of its output",
    ]


def test_windows_line_ends_and_escapes_stay() -> None:
    text = notebook(*CELLS).replace("\n", "\r\n").replace("[0.28 0.73]]", "\\u005b0.28 0.73]]")
    fixed = fix_text(text, check_text(text, "lesson.ipynb"))
    assert "\\u005b0.27 0.73]]" in fixed
    assert fixed.count("\r\n") == text.count("\r\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a table"),
        ('{"cells": [], "cells": []}', "has 'cells' twice"),
        ('{"cells": []}', "nbformat is null"),
        ('{"nbformat": 3, "worksheets": []}', "nbformat is 3: notebooks of format 4 are read"),
        ('{"nbformat": 4}', "cells is null, not a list"),
        (notebook({"cell_type": "markdown", "source": 7}), "cells[0].source is 7, not a text"),
        (notebook({"cell_type": "markdown", "source": ["a", 7]}), "cells[0].source[1] is 7, not a text"),
        (notebook(code("# exactformer: use capstone", 7)), "cells[0].outputs[0] is 7, not a table"),  # type: ignore[arg-type]
        (notebook(code("# exactformer: use capstone", {"output_type": "display_data", "data": []})), "data is a list of 0"),
        (notebook(*CELLS[:1], code("# exactformer: pattern", {"output_type": "display_data", "data": {"text/html": "<b>"}})), "shown as HTML"),  # noqa: E501
        (notebook(*CELLS[:1], code("# exactformer: pattern")), "is 2 × 2 numbers, but the code has 0 rows of 0"),
        (notebook(*CELLS[:1], code("# exactfromer: pattern")), "is nearly a directive"),
        (notebook(*CELLS[:1], prose("<!-- exactformer: step embed -->")), "views are for lessons in Markdown"),
        ('{"nbformat": 4, "cells": ' + "[" * 100_000, "is nested too deeply"),
    ],
)  # fmt: skip
def test_notebooks_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        check_text(text, "lesson.ipynb")
    assert said in str(refused.value)
    assert str(refused.value).startswith("lesson.ipynb:")
    assert len(str(refused.value)) < 300


def test_a_folder_fails_is_fixed_and_passes(tmp_path: Path) -> None:
    """A table, a matrix, a notebook and prose."""
    texts = {
        "table.md": USE + WEIGHTS + MARKDOWN["table"],
        "matrix.qmd": "---\ntitle: Attention\nformat:\n  html: default\n---\n" + USE + WEIGHTS + MARKDOWN["matrix"],
        "prose.md": f"{USE}It is <!-- exactformer: pattern[0, 1, 0] -->**28 %**, that is ≈ 0.28.\n",
        "notebook.ipynb": notebook(*CELLS),
        "page.rst": f".. exactformer: use capstone\n\n.. exactformer: pattern\n\n{RST['grid']}",
    }
    paths = [tmp_path / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    assert check_files(paths).status == 1
    assert check_files(paths, fix=True).status == 0
    again = check_files(paths)
    assert again.status == 0
    assert "5 files" in again.report
    assert (tmp_path / "prose.md").read_text(encoding="utf-8") == texts["prose.md"].replace("28 %", "27 %")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<!--\n" + "```\n" * 20_000 + "-->\n", "page.md"),
        ("```{note}\n" * 5_000, "page.md"),
        ("..\n" + "   ```\n" * 5_000, "page.rst"),
        ("".join(" " * n + "::\n" for n in range(800)), "page.rst"),
        (".. exactformer: a\n" * 5_000, "page.rst"),
        ("% exactformer: a\n" * 5_000, "page.md"),
    ],
    ids=["hidden fences", "notes", "comments", "blocks", "directives", "percent"],
)
def test_hostile_pages_take_no_time(text: str, name: str) -> None:
    assert len(_said(text, name)) < 400


def _said(text: str, name: str) -> str:
    try:
        return "".join(str(finding) for finding in check_text(text, name).findings)
    except Refused as refused:
        return str(refused)


def test_a_notebook_with_too_much_text() -> None:
    with pytest.raises(Refused, match="has more than 1,048,576 characters of text"):
        check_text(notebook(prose("x" * 2**20), prose("y")), "lesson.ipynb")
