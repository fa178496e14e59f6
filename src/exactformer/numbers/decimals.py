"""Fractions written as decimals, in integers alone: to nearest, or outwards."""

from __future__ import annotations

from functools import lru_cache

from flint import fmpq


def outwards(above: int, below: int, n: int, down: bool) -> str:
    """above/below to n significant decimals, rounded down or up."""
    if above == 0:
        return "0"
    whole, exponent, rest, _ = _scaled(abs(above), below, n)
    if rest and down == (above < 0):
        whole += 1
    return _decimal(above < 0, whole, exponent, n)


def nearest_decimal(above: int, below: int, n: int) -> str | None:
    """above/below to n significant decimals, rounded to nearest; None on a tie."""
    return common_decimal((above, below), (above, below), n)


def common_decimal(low: tuple[int, int], high: tuple[int, int], n: int) -> str | None:
    """The decimal of n significant digits that two fractions, and so all numbers between them, are rounded to; None if none is.

    >>> common_decimal((9996, 10000), (10001, 10000), 3), common_decimal((1, 3), (2, 5), 3), common_decimal((1, 8), (1, 8), 2)
    ('1.00', None, None)
    """
    nearest = _nearest(*low, n)
    if nearest is None or (high != low and nearest != _nearest(*high, n)):
        return None
    return _decimal(*nearest, n) if nearest[1] else "0"


def _nearest(above: int, below: int, n: int) -> tuple[bool, int, int] | None:
    """Is it negative, n digits, and the exponent of the first; None on a tie."""
    if above == 0:
        return False, 0, 0
    whole, exponent, rest, unit = _scaled(abs(above), below, n)
    if 2 * rest == unit:
        return None
    whole += 2 * rest > unit
    return (above < 0, whole, exponent) if whole < _ten(n) else (above < 0, whole // 10, exponent + 1)


def _scaled(above: int, below: int, n: int) -> tuple[int, int, int, int]:
    """whole, exponent, rest, unit: above/below = (whole + rest/unit) · 10^(exponent + 1 - n), where `whole` has n digits."""
    exponent = ((above.bit_length() - below.bit_length()) * 1233) >> 12  # of the first digit; log10(2) ≈ 1233/4096
    while True:
        shift = n - 1 - exponent
        scaled, unit = (above * _ten(shift), below) if shift >= 0 else (above, below * _ten(-shift))
        whole, rest = divmod(scaled, unit)
        if whole < _ten(n - 1):
            exponent -= 1
        elif whole >= _ten(n):
            exponent += 1
        else:
            return whole, exponent, rest, unit


@lru_cache(maxsize=64)
def _ten(n: int) -> int:
    power: int = 10**n
    return power


def _decimal(negative: bool, whole: int, exponent: int, n: int) -> str:
    if whole == _ten(n):
        whole, exponent = _ten(n - 1), exponent + 1
    return ("-" if negative else "") + _positional(str(fmpq(whole)), exponent)


def _positional(significant: str, exponent: int) -> str:
    """Digits with their point put in; scientific where that would need many zeros."""
    n = len(significant)
    if -5 <= exponent < max(n, 7):
        if exponent < 0:
            return "0." + "0" * (-exponent - 1) + significant
        if exponent + 1 >= n:
            return significant + "0" * (exponent + 1 - n)
        return significant[: exponent + 1] + "." + significant[exponent + 1 :]
    head = significant[0] + ("." + significant[1:] if n > 1 else "")
    return f"{head}e{exponent:+d}".replace("e+", "e")


def times_power(text: str, power: int) -> str:
    """A decimal without exponent times a power of ten, with the same digits.

    >>> times_power("-9.50", 4000), times_power("10.0", -4000), times_power("0.95", 0), times_power("0.95", -4000)
    ('-9.50e4000', '1.00e-3999', '0.95', '9.5e-4001')
    """
    if not power or text == "0":
        return text
    head, _, tail = text.lstrip("-").partition(".")
    significant = (head + tail).lstrip("0")
    exponent = len(head) - 1 - (len(head + tail) - len(significant))
    return "-" * text.startswith("-") + _positional(significant, exponent + power)


def fixed(above: int, below: int, decimals: int) -> str:
    """above/below to a number of decimals after the point, to nearest, ties away from 0.

    >>> fixed(2, 3, 3), fixed(-1, 2, 0), fixed(1, 1000, 2), fixed(-1, 1000, 2)
    ('0.667', '-1', '0.00', '0.00')
    """
    whole, rest = divmod(abs(above) * 10**decimals, below)
    whole += 2 * rest >= below
    digits = str(fmpq(whole)).rjust(decimals + 1, "0")
    text = digits if not decimals else f"{digits[:-decimals]}.{digits[-decimals:]}"
    return f"-{text}" if above < 0 and whole else text
