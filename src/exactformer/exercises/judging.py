"""The verdict on an answer. Every "equal" and every "wrong" is a proof; what is not proved is undecided."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import gcd
from typing import Any, NamedTuple

from exactformer.checking.printed import Printed, read
from exactformer.checking.verdicts import Verdict, judge
from exactformer.exercises.cell import Cell
from exactformer.exercises.slips import slips
from exactformer.messages import short
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named, Number, Undecided, Undefined, UndefinedValue, compare
from exactformer.numbers.budget import Budget
from exactformer.numbers.expression import Expression, expression, size
from exactformer.showing import Shown

LONGEST = 4000  # characters of an answer, all its lines together
_MOST_LINES = 30
FEWEST = 3  # decimals that count, unless a key says otherwise
_BUDGET = Budget(work=400_000)
_ROUGHLY = 1e-6  # how far floats may be off
_MOST_SLIPS = 2  # that are named
_FRACTION = re.compile(r"[-−]?\s*([0-9]{1,400})\s*/\s*([0-9]{1,400})")
_EITHER = re.compile(r"[+-]?[0-9.]+e[+-][0-9]+")
_HIDDEN = ("-inf", "-infinity", "-oo", "-∞", "masked", "hidden")
_UNDEFINED = ("undefined", "⊘", "nan")


class Kind(StrEnum):
    EQUAL = "equal"
    SIMPLER = "simpler"  # equal, and could be simpler
    DECIMALS = "decimals"  # right to the decimals given
    FEW = "few"  # right, but with fewer decimals than count
    WRONG = "wrong"
    UNDECIDED = "undecided"
    UNREADABLE = "unreadable"


RIGHT = (Kind.EQUAL, Kind.SIMPLER, Kind.DECIMALS)


@dataclass(frozen=True)
class Judgement(Shown):
    """What is said of an answer. `slip` names the kind of mistake that gives exactly the answer, where there is one."""

    kind: Kind
    message: str
    answer: str
    slip: str = ""
    good: int = 0  # lines before the first that is not right
    lines: int = 1

    @property
    def right(self) -> bool:
        return self.kind in RIGHT

    @property
    def credit(self) -> float:
        """The share of its lines up to the first that is not right."""
        return self.good / self.lines


class _Said(NamedTuple):
    kind: Kind
    message: str
    slip: str = ""


def judged(answer: str, cell: Cell, decimals: int = FEWEST) -> Judgement:
    """The verdict on what somebody typed: one line, or a derivation whose lines are all to be equal.

    >>> from exactformer import load
    >>> from exactformer.exercises.cell import find_cell
    >>> cell = find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]")
    >>> for answer in ("1/(1+e)", "1/(1+e^2/e)", "0.269", "0.2689", "0.27", "e/(1+e)", "0.2699", "two"):
    ...     print(judged(answer, cell).kind, end=" ")
    equal simpler decimals decimals few wrong wrong unreadable
    >>> judged("e/(1+e)", cell).message
    'wrong; it fits this slip: the column after is used: this is attn.pattern[0, 1, 1]'
    >>> judged("e/(e+e^2) = 1/(1+e) = 0.27000", cell).credit
    0.6666666666666666
    """
    if len(answer) > LONGEST:
        return Judgement(Kind.UNREADABLE, f"an answer of {len(answer):,} characters is longer than {LONGEST:,}", answer[:LONGEST])
    lines = [line for line in (part.strip() for part in re.split(r"[=\n]|(?=≈)", answer)) if line]
    if not lines or len(lines) > _MOST_LINES:
        problem = f"an answer of {len(lines)} lines is longer than {_MOST_LINES}" if lines else "there is no answer yet"
        return Judgement(Kind.UNREADABLE, problem, answer)
    for n, line in enumerate(lines):
        said = _judged(line.removeprefix("≈").strip(), cell, 1 if line.startswith("≈") and n < len(lines) - 1 else decimals)
        if said.kind not in RIGHT:
            place = f"line {n + 1}, {short(line)}: " if len(lines) > 1 else ""
            return Judgement(said.kind, place + said.message, answer, said.slip, n, len(lines))
    return Judgement(said.kind, said.message, answer, good=len(lines), lines=len(lines))


def _judged(text: str, cell: Cell, decimals: int) -> _Said:
    """The verdict on one line."""
    truth = cell.value
    if not isinstance(truth, Exact | Named):
        return _words(text, cell)
    if text.lower().replace("−", "-") in _HIDDEN:
        return _Said(Kind.WRONG, "wrong: this position may be looked at, so there is a number")
    if _EITHER.fullmatch(text):
        return _Said(Kind.UNREADABLE, f"'{short(text)}' can be read in two ways: write 2*e-1, or 0.2 (or 2E-1)")
    try:
        typed = expression(text)
    except Undecided as undecided:
        return _Said(Kind.UNDECIDED, str(undecided))
    except (ValueError, ArithmeticError) as error:
        return _Said(Kind.UNREADABLE, str(error))
    try:
        return _number(text, typed, truth, cell, decimals)
    except (Undecided, UndefinedValue):
        return _Said(Kind.UNDECIDED, "undecided: neither proved equal nor proved different within the budget")


def _words(text: str, cell: Cell) -> _Said:
    """Of a masked entry, an undefined one or a token, the answer is a word."""
    truth, said = cell.value, text.strip("\"'“”` ")
    if truth is MASKED:
        right = said.lower().replace("−", "-").replace(" ", "") in _HIDDEN
        return (
            _Said(Kind.EQUAL, "right: hidden by the mask") if right else _Said(Kind.WRONG, "wrong: may this position be looked at?")
        )
    if isinstance(truth, Undefined):
        if truth.undecided:
            return _Said(Kind.UNDECIDED, f"undecided: {truth.why}")
        right = said.lower() in _UNDEFINED
        return (
            _Said(Kind.EQUAL, f"right: undefined ({truth.why})") if right else _Said(Kind.WRONG, "wrong: does this number exist?")
        )
    if truth is None:
        return _Said(Kind.UNDECIDED, "undecided: no token was proved to follow")
    right = said == str(truth) or text == str(truth)
    return _Said(Kind.EQUAL, "right") if right else _Said(Kind.WRONG, "wrong: which of the logits is the largest?")


def _number(text: str, typed: Expression, truth: Number, cell: Cell, decimals: int) -> _Said:
    printed = _decimal(text)
    if compare(typed.value, truth, _BUDGET) == 0:
        simplest = str(truth)
        if (
            (printed is None or printed.place is None)
            and not simplest.startswith("≈")
            and (typed.size > size(simplest) or _reducible(text))
        ):
            return _Said(Kind.SIMPLER, f"equal (proved), and could be simpler: {simplest}")
        return _Said(Kind.EQUAL, "equal (proved)")
    if printed is not None and printed.place is not None and printed.place < 0:
        verdict = judge(truth, printed)
        if verdict is Verdict.UNDECIDED:
            return _Said(Kind.UNDECIDED, "undecided: the digits could not be proved")
        if verdict in (Verdict.RIGHT, Verdict.TRUNCATED):
            places = f"{-printed.place} decimal{'s' * (printed.place < -1)}"
            if -printed.place < decimals or printed.value == 0:
                count = "but of a number that is not 0, digits count" if printed.value == 0 else f"but {decimals} decimals count"
                return _Said(Kind.FEW, f"right as far as it goes: {places}, {count}")
            cut = ", cut off" if verdict is Verdict.TRUNCATED else ""
            return _Said(Kind.DECIMALS, f"right to the decimals given ({places}{cut})")
    found = dict.fromkeys(_fitting(typed.value, printed, cell))
    names, words = [name for name, _ in found], [words for _, words in found]
    if not found:
        return _Said(Kind.WRONG, "wrong")
    fits = "it fits this slip" if len(words) == 1 else "it fits these slips"
    return _Said(Kind.WRONG, f"wrong; {fits}: {'; or '.join(words)}", names[0])


def _reducible(text: str) -> bool:
    """Is it a fraction like 2/4?"""
    match = _FRACTION.fullmatch(text)
    return match is not None and gcd(int(match[1]), int(match[2])) > 1


def _decimal(text: str) -> Printed | None:
    """The answer as a decimal with its last place, where it is one."""
    try:
        return read(text)
    except ValueError:
        return None


def _fitting(value: Number, printed: Printed | None, cell: Cell) -> list[tuple[str, str]]:
    """The slips that give exactly this value; of a decimal, exactly these decimals."""
    found: list[tuple[str, str]] = []
    for slip in slips(cell, _nearness(value, printed)):
        if isinstance(slip.value, Exact | Named) and _fits(value, printed, slip.value):
            found.append((slip.name, slip.words))
            if len(found) == _MOST_SLIPS:
                break
    return found


def _nearness(value: Number, printed: Printed | None) -> Callable[[float], bool]:
    """May a float be the answer, as far as floats show?"""
    try:
        about = value.to_float()
    except (OverflowError, Undecided):
        return lambda other: True
    unit = 0.0 if printed is None or printed.place is None else 10.0 ** max(printed.place, -300)
    return lambda other: not abs(other - about) > unit + _ROUGHLY * (1 + abs(about))


def _fits(value: Number, printed: Printed | None, of_slip: Any) -> bool:
    try:
        if compare(value, of_slip, _BUDGET) == 0:
            return True
        if printed is None or printed.place is None or printed.place > -2 or printed.value == 0:
            return False
        return judge(of_slip, printed) in (Verdict.RIGHT, Verdict.TRUNCATED)
    except (Undecided, UndefinedValue):
        return False
