"""Random models as worksheets, and their numbers as printed: rounded, or with one digit changed."""

from __future__ import annotations

import json
import random
from fractions import Fraction

from benchmarks.trials.bound import MODEL

from exactformer.numbers import Exact, Named


def model(chance: random.Random) -> str:
    def matrix(rows: int, columns: int) -> str:
        return json.dumps([[f"{chance.randint(-200, 200) / 100:.2f}" for _ in range(columns)] for _ in range(rows)])

    return MODEL.format(W_E=matrix(3, 2), W_Q=matrix(2, 2), W_in=matrix(2, 3), W_out=matrix(3, 2))


def middle(x: Exact | Named) -> Fraction:
    """The value, to far more places than are printed here."""
    return x.fraction if isinstance(x, Exact) else sum(x.enclosure(300)) / 2


def printed(units: int, decimals: int) -> str:
    digits = str(abs(units)).zfill(decimals + 1)
    body = digits[:-decimals] + "." + digits[-decimals:] if decimals else digits
    return ("-" if units < 0 else "") + body


def claimed_number(x: Exact | Named, chance: random.Random, change: bool) -> str | None:
    """The value rounded to some decimals; with `change`, one digit of that is another. None where that happens to be right too."""
    decimals = chance.randint(1, 8)
    value, unit = middle(x), Fraction(1, 10**decimals)
    number = printed(round(value / unit), decimals)
    if not change:
        return number
    place = chance.choice([n for n, c in enumerate(number) if c.isdigit()])
    digit = chance.choice([d for d in "0123456789" if d != number[place]])
    number = number[:place] + digit + number[place + 1 :]
    return None if abs(Fraction(number) - value) <= unit / 2 else number  # half-way, both sides are right
