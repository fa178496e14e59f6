"""What an author allows: numbers that are not right and are meant so. Nothing is allowed unless it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from flint import fmpq

from exactformer.checking.printed import Claimed, Printed
from exactformer.checking.verdicts import Verdict
from exactformer.messages import Refused
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Exact, Named, Number, Undecided, compare, exact

Float = Literal["float64", "float32"]
WORDS = ("truncated", "printed", "float64", "float32", "within", "mask", "nothing")
ALLOWED = "allowed"
_WITHIN = re.compile(r"within\s+([0-9]{1,4})")
_MASK = re.compile(r"mask\s+(\S+)")
_UNITS = 16  # of the last place of a float: what a short computation may be off by
_FEWEST = {"float64": 15, "float32": 8}  # digits of a number that shows where its floats end
_BITS = {"float64": 52, "float32": 23}


class AllowanceError(Refused):
    """What is not understood."""


@dataclass(frozen=True)
class Allowed:
    """`printed`: what follows from the printed numbers before it; `floats`: what float arithmetic gives instead of the number;
    `within`: so many units of the last place; `masks`: numbers that stand for -inf."""

    truncated: bool = False
    printed: bool = False
    floats: frozenset[str] = frozenset()
    within: int = 0
    masks: tuple[Exact, ...] = ()

    def __or__(self, other: Allowed) -> Allowed:
        return Allowed(
            self.truncated or other.truncated, self.printed or other.printed, self.floats | other.floats,
            max(self.within, other.within), (*self.masks, *other.masks),
        )  # fmt: skip


NOTHING = Allowed()


def allowed(words: Sequence[str]) -> Allowed:
    """
    >>> allowed(["truncated", "within 2", "mask -1e9"])
    Allowed(truncated=True, printed=False, floats=frozenset(), within=2, masks=(exact('-1000000000'),))
    """
    found = NOTHING
    for word in (" ".join(each.split()) for each in words):
        if word in ("float64", "float32"):
            found |= Allowed(floats=frozenset({word}))
        elif word in ("truncated", "printed"):
            found |= replace(NOTHING, **{word: True})  # type: ignore[arg-type]
        elif match := _WITHIN.fullmatch(word):
            found |= Allowed(within=int(match[1]))
        elif match := _MASK.fullmatch(word):
            try:
                found |= Allowed(masks=(exact(match[1].replace("−", "-")),))
            except ValueError as error:
                raise AllowanceError(f"mask: {error}") from None
        elif word != "nothing":
            near = get_close_matches(word.partition(" ")[0], WORDS, 1)
            hint = f"did you mean {near[0]}?" if near else "there are truncated, printed, float64, float32, within 1, mask -1e9"
            raise AllowanceError(f"{word[:40]!r} is nothing that can be allowed: {hint}")
    return found


def is_allowed(x: Any, printed: Claimed, verdict: Verdict, carried_on: bool, noise: str, by: Allowed) -> bool:
    """Is a number that is not right one that its author allows?"""
    if by is NOTHING or not isinstance(printed, Printed):
        return False
    if x is MASKED:
        return isinstance(printed.value, Exact) and any(mask.value == printed.value.value for mask in by.masks)
    if (verdict is Verdict.TRUNCATED and by.truncated) or (carried_on and by.printed) or noise in by.floats:
        return True
    if not by.within or printed.place is None or printed.value is None or not isinstance(x, Exact | Named):
        return False
    return _near(x, printed.value, Exact(printed.unit.value * by.within))


def noise(x: Any, printed: Claimed) -> Float | Literal[""]:
    """Is it the decimal of a float that arithmetic with floats may well give instead of the number?

    >>> from exactformer.checking.printed import read
    >>> noise(exact("2.3576"), read("2.3575999999999997")), noise(exact("0.1"), read("0.10000000149")), noise(exact(2), read("2.5"))
    ('float64', 'float32', '')
    """
    if not isinstance(printed, Printed) or printed.place is None or not isinstance(x, Exact | Named):
        return ""
    assert isinstance(printed.value, Exact)
    digits = len(re.sub(r"[eE].*|[^0-9]", "", printed.digits).lstrip("0"))
    kinds: tuple[Float, ...] = ("float64", "float32")
    for kind in kinds:
        if digits >= _FEWEST[kind] and _is_float(printed.value, kind, digits):
            size = max(abs(printed.value.value), fmpq(1))
            if _near(x, printed.value, Exact(size * _UNITS / fmpq(2) ** _BITS[kind])):
                return kind
    return ""


def _is_float(value: Exact, kind: str, digits: int) -> bool:
    """Is it a float as programs write one: the shortest decimal, or rounded to these digits?"""
    nearest = float(value.fraction) if abs(value.fraction) < 10**300 else 0.0
    rounded = float(np.float32(nearest)) if kind == "float32" else nearest
    return float(f"{rounded:.{digits - 1}e}") == nearest or (kind == "float32" and float(str(np.float32(nearest))) == nearest)


def _near(x: Number, value: Number, radius: Exact) -> bool:
    try:
        return compare(x, value + radius) <= 0 <= compare(x, value - radius)
    except Undecided:
        return False
