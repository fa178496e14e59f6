"""Rules and domains in files: a table of inputs and answers, a list of inputs, a function of one's own; domains in a few words."""

from __future__ import annotations

import csv
import importlib.util
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exactformer.messages import quoted
from exactformer.proofs.chunks import RunError, one_line
from exactformer.proofs.domain import Product, Sequences, Tokens
from exactformer.reading import decoded, read_regular

_MOST_BYTES = 1 << 28
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
_NUMBER = r"([0-9]{1,2}(?:\.\.[0-9]{1,2})?)"  # how often a set is repeated: 4, or 1..16
_POWER = re.compile(rf"(.+)\^{_NUMBER}", re.DOTALL)
_PART = re.compile(rf"\{{([^{{}}]*)\}}(?:\^{_NUMBER})?|(\S+)")


@dataclass(frozen=True)
class TableRule:
    """What a table says, and nothing of inputs that it has not."""

    name: str
    answers_of: dict[Tokens, Tokens] = field(repr=False)
    number: int = 1

    @property
    def statement(self) -> str:
        return f"what {self.name} says"

    @property
    def inputs(self) -> list[Tokens]:
        return list(self.answers_of)

    def answers(self, length: int) -> int:
        return self.number

    def whole(self, tokens: Tokens) -> Tokens:
        """All answers to an input."""
        if tokens not in self.answers_of:
            raise RunError(f"{self.name}: has no answer to {' '.join(tokens)}")
        return self.answers_of[tokens]


def read_table(path: Path) -> TableRule:
    """A CSV file with the columns `input` and `answer`: tokens separated by blanks; every line has as many answers."""
    rows = list(csv.reader(io.StringIO(_text(path), newline=""), strict=True))
    if not rows or [cell.strip() for cell in rows[0]] != ["input", "answer"]:
        raise RunError(f"{path}: line 1: a table of answers begins with the line input,answer")
    found: dict[Tokens, Tokens] = {}
    for line, row in enumerate(rows[1:], 2):
        if len(row) != 2 or not row[0].split() or not row[1].split():
            raise RunError(f"{path}: line {line}: is not an input and an answer, separated by a comma")
        tokens, answer = tuple(row[0].split()), tuple(row[1].split())
        if tokens in found:
            raise RunError(f"{path}: line {line}: the input {quoted(' '.join(tokens))} stands there twice")
        if found and len(answer) != len(next(iter(found.values()))):
            raise RunError(f"{path}: line {line}: has {len(answer)} answers, others have {len(next(iter(found.values())))}")
        found[tokens] = answer
    if not found:
        raise RunError(f"{path}: has no line with an answer")
    return TableRule(path.name, found, len(next(iter(found.values()))))


def read_inputs(path: Path) -> list[Tokens]:
    """An input a line, tokens separated by blanks."""
    inputs = [tuple(line.split()) for line in _text(path).splitlines() if line.strip()]
    if not inputs:
        raise RunError(f"{path}: has no line with an input")
    return inputs


def _text(path: Path) -> str:
    return decoded(read_regular(path, _MOST_BYTES, "a table", RunError), path, RunError).removeprefix("\ufeff")


def load_function(named: str) -> Any:
    """The function f of the file that `file.py:f` names. Its code is run: it is the user's own."""
    place, _, name = named.rpartition(":")
    path = Path(place)
    if not path.is_file():
        raise RunError(f"{place}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise RunError(f"{place}: is not a file of Python")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise RunError(f"{place}: cannot be run: {one_line(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise RunError(f"{place}: has no function {name}")
    return function


def read_domain(text: str, vocabulary: Tokens) -> Product | Sequences:
    """Sets of tokens, one for each position: `digits^4`, `0..112 0..112 =`, `{a b}^3 vocabulary`; `{a b}^1..3` is of any length.

    >>> read_domain("0..2^2 =", ("0", "1", "2", "=")).choices
    (('0', '1', '2'), ('0', '1', '2'), ('=',))
    >>> read_domain("{a b}^1..3", ("a", "b", "c"))
    Sequences(vocabulary=('a', 'b'), longest=3, shortest=1)
    """
    sets = list(_sets(text, vocabulary))
    if not sets:
        raise RunError(f"domain {quoted(text)}: is empty")
    try:
        if any(longest > shortest for _, shortest, longest in sets):
            if len(sets) > 1:
                raise RunError(f"domain {quoted(text)}: a power with two ends stands alone")
            some, shortest, longest = sets[0]
            return Sequences(some, longest, shortest)
        return Product(tuple(some for some, power, _ in sets for _ in range(power)))
    except ValueError as error:
        raise RunError(f"domain {quoted(text)}: {error}") from None


def _sets(text: str, vocabulary: Tokens) -> Iterator[tuple[Tokens, int, int]]:
    """Sets of tokens, each with how often it is repeated, at least and at most."""
    known = set(vocabulary)
    for found in _PART.finditer(text):
        braces, power, word = found.groups()
        if word is not None and word not in known and (raised := _POWER.fullmatch(word)):
            word, power = raised[1], raised[2]
        some = tuple(braces.split()) if braces is not None else _named(word, known, vocabulary)
        if strange := [token for token in some if token not in known]:
            raise RunError(f"domain {quoted(text)}: {quoted(strange[0])} is not a token of the model, nor the name of a set")
        least, _, most = (power or "1").partition("..")
        if int(least) == 0 or int(most or least) < int(least):
            raise RunError(f"domain {quoted(text)}: a power of 0, or one that ends before it begins")
        yield some, int(least), int(most or least)


def _named(word: str, known: set[str], vocabulary: Tokens) -> Tokens:
    if word in known:
        return (word,)
    if word == "vocabulary":
        return vocabulary
    if word == "digits":
        return tuple("0123456789")
    if found := _RANGE.fullmatch(word):
        first, last = int(found[1]), int(found[2])
        if last - first > len(vocabulary):
            raise RunError(f"domain: {word} has more numbers than the model has tokens")
        return tuple(map(str, range(first, last + 1)))
    return (word,)
