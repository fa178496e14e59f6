"""How a number is written into a lesson, and what is read there: a fraction, a closed form, a decimal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import arb, fmpq

from exactformer.checking.printed import Claimed, Printed, Token, read_any
from exactformer.checking.printed import read as read_printed
from exactformer.checking.verdicts import Verdict, judge, nearest, written_like
from exactformer.lessons.lesson import Spot, Style
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named, Undecided, Undefined

SHORT = 14  # characters of a fraction or closed form that a student reads at a glance
DECIMALS = 4
HUNDRED = Exact(fmpq(100))


def printed(text: str, of_tokens: bool = False, percent: bool = False) -> Claimed:
    r"""What is read; ValueError says what is wrong with it. 66.5 % is 0.665 with three decimals, and is rewritten as it was.

    >>> printed("0.270").place, printed("e/(1+e)").value, printed(r"\frac{1}{1+e}").value
    (-3, <e/(1+e)>, <1/(1+e)>)
    >>> printed("66.5", percent=True).value, printed("66.5", percent=True).place, printed("66.5", percent=True).rewritten(731)
    (exact('133/200'), -3, '73.1')
    """
    if of_tokens:
        return Token(text)
    if percent:
        found = read_any(text)
        whole, place = found.value, found.place
        return replace(found, value=None if whole is None else whole / HUNDRED, place=None if place is None else place - 2)
    return read_any(text)


def is_number(spot: Spot) -> bool:
    """Is it a number as one is written, or one that is still to be written or left out?"""
    try:
        return spot.open or spot.text in ("…", "...") or bool(printed(spot.text))
    except (ValueError, Undecided):
        return False


def with_minus(text: str) -> str:
    """A number as readers see it, with the sign of -∞ everywhere.

    >>> with_minus("-1/2"), with_minus("1 - 7.44e-44")
    ('−1/2', '1 − 7.44e−44')
    """
    return text.replace("-", "−")


def filled(x: Any, spot: Spot) -> str:
    """What is written for a question mark: the decimals that are asked for, of a percentage one, else the shortest form.

    In prose and tables with the minus sign of print, in code and formulas with that of code.
    """
    text = _filled(x, spot)
    return text if isinstance(x, str) or spot.style in ("code", "math") else with_minus(text)


def _filled(x: Any, spot: Spot) -> str:
    if isinstance(x, str) or x is MASKED:
        return written(x, spot.style)
    value = x * HUNDRED if spot.percent and isinstance(x, Exact | Named | arb) else x
    if spot.places is not None:
        return decimal(value, spot.places)
    if spot.percent:
        return str(value) if isinstance(value, Exact) and value.value.q == 1 else decimal(value, 1)
    return written(value, spot.style)


def written(x: Any, style: Style = "plain") -> str:
    """The shortest exact form that can be read at a glance, else proved decimals.

    >>> from exactformer.numbers import exact, exp
    >>> e = exp(1)
    >>> written(exact("1/2")), written(e / (1 + e)), written(e / (1 + e + e**3 * 7 / 3)), written(exact("1/2"), "math")
    ('1/2', 'e/(1+e)', '0.0537', '1/2')
    """
    if x is MASKED:
        return r"-\infty" if style == "math" else "-∞"
    if isinstance(x, str):
        return x
    if isinstance(x, Exact | Named):
        for text in (_latex(x), str(x)) if style == "math" else (str(x),):
            if (
                text
                and len(text) <= (3 if style == "math" and text.startswith("\\") else 1) * SHORT
                and "≈" not in text
                and _says(x, text)
            ):
                return text
    return decimal(x, DECIMALS)


def _latex(x: Exact | Named) -> str:
    return x.latex if isinstance(x, Named) else ""


def _says(x: Any, text: str) -> bool:
    """Is it read as the number that it is?"""
    try:
        return judge(x, printed(text)) is Verdict.RIGHT
    except (ValueError, Undecided):
        return False


def decimal(x: Any, places: int) -> str:
    """So many proved decimals, rounded; so many digits where the number is smaller than these."""
    if isinstance(x, Undefined) or x is None:
        raise ValueError(f"is undefined: {x.why}" if isinstance(x, Undefined) else "is no number")
    value = Exact(x.mid().fmpq()) if isinstance(x, arb) else x
    if not isinstance(value, Exact | Named):
        raise ValueError(f"is {value}, whose decimals are not proved")
    units = nearest(value, -places)
    tiny = units == 0 and not (isinstance(value, Exact) and value.value == 0)
    text = value.digits(places) if tiny else Printed("0." + "0" * places, None, -places).rewritten(units)
    if judge(x, read_printed(text)) is not Verdict.RIGHT:
        raise ValueError("has decimals that could not be proved")
    return text


def corrected(x: Any, claim: Claimed, spot: Spot) -> str:
    """What should stand there: a decimal with as many places, an exact form as an exact form."""
    if isinstance(claim, Printed) and claim.place is not None and x is not MASKED:
        value = Exact(x.mid().fmpq()) if isinstance(x, arb) else x
        if isinstance(value, Exact | Named):
            return written_like(value, claim)
    return filled(x, replace(spot, text="?"))
