"""What programs mean in plain Python, held against other Python for the same; and programs that have no meaning."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from exactformer.programs import PROGRAMS, Program, ProgramError, aggregate, apply, count, indices, mean, select, tokens

EVERYWHERE = select(indices, indices, lambda key, query: True)


def brackets(given: tuple[str, ...]) -> list[str]:
    found, depth, failed = [], 0, False
    for token in given:
        depth += 1 if token == "(" else -1
        failed |= depth < 0
        found.append("wrong" if failed else "open" if depth else "balanced")
    return found


MEANINGS: dict[str, Any] = {
    "histogram": lambda given: [given.count(token) for token in given],
    "reverse": lambda given: list(given[::-1]),
    "sort": sorted,
    "brackets": brackets,
    "fraction": lambda given: [Fraction(given[:i].count(token), i) if i else 0 for i, token in enumerate(given)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_five_programs_mean_what_they_say(name: str) -> None:
    program = PROGRAMS[name]
    for n in range(1, 6):
        for given in product(program.vocabulary, repeat=n):
            if program.where is None or program.where(given):
                assert program(given) == MEANINGS[name](given), given


def test_every_input_that_is_meant_is_in_the_domain_once() -> None:
    assert PROGRAMS["histogram"].inputs(3) == [("BOS", *given) for n in (1, 2, 3) for given in product("abc", repeat=n)]
    assert len(PROGRAMS["sort"].inputs(4)) == 4 + 4 * 3 + 4 * 3 * 2 + 24


def test_operators_and_constants() -> None:
    given = ("a", "b", "a")

    def run(output: Any) -> list[Any]:
        return Program(output, ("a", "b"))(given)

    assert run((tokens == "a") & ~(indices == 0)) == [False, False, True]
    assert run((tokens != "a") | (indices >= 2)) == [False, True, True]
    assert run(3 - indices * 2 + 1) == [4, 2, 0]
    assert run(count(select(tokens, "a", "=="))) == [2, 2, 2]
    assert run(count(~select(tokens, "a", "==") | select(indices, indices, "=="))) == [2, 1, 2]
    assert run(mean(EVERYWHERE, tokens == "a")) == [Fraction(2, 3)] * 3
    assert run(mean(select(indices, indices, "<"), indices, default=-1)) == [-1, 0, Fraction(1, 2)]
    assert run(aggregate(select(indices, indices, lambda key, query: key == query + 1), tokens, default="none")) == [
        "b",
        "a",
        "none",
    ]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: Program(aggregate(EVERYWHERE, tokens), "ab")("ab"), "'a' and others are held at once in a b; mean takes averages"),
        (lambda: Program(aggregate(select(tokens, "a", "=="), tokens), "ab")("b"), "position 0 of b looks nowhere: give a default"),
        (lambda: Program(apply(lambda token: None, tokens), "ab")("b"), "says None of 'b', which comes in b"),
        (lambda: Program(apply(lambda token: 0.5, tokens), "ab")("b"), "0.5 is a float: values are texts, whole numbers"),
        (lambda: Program(apply(lambda index: 1 // index, indices), "ab").model(2), r"fails for 0 \(ZeroDivisionError"),
        (lambda: Program(tokens, "ab")("c"), r"'c' is not in its vocabulary \(a b\)"),
        (lambda: Program(tokens, "aa"), "has a token twice"),
        (lambda: Program(tokens, ("a", "BOS")), "has BOS, with which every input begins"),
        (lambda: Program("a", "ab"), "the output is 'a', not a value at every position"),  # type: ignore[arg-type]
        (lambda: Program(tokens, "ab").model(0), "length: 0 is not a whole number from 1 to 64"),
        (lambda: Program(tokens, "ab").inputs(20), "there are 2,097,150 sequences"),
        (lambda: select(tokens, tokens, "=~"), "'=~' is not one of == != <"),
        (lambda: apply(len), "give the values that it is applied to"),
        (lambda: bool(tokens == "a"), "neither true nor false"),
        (lambda: mean(EVERYWHERE, tokens).run(("a",), {}), "'a' is not a number"),
        (lambda: Program(apply(lambda token: (token, 1), tokens), "ab").model(2), "is not a text, a number or a truth value"),
        (lambda: Program(apply(lambda i: 1 if i else "1", indices), "ab").model(2), "two answers are written alike"),
        (lambda: Program(apply(lambda *all_: 0, *[indices] * 3), "ab").model(64), "64 × 64 × 64 combinations of values"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(made: Any, why: str) -> None:
    with pytest.raises(ProgramError, match=why):
        made()
