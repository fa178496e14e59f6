"""Answers to exercises: 500 that are equal in other forms, which must all be accepted; 500 near misses, of which none may be; and
hostile ones, which get one line each in bounded time. Whether a form is equal is not asked of the program: SymPy reads it, and
mpmath computes it with 400 digits.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import mpmath
from sympy.parsing.sympy_parser import implicit_multiplication_application, parse_expr, standard_transformations

from benchmarks.result import Progress, Result, Table
from benchmarks.trials.bounds import Tried, all_tried
from exactformer.exercises.cell import Cell
from exactformer.exercises.judging import Kind, judged
from exactformer.exercises.sheet import make_sheet
from exactformer.worksheets.worksheet import example_text

NUMBER = 500
_DIGITS, _EQUAL, _APART = 400, 390, 300  # digits computed; in which equal forms agree; in which others differ
EXAMPLES = ("capstone", "length4", "llama")
_SEEDS = {"capstone": 4, "length4": 2, "llama": 1}

HOSTILE = (
    "9^9^9^9", "10^10^9", "10^(10^9)", "(10^9)^(10^9)", "1e999999999", "1E999999999", "e^(10^9)", "e^e^e^e^e^e^e",
    "(1+e)^1000000000", "2^(1/1000000007)", "((((e+1)^1000+1)^1000+1)^1000+1)^1000", "(e+pi+sqrt(2)+sqrt(3)+sqrt(5)+log(2))^1000",
    "(" * 499, "(" * 250 + ")" * 250, "√" * 499, "-" * 499 + "1", "+" * 499, "1/" * 249 + "1", "1/(" * 120 + "1" + ")" * 120,
    "e^" * 240 + "e", "exp(" * 60 + "1" + ")" * 60, "log(" * 60 + "9" + ")" * 60, "sqrt(" * 60 + "2" + ")" * 60,
    "sin(" * 60 + "1" + ")" * 60, "+".join(f"sqrt({n})" for n in range(2, 55)), "*".join(f"(sqrt({n})+pi)" for n in range(2, 30)),
    "1/(sqrt(2)+sqrt(3)-sqrt(5+2*sqrt(6)))", "1/(exp(pi*sqrt(163))-262537412640768744)", "log(exp(1)-e)", "sqrt(sin(pi))",
    "0^(e-e)", "0/0", "1/0", "1/(e-e)", "(-1)^(1/2)", "tanh(10^300)", "erf(10^300)", "sin(10^3000)", "9" * 500, "9" * 400 + "^9",
    "." * 300, "1.2.3", "1__2", "_1", "１２", "١٢", "½", "∞", "-∞ + 1", "NaN", "inf", "None", "True", "0x1f", "1j",
    "__import__('os').system('true')", "eval('1')", "exec('1')", "open('x')", "lambda: 1", "().__class__", "[1]", "{1}",
    "1 if 1 else 2", "a", "x=1", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)",
    "'; DROP TABLE students; --", '=HYPERLINK("x")', "\x00", "\x1b[2J", "\u202e1/2", "\ud83e", "1\n" * 2000, "=" * 3000,
    "≈" * 3000, "\n" * 4000, "1=1=1=1=" * 20, "x" * 4000, "1" * 5000, "e" * 400, "2e3e4", "1e", "e1", "1/2/3/4/5e", "π" * 200,
    "pi" * 200, "²", "2²²²²²²²²²", "e⁹⁹⁹⁹⁹⁹⁹⁹⁹⁹⁹⁹", "%", "50%", "0,731", "1;2", "$1$", "\\frac{1}{2}", "1 2 3",
)  # fmt: skip


class Answer(NamedTuple):
    """A text, the cell that it answers, and the way in which the text was made."""

    text: str
    cell: Cell
    way: str


# -- what is asked
@cache
def cells(examples: tuple[str, ...] = EXAMPLES) -> tuple[Cell, ...]:
    """Cells of sheets of every level."""
    asked = [(name, level, seed) for name in examples for level in (1, 2, 3) for seed in range(_SEEDS[name])]
    sheets = (make_sheet(example_text(name), name, level, seed, 8) for name, level, seed in asked)
    return tuple(cell for sheet in sheets for cell in sheet.cells)


# -- the oracle
_CONSTANTS = {"π": "(pi)", "·": "*", "^": "**", "√": "sqrt"}


@cache
def computed(text: str) -> mpmath.mpf:
    """A form of ours or of the generator below with 400 digits, by SymPy and mpmath alone."""
    bare = re.sub(r"√(\d+)", r"√(\1)", text)
    for ours, theirs in _CONSTANTS.items():
        bare = bare.replace(ours, theirs)
    bare = re.sub(r"(?<![a-z])e(?![a-z])", "E", bare)
    bare = re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"Integer(\1)", re.sub(r"(\d*\.\d+)", r"Rational('\1')", bare))
    form = parse_expr(bare, transformations=(*standard_transformations, implicit_multiplication_application), evaluate=False)
    with mpmath.workdps(_DIGITS):
        return mpmath.mpf(form.evalf(_DIGITS, maxn=4 * _DIGITS, strict=False)._mpf_)


def apart(one: str, other: str) -> mpmath.mpf:
    """How far two forms are from each other, relative to their size where that is large."""
    with mpmath.workdps(_DIGITS):
        a, b = computed(one), computed(other)
        return abs(a - b) / max(1, abs(a))


# -- other forms of the same number
def _equal_ways(rng: random.Random, positive: bool) -> dict[str, Callable[[str], str]]:
    k, m = rng.randint(2, 9), rng.randint(2, 9)
    term = rng.choice(("e", "pi", "sqrt(2)", "1/3", "e^2", "log(2)"))
    ways: dict[str, Callable[[str], str]] = {
        "a factor above and below": lambda t: f"{k}*({t})/{k}",
        "something added and taken away": lambda t: f"({t}) + {term} - {term}",
        "1 over 1 over it": lambda t: f"1/(1/({t}))",
        "minus minus": lambda t: f"-(-({t}))",
        "a power of e above and below": lambda t: f"e^{k}*({t})/exp({k})",
        "half of it twice": lambda t: f"({t})/2 + ({t})/2",
        "a root squared": lambda t: f"({t})*sqrt({k})^2/{k}",
        "sin² + cos²": lambda t: f"({t})*(sin({k})^2 + cos({k})^2)",
        "sin π": lambda t: f"({t}) + sin(pi)",
        "log of exp": lambda t: f"ln(exp({t}))",
        "a product of roots": lambda t: f"({t})*√{k}*√{m}/√{k * m}",
        "a third binomial formula": lambda t: f"({t})*(sqrt({k + 1})+sqrt({k}))*(sqrt({k + 1})-sqrt({k}))",
        "1/e turned": lambda t: f"({t})*e^-{k}*e^{k}",
    }
    if positive:
        ways |= {
            "exp of log": lambda t: f"exp(log({t}))",
            "the root of the square": lambda t: f"sqrt(({t})^2)",
            "the third power of the third root": lambda t: f"(({t})^(1/3))^3",
        }
    return ways


def equal_answer(n: int, examples: tuple[str, ...] = EXAMPLES) -> Answer:
    """The n-th answer that is right."""
    rng = random.Random(f"equal {n}")
    while True:
        cell = rng.choice(cells(examples))
        text, names = str(cell.value), []
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            ways = _equal_ways(rng, positive=cell.value > 0)
            name = rng.choice(list(ways))
            text, names = ways[name](text), [*names, name]
        if len(text) <= 400 and apart(str(cell.value), text) < mpmath.mpf(10) ** -_EQUAL:
            return Answer(text, cell, ", ".join(names))


# -- answers that are nearly right
def _near_ways(rng: random.Random) -> dict[str, Callable[[str], str]]:
    far = rng.choice((12, 30, 60, 100, 200))

    def digit(text: str) -> str:
        found = rng.choice(list(re.finditer(r"\d+", text)))
        return text[: found.start()] + str(int(found[0]) + rng.choice((1, 1, 2))) + text[found.end() :]

    def last_place(text: str) -> str:
        places = rng.randint(3, 12)
        shown = mpmath.nstr(abs(computed(text)), places + 20, strip_zeros=False, min_fixed=-99, max_fixed=99)
        whole, _, part = shown.partition(".")
        units = int(whole + part[:places].ljust(places, "0")) + rng.choice((-2, -3, 2, 3))
        digits = str(abs(units)).zfill(places + 1)
        minus = "-" if (computed(text) < 0) != (units < 0) else ""
        return f"{minus}{digits[:-places]}.{digits[-places:]}"

    return {
        "one of its digits": digit,
        "two or three units of the last place": last_place,
        f"10^-{far} more": lambda t: f"({t}) + 10^-{far}",
        f"the 10^{far}th part less": lambda t: f"({t})*(1 - 10^-{far})",
        "e^-50 more": lambda t: f"({t}) + e^-50",
        "the sign": lambda t: f"-({t})",
        "a decimal for e": lambda t: re.sub(r"(?<![a-z])e(?![a-z])", "2.718281828459045", t),
        "a fraction of six digits": lambda t: f"{int(mpmath.nint(computed(t) * 999983))}/999983",
        "its square": lambda t: f"({t})^2",
        "π for 355/113": lambda t: f"({t})*pi*113/355",
    }


def near_answer(n: int, examples: tuple[str, ...] = EXAMPLES) -> Answer:
    """The n-th answer that is not right, if only just."""
    rng = random.Random(f"near {n}")
    while True:
        cell = rng.choice(cells(examples))
        ways = _near_ways(rng)
        name = rng.choice(list(ways))
        if name == "one of its digits" and not re.search(r"\d", str(cell.value)):
            continue
        text = ways[name](str(cell.value))
        if len(text) <= 400 and not text.endswith("/0") and _differs(str(cell.value), text):
            return Answer(text, cell, re.sub(r"10\^-?\d+", "10^-n", name))


def _differs(one: str, other: str) -> bool:
    try:
        return apart(one, other) > mpmath.mpf(10) ** -_APART
    except (ValueError, ZeroDivisionError, AttributeError):
        return False  # a changed digit may divide by zero, or leave the real numbers


# -- tried
def _told(answer: Answer) -> str:
    return f"{answer.text} for {answer.cell.name} = {answer.cell.value} ({answer.way})"


def equal_case(n: int, examples: tuple[str, ...] = EXAMPLES) -> str:
    answer = equal_answer(n, examples)
    said = judged(answer.text, answer.cell)
    if said.kind not in (Kind.EQUAL, Kind.SIMPLER):
        raise AssertionError(f"{_told(answer)} is called {said.kind}: {said.message}")
    return str(said.kind)


def near_case(n: int, examples: tuple[str, ...] = EXAMPLES) -> str:
    answer = near_answer(n, examples)
    said = judged(answer.text, answer.cell)
    if said.right:
        raise AssertionError(f"{_told(answer)} is called {said.kind}: {said.message}")
    return str(said.kind)


def hostile_case(n: int, examples: tuple[str, ...] = EXAMPLES) -> str:
    text = HOSTILE[n]
    said = judged(text, cells(examples)[n % len(cells(examples))])
    if "\n" in said.message or len(said.message) > 1000:
        raise AssertionError(f"{text[:40]!r} gets more than a line")
    return str(said.kind)


def run(progress: Progress) -> Result:
    asked = len(cells(EXAMPLES))  # before the processes begin, which share them
    counts: dict[str, Counter[str]] = {}
    failed: list[str] = []
    slowest: dict[str, float] = {}
    for what, case, number in (
        ("equal in another form", equal_case, NUMBER),
        ("near misses", near_case, NUMBER),
        ("hostile", hostile_case, len(HOSTILE)),
    ):
        found: list[Tried] = []
        for n, result in enumerate(all_tried(case, number)):
            found.append(result)
            if result.failed:
                failed.append(f"{what} {n}: {result.failed}")
                progress(failed[-1])
            if (n + 1) % 100 == 0:
                progress(f"{n + 1} of {number} {what}, {len(failed)} failed")
        counts[what] = Counter(result.outcome for result in found)
        slowest[what] = round(max(result.seconds for result in found), 2)
    kinds = sorted({kind for count in counts.values() for kind in count})
    rows = tuple((what, *(f"{count[kind]:,}" for kind in kinds), f"{slowest[what]:.2f}") for what, count in counts.items())
    told = (
        f"{NUMBER} answers that are equal to the number asked for in another form, {NUMBER} that are not (among them numbers that "
        f"agree in up to 200 digits), and {len(HOSTILE)} hostile ones, for {asked} cells of the built-in examples. SymPy "
        f"and mpmath say, with {_DIGITS} digits, which forms are equal; the program is not asked. Equal ones must be proved equal, "
        "of the others none accepted; hostile ones get one line each."
    )
    end = (
        f"{len(failed)} failed. Seconds are those of the processor, for the slowest answer; for the first two with the time of "
        "the oracle."
    )
    return Result(
        "trials_answers", "Answers to exercises", (told, Table(("answers", *kinds, "slowest, s"), rows), end),
        {"answers": {what: count.total() for what, count in counts.items()}, "outcomes": counts, "slowest": slowest,
         "failed": failed},
    )  # fmt: skip
