"""Very many numbers at once, as a file spells them: NumPy finds their parts and reads these as integers of 64 bits.

Nearly all numbers have few digits. Those that have more, or large exponents, are left to `exact`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from exactformer.numbers.nodes import exacts
from exactformer.numbers.parse import exact_many

# fewer digits than what Python reads as an integer, and `exact` as a number
_MORE = "(?:_[0-9]{1,40}+){0,40}+"
_DIGITS = f"[0-9]{{1,2000}}+{_MORE}"
_TAIL = rf"(?:\.{_DIGITS})?+(?:[eE][-+]?+[0-9]{{1,20}}+)?+"
NUMBER = rf"[-+]?+(?:0|[1-9][0-9]{{0,2000}}+{_MORE}){_TAIL}"  # as TOML has it, in decimal digits
QUOTED = rf"[-+]?+{_DIGITS}(?:/{_DIGITS}|{_TAIL})"  # what a text may say instead

_SILENT = b" \t\n_\"'[]"
_AS_COMMAS = bytes.maketrans(b"/eE", b",,,")
_MOST = 2**63 - 1  # NumPy reads larger integers as this one or its negative, as C does; it is asked each time whether it does
_WITNESSES = f",{_MOST + 1},-{_MOST + 2},{'9' * 40}".encode()
_TENS = tuple(fmpz(10) ** k for k in range(40))
_FAR = 10**9  # for an exponent
_SAMPLE = 4096


def read_numbers(text: str) -> NDArray[Any]:
    """The numbers of a text, which is known to be numbers and quoted ones with a comma between each two, perhaps in brackets.

    >>> read_numbers('0.50, -3, 1_000e-2, "2/3"')
    array([exact('1/2'), exact('-3'), exact('10'), exact('2/3')], dtype=object)
    """
    spelt = text.encode("ascii").translate(None, _SILENT)
    letters = np.frombuffer(spelt, np.uint8)
    ends = np.append(np.flatnonzero(letters == ord(",")), len(letters))
    marks = np.flatnonzero((letters == ord("/")) | (letters | 32 == ord("e")))  # after each stands another integer
    marked = np.searchsorted(ends, marks)  # the numbers that have one
    integers = np.fromstring(spelt.translate(_AS_COMMAS, b".") + _WITNESSES, np.int64, sep=",")
    witnesses = integers[-3:]
    if len(integers) != len(ends) + len(marks) + 3 or not _large(witnesses).all():
        raise ValueError("these are no integers with commas between them")
    first = np.arange(len(ends)) + np.searchsorted(marks, np.append(0, ends[:-1]))
    above, second = integers[first], integers[first[marked] + 1]

    points, stops = np.flatnonzero(letters == ord(".")), ends.copy()
    stops[marked] = marks
    pointed = np.searchsorted(ends, points)
    tens = np.zeros(len(ends), np.int64)  # the number is above / 10^tens, or a fraction
    tens[pointed] = stops[pointed] - points - 1
    over = letters[marks] == ord("/")
    tens[marked[~over]] -= np.clip(second[~over], -_FAR, _FAR)
    rare = _large(above) | (tens < 0) | (tens >= len(_TENS))
    rare[marked] |= _large(second) | (over & (second == 0))
    above[rare], tens[rare] = 0, 0
    fractions = over & ~rare[marked]
    made = _quotients(above, tens, marked[fractions], second[fractions])
    if rare.any():
        where = np.flatnonzero(rare)
        starts = np.append(0, ends[:-1] + 1)[where]
        made[where] = exact_many([spelt[a:b].decode() for a, b in zip(starts.tolist(), ends[where].tolist(), strict=True)])
    return made


def _large(integers: NDArray[np.int64]) -> NDArray[np.bool]:
    return (integers >= _MOST) | (integers <= -_MOST)


def _quotients(
    above: NDArray[np.int64], tens: NDArray[np.int64], places: NDArray[np.int64], denominators: NDArray[np.int64]
) -> NDArray[Any]:
    """above / 10^tens, but for the fractions, which have their places and denominators. What comes again and again is made once."""
    again: Any = slice(None)
    if not len(places) and 2 * len(np.unique(above[:_SAMPLE])) < len(above[:_SAMPLE]) and abs(above).max() < _MOST // len(_TENS):
        once, again = np.unique(above * len(_TENS) + tens, return_inverse=True)
        above, tens = np.divmod(once, len(_TENS))
    below: list[Any] = list(map(_TENS.__getitem__, tens.tolist()))
    for n, denominator in zip(places.tolist(), denominators.tolist(), strict=True):
        below[n] = denominator
    made = np.empty(len(above), dtype=object)
    made[:] = exacts(list(map(fmpq, above.tolist(), below)))
    found: NDArray[Any] = made[again]
    return found
