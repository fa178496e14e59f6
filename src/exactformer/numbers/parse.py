"""How rationals come in: from text, integers, fractions and decimals; from floats only with `from_float`."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpz

from exactformer.messages import short
from exactformer.numbers.nodes import Exact, Number, exacts

_DIGITS = "[0-9]+(?:_[0-9]+)*"  # ASCII: other alphabets have digits too, which are easily taken for something else
_DECIMAL = re.compile(rf"([+-]?)({_DIGITS})?(?:\.({_DIGITS})?)?(?:[eE]([+-]?[0-9]+))?")
_BLANKS = " \t\r\n"
_TENS = tuple(fmpz(10) ** k for k in range(40))
_LONGEST = 10_000  # digits of a literal, and size of its decimal exponent: enough for anyone, too little to fill memory


def exact(value: Any) -> Exact:
    """The rational that `value` denotes: text such as "0.3", "3/10" or "1e-5", an integer, a Fraction or a Decimal.

    >>> exact("0.3"), exact("-3/10"), exact(7), exact("1e-5")
    (exact('3/10'), exact('-3/10'), exact('7'), exact('1/100000'))
    >>> exact(0.3)
    Traceback (most recent call last):
    TypeError: the float 0.3 is not converted implicitly: write exact("0.3") for the decimal, ...
    """
    if isinstance(value, str):
        return Exact(_rational(value))
    number = as_number(value)
    if isinstance(number, Exact):
        return number
    raise TypeError(f"{value!r} is not a rational number")


def exact_many(values: Sequence[int | str]) -> list[Exact]:
    """Of many numbers as a file writes them the same as `exact` of each. Spellings that come again and again are read once.

    >>> exact_many(["-0.5", 3, "1e-2", "2/3"])
    [exact('-1/2'), exact('3'), exact('1/100'), exact('2/3')]
    """
    spellings = dict.fromkeys(values)
    if 2 * len(spellings) > len(values):
        return exacts([_value(value) for value in values])
    read = dict(zip(spellings, exacts([_value(value) for value in spellings]), strict=True))
    return [read[value] for value in values]


def _value(value: int | str) -> fmpq:
    """Nearly all are short and without an exponent: an integer over a power of ten, or over another integer."""
    if isinstance(value, int):
        return fmpq(value)
    if len(value) <= len(_TENS) and value.isascii():
        if "/" in value:
            above, _, below = value.partition("/")
            if above.removeprefix("-").isdecimal() and below.isdecimal() and (parts := int(below)):
                return fmpq(int(above), parts)
        whole, _, fraction = value.partition(".")
        digits = whole + fraction
        if digits.removeprefix("-").isdecimal():
            return fmpq(int(digits), _TENS[len(fraction)])
    return exact(value).value


def from_float(value: Any) -> Exact:
    """The rational that a Python or NumPy float is, to the last bit.

    >>> from_float(0.3)
    exact('5404319552844595/18014398509481984')
    """
    if not isinstance(value, float) and type(value).__module__ != "numpy":
        raise TypeError(f"from_float takes a float, not {type(value).__name__}")
    as_float = value if isinstance(value, float) else value.item()
    if not isinstance(as_float, float):
        raise TypeError(f"from_float takes a float, not {type(value).__name__}")
    if not math.isfinite(as_float):
        raise ValueError(f"{as_float} is not a number to compute with")
    return Exact(fmpq(*as_float.as_integer_ratio()))


def equal_float(number: Any) -> float | None:
    """The float64 that a number is; None where it is none.

    >>> equal_float(from_float(0.3)), equal_float(exact("3/10"))
    (0.3, None)
    """
    if not isinstance(number, Exact):
        return None
    ratio = int(number.value.p), int(number.value.q)
    try:
        value = ratio[0] / ratio[1]  # rounded correctly, whatever the size of the integers
    except OverflowError:
        return None
    return value if value.as_integer_ratio() == ratio else None


def as_number(value: Any) -> Number | None:
    """`value` as a number where that loses nothing; None for what is no number; a float is refused."""
    if isinstance(value, Number):
        return value
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Exact(fmpq(value))
    if isinstance(value, fmpq):
        return Exact(value)
    if isinstance(value, fmpz):
        return Exact(fmpq(value))
    if isinstance(value, Fraction):
        return Exact(fmpq(value.numerator, value.denominator))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not a number to compute with")
        return Exact(_rational(str(value)))
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a number to compute with")
    if isinstance(value, float) or (isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational)):
        raise TypeError(
            f"the float {value} is not converted implicitly: "
            f'write exact("{value}") for the decimal, or from_float({value}) for the binary fraction that the float is'
        )
    if isinstance(value, numbers.Integral):  # NumPy's integers
        return Exact(fmpq(int(value)))
    return None


def required(value: Any) -> Number:
    """`value` as a number, or a TypeError that says what it is."""
    number = as_number(value)
    if number is None:
        hint = f': write exact("{value}")' if isinstance(value, str) else ""
        raise TypeError(f"{value!r} is not a number{hint}")
    return number


def _rational(text: str) -> fmpq:
    stripped = text.strip(_BLANKS)
    if len(stripped) > _LONGEST:
        raise ValueError(f"a number of {len(stripped):,} characters is longer than {_LONGEST:,}")
    numerator, slash, denominator = stripped.partition("/")
    if slash:
        below = _decimal(denominator.strip(_BLANKS), text)
        if below == 0:
            raise ValueError(f"'{short(text)}' divides by zero")
        return _decimal(numerator.strip(_BLANKS), text) / below
    return _decimal(stripped, text)


def _decimal(text: str, whole: str) -> fmpq:
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise ValueError(
            f"'{short(whole)}' is not a number: write an integer, a decimal such as 0.3 or 1e-5, or a fraction such as 3/10"
        )
    integer, fraction = (match[2] or "").replace("_", ""), (match[3] or "").replace("_", "")
    written = (match[4] or "0").lstrip("+-").lstrip("0")
    if len(written) > len(str(_LONGEST)) or int(written or 0) > _LONGEST:
        raise ValueError(f"the exponent of '{short(whole)}' is beyond {_LONGEST:,}")
    power = int(match[4] or 0)
    exponent = power - len(fraction)
    digits = fmpz(0)
    for start in range(0, len(integer + fraction), 1000):  # Python turns at most 4,300 digits into an integer at once
        chunk = (integer + fraction)[start : start + 1000]
        digits = digits * fmpz(10) ** len(chunk) + int(chunk)
    value = fmpq(digits) * (fmpq(10) ** exponent)
    return -value if match[1] == "-" else value
