"""Names and values of strangers in a message: one line, printable, and never longer than a line can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LONGEST = 60
_FEW = 3


class Refused(ValueError):
    """Input that is refused: one printable line, from the file to the field to what is wrong with it. Every such error is one.

    >>> str(Refused("config.json", "n_head", "is missing"))
    'config.json: n_head: is missing'
    """

    def __str__(self) -> str:
        return printable(": ".join(map(str, self.args)))


class NotInstalled(Refused, ImportError):
    """Something that an extra of the package brings.

    >>> str(NotInstalled("the page needs its extra", "web"))
    "the page needs its extra: pip install 'exactformer[web]' (in a clone: pip install -e '.[web]')"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what}: pip install 'exactformer[{extra}]' (in a clone: pip install -e '.[{extra}]')")


class Problems(Refused):
    """Everything that is wrong with a file: a line each. The message is the first of them.

    >>> str(Problems(["x.md:1: is odd", "x.md:7: is even"]))
    'x.md:1: is odd (and 1 more problem)'
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - 1
        super().__init__(self.problems[0] + (f" (and {more} more problem{'s' * (more > 1)})" if more else ""))


def printable(text: str, besides: str = "") -> str:
    """Text that a terminal takes for nothing else: what cannot be seen is an escape.

    >>> printable("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in besides else c.encode("unicode_escape").decode("ascii") for c in text)


def short(text: str, longest: int = _LONGEST) -> str:
    """A name from a file or a command line, cut where it is long; what cannot be seen is an escape.

    >>> short("W_E"), short("x" * 100, 10), short("a\\nb")
    ('W_E', 'xxxxxxxxx…', 'a\\\\nb')
    """
    begin = printable(text[:longest])
    return begin if len(text) <= longest and len(begin) <= longest else begin[: longest - 1] + "…"


def quoted(value: object) -> str:
    """A text in quotes, or another value as Python writes it, cut where it is long.

    >>> quoted("a b"), quoted(3), quoted("x" * 100)
    ("'a b'", '3', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…")
    """
    if type(value) is int:
        return whole_number(value)
    return short(repr(value[:_LONGEST] if isinstance(value, str) and len(value) > _LONGEST else value))


def few(names: Iterable[str]) -> str:
    """Some names, quoted: the first three, and how many more there are.

    >>> few(["a"]), few(["a", "b"]), few("abcde")
    ("'a'", "'a' and 'b'", "'a', 'b', 'c' and 2 more")
    """
    quoted = [f"'{short(name, 40)}'" for name in names]
    rest = len(quoted) - _FEW
    return listed([*quoted[:_FEW], f"{rest:,} more"] if rest > 0 else quoted)


def listed(names: Iterable[str], last: str = "and") -> str:
    """
    >>> listed(["exact", "float64", "float32"]), listed(["exact"])
    ('exact, float64 and float32', 'exact')
    """
    *before, end = [*names] or [""]
    return f"{', '.join(before)} {last} {end}" if before else end


def many(count: int, noun: str) -> str:
    """So many of something, whose plural ends with s.

    >>> many(1, "target"), many(0, "sequence"), many(1200, "input")
    ('1 target', '0 sequences', '1,200 inputs')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def whole_number(value: int) -> str:
    """An integer of any size: Python writes at most 4,300 digits of one.

    >>> whole_number(-12), whole_number(1 << 20_000)
    ('-12', 'a number of 20,001 bits')
    """
    return str(value) if value.bit_length() <= 128 else f"a number of {value.bit_length():,} bits"
