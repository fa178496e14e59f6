"""The verdict on an answer: what is equal, what could be simpler, decimals, slips, lines of a derivation, and what is refused."""

from __future__ import annotations

import pytest
from benchmarks.trials import answers

import exactformer as xf
from exactformer.exercises import Cell, ExerciseError, Kind, find_cell, judged
from exactformer.worksheets import load, loads
from exactformer.worksheets.worksheet import example_text

SHARE = "blocks.0.attn.pattern[0, 1, 0]"  # 1/(1+e)
SMALL = ("capstone",)


def cell(name: str = SHARE, example: str = "capstone", tokens: str | None = None) -> Cell:
    return find_cell(load(example).trace(tokens), name)


KINDS = {
    "1/(1+e)": "equal",
    "1/(e+1)": "equal",
    "e^1/(e^1+e^2)": "simpler",
    "1/(1+exp(1))": "simpler",
    "1 - e/(1+e)": "simpler",
    "0.269": "decimals",
    "0.268": "decimals",
    "0.26894142": "decimals",
    "0.2689414213699951207488407581781637": "decimals",
    "0.27": "few",
    "0.3": "few",
    "0.270": "wrong",
    "0.2690": "wrong",
    "2689/10000": "wrong",
    "1/(1+2.718281828)": "wrong",
    "0.26894142136999512075": "decimals",
    "0.26894142136999512077": "wrong",
    "2E-1": "few",
    "2e-1": "unreadable",
    "1/(1+e": "unreadable",
    "-inf": "wrong",
    "": "unreadable",
}


@pytest.mark.parametrize("answer", KINDS)
def test_kinds_of_answers(answer: str) -> None:
    said = judged(answer, cell())
    assert said.kind == KINDS[answer], said
    assert said.right == (said.kind in ("equal", "simpler", "decimals"))
    assert said.credit == (1 if said.right else 0)


def test_fractions_and_numbers_that_are_no_fractions_any_more() -> None:
    mean = cell("blocks.0.ln2.mean[1, 0]")  # 1/2
    assert [str(judged(answer, mean).kind) for answer in ("1/2", "0.5", "0.50", "2/4", ".5", "0.499", "50%")] == [
        "equal", "equal", "equal", "simpler", "equal", "wrong", "unreadable",
    ]  # fmt: skip
    assert judged("2", cell("blocks.0.attn.scores[0, 1, 1]")).kind is Kind.EQUAL
    assert judged("sqrt(2)^2", cell("blocks.0.attn.scores[0, 1, 1]")).kind is Kind.SIMPLER


def test_the_fewest_decimals_that_count_are_a_choice() -> None:
    assert judged("0.27", cell(), decimals=2).kind is Kind.DECIMALS
    assert judged("0.2689", cell(), decimals=5).kind is Kind.FEW


def test_a_small_number_is_not_answered_by_zeros() -> None:
    tiny = find_cell(loads(example_text("capstone").replace("[[0, 0], [1, 0]]", "[[0, 0], [9, 0]]")).trace(), SHARE)
    assert judged("0.000", tiny).kind is Kind.FEW
    assert judged("0", tiny).kind is Kind.WRONG


def test_words_for_what_is_no_number() -> None:
    hidden = cell("blocks.0.attn.masked[0, 0, 1]")
    assert [judged(answer, hidden).right for answer in ("-inf", "−∞", "masked", "0", "1")] == [True, True, True, False, False]
    token = cell("token[1, 0]")
    assert [judged(answer, token).right for answer in ("a", '"a"', "b", "A")] == [True, True, False, False]
    flat = loads(example_text("capstone").replace("W_E = [[1, 0], [0, 1], [1, 1]]", "W_E = [[1, 1], [0, 1], [1, 1]]"))
    undefined = find_cell(flat.trace("a a"), "blocks.0.ln1.out[0, 0]")
    assert [judged(answer, undefined).right for answer in ("undefined", "0")] == [True, False]


def test_lines_of_a_derivation_have_credit_up_to_the_first_wrong_one() -> None:
    said = judged("e/(e+e^2)\n= 1/(1+e)\n= 1/(2+e)\n≈ 0.21", cell())
    assert (said.kind, said.good, said.lines, said.right) == ("wrong", 2, 4, False)
    assert said.message.startswith("line 3, 1/(2+e): wrong")
    assert judged("e/(e+e^2) = 1/(1+e) ≈ 0.269", cell()).right
    assert judged("e/(e+e^2) ≈ 0.3 = 1/(1+e)", cell()).right
    assert judged("e/(e+e^2) = 0.3 = 1/(1+e)", cell()).good == 1


