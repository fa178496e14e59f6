"""A worksheet: a model, an input and a title, read from TOML. docs/worksheets.md describes the format."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactformer.circuits import Circuit
from exactformer.circuits.story import told
from exactformer.model import Model
from exactformer.model.config import Mask
from exactformer.proofs.rules import Lookup
from exactformer.trace import Trace, run
from exactformer.worksheets.circuit import read_circuit, read_rule
from exactformer.worksheets.reader import Decimal, Table, WorksheetError
from exactformer.worksheets.weights import read_model

_BARE_FRACTION = re.compile(r"[\[,=]\s*(-?\d+/\d+)\s*[\],\n]")
LARGEST = 8 * 2**20  # bytes of a worksheet: far more than can be computed exactly


@dataclass(frozen=True)
class Worksheet:
    """What a worksheet says. `trace()` runs its own input, `trace("b a")` another."""

    model: Model
    tokens: tuple[str, ...]
    title: str
    about: str
    circuit: Circuit | None = None  # where the model is given by heads in words
    rule: Lookup | None = None  # what its theorem demands

    def __repr__(self) -> str:
        return f"<worksheet {self.title!r}: {' '.join(self.tokens)!r}>"

    def trace(
        self,
        tokens: str | tuple[str, ...] | None = None,
        arithmetic: str = "exact",
        stop_at_named: bool = False,
        progress: Callable[[str], None] = lambda step: None,
    ) -> Trace:
        given = self.tokens if tokens is None else tokens
        trace = run(self.model, given, arithmetic, self.title, stop_at_named, progress)
        return trace if self.circuit is None else told(trace, self.circuit)

    def changed(
        self, *, strength: Any = None, length: int | None = None, mask: Mask | None = None, hard: bool = False
    ) -> Worksheet:
        """The same with another mask or with hard attention; a circuit also with other strengths, or for longer inputs."""
        circuit, config = self.circuit, self.model.config
        if circuit is None:
            if strength is not None or length is not None:
                raise WorksheetError(f"{self.title or 'the worksheet'}: has no circuit, whose strength or length could be changed")
            return replace(
                self, model=replace(self.model, config=replace(config, mask=mask or config.mask, hard=hard or config.hard))
            )
        circuit = circuit if strength is None else circuit.stronger(strength)
        circuit = replace(circuit, length=length or circuit.length, mask=mask or circuit.mask, hard=hard or circuit.hard)
        return replace(self, circuit=circuit, model=circuit.build(), rule=self.rule and replace(self.rule, mask=circuit.mask))


def load(source: str | os.PathLike[str]) -> Worksheet:
    """A built-in example by name, or a worksheet by path.

    >>> load("capstone").trace("a b").token(1)
    'a'
    """
    name = os.fspath(source)
    return loads(example_text(name) if name in examples() else _read(Path(name)), name)


def example_text(name: str) -> str:
    """The worksheet of a built-in example."""
    if name not in examples():
        raise WorksheetError(f"{name}: there is no built-in example of that name ({', '.join(examples())})")
    return (files("exactformer.worksheets") / "examples" / f"{name}.toml").read_text(encoding="utf-8")


def examples() -> dict[str, str]:
    """The built-in examples: names and where they are told about."""
    folder = files("exactformer.worksheets") / "examples"
    return {entry.name[:-5]: entry.name for entry in sorted(folder.iterdir(), key=lambda e: e.name) if entry.name.endswith(".toml")}


def loads(text: str, name: str = "worksheet") -> Worksheet:
    """A worksheet from its text; `name` is what errors call it."""
    return read(parse(text, name), name)


def parse(text: str, name: str) -> dict[str, Any]:
    """TOML whose decimals are kept as they are written."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = "is nested too deeply" if isinstance(error, RecursionError) else f"is not TOML: {error}"
        fraction = _BARE_FRACTION.search(text)
        hint = f' (a fraction is written as a text: "{fraction[1]}")' if fraction and not isinstance(error, RecursionError) else ""
        raise WorksheetError(f"{name}: {problem}{hint}") from None
    except ValueError:  # Python reads integers of up to 4,300 digits
        raise WorksheetError(f'{name}: an integer has more than 4,300 digits; write it as a text, "123…"') from None


def read(raw: dict[str, Any], name: str) -> Worksheet:
    """The worksheet that a TOML document is; its claims are for `exactformer check`."""
    table = Table(raw, name)
    table.take("claims", None)
    circuit = read_circuit(table) if "circuit" in raw else None
    rule = None if circuit is None else read_rule(table, circuit)
    model = read_model(table) if circuit is None else circuit.build()
    given = table.table("input")
    tokens = _tokens(given)
    given.finish()
    worksheet = Worksheet(model, tokens, table.text("title", ""), table.text("about", ""), circuit, rule)
    table.finish(model="weights, not with a circuit", weights="a model, not with a circuit", theorem="a circuit")
    return worksheet


def _tokens(given: Table) -> tuple[str, ...]:
    value = given.take("tokens")
    if isinstance(value, str):
        return tuple(value.split())
    if isinstance(value, list) and all(isinstance(token, str) for token in value):
        return tuple(value)
    raise given.error("tokens", 'is neither a text such as "a b" nor a list of texts')


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            absent = f"there is no such file, nor a built-in example of that name ({', '.join(examples())})"
            raise WorksheetError(f"{path}: {'is a folder or a device, not a file' if path.exists() else absent}")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise WorksheetError(f"{path}: cannot be read: {error.strerror}") from None
    if size > LARGEST or len(content) > LARGEST:
        raise WorksheetError(f"{path}: has {max(size, len(content)):,} bytes; a worksheet may have {LARGEST:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorksheetError(f"{path}: is not UTF-8 text (byte {error.start})") from None
