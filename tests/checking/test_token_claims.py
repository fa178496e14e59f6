"""Claims of tokens: the one that the pass is proved to give is right, every other is wrong."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from checking.random_claims import model
from exactformer.checking import Finding, Verdict, check_files, check_text, fix_text
from exactformer.numbers import sin
from exactformer.worksheets import WorksheetError, example_text, loads

CAPSTONE = example_text("capstone")  # a b gives a a
UNDEFINED = CAPSTONE.replace('"a b"', '"c b"')  # a variance is 0 at both positions
QUOTED = """
[model]
vocabulary = [{vocabulary}]
dim = 1
blocks = 0
norm = "none"
mask = "none"
scale = "none"
positions = "none"
unembedding = "own"
[weights]
W_E = [[1], [1]]
W_U = [[0, 1]]
[input]
tokens = ["b"]
[[claims]]
step = "token"
values = [{claim}]
"""
UNDECIDED = f"""
[model]
vocabulary = ["a", "b"]
dim = 1
blocks = 0
norm = "none"
mask = "none"
scale = "none"
positions = "sinusoidal"
unembedding = "own"
[weights]
W_E = [[0], [0]]
W_U = [[1, 0]]
b_U = [0, {sin(1).digits(700)}]
[input]
tokens = "a a"
"""


def claims(tokens: list[str], of: str = CAPSTONE) -> tuple[Finding, ...]:
    return check_text(f'{of}\n[[claims]]\nstep = "token"\nvalues = {json.dumps(tokens, ensure_ascii=False)}\n').findings


@pytest.mark.parametrize(
    ("printed", "verdicts"),
    [
        (["a", "a"], ["right", "right"]),
        (["a", "b"], ["right", "wrong"]),
        (["c", "z"], ["wrong", "wrong"]),  # z is not even in the vocabulary
        (["A", ""], ["wrong", "wrong"]),
        (["a ", " a"], ["wrong", "wrong"]),
    ],
)
def test_verdicts(printed: list[str], verdicts: list[str]) -> None:
    assert [finding.verdict for finding in claims(printed)] == verdicts
    assert {(finding.true, finding.more) for finding in claims(printed)} == {("a", "a")}


@pytest.mark.parametrize("claim", ['row = 1\nvalue = "{}"', 'index = [1, 0]\nvalue = "{}"', 'row = 1\nvalues = ["{}"]'])
def test_one_position(claim: str) -> None:
    for token, verdict in (("a", Verdict.RIGHT), ("b", Verdict.WRONG)):
        (finding,) = check_text(f'{CAPSTONE}\n[[claims]]\nstep = "token"\n{claim.format(token)}\n').findings
        assert (finding.place, finding.verdict) == ("token[1, 0]", verdict)


def test_what_is_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = f'{CAPSTONE}\n[[claims]]\nstep = "token"\nvalues = ["a", "b"]\n'
    file.write_text(text, encoding="utf-8")
    line = text.count("\n")
    checked = check_files([file])
    assert checked.status == 1
    assert checked.report.splitlines() == [
        f"{file}:{line}: token[1, 0]: 'b' is wrong: 'a'; a new error",
        f"{file}: 2 tokens: 1 right, 1 wrong; 1 new error; first wrong: token[1, 0], line {line}",
    ]


@pytest.mark.parametrize("seed", range(12))
def test_no_other_token_is_called_right(seed: int) -> None:
    chance = random.Random(seed)
    text = model(chance)
    true = [out.token for out in loads(text).trace().output]
    assert None not in true
    assert [finding.verdict for finding in claims([str(token) for token in true], text)] == ["right"] * 3
    for _ in range(12):
        changed = [_changed(str(token), chance) for token in true]
        assert [finding.verdict for finding in claims(changed, text)] == ["wrong"] * 3


def _changed(token: str, chance: random.Random) -> str:
    near = [*"abc", token + token, f" {token}", f"{token} ", token.upper(), "", f"{token}\u0301", "-inf", "1", "none"]
    return chance.choice([other for other in near if other != token])


def test_a_token_may_follow_from_printed_logits() -> None:
    logits = '[[claims]]\nstep = "logits"\nrow = 1\nvalues = ["0.0", "9.0", "0.0"]\n'
    for token, carried in (("b", True), ("c", False)):
        found = check_text(f'{CAPSTONE}\n{logits}[[claims]]\nstep = "token"\nrow = 1\nvalue = "{token}"\n').findings[-1]
        assert (found.verdict, found.carried_on) == (Verdict.WRONG, carried)


def test_where_there_is_no_token_every_one_is_wrong() -> None:
    for finding in claims(["a", "none"], UNDEFINED):
        assert finding.verdict is Verdict.WRONG
        assert finding.true.startswith("undefined: ")
        assert "the variance is 0" in finding.true


def test_a_token_that_cannot_be_decided() -> None:
    report = check_text(f'{UNDECIDED}[[claims]]\nstep = "token"\nvalues = ["b", "b"]\n')
    assert [finding.verdict for finding in report.findings] == [Verdict.RIGHT, Verdict.UNDECIDED]
    assert report.status == 3


def test_a_fix_rewrites_tokens_alone() -> None:
    text = f'{CAPSTONE}\n[[claims]]  # b\nstep = "token"\nvalues = [\n  \'b\', # not "b"\n  "c ",\n]\n'
    fixed = fix_text(text, check_text(text))
    assert fixed == text.replace("'b',", "'a',").replace('"c "', '"a"')
    assert check_text(fixed).status == 0


@pytest.mark.parametrize(
    ("vocabulary", "claim", "fixed"),
    [
        ('"b", "x y"', '"b"', '"x y"'),
        ('"b", "ü|`#"', "'b'", "'ü|`#'"),
        ("'b', '\"'", "'b'", "'\"'"),
        ('"b", "it\'s"', '"b"', '"it\'s"'),
    ],
)
def test_tokens_that_stand_between_quotes(vocabulary: str, claim: str, fixed: str) -> None:
    text = QUOTED.format(vocabulary=vocabulary, claim=claim)
    assert fix_text(text, check_text(text)) == QUOTED.format(vocabulary=vocabulary, claim=fixed)


@pytest.mark.parametrize(
    ("vocabulary", "claim"),
    [
        ("'b', '\"'", '"b"'),
        ('"b", "it\'s"', "'b'"),
        ('"b", "new\\nline"', '"b"'),
        ('"b", "back\\\\slash"', '"b"'),
        ("'b', '\", \"'", '"b"'),
    ],
)
def test_tokens_that_do_not_are_refused(vocabulary: str, claim: str) -> None:
    text = QUOTED.format(vocabulary=vocabulary, claim=claim)
    report = check_text(text, "mine.toml")
    assert report.status == 1
    with pytest.raises(WorksheetError, match=r"mine.toml:18: claims.0.values\[0\] cannot be corrected: 'b' stands for") as problem:
        fix_text(text, report)
    assert "\n" not in str(problem.value)


def test_a_token_that_does_not_exist_cannot_be_put_right() -> None:
    text = f'{UNDEFINED}\n[[claims]]\nstep = "token"\nrow = 0\nvalue = "a"\n'
    with pytest.raises(WorksheetError, match="cannot be corrected: 'a' stands for undefined: "):
        fix_text(text, check_text(text))


def test_a_token_with_a_line_end_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "lines.toml"
    file.write_text(QUOTED.format(vocabulary='"b", "new\\nline"', claim='"b"'), encoding="utf-8")
    first, _ = check_files([file]).report.splitlines()
    assert first.endswith(r"token[0, 0]: 'b' is wrong: 'new\nline'; a new error")