SLIPS = {
    ("length4", "blocks.0.attn.scores[0, 3, 3]", None, "no-scale"),
    ("capstone", "blocks.0.attn.pattern[0, 0, 0]", "c b", "no-mask"),
    ("capstone", "blocks.0.attn.z[0, 0, 1]", "a b", "no-mask"),
    ("capstone", "blocks.0.ln1.mean[1, 0]", "a c", "no-residual"),
}


def test_the_slip_is_named_that_gives_exactly_the_answer() -> None:
    asked = {
        "1/3": "softmax-without-e",
        "e": "not-divided",
        "-1/(1+e)": "sign",
        "1/e": "others-alone",
        "1/2": "softmax-of-column",
        "e/(1+e)": "column-after",
        "0.731": "column-after",
        "1+e": "upside-down",
        "17/99": "",
    }
    assert {answer: judged(answer, cell()).slip for answer in asked} == asked
    assert judged("0.5", cell("blocks.0.attn.pattern[0, 0, 0]", tokens="c b")).kind is Kind.WRONG


@pytest.mark.parametrize(("example", "name", "tokens", "slip"), sorted(SLIPS, key=str))
def test_a_mistake_made_in_the_whole_pass_is_recognised(example: str, name: str, tokens: str | None, slip: str) -> None:
    from exactformer.model.breaking import broken

    right = load(example).trace(tokens)
    wrong = xf.run(broken(right.model, [slip]), right.tokens)
    asked = find_cell(right, name)
    answer = str(asked.of(wrong[asked.step.name].values))
    said = judged(answer, asked)
    assert (said.kind, slip in {said.slip} or MISSED[slip] in said.message) == (Kind.WRONG, True), said


MISSED = {"no-scale": "is forgotten", "no-mask": "the mask is forgotten", "no-residual": "the residual stream"}


def test_numbers_that_were_rounded_too_early() -> None:
    deviation = cell("blocks.0.ln1.std[1, 0]")
    said = judged("0.1414", deviation)  # √0.02, where the variance is 0.018…
    assert (said.kind, said.slip) == ("wrong", "rounded-early")
    assert "to 2 decimals" in said.message


def test_sums_of_rows() -> None:
    row = cell("sum blocks.0.attn.pattern[0, 1]")
    assert str(row.value) == "1"
    assert [judged(answer, row).right for answer in ("1", "1/(1+e)+e/(1+e)", "2")] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nothing", "does not name a number"),
        ("embed", "does not name a number"),
        ("embeds[0, 0]", "there is no step embeds"),
        ("embed[0]", "there is no such entry"),
        ("embed[0, 5]", "there is no such entry: embed is 2 × 2"),
        ("embed[99999999999, 0]", "does not name a number"),
        ("sum embed[0, 0]", "there is no such row"),
        ("sum blocks.0.attn.masked[0, 0]", "not all of that row are numbers"),
    ],
)
def test_cells_that_there_are_not(name: str, problem: str) -> None:
    with pytest.raises(ExerciseError) as refused:
        cell(name)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_other_arithmetics_have_no_exact_answers() -> None:
    with pytest.raises(ExerciseError, match="to be exact, not float64"):
        find_cell(load("capstone").trace(arithmetic="float64"), SHARE)


@pytest.mark.parametrize("n", range(15))
def test_other_forms_of_the_same_number_are_accepted(n: int) -> None:
    """SymPy and mpmath say that they are the same; the trial has 500."""
    assert answers.equal_case(n, SMALL) in ("equal", "simpler")


@pytest.mark.parametrize("n", range(15))
def test_near_misses_are_not_accepted(n: int) -> None:
    assert answers.near_case(n, SMALL) in ("wrong", "few", "undecided")


def test_hostile_answers_get_one_line_each() -> None:
    kinds = [answers.hostile_case(n, SMALL) for n in range(len(answers.HOSTILE))]  # which fails where a line is more than one
    assert kinds.count("unreadable") > 70
