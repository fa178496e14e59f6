"""JSON and TOML as plain data: no key twice, no NaN, decimals kept as they are written, nothing nested without end."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from exactformer.messages import Refused, quoted, short
from exactformer.reading.number_arrays import Decimal, put_back, taken_out
from exactformer.reading.regular import decoded, open_regular
from exactformer.reading.toml_limits import toml_problem

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_BARE_FRACTION = re.compile(r"[\[,=]\s*(-?[0-9]{1,20}/[0-9]{1,20})\s*[\],\n]")


class _Problem(ValueError):
    """What is wrong with a document that can be parsed."""


def json_value(data: bytes, refusal: type[Refused], *name: Path | str, real: Callable[[str], Any] = Decimal) -> Any:
    """What JSON says; `name` names the file, and the part of it where it is one. `real` makes numbers that are not whole.

    >>> json_value(b'{"a": [1.50, null]}', Refused, "x.json")
    {'a': ['1.50', None]}
    >>> json_value(b'{"a": 1, "a": 2}', Refused, "x.json")
    Traceback (most recent call last):
    exactformer.messages.Refused: x.json: has 'a' twice
    """
    text = decoded(data, ": ".join(map(str, name)), refusal)
    try:
        return json.loads(text, object_pairs_hook=_table, parse_float=real, parse_constant=_refuse_constant)
    except RecursionError:
        problem = "is nested too deeply"
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except _Problem as error:
        problem = str(error)
    except ValueError:  # Python reads integers of up to 4,300 digits
        problem = "has an integer of more than 4,300 digits"
    raise refusal(*name, problem)


def json_table(data: bytes, refusal: type[Refused], *name: Path | str) -> dict[str, Any]:
    """The same, if it is a table."""
    value = json_value(data, refusal, *name)
    if not isinstance(value, dict):
        raise refusal(*name, "is not a table")
    return value


def json_lines(path: Path, longest: int, refusal: type[Refused]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tables of a file with one on each line that is not empty, each with the file and the line for messages."""
    with open_regular(path, refusal) as file:
        for number, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
            where = f"{path}: line {number}"
            if len(line) > longest:
                raise refusal(f"{where}: has more than {longest:,} bytes")
            if line.strip():
                yield where, json_table(line, refusal, where)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _Problem(f"has {quoted(twice)} twice")
    return table


def _refuse_constant(text: str) -> NoReturn:
    raise _Problem(f"{text} is not a number to compute with")


def toml_table(text: str, name: str, refusal: type[Refused], unread: str = "") -> dict[str, Any]:
    """TOML whose texts command no terminal. In the table `unread` a large array of numbers stays a `NumberArray`.

    >>> toml_table("a = 0.50", "x.toml", Refused)
    {'a': '0.50'}
    """
    shorter, arrays = taken_out(text)
    if arrays:
        with suppress(refusal):  # which is said of the whole text
            document = _parsed(shorter, name, refusal)
            if put_back(document, arrays, unread):
                return document
    return _parsed(text, name, refusal)


def _parsed(text: str, name: str, refusal: type[Refused]) -> dict[str, Any]:
    if problem := toml_problem(text):
        raise refusal(name, problem)
    try:
        document = tomllib.loads(text, parse_float=Decimal)
        control = next(_controls(document), None)
    except RecursionError:
        raise refusal(name, "is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        fraction = _BARE_FRACTION.search(text)
        hint = f' (a fraction is written as a text: "{fraction[1]}")' if fraction else ""
        raise refusal(name, f"is not TOML: {short(str(error), 200)}{hint}") from None
    except ValueError:
        raise refusal(name, 'an integer has more than 4,300 digits; write it as a text, "123…"') from None
    if control is not None:
        raise refusal(name, control)
    return document


def _controls(value: Any, path: str = "") -> Iterator[str]:
    """What is said of control characters in names and texts; a text may have lines and tabs."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in entries:
        here = f"{path}.{short(str(key), 40)}".lstrip(".")
        if isinstance(key, str) and _CONTROL.search(key):
            yield f"the field '{short(here)}' has a control character in its name"
        yield from _controls(entry, here)
    if type(value) is str and (found := _CONTROL.search(value)):
        yield f"{short(path)} has the control character {found[0]!r}"
