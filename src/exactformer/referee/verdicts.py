"""The verdict on a token, by what is proved of the true logits and of careful floats.

right               the token is the true one
true tie            several logits are the largest, proved to be equal, and the token is one of them
near tie            another token, and the two true logits are the same number when they are rounded to the engine's format
wrong by rounding   another token, and its true logit is below the largest by less than 4 times the proved error of careful floats
wrong               another token
undecided           none of this is proved
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from exactformer.certified.choosing import Lead
from exactformer.numbers.formats import Format
from exactformer.referee.truth import Known

RIGHT, TRUE_TIE, NEAR_TIE, BY_ROUNDING, WRONG, UNDECIDED = (
    "right", "true tie", "near tie", "wrong by rounding", "wrong", "undecided",
)  # fmt: skip
VERDICTS = (RIGHT, TRUE_TIE, NEAR_TIE, BY_ROUNDING, WRONG, UNDECIDED)
FACTOR = 4  # times the error of a careful pass, within which a wrong token is rounding's

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Verdict:
    """A verdict, with the lead of the true token over the engine's, and why where it is undecided."""

    name: str
    short: tuple[Fraction, Fraction] | None = None
    why: str = ""


def verdict(truth: Known, position: int, tokens: Sequence[int], format: Format, careful: Callable[[], Bounds] | None) -> Verdict:
    """The verdict on the token after a position; of several that an engine gives the largest number, that on the worst.

    Without a `careful` error, nothing is excused by rounding.
    """
    if not tokens:
        return Verdict(WRONG, why="the engine's numbers are no numbers")
    found = [_verdict(truth, position, token, format, careful) for token in tokens]
    return max(found, key=lambda each: VERDICTS.index(each.name))


def _verdict(truth: Known, position: int, token: int, format: Format, careful: Callable[[], Bounds] | None) -> Verdict:
    lead = truth.lead(position)
    if isinstance(lead, str):
        return Verdict(UNDECIDED, why=lead)
    if token == lead.winner or token in lead.ties:
        return Verdict(TRUE_TIE if lead.ties else RIGHT)
    (low, high), (other_low, other_high) = truth.logit(position, lead.winner), truth.logit(position, token)
    short = low - other_high, high - other_low
    near = _rounds_to_the_same(truth, position, lead, token, format)
    if near is not False:
        return Verdict(NEAR_TIE, short) if near else Verdict(UNDECIDED, short, "where the two logits are rounded to is not known")
    if careful is None:
        return Verdict(WRONG, short)
    least, most = careful()
    if short[1] < FACTOR * Fraction(least):
        return Verdict(BY_ROUNDING, short)
    if short[0] >= FACTOR * Fraction(most):
        return Verdict(WRONG, short)
    return Verdict(UNDECIDED, short, "whether rounding explains it is not known")


def _rounds_to_the_same(truth: Known, position: int, lead: Lead, token: int, format: Format) -> bool | None:
    """Are the two true logits the same number of the format? None: that is not known. Rounding keeps the order."""
    low, high = map(format.nearest_rational, truth.logit(position, lead.winner))
    other_low, other_high = map(format.nearest_rational, truth.logit(position, token))
    if low == high == other_low == other_high:
        return True
    return False if other_high < low else None
