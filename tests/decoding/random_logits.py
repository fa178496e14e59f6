"""Logits to decode: random fractions, and balls around them."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from flint import arb

from exactformer.numbers import exact
from exactformer.numbers.enclosure import precision


def balls(logits: list[Any], bits: int = 128) -> list[arb]:
    """With a radius, as a pass leaves them."""
    with precision(bits):
        return [arb(exact(x).value) + arb(0, arb(2) ** (10 - bits)) for x in logits]


def fractions(rng: random.Random, ties: bool) -> list[Fraction]:
    size = rng.randint(2, 9)
    values = [Fraction(rng.randint(-40, 40), rng.choice((1, 3, 8, 10))) for _ in range(size)]
    return [rng.choice(values[: size // 2 + 1]) for _ in values] if ties else values
