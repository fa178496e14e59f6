"""Worksheets changed at random: the built-in examples and the one of the README, by bytes, by lines and by values. Each is read,
and what can be read is traced, some of it checked and differentiated: an answer or one line, within 20 s and 1 GB.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import exactformer as xf
from benchmarks.result import Progress, Result
from benchmarks.trials.bounds import Tried, all_tried, report, tried
from exactformer.checking import check_text
from exactformer.render import text as as_text
from exactformer.worksheets.worksheet import example_text

NUMBER = 10_000
_LARGE = "poster"  # with GPT-2's vocabulary: read, and seldom
_PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_REFUSALS = (xf.WorksheetError, xf.InputError, xf.ConfigError, xf.CircuitError, xf.TokenizerError)
_LONGEST = 1000  # characters of a refusal

_VALUES = (
    "0", "-1", "1", "2", "3", "512", "513", "1000000", "99999999999", "9" * 4400, "0x" + "f" * 5000, "0.1", "-0.0", "1e-5000",
    "1e5000", "1e99999", '"1e9999"', '"-1e30"', '"1/3"', '"1/0"', '"1__0"', '"１２"', '"١"', "nan", "-inf", "true", "false", '""',
    '"x"', '"a b"', '"none"', '"sqrt"', '"tied"', '"own"', '"pre"', '"post"', '"table"', '"sinusoidal"', '"gelu"', '"identity"',
    '"zeros"', '"2 identity"', '"- identity"', '"drawn 1 by 1/9"', '"drawn 1 by 1/0"', '"gpt2"', "[]", "[[]]", "[[[]]]", "{}",
    "{a = 1}", "[1, 2]", "[[1, 2], [3, 4]]", '["a", "b"]', '["a", "a"]', "2020-01-01", "07:32:00", '"""\\n\\n"""', "'''a'''",
    '"\\u0007"', '"\\ud83e\\udd99"', '"🦙"', "[" * 200 + "]" * 200, '"' + "x" * 5000 + '"',
)  # fmt: skip
_NUMBERS = (
    "0", "1", "-1", "2", "-3.5", "0.25", '"1/3"', '"-7/2"', "1e3", '"1e30"', '"-1e30"', '"1e-30"', '"1e400"', '"-1e-400"',
    '"1e4400"', '"1e9999"', "10000000000000000", "0.1000000000000000055511151231257827",
)  # fmt: skip
_KEYS = ("dim", "blocks", "heads", "head_dim", "mlp", "norm", "epsilon", "mask", "scale", "vocabulary", "a.b.c", "a" + ".a" * 300)


@cache
def sheets() -> dict[str, str]:
    page = re.search(r"```toml\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert page is not None
    return {name: example_text(name) for name in xf.examples()} | {"page": page[1]}


def _weights() -> tuple[list[str], list[int]]:
    names = list(sheets())
    often = {_LARGE: 1, "capstone": 60, "length4": 60, "page": 60}
    return names, [often.get(name, 20) for name in names]


# -- by bytes
def _flipped(rng: random.Random, data: bytearray, other: bytes) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(rng: random.Random, data: bytearray, other: bytes) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 3, 20, 400))]


def _inserted(rng: random.Random, data: bytearray, other: bytes) -> None:
    at = rng.randrange(len(data))
    data[at:at] = rng.choice(
        (b'"', b"'", b"[", b"]", b"{", b"}", b"=", b".", b",", b"\n", b"0", b"-", b"\x00", b"\xff", b"#", b"'''")
    )


def _spliced(rng: random.Random, data: bytearray, other: bytes) -> None:
    at, start = rng.randrange(len(data)), rng.randrange(len(other))
    data[at : at + 30] = other[start : start + rng.choice((5, 60, 300))]


def _truncated(rng: random.Random, data: bytearray, other: bytes) -> None:
    del data[rng.randrange(len(data)) :]


_BYTES: tuple[Callable[[random.Random, bytearray, bytes], None], ...] = (_flipped, _cut, _inserted, _spliced, _truncated)


def by_bytes(rng: random.Random, text: str, other: str) -> str:
    data = bytearray(text.encode())
    for _ in range(rng.choice((1, 1, 2, 5))):
        rng.choice(_BYTES)(rng, data, other.encode())
        if not data:
            break
    return data.decode("utf-8", "replace")


# -- by lines
def by_lines(rng: random.Random, text: str, other: str) -> str:
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2))):
        at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                lines.pop(at)
            case 1:
                lines.insert(to, lines[at])
            case 2:
                lines[at], lines[to] = lines[to], lines[at]
            case 3:
                lines.insert(at, rng.choice(other.split("\n")))
            case 4:
                lines.insert(at, f"{rng.choice(_KEYS)} = {rng.choice(_VALUES)}")
            case _:
                lines.insert(at, rng.choice(("[", "[[")) + rng.choice(_KEYS) + rng.choice(("]", "]]")))
        lines = lines or [""]
    return "\n".join(lines)


# -- by values: the sheet stays TOML, mostly
_VALUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])|\b(?:true|false)\b')
_NAME = re.compile(r"^(\s*)([\w.]+)(?=\s*=)", re.MULTILINE)


def by_values(rng: random.Random, text: str, other: str) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        found = list((_NAME if rng.random() < 0.1 else _VALUE).finditer(text))
        if not found:
            break
        numbers = [each for each in found if each.re is _VALUE and each[0][-1].isdigit()]
        place = rng.choice(numbers if numbers and rng.random() < 0.5 else found)
        if place.re is _NAME:
            new = place[1] + rng.choice((*_KEYS, place[2] + "x", "x" * 3000))
        elif place[0][-1].isdigit() and rng.random() < 0.6:
            new = rng.choice(_NUMBERS)
        elif rng.random() < 0.5:
            new = rng.choice(_VALUES)
        else:
            new = rng.choice([match[0] for match in _VALUE.finditer(other)] or ["0"])
        text = text[: place.start()] + new + text[place.end() :]
    return text


KINDS: dict[str, Callable[[random.Random, str, str], str]] = {"bytes": by_bytes, "lines": by_lines, "values": by_values}


def changed(seed: int, n: int) -> tuple[str, str, str]:
    """The n-th sheet: which it was, how it is changed, and its text."""
    rng = random.Random(f"worksheets {seed} {n}")
    names, weights = _weights()
    name, other = rng.choices(names, weights)[0], rng.choice(names)
    kind = ("bytes", "lines", "values", "values")[n % 4]
    return name, kind, KINDS[kind](rng, sheets()[name], sheets()[other])


def outcome(seed: int, n: int) -> str:
    """Read the n-th sheet, trace it, and now and then check it or ask for gradients."""
    name, _, text = changed(seed, n)
    try:
        if n % 7 == 0:
            check_text(text, "sheet.toml")
        worksheet = xf.loads(text, "sheet.toml")
        if name == _LARGE or worksheet.tokenizer is not None:
            return "read"
        trace = worksheet.trace(arithmetic=("exact", "exact", "arb", "float64", "float32")[n % 5])
        as_text.render(trace)
        if n % 11 == 0 and trace.arithmetic != "arb":
            targets = None if trace.model.config.unembedding == "none" else trace.tokens
            xf.gradient(trace, targets, _ones(trace) if targets is None else None)
    except _REFUSALS as error:
        line = str(error)
        assert len(line) <= _LONGEST, f"a refusal of {len(line):,} characters"
        assert "\n" not in line, f"a refusal of several lines: {line[:100]!r}"
        return "refused"
    except (xf.Undecided, xf.UndefinedValue):
        return "undecided"
    return "traced"


def _ones(trace: xf.Trace) -> object:
    from exactformer.cli.common import upstream

    return upstream(None, trace)


def trials(number: int, seed: int = 0) -> Iterator[tuple[str, str, Tried]]:
    """So many sheets in a process of their own: which it was, how it was changed, and what became of it."""
    for n, result in enumerate(all_tried(partial(outcome, seed), number)):
        name, kind, _ = changed(seed, n)
        yield name, kind, result


def sample(number: int, seed: int) -> list[Tried]:
    """Some in this very process, for the tests."""
    return [tried(partial(outcome, seed), n) for n in range(number)]


def run(progress: Progress) -> Result:
    counts = {kind: Counter[str]() for kind in KINDS}
    failed: list[str] = []
    results: list[Tried] = []
    for n, (name, kind, result) in enumerate(trials(NUMBER)):
        counts[kind][result.outcome] += 1
        results.append(result)
        if result.failed:
            failed.append(f"worksheet {n} ({name}, by {kind}): {result.failed}")
            progress(failed[-1])
        if (n + 1) % 500 == 0:
            progress(f"{n + 1:,} of {NUMBER:,} worksheets, {len(failed)} failed")
    return report("worksheets", "worksheets", _TOLD, counts, results, failed)


_TOLD = (
    f"{NUMBER:,} worksheets: the built-in examples and the one of the README, each changed at random by bytes, by lines or by "
    "values. They are read, and what can be read is traced (exact, arb or in floats) and written down; of some the gradients are "
    "computed, and some are checked as `exactformer check` does."
)
