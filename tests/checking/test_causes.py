"""What follows from which print, what probably went wrong, what is allowed; numbers in all the ways in which people print them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exactformer.checking import Verdict, check_text, fix_text
from exactformer.checking.allowing import noise
from exactformer.checking.printed import read
from exactformer.checking.report import lines
from exactformer.lessons import check_text as check_lesson
from exactformer.lessons import fix_text as fix_lesson
from exactformer.numbers import exact
from exactformer.worksheets import WorksheetError

MODEL = """[model]
vocabulary = ["a", "b"]
dim = 2
head_dim = 2
blocks = 1
norm = "none"
mask = "causal"
scale = "sqrt"
positions = "none"
mlp = 2
activation = "gelu"
residual = false
unembedding = "none"
[weights]
W_E = [[1, 2], [3, 1]]
[[weights.blocks]]
attn = { W_Q = [[1, 0], [2, 1]], W_K = "identity", W_V = "identity" }
mlp = { W_in = "identity", W_out = "identity" }
[input]
tokens = "a b"
"""


def _toml(value: Any) -> str:
    """Texts with a backslash stand between plain quotes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f"'{value}'" if isinstance(value, str) and "\\" in value else json.dumps(value, ensure_ascii=False)


def claims(*tables: dict[str, Any], model: str = MODEL) -> str:
    return model + "".join(
        "\n[[claims]]\n" + "".join(f"{name} = {_toml(value)}\n" for name, value in table.items()) for table in tables
    )


def hint(text: str) -> list[str]:
    return [finding.hint for finding in check_text(text).findings if finding.bad]


def carried(text: str) -> list[bool]:
    return [finding.carried_on for finding in check_text(text).findings if not finding.right]


PATTERN = {"step": "blocks.0.attn.pattern", "row": 1}
Z = {"step": "blocks.0.attn.z", "row": 1}


def test_a_slip_is_carried_on_from_any_earlier_print() -> None:
    """The weights are printed twice; what follows is computed from the first, from the second, or from neither."""
    first, second = {**PATTERN, "values": ["0.90", "0.10"]}, {**PATTERN, "values": ["0.80", "0.20"]}
    right, wrong = {**Z, "values": ["1.20", "1.90"]}, {**Z, "values": ["1.40", "1.80"]}
    assert carried(claims(first, second, right)) == [False] * 4 + [True] * 2
    assert carried(claims(first, second, wrong)) == [False] * 4 + [True] * 2
    assert carried(claims(first, second, {**Z, "values": ["1.99", "1.01"]})) == [False] * 6
    assert carried(claims(right, first)) == [False] * 4  # what stands further down explains nothing


def test_a_repeated_slip_and_one_that_is_cut_off() -> None:
    first = {**PATTERN, "values": ["0.9017", "0.0983"]}
    assert carried(claims(first, {**PATTERN, "values": ["0.90", "0.09"]})) == [False] * 2 + [True] * 2
    assert carried(claims(first, {**Z, "values": ["1.19", "1.90"]})) == [False] * 2 + [True] * 2  # 1.1966, 1.9017


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"step": "blocks.0.attn.scores", "index": [0, 1, 0], "value": "7.0"}, "the scale is forgotten"),
        ({"step": "blocks.0.attn.scores", "index": [0, 1, 0], "value": "3.5"}, "the scale is 1/2: d for √d"),
        ({"step": "blocks.0.attn.scores", "index": [0, 1, 0], "value": "9.90"}, "it is divided by the scale"),
        ({"step": "blocks.0.attn.scores", "index": [0, 0, 1], "value": "4.95"}, "row and column have changed places"),
        ({"step": "blocks.0.attn.scores", "index": [0, 1, 0], "value": "-4.95"}, "the sign is the other one"),
        ({"step": "blocks.0.attn.masked", "index": [0, 0, 1], "value": "12.02"}, "the mask is forgotten"),
        ({"step": "blocks.0.attn.pattern", "index": [0, 0, 0], "value": "0.0035"}, "the mask is forgotten"),
        ({"step": "blocks.0.mlp.post", "index": [0, 1], "value": "1.9546"}, "this is the tanh form of GELU"),
        ({"operation": "gelu_tanh", "of": [2], "values": ["1.95450"]}, "this is GELU with erf"),
        ({"operation": "std", "of": [1, 3, 5, 7], "value": "2.582"}, "divided by n - 1 instead of n"),
        ({"operation": "variance", "of": [1, 3, 5, 7], "value": "6.667"}, "divided by n - 1 instead of n"),
        ({"operation": "layer_norm", "of": [1, 3, 5, 7], "epsilon": 1, "values": ["-0.927", "-0.408", "0.408", "1.225"]}, "ε is added outside of the root"),  # noqa: E501
        ({"operation": "softmax", "of": [1, 3], "values": ["0.25", "0.88"]}, "the numbers are divided by their sum, without e to their power"),  # noqa: E501
        ({"operation": "softmax", "of": [1, 2], "temperature": 2, "values": ["0.269", "0.622"]}, "the temperature is forgotten"),
        ({"operation": "scale", "of": [8], "factor": "1/sqrt(2)", "values": ["4.00"]}, "the factor is taken twice: d for √d"),
        ({"operation": "rms_norm", "of": [1, 3], "epsilon": 0, "values": ["0.45", "1.00"]}, ""),
        ({"operation": "exp", "of": [1], "values": ["9.9"]}, ""),
    ],
)  # fmt: skip
def test_hints(table: dict[str, Any], said: str) -> None:
    assert hint(claims(table))[0] == said


