"""Worksheets of strangers: their size is looked at before they are parsed, and nothing of them is echoed whole."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest

import exactformer as xf
from exactformer.reading.toml_limits import toml_problem
from exactformer.worksheets import WorksheetError
from exactformer.worksheets.worksheet import example_text, parse

CAPSTONE = example_text("capstone")
LONG = "x" * 3_000_000

BOMBS: dict[str, Callable[[], str]] = {
    "a key of 20,000 parts": lambda: "a" + ".a" * 20_000 + " = 1",
    "with blanks around the dots": lambda: "a" + " .\ta" * 20_000 + " = 1",
    "of quoted parts": lambda: '"a"' + ".'a'" * 20_000 + " = 1",
    "in a header": lambda: "[a" + ".a" * 20_000 + "]",
    "in a list of tables": lambda: "[[a" + ".a" * 20_000 + "]]",
    "in a table in a line": lambda: "a = {a" + ".a" * 20_000 + " = 1}",
    "many keys": lambda: "".join(f"k{n} = []\n" for n in range(60_000)),
    "many tables": lambda: "".join(f"[k{n}]\n" for n in range(60_000)),
    "many lists of tables": lambda: "".join(f"[[k{n}]]\r\n" for n in range(60_000)),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_before_they_are_parsed(bomb: str) -> None:
    text = BOMBS[bomb]()
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(WorksheetError, match=r"sheet\.toml: (line 1 has a key of more than 8 parts|has 60,000 keys)"):
        parse(text, "sheet.toml")
    assert time.process_time() - start < 2
    assert tracemalloc.get_traced_memory()[1] < 20 * len(text) + 1_000_000
    tracemalloc.stop()


FINE = {
    "decimals": "a = [" + "0.5, " * 200_000 + "]",
    "a matrix with a row in a line": "a = [\n" + "  [0.25],\n" * 60_000 + "]",
    "dots in a text": 'a = "' + "x." * 100 + '"',
    "dots in a literal text": "a = '" + "x." * 100 + "'",
    "dots in a text of many lines": 'a = """\n' + 'x.x.x.x.x.x.x.x.x.x \\" "" \n[x]\n' * 60_000 + '"""',
    "dots in a literal text of many lines": "a = '''\n" + "x.x.x.x.x.x.x.x.x.x ''\n" * 100 + "'''",
    "dots in a comment": "a = 1 # " + "x." * 100,
    "quotes in a comment": "a = 1 # it's \"\n" + "b.c = 2",
    "a deep key": "a.b.c.d.e.f.g.h = 1",
    "a text that ends with quotes": 'a = """x"""""\nb = 1',
}


@pytest.mark.parametrize("case", FINE)
def test_what_people_write_is_not_mistaken_for_a_bomb(case: str) -> None:
    assert toml_problem(FINE[case]) is None
    parse(FINE[case], "sheet.toml")


@pytest.mark.parametrize(
    "text", ['"' * 2_000_000, '\\"' * 1_000_000, "'" * 1_999_999, '"""' + '\\"""' * 500_000, "a = '''" + "''" * 900_000]
)
def test_the_look_takes_linear_time(text: str) -> None:
    start = time.process_time()
    toml_problem(text)
    assert time.process_time() - start < 5


def test_examples_are_within_the_limits() -> None:
    assert all(toml_problem(example_text(name)) is None for name in xf.examples())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dim = 2", f"dim = 2\n{LONG} = 3"),
        ("dim = 2", f'dim = 2\n"{LONG}\\u0001" = 3'),
        ("[input]", f"[{LONG}]\n[input]"),
        ("dim = 2", f'dim = "{LONG}"'),
        ('["a", "b", "c"]', f'["a", "{LONG}", "{LONG}"]'),
        ('tokens = "a b"', f'tokens = "a {LONG}"'),
        ("[[1, 0], [0", f'[["{LONG}", 0], [0'),
        ("[[1, 0], [0", f"[[0x{'f' * 3_000_000}, 0], [0"),
        ("[[1, 0], [0", f"[[0.{'3' * 3_000_000}, 0], [0"),
        ("dim = 2", f"dim = 0x{'f' * 3_000_000}"),
        ("dim = 2", f"dim = [{LONG}]"),
        ('W_Q = "identity"', f'W_Q = "{LONG} identity"'),
        ('norm = "post"', f'norm = "{LONG}"'),
        ("blocks = 1", f"blocks = -{'9' * 4000}"),
        ("dim = 2", f"dim = 2\ndim.{LONG} = 2"),
    ],
)
def test_messages_are_short_whatever_the_file_holds(before: str, after: str) -> None:
    assert before in CAPSTONE
    with pytest.raises((WorksheetError, xf.InputError)) as caught:
        xf.loads(CAPSTONE.replace(before, after, 1), "sheet.toml").trace()
    message = str(caught.value)
    assert len(message) < 400
    assert message.isprintable()


def test_a_subspace_of_absurd_size() -> None:
    sheet = example_text("induction").replace('"positions"', f"0x{'f' * 5000}", 1)
    with pytest.raises(
        WorksheetError, match=r"circuit\.stream\.\w+ is a number of 20,000 bits; a subspace may have 512 dimensions"
    ):
        xf.loads(sheet)


@pytest.mark.parametrize("value", ["0", "-1"])
def test_heads_of_no_width_are_refused(value: str) -> None:
    with pytest.raises(WorksheetError, match=rf"model\.head_dim is {value}, not a whole number of at least 1"):
        xf.loads(CAPSTONE.replace("dim = 2", f"dim = 2\nhead_dim = {value}", 1))


@pytest.mark.parametrize("digits", ["１２", "١", "1__0", "²"])
@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("[[1, 0], [0", '[["{}", 0], [0', r"weights\.W_E\[0\]\[0\]: '.*' is not a number"),
        ("epsilon = 0", 'epsilon = "{}"', r"model\.epsilon: '.*' is not a number"),
        ('W_Q = "identity"', 'W_Q = "{} identity"', r"W_Q: '.*' is not a number"),
        ('W_Q = "identity"', 'W_Q = "drawn {} by 1/4"', r"W_Q is 'drawn .*': write a list"),
    ],
)
def test_digits_of_other_alphabets_are_no_numbers(digits: str, before: str, after: str, line: str) -> None:
    assert before in CAPSTONE
    with pytest.raises(WorksheetError, match=line):
        xf.loads(CAPSTONE.replace(before, after.format(digits), 1))
