"""Arrays of numbers that are read apart from the rest of TOML: the same as if they were not."""

from __future__ import annotations

import random
import re
import tomllib
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactformer.messages import Refused
from exactformer.numbers import exact
from exactformer.numbers.bulk import NUMBER, QUOTED, read_numbers
from exactformer.numbers.parse import exact_many
from exactformer.reading import Decimal, number_arrays, toml_table
from exactformer.reading.number_arrays import NumberArray, put_back, taken_out
from exactformer.worksheets.reader import Table
from exactformer.worksheets.weights import _array
from exactformer.worksheets.worksheet import parse

NUMBERS = ("0.5", "-12.25", "3", "-0", "1e-5", "-1.5E+3", "0.000001", "123456789012345678901234567890.5", '"1/3"', '"-7/12"')
ODD = (
    "+1.5",
    "1_000.5",
    "0x1F",
    "inf",
    "-nan",
    "1979-05-27",
    "07:32:00",
    "true",
    "'1/2'",
    '"a\\u0062"',
    '"]"',
    "[]",
    "{ a = 1 }",
    "01",
    "1.",
    ".5",
    '""',
)
BLANKS = ("", " ", "\n", "\n  ", "\r\n", "\t", " # said\n", "# [1, 2]\n", ' # "a\n', "\n# é = [\n")
TEXTS = (
    'a = "W = [1.5, 2]"', "b = 'x # ['", 'c = """\nW = [1.5,\n 2.5]\n"""', "d = '''\nW = [1, 2]'''", "e = 1979-05-27T07:32:00Z",
    'f = """a""""', "g = '''a''''", 'h = """\\\n  x = ["""', "# W = [0.5, 0.5]", "[t]", "[t.u]",
    "[[v]]", '"k = [" = 1', "i = { x = 1, y = [2, 3] }",
    "j = true", "k = 0.50", "", "W = 1", "[W]", "[[W]]",
)  # fmt: skip
LINE_ENDS = ("\n", "\n", "\n", "\r\n")


def array(rng: random.Random, depth: int, odd: float) -> str:
    def entry() -> str:
        if depth > 1 and rng.random() < 0.97:
            return array(rng, depth - 1, odd)
        return rng.choice(ODD if rng.random() < odd else NUMBERS)

    def blank() -> str:
        return rng.choice(BLANKS) if rng.random() < 0.3 else ""

    entries = [blank() + entry() + blank() for _ in range(rng.randint(0, 4))]
    return "[" + ",".join(entries) + rng.choice(("", "", "," if entries else "")) + blank() + "]"


def document(rng: random.Random) -> str:
    lines = []
    for n in range(rng.randint(1, 6)):
        key = rng.choice(("W", "W_E", "attn.W_Q", '"x y"', "x.y.z")) if rng.random() < 0.2 else f"A{n}"
        value = array(rng, rng.randint(1, 3), rng.choice((0, 0, 0.05)))
        said = rng.choice((f"{key} = {value}", f"{key}={value} # so", f"{key} = {{ x = {value}, y = {value} }}"))
        lines.append(rng.choice(TEXTS) if rng.random() < 0.4 else said)
    return rng.choice(LINE_ENDS).join(lines)


def mutated(rng: random.Random, text: str) -> str:
    """With a few characters lost, doubled, put in or exchanged."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        put = rng.choice(("", text[at : at + 1] * 2, *"[],.\"'#=-+eE_ \n\r\t\x00\x0b\x7f{}5", "é", '"""', "\u2028", "१"))
        text = text[:at] + put + text[at + rng.randint(0, 2) :]
    return text


def kinds(value: Any) -> Any:
    """A value with the types of all that is in it: 1 is not true, and a decimal is not a text."""
    if isinstance(value, dict):
        return {key: kinds(entry) for key, entry in value.items()}
    return [kinds(entry) for entry in value] if isinstance(value, list) else (type(value), str(value))


def parsed(text: str) -> tuple[Any, str]:
    """What `tomllib` alone reads, and what it says of what it does not."""
    try:
        return tomllib.loads(text, parse_float=Decimal), ""
    except tomllib.TOMLDecodeError as error:
        return None, str(error)


def ours(text: str) -> tuple[Any, str]:
    try:
        return toml_table(text, "x", Refused), ""
    except Refused as refused:
        return None, str(refused)


