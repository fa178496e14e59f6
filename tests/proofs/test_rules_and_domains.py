"""Rules and domains in a few words and in files."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from exactformer.proofs import Product
from exactformer.proofs.chunks import RunError
from exactformer.proofs.expressions import RuleError, read_rule
from exactformer.proofs.fitting import Fitted
from exactformer.proofs.tables import load_function, read_domain, read_inputs, read_table

NUMBERS = tuple(map(str, range(200)))
DIGITS = NUMBERS[:10]


@pytest.mark.parametrize(
    ("rule", "inputs", "answers"),
    [
        ("sorted", [[3, 1, 2]], [[1, 2, 3]]),
        ("copy", [[3, 1]], [[3, 1]]),
        ("reverse", [[3, 1, 2]], [[2, 1, 3]]),
        ("max", [[3, 1, 2]], [[3]]),
        ("min", [[3, 1, 2]], [[1]]),
        ("first", [[3, 1, 2]], [[3]]),
        ("last", [[3, 1, 2]], [[2]]),
        ("a", [[3, 1, 2]], [[3]]),
        ("(a+b) mod 113", [[100, 50], [0, 0]], [[37], [0]]),
        ("a*b - c", [[7, 8, 9]], [[47]]),
        ("a * (b + 2) mod 5", [[3, 4]], [[3]]),
        ("(a - b) mod 7", [[1, 3]], [[5]]),
        ("2 digits of a + b", [[7, 8]], [[1, 5]]),
        ("3 reversed digits of ab + cd", [[9, 9, 9, 9], [0, 1, 0, 2]], [[8, 9, 1], [3, 0, 0]]),
        ("4 digits of abc * 2", [[9, 9, 9]], [[1, 9, 9, 8]]),
    ],
)
def test_what_a_rule_demands(rule: str, inputs: list[list[int]], answers: list[list[int]]) -> None:
    found = read_rule(rule)
    right, _ = found.arrays(np.array(inputs), NUMBERS)  # type: ignore[union-attr]
    assert right.tolist() == answers
    assert found.answers(len(inputs[0])) == len(answers[0])


def test_formulas_against_python() -> None:
    """A thousand formulas drawn at random, and what Python makes of them."""
    rng = random.Random(4)

    def drawn(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(("a", "b", "c", "7", "12", "0"))
        return f"({drawn(depth - 1)}{rng.choice((' + ', '-', '*'))}{drawn(depth - 1)})"

    for _ in range(1000):
        text, numbers = f"{drawn(3)} + 0*a", [rng.randrange(10) for _ in range(3)]
        modulus = rng.randint(1, 199)
        expected = eval(text, {"__builtins__": {}}, dict(zip("abc", numbers, strict=True))) % modulus  # noqa: S307 - our own text
        right, _ = read_rule(f"({text}) mod {modulus}").arrays(np.array([numbers]), NUMBERS)  # type: ignore[union-attr]
        assert right.tolist() == [[expected]]


def test_majority_names_all_that_tie() -> None:
    rule = read_rule("majority")
    assert rule(("a", "b", "a")).right == {"a"}  # type: ignore[operator]
    assert rule(("a", "b")).right == {"a", "b"}  # type: ignore[operator]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("", "is neither a word"), ("12", "is neither a word"), ("a +", "ends where"), ("(a", "a bracket is not closed"),
        ("a b", "'b' is not expected there"), ("a mod 0", "mod: is followed by"), ("a mod b", "mod: is followed by"),
        ("a / b", "'/ b' is not understood"), ("maximum", "'maximum' is not a word that"), ("digits of a", "how many digits"),
        ("99 digits of a", "how many digits"), ("__import__('os')", "is not understood"), ("a" * 40, "is not expected there"),
        ("a mod " + "9" * 30, "a number is too large"), (")", "is neither a word"), ("a)", "')' is not expected there"),
    ],
)  # fmt: skip
def test_rules_that_cannot_be_read(rule: str, problem: str) -> None:
    with pytest.raises(RuleError) as refused:
        read_rule(rule)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "inputs", "problem"),
    [
        ("a + b", [[199, 199]], "the answer 398 is not a token"), ("c", [[1, 2]], "c is position 2 of 2"),
        ("a - b", [[1, 2]], "the answer -1 is not a token"), ("ab", [[12, 3]], "letters side by side are digits"),
        ("1 digits of a + b", [[9, 9]], "18 has not 1 digits"),
        ("a*a*a*a*a*a*a*a*a*a", [[199]], "a product is too large"),
    ],
)  # fmt: skip
def test_rules_without_an_answer(rule: str, inputs: list[list[int]], problem: str) -> None:
    with pytest.raises(RuleError) as refused:
        read_rule(rule).arrays(np.array(inputs), NUMBERS)  # type: ignore[union-attr]
    assert problem in str(refused.value)
    with pytest.raises(RuleError, match="is not a number"):
        read_rule("a").arrays(np.array([[0]]), ("x", "0"))  # type: ignore[union-attr]


def test_a_fitted_rule_names_answers_one_by_one_or_at_positions() -> None:
    rule = Fitted(read_rule("reverse"), tuple("abc"), 3)
    assert [sorted(rule(tuple("abc") + tuple("cba")[:n]).right)[0] for n in range(3)] == ["c", "b", "a"]
    placed = Fitted(read_rule("reverse"), tuple("abc"), None, (0, 2))
    assert placed(tuple("abb")) == ["b", "a"]
    with pytest.raises(RunError, match="positions: the rule names 1 answers"):
        Fitted(read_rule("max"), tuple("abc"), None, (0, 2))(tuple("abb"))


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("digits^2", (DIGITS, DIGITS)),
        ("0..2 +  0..2", (NUMBERS[:3], ("+",), NUMBERS[:3])),
        ("{a b}^2 a", (("a", "b"), ("a", "b"), ("a",))),
        ("5", (("5",),)),
    ],
)
def test_domains_in_a_few_words(text: str, choices: tuple[tuple[str, ...], ...]) -> None:
    assert read_domain(text, (*NUMBERS, "+", "a", "b")).choices == choices
    assert read_domain("vocabulary^2", ("x", "y")) == Product((("x", "y"),) * 2)


@pytest.mark.parametrize("text", ["", "  ", "digits^0", "{}^2", "nothing", "3..1", "{a a}", "0..999999999", "a^99^2"])
def test_domains_that_are_none(text: str) -> None:
    with pytest.raises(RunError, match="domain"):
        read_domain(text, ("a", "b"))


def test_tables_and_lists(tmp_path: Path) -> None:
    table, inputs = tmp_path / "rule.csv", tmp_path / "inputs.txt"
    table.write_text("\ufeffinput,answer\n1 2,2\n3 1,3\n")
    found = read_table(table)
    assert found.inputs == [("1", "2"), ("3", "1")]
    assert found.whole(("3", "1")) == ("3",)
    with pytest.raises(RunError, match="has no answer to 9"):
        found.whole(("9",))
    inputs.write_text("1 2\n\n3\n")
    assert read_inputs(inputs) == [("1", "2"), ("3",)]
    for text, problem in (
        ("", "line 1: a table of answers begins with"), ("a,b\n", "line 1"), ("input,answer\n", "has no line with an answer"),
        ("input,answer\n1\n", "line 2: is not an input and an answer"), ("input,answer\n1,2\n1,3\n", "line 3: the input '1'"),
        ("input,answer\n1,2\n2,2 3\n", "line 3: has 2 answers, others have 1"),
    ):  # fmt: skip
        table.write_text(text)
        with pytest.raises(RunError) as refused:
            read_table(table)
        assert problem in str(refused.value)
    inputs.write_text("\n")
    with pytest.raises(RunError, match="has no line with an input"):
        read_inputs(inputs)


def test_functions_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text("def f(tokens):\n    return tokens[0]\n")
    assert load_function(f"{file}:f")(("a", "b")) == "a"
    with pytest.raises(RunError, match="has no function g"):
        load_function(f"{file}:g")
    with pytest.raises(RunError, match="there is no such file"):
        load_function("nowhere.py:f")
    file.write_text("1/0\n")
    with pytest.raises(RunError, match="cannot be run: ZeroDivisionError"):
        load_function(f"{file}:f")
