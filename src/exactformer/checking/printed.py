"""A number as it is printed: its value, and the place of its last digit. And a token as it is printed: its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from flint import fmpq

from exactformer.numbers import Exact, Number, Undecided, closed_form, exact

_DECIMAL = re.compile(r"([+\-−]?)([0-9][0-9_]*)?(\.?)([0-9][0-9_]*)?([eE][+\-−]?[0-9]+)?")
_GROUPED = re.compile("([+\\-−]?)([0-9]{1,3}(?:([,\u2009\u202f'])[0-9]{3})(?:\\3[0-9]{3})*)((?:\\.[0-9]*)?)")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_POWER = re.compile(
    r"(?P<core>[+\-−]?[0-9][0-9_]*(?:\.[0-9]*)?)(?P<times>\s*(?:×|·|⋅|\*|x|\\times|\\cdot)\s*10)"
    r"(?:(?P<mark>\s*(?:\^|\*\*)\s*\{?)(?P<plain>[+\-−]?[0-9]{1,5})(?P<end>\}?)|(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,5}))"
)
_ABOUT = re.compile(r"(?:≈|≃|≅|\\approx)\s*")
_PERCENT = re.compile(r"\s*\\?%")
_HIDDEN = ("-inf", "−inf", "-∞", "−∞", r"-\infty")
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|([0-9a-z]))\s*(?:\{([^{}]*)\}|([0-9a-z]))")
_ROOT = re.compile(r"\\sqrt\s*(?:\{([^{}]*)\}|([0-9a-z]))")
_LATEX = {
    r"\cdot": "·", r"\times": "·", r"\left": "", r"\right": "", r"\,": " ", r"\pi": "π", r"\ln": "log", r"\log": "log",
    r"\exp": "exp",
}  # fmt: skip
_MOST_DECIMALS = 1000
LEFT_OUT = ("…", "...")


@dataclass(frozen=True)
class Printed:
    """`value` is None for -inf; `place` is the power of ten of the last digit, None where the number is meant exactly (1/3, or a
    closed form). The digits stand between `before` and `after`, where there is more than digits: ≈ 1,234 %, 1.5×10⁴."""

    text: str
    value: Number | None
    place: int | None
    before: str = ""
    after: str = ""
    power: re.Match[str] | None = None

    @property
    def unit(self) -> Exact:
        assert self.place is not None
        return power_of_ten(self.place)

    @property
    def digits(self) -> str:
        """What stands there without what is around it."""
        return self.text[len(self.before) : len(self.text) - len(self.after)]

    def rewritten(self, units: int, more: int = 0) -> str:
        """`units` of the last place (or of the place that is `more` places further on) in the style of this number.

        >>> read("0.50").rewritten(-7), read("1.").rewritten(12), read(".5").rewritten(0), read("2.5e-3").rewritten(31)
        ('-0.07', '12.', '.0', '3.1e-3')
        >>> read_any("≈ 1,234 %").rewritten(98765), read_any("1.5×10^4").rewritten(27)
        ('≈ 98,765 %', '2.7×10^4')
        """
        grouped = _GROUPED.fullmatch(self.digits)
        match = _DECIMAL.fullmatch(self.digits.replace(grouped[3], "") if grouped else self.digits)
        assert match is not None
        sign, whole, point, fraction, exponent = (group or "" for group in match.groups())
        decimals = len(fraction.replace("_", "")) + more
        digits = str(fmpq(abs(units))).zfill(decimals + 1)
        head, tail = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
        if head == "0" and not whole and tail:
            head = ""
        head = re.sub(r"(?<=[0-9])(?=(?:[0-9]{3})+$)", grouped[3], head) if grouped else head
        minus = "−" if sign == "−" else "-"
        mark = minus if units < 0 else "+" if sign == "+" else ""
        return self.before + mark + head + ("." if tail else point) + tail + exponent + self.after

    @property
    def mantissa(self) -> int | None:
        """How many digits a number in scientific notation has, 1.50e-4; None of others, and of 0."""
        match = _DECIMAL.fullmatch(self.digits)
        scientific = (
            match is not None and (match[5] or self.power is not None) and match[2] not in (None, "0") and len(match[2]) == 1
        )
        return 1 + len((match[4] or "").replace("_", "")) if scientific and match is not None else None

    def scientific(self, units: int, exponent: int) -> str:
        """`units`, as many digits as the mantissa has or more, and another exponent.

        >>> read("1.00e-4").scientific(372, -44), read_any("1.0×10⁴").scientific(-27, -1), read_any("1.5*10^4").scientific(27, 5)
        ('3.72e-44', '-2.7×10⁻¹', '2.7*10^5')
        """
        digits = str(abs(units))
        mantissa = ("-" if units < 0 else "") + digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        if self.power is None:
            mark = "E" if "E" in self.digits else "e"
            return f"{self.before}{mantissa}{mark}{exponent}{self.after}"
        if self.power["raised"]:
            raised = str(exponent).translate({value: chr(key) for key, value in _RAISED.items() if isinstance(value, int)})
            return (
                f"{self.before}{mantissa}{self.power['times']}{raised}{self.after[len(self.power[0]) - len(self.power['core']) :]}"
            )
        rest = self.after[len(self.power[0]) - len(self.power["core"]) :]
        return f"{self.before}{mantissa}{self.power['times']}{self.power['mark']}{exponent}{self.power['end']}{rest}"


@dataclass(frozen=True)
class Token:
    """Every character counts, blanks too."""

    text: str


Claimed = Printed | Token


def read(text: str) -> Printed:
    """A printed number; ValueError says what is wrong with it.

    >>> read("0.50").place, read("12").place, read("1.5e−3").place, read("1/3").place
    (-2, 0, -4, None)
    """
    stripped = text.strip()
    hyphened = stripped.replace("−", "-")
    if hyphened == "-inf":
        return Printed(text, None, None)
    value = exact(hyphened)
    if "/" in stripped:
        return Printed(text, value, None)
    match = _DECIMAL.fullmatch(hyphened)
    assert match is not None  # `exact` took it
    return Printed(stripped, value, _bounded(int((match[5] or "e0")[1:]) - len((match[4] or "").replace("_", ""))))


def read_any(text: str) -> Printed:
    r"""A number in any way in which people print one: ≈ 0.27, 26.9 %, 1,234.5, 1.5×10⁴, -∞, e^2, \frac{1}{1+e}.

    >>> [read_any(text).place for text in ("≈ 0.27", "26.9 %", "1,234.5", "1.5×10⁴", "1.5 \\times 10^{-4}", "e^2")]
    [-2, -3, -1, 3, -5, None]
    >>> read_any("26.9%").value, read_any("−∞").value, read_any("e/(1+e)").value
    (exact('269/1000'), None, <e/(1+e)>)
    """
    bare = text.strip()
    if bare in _HIDDEN:
        return Printed(text, None, None)
    if about := _ABOUT.match(bare):
        return _within(bare, read_any(bare[about.end() :]), before=about[0])
    if (percent := re.search(_PERCENT.pattern + "$", bare)) and percent.start():
        inner = _within(bare, read_any(bare[: percent.start()]), after=percent[0])
        return _times(inner, -2)
    if bare.endswith("…") and bare != "…":
        return _within(bare, read_any(bare[:-1]), after="…")
    try:
        return read(bare)
    except ValueError as error:
        problem = error
    if grouped := _GROUPED.fullmatch(bare):
        inner = read(grouped[1] + grouped[2].replace(grouped[3], "") + grouped[4])
        return replace(inner, text=bare)
    if power := _POWER.fullmatch(bare):
        exponent = int((power["plain"] or power["raised"]).translate(_RAISED).replace("−", "-"))
        inner = read(power["core"])
        return _times(replace(inner, text=bare, after=bare[len(power["core"]) :], power=power), exponent)
    if _DECIMAL.fullmatch(bare):
        raise problem  # a plain number that is refused says so in its own words
    try:
        return Printed(text, closed_form(plain(bare)), None)
    except Undecided:
        raise problem from None
    except ValueError as error:
        raise (
            problem if len(bare) < 2 or "not known here" in str(error) or "is not part of a number" in str(error) else error
        ) from None


def _within(text: str, inner: Printed, before: str = "", after: str = "") -> Printed:
    return replace(inner, text=text, before=before + inner.before, after=inner.after + after)


def _times(inner: Printed, exponent: int) -> Printed:
    """Times a power of ten."""
    value = None if inner.value is None else inner.value * power_of_ten(exponent)
    return replace(inner, value=value, place=None if inner.place is None else _bounded(inner.place + exponent))


def _bounded(place: int) -> int:
    if place < -_MOST_DECIMALS:
        raise ValueError(f"{-place:,} decimals are more than {_MOST_DECIMALS:,}")
    return place


def plain(latex: str) -> str:
    r"""A formula without the marks of LaTeX, where it is a plain one.

    >>> plain(r"\frac{e^{2}}{1+\sqrt{2}}")
    '((e^(2))/(1+√(2)))'
    """
    text = latex
    for mark, sign in _LATEX.items():
        text = re.sub(re.escape(mark) + r"(?![A-Za-z])", sign, text)
    text = re.sub(r"\^\s*\{([^{}]*)\}", r"^(\1)", text)
    for _ in range(20):
        before = text
        text = _ROOT.sub(lambda m: f"√({m[1] or m[2]})", text)
        text = _FRACTION.sub(lambda m: f"(({m[1] or m[2]})/({m[3] or m[4]}))", text)
        text = re.sub(r"\^\s*\{([^{}]*)\}", r"^(\1)", text)
        if text == before:
            break
    return text


def power_of_ten(place: int) -> Exact:
    return Exact(fmpq(10) ** place)