def compared(text: str) -> bool:
    """Is it read, or refused with the same line and place, as `tomllib` alone does? Was it read?"""
    (expected, problem), (found, said) = parsed(text), ours(text)
    if problem:
        place = re.search(r"\(at [a-z0-9, ]*\)$", problem)
        assert "is not TOML" in said
        assert place is not None
        assert place[0] in said
    elif said:
        assert "control character" in said
    else:
        assert kinds(found) == kinds(expected)
    return not problem and not said


@pytest.mark.parametrize("seed", range(4))
def test_documents_and_mutations_are_what_tomllib_reads(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However short an array is, it is taken out here."""
    monkeypatch.setattr(number_arrays, "_LARGE", 0)
    rng = random.Random(seed)
    read = taken = 0
    for _ in range(300):
        text = document(rng)
        taken += bool(taken_out(text)[1])
        read += compared(text)
        for _ in range(3):
            compared(mutated(rng, text))
    assert min(read, taken) > 90


def large(rng: random.Random, rows: int) -> str:
    return (
        "["
        + ",\n".join("[" + ", ".join(rng.choice(NUMBERS) for _ in range(4)) + "]" for _ in range(rows))
        + rng.choice(("]", ",\n]"))
    )


@pytest.mark.parametrize("seed", range(20))
def test_large_arrays_are_taken_out_and_lines_keep_their_numbers(seed: int) -> None:
    text = f'title = """\nx"""\n[a]\nb.A = {large(random.Random(seed), 20)} # so\nB = {{ x = {large(random.Random(-seed), 20)} }}\n'
    shorter, arrays = taken_out(text)
    assert (len(arrays), len(shorter) < 300, shorter.count("\n")) == (2, True, text.count("\n"))
    assert compared(text)
    with pytest.raises(Refused, match=rf"line {text.count(chr(10)) + 1}"):
        toml_table(text + "bad = \n", "x", Refused)


def test_an_array_in_a_text_stays_there() -> None:
    inside = "W = [" + ", ".join(["1.5"] * 100) + "]"
    for text in (f'about = """\n{inside}\n"""\n{inside}\n', f"about = '''{inside}'''", f'about = "{inside}"', f"# {inside}"):
        assert compared(text)
    named = f'a = "array of numbers 0"\nb = ["array of numbers 0"]\n{inside}\n'
    assert compared(named)


def test_what_is_not_found_again_is_said() -> None:
    one = NumberArray("[1]", (1,))
    assert put_back({"a": [{"b": ["array of numbers 0"]}]}, [one])
    assert not put_back({"a": "array of numbers 0"}, [one])
    document = {"a": {"b": ["array of numbers 0"]}, "c": {"b": ["array of numbers 1"]}}
    assert put_back(document, [one, one], unread="c")
    assert document == {"a": {"b": [1]}, "c": {"b": one}}


def test_damaged_arrays_are_refused_as_ever() -> None:
    good = "W = [" + ", ".join(["1.5"] * 100) + "]"
    for bad in (
        good[:-1], good.replace("1.5]", "1.5]]"), good.replace("1.5]", "1..5]"), good + " 3", good + "\nW = 1",
        good.replace("1.5]", ",]"),
        good.replace("[", "[,"), good.replace("1.5]", "1.5,,]"), good.replace(", ", ",\r", 1), good + "\n[W]",
        good + "\n[[W]]", good + "\n[W.x]",
        good.replace("1.5]", "1.5 # \x00\n]"), good.replace("1.5]", "01.5]"),
    ):  # fmt: skip
        assert not compared(bad)
        with pytest.raises(Refused, match="not TOML"):
            toml_table(bad, "x", Refused)


def test_arrays_in_arrays_without_end() -> None:
    deep = "W = " + "[" * 5000 + "0.5" + "]" * 5000
    with pytest.raises(Refused, match="nested too deeply"):
        toml_table(deep, "x", Refused)


def test_many_numbers_are_what_each_is() -> None:
    texts = [
        "0.5",
        "-0.5",
        "-0",
        "007.50",
        "1e-5",
        "1_000.5",
        "+2.5",
        "3/4",
        "-3/06",
        "1/-2",
        "1.5/2",
        ".5",
        "5.",
        "9" * 60,
        "0." + "1" * 60,
        " 1/2 ",
    ]
    for values in ([*texts, 7, -3], [*texts, 7] * 4):
        assert exact_many(values) == [exact(value) for value in values]
    for bad in ("", ".", "-", "/", "1/", "/2", "1/0", "--1/2", "1/2/3", "1.2.3", "१.5", "१/2", "x", "--1", "1.-5", "1_.5", "\x0b1"):
        with pytest.raises(ValueError, match=r"is not a number|divides by zero"):
            exact(bad)
        with pytest.raises(ValueError, match=r"is not a number|divides by zero"):
            exact_many([bad])


BARE = st.from_regex(re.compile(NUMBER, re.ASCII), fullmatch=True)
IN_QUOTES = st.from_regex(re.compile(QUOTED, re.ASCII), fullmatch=True).flatmap(
    lambda text: st.sampled_from((f'"{text}"', f"'{text}'"))
)
WILD = st.sampled_from((
    *NUMBERS, *ODD, "-0.0", "+0", "1e40", "1e-39", "1e-40", "0.1e1", "5e0", "1.5e60", "1e10001", "0." + "0" * 30 + "1", "9" * 25,
    "9223372036854775806", "-9223372036854775807", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "1e1_0", "1__0", "1_", "0.30", '"1/0"', '"1/-2"', '"9/9223372036854775808"', "'+1_0/0_3'", '"007.50"', '"1e3/2"', '"1/2/3"',
    '"--1"', '" 1/2"', '"1e99999"',
))  # fmt: skip
FEW = st.sampled_from(("0.5", "-0.25", "1e-2", "7"))
BLANK = st.sampled_from(("", " ", "\t", "\n  ", "\r\n", " # 1, [2\n"))


@st.composite
def sheets(draw: st.DrawFn) -> str:
    """A worksheet of one vector or matrix, whose rows mostly have the right length."""
    number = draw(st.sampled_from((BARE, IN_QUOTES, FEW, st.one_of(BARE, IN_QUOTES, FEW), st.one_of(BARE, WILD))))
    wide = draw(st.integers(1, 4))
    length = st.sampled_from((wide,) * 30 + (wide + 1,))

    def listed(entries: list[str]) -> str:
        ends = [draw(BLANK) + entry + draw(BLANK) for entry in entries]
        return f"[{','.join(ends)}{draw(st.sampled_from(('', '', ',')))}{draw(BLANK)}]"

    rows = [listed([draw(number) for _ in range(draw(length))]) for _ in range(draw(st.integers(1, 4)))]
    return "[weights]\nW = " + draw(st.sampled_from((listed(rows), rows[0], listed([listed(rows)]))))


def numbers_of(text: str, shape: tuple[int, ...]) -> tuple[list[Any], str]:
    """The numbers of a weight, with their types and values, or what is said of it."""
    try:
        table = Table(parse(text, "x"), "x").table("weights")
        return [(type(x), str(x)) for x in _array(table, "W", shape).flat], ""
    except Refused as refused:
        return [], str(refused)


@given(sheets(), st.sampled_from(((2,), (2, 2), (1, 2), (1, 2, 2), (3,), (1,), (2, 3))))
@settings(max_examples=400, deadline=None)
def test_numbers_at_once_are_what_each_is(text: str, shape: tuple[int, ...]) -> None:
    """Large or not, an array says the same, and what is at fault is told in the same words."""
    with mock.patch.object(number_arrays, "_LARGE", 0):
        _, arrays = taken_out(text)
        shape = arrays[0].shape if arrays and len(text) % 4 else shape
        found = numbers_of(text, shape)
    with mock.patch.object(number_arrays, "_LARGE", 10**9):
        assert found == numbers_of(text, shape)
    for array in arrays:
        assert kinds(array.listed()) == kinds(tomllib.loads(text.replace("\r\n", "\n"), parse_float=Decimal)["weights"]["W"])


def test_numbers_that_come_again_and_rare_ones() -> None:
    spelt = ["0.5", "-0.25", "3", "1e-2"] * 40 + ["1" * 30, "-1e77", "0.1e-50"]
    assert [x.value for x in read_numbers(", ".join(spelt))] == [exact(x).value for x in spelt]
    with pytest.raises(ValueError, match=r"no integers|unmatched data"):
        read_numbers("1, , 2")
