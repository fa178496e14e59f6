"""One number as it is shown: what it is, its text, its digits. Every rendering starts here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactformer.model.exact_arithmetic import MASKED
from exactformer.numbers import Exact, Named, Undecided, Undefined

_LONGEST = 60  # characters of a closed form that stands in a line


@dataclass(frozen=True)
class Shown:
    """status: exact, named, masked, undefined, float or token. `digits` and `written` are there for named numbers."""

    status: str
    text: str
    latex: str
    written: str = ""
    digits: str = ""
    recovered: bool = False
    why: str = ""

    @property
    def kind(self) -> str:
        return "recovered" if self.recovered else self.status

    @property
    def marked(self) -> str:
        return f"{self.text}*" if self.recovered else self.text


def show(value: Any, digits: int = 12) -> Shown:
    """
    >>> from exactformer.numbers import exact, exp
    >>> show(exact("1/2")).text, show(exp(1) / (exp(1) + exp(2))).digits
    ('1/2', '0.268941421370')
    """
    if value is MASKED:
        return Shown("masked", "-inf", r"-\infty")
    if isinstance(value, Exact):
        written = "" if value.origin is None else _short(value.written)
        return Shown("exact", str(value), value.latex, written, recovered=value.recovered)
    if isinstance(value, Named):
        return _named(value, digits)
    if value is None or isinstance(value, str):  # a token, or none
        return Shown("token", value or "none", rf"\text{{{value or 'none'}}}")
    if isinstance(value, Undefined):
        return Shown("undefined", "undefined", r"\text{undefined}", why=value.why)
    return _float(value)


def _named(value: Named, digits: int) -> Shown:
    try:
        proved = value.digits(digits)
    except Undecided as undecided:
        proved = f"({undecided})"
    text = str(value)
    if not _short(text):
        return Shown("named", f"≈ {proved}", rf"\approx {proved}", digits=proved)
    return Shown("named", text, value.latex, _short(value.written), proved)


def _short(text: str) -> str:
    """The text, or nothing where nobody would read it."""
    return text if len(text) <= _LONGEST and not text.startswith("≈") else ""


def _float(value: Any) -> Shown:
    if value != value:
        return Shown("undefined", "nan", r"\text{nan}", why="not a number")
    if value in (float("inf"), float("-inf")):
        return Shown("masked", "-inf", r"-\infty") if value < 0 else Shown("undefined", "inf", r"\infty", why="overflow")
    return Shown("float", str(value), str(value))
