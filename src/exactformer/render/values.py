"""One number as it is shown: what it is, its text, its digits. Every rendering starts here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named, Number, Undecided, Undefined
from exactformer.numbers.balls import ball_text
from exactformer.numbers.nearness import nearly

_LONGEST = 60  # characters of a closed form that stands in a line


@dataclass(frozen=True)
class Shown:
    """status: exact, named, ball, masked, undefined, float or token. `digits` and `written` are there for named numbers."""

    value: Any
    status: str
    text: str
    written: str = ""
    digits: str = ""
    recovered: bool = False
    why: str = ""

    @property
    def kind(self) -> str:
        """How it is drawn: a ball as plainly as a float."""
        return "recovered" if self.recovered else "float" if self.status == "ball" else self.status

    @property
    def marked(self) -> str:
        return f"{self.text}*" if self.recovered else self.text

    @property
    def too_long(self) -> bool:
        """Is the closed form too long to stand in a line, so that digits stand for it?"""
        return self.text.startswith("≈")

    @property
    def latex(self) -> str:
        if self.too_long:
            return rf"\approx {self.digits}"
        if isinstance(self.value, Number):
            return self.value.latex
        return r"-\infty" if self.status == "masked" else rf"\text{{{self.text}}}"


def show(value: Any, digits: int = 12) -> Shown:
    """
    >>> from exactformer.numbers import exact, exp
    >>> show(exact("1/2")).text, show(exp(1) / (exp(1) + exp(2))).digits
    ('1/2', '0.268941421370')
    """
    if value is MASKED:
        return Shown(value, "masked", "-inf")
    if isinstance(value, Exact):
        written = "" if value.origin is None else _short(value.written)
        return Shown(value, "exact", str(value), written, recovered=value.recovered)
    if isinstance(value, Named):
        return _named(value, digits)
    if value is None or isinstance(value, str):  # a token, or none
        return Shown(value, "token", value or "none")
    if isinstance(value, Undefined):
        return Shown(value, "undefined", "undefined", why=value.why)
    if isinstance(value, arb):
        if not value.is_finite():
            return Shown(value, "undefined", "?", why="of an entry that nobody may look at, nothing is claimed")
        return Shown(value, "ball", ball_text(value, digits))
    return _float(value)


def largest(row: Any, count: int) -> list[int]:
    """The places of the largest entries by their midpoints: which to show, not a proved order."""
    return sorted(range(len(row)), key=lambda n: midpoint(row[n]), reverse=True)[:count]


def midpoint(value: Any) -> float:
    if isinstance(value, arb):
        return float(value.mid())
    if isinstance(value, Undefined) or value is MASKED or value is None:
        return float("-inf")
    if not isinstance(value, Number):
        return float(value)
    try:
        return value.to_float()
    except OverflowError:
        return float("inf") * value.sign()


def _named(value: Named, digits: int) -> Shown:
    try:
        proved = nearly(value, digits)
    except Undecided as undecided:
        proved = f"({undecided})"
    text = _short(str(value))
    return Shown(value, "named", text or f"≈ {proved}", _short(value.written) if text else "", proved)


def _short(text: str) -> str:
    """The text, or nothing where nobody would read it."""
    return text if len(text) <= _LONGEST and not text.startswith("≈") else ""


def _float(value: Any) -> Shown:
    if value != value:
        return Shown(value, "undefined", "nan", why="not a number")
    if value in (float("inf"), float("-inf")):
        return Shown(value, "masked", "-inf") if value < 0 else Shown(value, "undefined", "inf", why="overflow")
    return Shown(value, "float", str(value))