def test_a_mistake_further_up_is_found() -> None:
    """Only the weights are printed, and they are those of scores that were not scaled."""
    text = claims({"step": "blocks.0.attn.pattern", "index": [0, 1, 0], "value": "0.00012"})
    report = check_text(text)
    assert report.findings[0].hint == "the factor 1/√2 of the scores is forgotten"
    assert lines(report)[0].endswith("; a new error: perhaps the factor 1/√2 of the scores is forgotten")


def test_nothing_is_guessed_of_few_digits() -> None:
    assert hint(claims({"step": "blocks.0.attn.scores", "index": [0, 1, 0], "value": "7"})) == [""]


@pytest.mark.parametrize(
    ("true", "text", "kind"),
    [
        ("2.3576", "2.3575999999999997", "float64"), ("0.3", "0.30000000000000004", "float64"), ("0", "5.551115123125783e-17", "float64"),  # noqa: E501
        ("0.1", "0.10000000149011612", "float32"), ("0.3", "0.30000001", "float32"), ("1/3", "0.33333334", "float32"),
        ("2.3576", "2.3575999999", ""), ("2.3576", "2.3576000000000127", ""), ("0.3", "0.3000001", ""), ("2.3576", "2.36", ""),
    ],
)  # fmt: skip
def test_the_noise_of_floats(true: str, text: str, kind: str) -> None:
    assert noise(exact(true), read(text)) == kind


def test_noise_is_called_so_and_can_be_allowed() -> None:
    table = {"operation": "add", "left": ["0.1"], "right": ["0.2"], "values": ["0.30000000000000004"]}
    report = check_text(claims(table, model=""))
    assert report.status == 1
    assert lines(report)[0].endswith("is wrong: 0.30000000000000000 (0.3000000000000000000); a float64 result")
    assert check_text(claims({**table, "allow": ["float64"]}, model="")).status == 0
    assert check_text(claims({**table, "allow": "float32"}, model="")).status == 1


TABLE = {"operation": "exp", "of": [1], "values": ["2.71"]}


@pytest.mark.parametrize(
    ("values", "allow", "status"),
    [
        (["2.71"], ["truncated"], 0), (["2.71"], [], 1), (["2.74"], ["within 2"], 1), (["2.74"], ["within 3"], 0),
        (["2.74"], ["truncated", "float64"], 1),
    ],
)  # fmt: skip
def test_allowances(values: list[str], allow: list[str], status: int) -> None:
    text = claims({"operation": "exp", "of": [1], "values": values, "allow": allow}, model="")
    report = check_text(text)
    assert report.status_when(strict=True) == status
    whole = f"allow = {allow!r}\n" + claims({"operation": "exp", "of": [1], "values": values}, model="")
    assert check_text(whole).status_when(strict=True) == status
    if not status:
        assert fix_text(text, report) == text
        assert "of these 1 allowed" in lines(report)[-1]


def test_from_printed_numbers_and_masks() -> None:
    first = {**PATTERN, "values": ["0.90", "0.10"]}
    follows = {**Z, "values": ["1.20", "1.90"], "allow": ["printed"]}
    assert [finding.excused for finding in check_text(claims(first, follows)).findings] == ["", "", "allowed", "allowed"]
    masked = {"step": "blocks.0.attn.masked", "row": 0, "values": ["6.36", "-1e9"]}
    assert check_text(claims(masked)).status == 1
    assert check_text(claims({**masked, "allow": ["mask -1e9"]})).status == 0
    assert check_text(claims({**masked, "allow": ["mask -1e8"]})).status == 1


