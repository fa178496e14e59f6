"""How a number comes about, in words: hints that are given one at a time, and the derivation. All of it is read off the records of
operations: the title, the formula, what is read, and the formula of one entry with its numbers put in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from exactformer.exercises.cell import Cell
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.axes import Axis
from exactformer.model.operations.operation import short
from exactformer.model.step import Step, Words
from exactformer.numbers import Exact, Named, Undecided, Undefined
from exactformer.numbers.nearness import nearly

_MOST = 16  # numbers of a row that are written out
_DIGITS = 12
_WIDEST = 120  # characters of a form that stands in a line
_PLAIN = re.compile(r"[0-9.πe]+")


def _named(step: Step) -> str:
    return ("∂" if step.name.startswith("grad.") else "") + short(step.name)


def question(cell: Cell) -> str:
    """What is asked, in a sentence.

    >>> from exactformer import load
    >>> from exactformer.exercises.cell import find_cell
    >>> question(find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]"))
    'What is blocks.0.attn.pattern[0, 1, 0]: row 1 (“b”), column 0 (“a”) of softmax(attn.masked)?'
    """
    of = f" of {cell.step.formula}" if cell.step.formula else ""
    return f"What is {'the ' * cell.total}{cell.name.replace('sum ', 'sum of the row ')}{_place(cell)}{of}?"


def _place(cell: Cell) -> str:
    """The place of an entry, where its axes count tokens."""
    axes = cell.trace.axes(cell.step.name)
    named = []
    for n, (axis, i) in enumerate(zip(axes, cell.index, strict=False)):
        word = {len(axes) - 2: "row", len(axes) - 1: "column"}.get(n, "head")
        token = _token(cell, axis, i)
        if axis.word and (word != "head" or cell.step.values.shape[0] > 1):
            named.append(f"{word} {i}" + (f" (“{token}”)" if token else ""))
    return f": {', '.join(named)}" if named else ""


def _token(cell: Cell, axis: Axis, i: int) -> str:
    names = Words(cell.trace.tokens, cell.trace.model.config).along(axis)
    return names[i] if names else ""


def hints(cell: Cell) -> tuple[str, ...]:
    """Hints, each of which says more than the one before; none of them is the answer.

    >>> from exactformer import load
    >>> from exactformer.exercises.cell import find_cell
    >>> for hint in hints(find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]")):
    ...     print(hint)
    Softmax of each row: attn.pattern = softmax(attn.masked).
    It is made from row 1 of attn.masked: 1, 2.
    With the numbers put in: exp(1)/(exp(1) + exp(2)).
    """
    step = cell.step
    found = []
    if step.formula:
        found.append(f"{step.title[:1].upper()}{step.title[1:]}: {_named(step)} = {step.formula}.")
    if cell.total:
        row = [_text(x) for x in np.atleast_1d(step.values[cell.index])]
        return (*found, f"The numbers of the row are {', '.join(row[:_MOST])}{'…' * (len(row) > _MOST)}.")
    read = "; ".join(_described(name, index, values) for name, index, values in parts(cell))
    if read:
        found.append(f"It is made from {read}.")
    spelt = spelled(cell)
    if spelt and spelt != _text(cell.value):
        found.append(f"With the numbers put in{', rounded' * _approximate(cell)}: {spelt}.")
    return tuple(found)


def derivation(cell: Cell) -> tuple[str, ...]:
    """Line by line from the rule to the number: each line is equal to the one before.

    >>> from exactformer import load
    >>> from exactformer.exercises.cell import find_cell
    >>> for line in derivation(find_cell(load("capstone").trace(), "blocks.0.attn.pattern[0, 1, 0]")):
    ...     print(line)
    attn.pattern = softmax(attn.masked)
    attn.pattern[0, 1, 0] = exp(1)/(exp(1) + exp(2))
    = 1/(1+e)
    ≈ 0.268941421370
    """
    step, value = cell.step, cell.value
    lines = [f"{_named(step)} = {step.formula}"] if step.formula else []
    spelt = " + ".join(_factor(_text(x)) for x in step.values[cell.index][:_MOST]) if cell.total else spelled(cell)
    name = f"{'sum ' * cell.total}{_named(step)}[{', '.join(map(str, cell.index))}]"
    forms = [("≈" if _approximate(cell) else "=", spelt)] if spelt else []
    if isinstance(value, Exact | Named):
        forms += [("=", form) for form in (value.written, str(value)) if len(form) <= _WIDEST and not form.startswith("≈")]
    else:
        forms.append(("=", _text(value)))
    if isinstance(value, Named):
        with suppress(Undecided):
            forms.append(("≈", nearly(value, _DIGITS)))
    forms = list({(sign, _squeezed(form)): (sign, form) for sign, form in reversed(forms)}.values())[::-1]
    return (*lines, *(f"{'' if n else f'{name} '}{sign} {form}" for n, (sign, form) in enumerate(forms)))


def _squeezed(form: str) -> str:
    """Forms that look alike once they are drawn: exp(2) and e^2."""
    whole = re.sub(r"exp\(([0-9]+)\)", r"e^\1", form.replace(" ", ""))
    return re.sub(r"exp\((-?[0-9]+(?:/[0-9]+)?)\)", r"e^(\1)", whole)


def _approximate(cell: Cell) -> bool:
    """Are there numbers among those that it is made from whose closed forms are too long to be written?"""
    numbers = np.atleast_1d(cell.step.values[cell.index]) if cell.total else (x for _, _, values in parts(cell) for x in values)
    return any(isinstance(x, Named) and str(x).startswith("≈") for x in numbers)


# -- what an entry reads
def parts(cell: Cell) -> list[tuple[str, tuple[int | None, ...], list[Any]]]:
    """What the entry reads: the step, the index of the slice (None for a whole axis), and its numbers."""
    step, steps = cell.step, {each.name: each.values for each in cell.steps()}
    if step.op == "gradient" or cell.total:
        return []
    out, *letters = step.operation.signature(step.values.ndim, len(step.reads))
    bound = dict(zip(out, cell.index, strict=False))
    if "i" in bound:
        bound["t"] = cell.trace.model.ids(cell.trace.tokens)[bound["i"]]
    if (times := step.operation.known.get("times", "")).isdigit():  # one head of keys serves several of queries
        mixed = step.operation.known.get("sharing") == "mixed"
        bound["g"] = bound["h"] % (step.values.shape[0] // int(times)) if mixed else bound["h"] // int(times)
    found = []
    for read, at in zip(step.reads, letters, strict=False):
        if read not in steps:
            continue
        index = tuple(int(letter) if letter.isdigit() else bound.get(letter) for letter in at)
        values = steps[read][tuple(slice(None) if i is None else i for i in index)]
        found.append((read, index, list(np.atleast_1d(values).flat)))
    return found


def _described(name: str, index: Sequence[int | None], values: list[Any]) -> str:
    if None not in index:
        return f"{short(name)}[{', '.join(map(str, index))}] = {_text(values[0])}"
    where = "" if len(index) < 2 else f"row {index[-2]} of " if index[-1] is None else f"column {index[-1]} of "
    rest = "…" * (len(values) > _MOST)
    return f"{where}{short(name)}: {', '.join(map(_text, values[:_MOST]))}{rest}"


# -- the formula of an entry with its numbers: docs/architecture.md has the little language
def spelled(cell: Cell) -> str:
    """The formula of one entry with its numbers put in; "" where the operation has none, or there are too many numbers."""
    step = cell.step
    template = step.operation.entry.split(" | ")[0]
    values = [values for _, _, values in parts(cell)]
    if not template or not values or max(map(len, values)) > _MOST:
        return ""
    if step.reads and len(values) < len(step.reads):  # a lookup reads tokens first, which are no numbers
        values = [[]] * (len(step.reads) - len(values)) + values
    if "@" in template and values[0][cell.index[-1]] is MASKED:
        return "0"
    if template in ("{0}", "{1}"):  # a copy
        return _text(values[int(template[1])][0])
    known = {**step.operation.known, "n": str(len(values[0]))}

    def put(found: re.Match[str]) -> str:
        inside = found[1]
        if inside == "0·1":
            pairs = [f"{_factor(_text(x))}·{_factor(_text(w))}" for x, w in zip(values[0], values[1], strict=False)]
            return " + ".join(pairs + [_term(_text(b)) for b in (values[2] if len(values) > 2 else [])])
        match = re.fullmatch(r"(\+(?:exp )?)?(\d)(.?)", inside)
        if match is None:
            text = known.get(inside.removesuffix("*"), "")
            return _factor(text) if inside.endswith("*") else text
        row = values[int(match[2])]
        return _WAYS[f"{(match[1] or '').strip()}{match[3]}"](row, cell.index[-1])

    try:
        return "" if "{turn" in template else re.sub(r"\{([^}]*)\}", put, template)
    except (KeyError, IndexError):
        return ""


def _seen(row: list[Any]) -> list[str]:
    return [_text(x) for x in row if x is not MASKED]


_WAYS: dict[str, Callable[[list[Any], int], str]] = {
    "": lambda row, at: _term(_text(row[0])),
    "*": lambda row, at: _factor(_text(row[0])),
    "=": lambda row, at: _text(row[0]),
    "@": lambda row, at: _text(row[at]),
    ",": lambda row, at: ", ".join(_seen(row)),
    "+": lambda row, at: " + ".join(map(_term, map(_text, row))),
    "+²": lambda row, at: " + ".join(f"{_factor(_text(x))}^2" for x in row),
    "+exp": lambda row, at: " + ".join(f"exp({x})" for x in _seen(row)),
}


def _text(value: Any) -> str:
    if isinstance(value, Undefined):
        return "undefined"
    return "-inf" if value is MASKED else str(value).removeprefix("≈ ")


def _term(text: str) -> str:
    return f"({text})" if text.startswith("-") else text


def _factor(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else f"({text})"
