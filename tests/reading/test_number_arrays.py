"""Arrays of numbers that are read apart from the rest of TOML: the same as if they were not."""

from __future__ import annotations

import random
import tomllib

import pytest

from exactformer.messages import Refused
from exactformer.numbers import exact
from exactformer.numbers.parse import exact_decimals
from exactformer.reading import Decimal, toml_table
from exactformer.reading.number_arrays import taken_out


def rows(rng: random.Random, count: int) -> str:
    kinds = ("0.5", "-12.25", "3", "-0", "1e-5", "-1.5E+3", "0.000001", "123456789012345678901234567890.5")
    lines = ["[" + rng.choice((", ", ",")).join(rng.choice(kinds) for _ in range(8)) + "]" for _ in range(count)]
    return "[" + rng.choice((",\n", ", ", ",\n\n  ")).join(lines) + rng.choice(("]", "\n]", ",\n]"))


@pytest.mark.parametrize("seed", range(60))
def test_they_are_what_tomllib_reads(seed: int) -> None:
    rng = random.Random(seed)
    parts = [
        f"title = {rng.choice(('1', 'true', chr(34) + 'W = [1, 2]' + chr(34)))}",
        f"A = {rows(rng, 9)}{rng.choice(('', '  ', ' # said'))}",
        f"[t]\nB = {rows(rng, 9)}\n[u]",
        f"[[v]]\nC={rows(rng, 12)}\n  D = {rows(rng, 8)}\n[[v]]\nC = [1]",
        f"[w]\nE = {{ x = {rows(rng, 1)} }}",
    ]
    text = rng.choice(("\n", "\r\n")).join(rng.sample(parts, rng.randint(1, len(parts))))
    try:
        expected = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError:
        with pytest.raises(Refused):
            toml_table(text, "x", Refused)
    else:
        assert toml_table(text, "x", Refused) == expected


def test_large_arrays_are_taken_out_and_lines_keep_their_numbers() -> None:
    text = f"A = {rows(random.Random(3), 20)}\nbad = \n"
    short, arrays = taken_out(text)
    assert short.count("\n") == text.count("\n")
    assert len(arrays) == (0 if ",\n]" in text else 1)
    with pytest.raises(Refused, match=rf"line {text.count(chr(10))}"):
        toml_table(text, "x", Refused)


def test_texts_of_several_lines_are_left_alone() -> None:
    inside = "W = " + "[" + ", ".join(["1.5"] * 100) + "]"
    text = f'about = """\n{inside}\n"""\n{inside}\n'
    assert taken_out(text) == (text, [])
    assert toml_table(text, "x", Refused)["about"] == inside + "\n"
    named = f'a = "array of numbers 0"\n{inside}\n'
    assert toml_table(named, "x", Refused)["a"] == "array of numbers 0"


def test_damaged_arrays_are_refused_as_ever() -> None:
    good = "W = [" + ", ".join(["1.5"] * 100) + "]"
    for bad in (good[:-1], good.replace("1.5]", "1.5]]"), good.replace("1.5]", "1..5]"), good + " 3", good + "\nW = 1"):
        with pytest.raises(Refused, match="not TOML"):
            toml_table(bad, "x", Refused)


def test_many_decimals_are_what_each_is() -> None:
    texts = ["0.5", "-0.5", "-0", "007.50", "1e-5", "1_000.5", "+2.5", "3/4", ".5", "5.", "9" * 60, "0." + "1" * 60]
    assert exact_decimals([*texts, 7, -3]) == [exact(text) for text in texts] + [exact(7), exact(-3)]
    for bad in ("", ".", "-", "1.2.3", "१.5", "x", "--1", "1.-5", "1.5 "):
        try:
            expected = exact(bad)
        except ValueError:
            with pytest.raises(ValueError, match="is not a number"):
                exact_decimals([bad])
        else:
            assert exact_decimals([bad]) == [expected]
