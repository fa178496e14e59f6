"""Balls read as fractions: what is in one is then decided without an operation that rounds."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from exactformer.numbers import Exact, Number


def fraction(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


def ends(ball: arb) -> tuple[Fraction, Fraction]:
    middle, radius = fraction(ball.mid()), fraction(ball.rad())
    return middle - radius, middle + radius


def holds(ball: arb, x: Number | arb) -> bool:
    """Is a rational in the ball, or can a named number (300 bits of it) or what another ball holds be?"""
    low, high = ends(ball)
    below, above = ends(x) if isinstance(x, arb) else (x.fraction,) * 2 if isinstance(x, Exact) else x.enclosure(300)
    return low <= above and below <= high