def test_what_can_be_said_of_places() -> None:
    assert check_text(claims({"step": "blocks.0.attn.pattern", "values": [["1"], ["0.0017", "0.9983"]]})).status == 0
    assert check_text(claims({"step": "blocks.0.attn.pattern", "values": [["…", "..."], ["0.0017", "…"]]})).status == 0
    assert check_text(claims({"step": "embed", "columns": True, "values": [["1", "3"], ["2", "1"]]})).status == 0
    (finding,) = check_text(claims({"step": "embed", "row": 2, "from": 1, "values": ["3", "…"]})).findings
    assert (finding.place, finding.verdict) == ("embed[1, 0]", Verdict.RIGHT)
    whole = "from = 1\ncolumns = true\n" + claims(
        {"step": "embed", "values": [["1", "3"], ["2", "1"]]}, {"step": "embed", "row": 2, "values": ["3", "1"]}
    )
    assert check_text(whole).counts[Verdict.RIGHT] == 6
    for table in ({"step": "embed", "row": 0, "from": 1, "values": ["3", "1"]}, {"step": "embed", "from": 2, "values": []}):
        with pytest.raises(WorksheetError, match="counted from"):
            check_text(claims(table))
    with pytest.raises(WorksheetError, match="is not as long"):
        check_text(claims({"step": "embed", "values": [["1"], ["3", "1"]]}))


@pytest.mark.parametrize("allow", ["truncatd", ["within"], ["mask x"], 7, [7]])
def test_allowances_that_are_refused(allow: Any) -> None:
    with pytest.raises(WorksheetError, match=r"worksheet.toml:[0-9]+: claims.0.allow"):
        check_text(claims({**TABLE, "allow": allow}, model=""))


@pytest.mark.parametrize(
    ("text", "true", "fixed"),
    [
        ("≈ 2.70", "2.718", "≈ 2.72"), ("27.0 %", "0.2689", "26.9 %"), (r"27\%", "0.2589", r"26\%"), ("1,235", "1234", "1,234"),
        ("999,999.5", "1000000", "1,000,000.0"), ("1.51×10^4", "15000", "1.50×10^4"), ("1.5×10⁴", "14000", "1.4×10⁴"),
        (r"1.5 \times 10^{-4}", "0.00014", r"1.4 \times 10^{-4}"), ("1.5·10⁻¹", "1.4", "1.4·10⁰"), ("1.00e-4", "3.7158e-44", "3.72e-44"),  # noqa: E501
        ("9.99e2", "99951/100", "1.00e3"), ("2.5E-3", "0.0031", "3.1E-3"), ("0.01", "1e-9", "0.00"), ("-2.0e3", "-12345", "-1.2e4"),
    ],
)  # fmt: skip
def test_numbers_are_read_and_written_as_people_print_them(text: str, true: str, fixed: str) -> None:
    page = claims({"operation": "add", "left": [true], "right": [0], "values": [text]}, model="")
    report = check_text(page)
    assert report.first_wrong is not None or report.counts[Verdict.TRUNCATED]
    assert report.findings[0].true == fixed
    assert check_text(fix_text(page, report)).status_when(strict=True) == 0


def test_minus_infinity_and_formulas_in_claims() -> None:
    masked = {"step": "blocks.0.attn.masked", "row": 0, "values": ["9/√2", "-∞"]}
    assert check_text(claims(masked)).counts[Verdict.RIGHT] == 2
    assert check_text(claims({"operation": "exp", "of": [2], "values": ["e^2"]}, model="")).status == 0
    assert check_text(claims({"operation": "exp", "of": [2], "values": ["e^3"]}, model="")).status == 1


def test_allowances_in_pages() -> None:
    use = "<!-- exactformer: use capstone -->\n"
    bound = "It is <!-- exactformer: pattern[0, 1, 0]{} -->0.26, and <!-- exactformer: pattern[0, 1, 1] -->0.7310.\n"
    assert check_lesson(use + bound.format(""), "p.md").status_when(strict=True) == 1
    assert check_lesson(use + bound.format(" allow truncated"), "p.md").status_when(strict=True) == 1
    text = use + "<!-- exactformer: allow truncated, within 1 -->\n" + bound.format("")
    report = check_lesson(text, "p.md")
    assert report.status_when(strict=True) == 0
    assert fix_lesson(text, report) == text
    mixed = text + "<!-- exactformer: allow nothing -->\nIt is <!-- exactformer: pattern[0, 1, 0] -->0.25.\n"
    fixed = fix_lesson(mixed, check_lesson(mixed, "p.md"))
    assert fixed == mixed.replace("0.25", "0.27")
