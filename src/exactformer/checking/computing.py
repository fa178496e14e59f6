"""Operations of claims as nodes of a record: what they read, with what parameters, and what comes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, get_args

import numpy as np

from exactformer.checking.applying import OperandError, applied, apply, times
from exactformer.checking.attending import Operand, parts
from exactformer.checking.entries import read_array
from exactformer.checking.operations import OPERATIONS, Operation
from exactformer.checking.record import Index, Node, Record
from exactformer.model.rotary import Pairs
from exactformer.model.sight import Mask
from exactformer.numbers import Undecided, closed_form
from exactformer.numbers.arrays import Array
from exactformer.reading import Decimal, described
from exactformer.worksheets.reader import Table, WorksheetError

_CHOICES = {
    "mask": get_args(Mask), "pairs": get_args(Pairs), "by": ("rows", "columns"), "epsilon_at": ("inside", "outside"),
}  # fmt: skip
_REFERENCE = re.compile(r"(.+?)\s*\[\s*([0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)\s*\]")


def made(table: Table, name: str, asked: str, record: Record) -> Node:
    """The node of an operation; those on the way to it, of attention, are added to the record."""
    operation = OPERATIONS[asked]
    parameters = {field: _parameter(table, field) for field in operation.required}
    parameters |= {field: _parameter(table, field) for field in operation.optional if table.take(field, None) is not None}
    head = table.whole("head", 0)
    operands = [_operand(table, field, head, record) for field in operation.operands]
    shown = "" if "name" in table.raw else asked
    if asked != "attention":
        return _carried_out(table, name, asked, operands, parameters, record, shown)
    width = _part_of(operands[0], record).shape[-1:]
    q, k, v = operands
    way = parts(name, q, k, v, width[0] if width else 1, parameters.get("scale", "sqrt"), parameters.get("mask", "none"))
    for part in way:
        node = _carried_out(table, part.name, part.operation, part.operands, part.parameters, record, shown, part.fits)
        if part is not way[-1]:
            record.add(node)
    return node


def _operand(table: Table, field: str, head: int, record: Record) -> Operand:
    """Numbers that stand there, a single number or formula, or a step or named operation that is read."""
    value = table.take(field)
    if type(value) is int or isinstance(value, Decimal):
        return _single(table.exact(value, field))
    if isinstance(value, str):
        try:
            return _reference(table, field, value, head, record)
        except WorksheetError:
            with suppress(ValueError, Undecided):
                return _single(closed_form(value))
            raise
    return read_array(table, value, field)


def _single(value: Any) -> Array:
    result = np.empty((), dtype=object)
    result[()] = value
    return result


def _part_of(operand: Operand, record: Record) -> Array:
    return _part(record.nodes[operand[0]].truth, operand[1]) if isinstance(operand, tuple) else operand


def _carried_out(
    table: Table, name: str, asked: str, operands: Sequence[Operand], parameters: dict[str, Any], record: Record, shown: str,
    fits: str = "",
) -> Node:  # fmt: skip
    """The node of one operation."""
    named = [(operand[0], operand[1]) for operand in operands if isinstance(operand, tuple)]

    def taken(inputs: Sequence[Array]) -> list[Array]:
        read = iter(inputs)
        return [_part(next(read), operand[1]) if isinstance(operand, tuple) else operand for operand in operands]

    def compute(inputs: Sequence[Array]) -> Array:
        return apply(asked, taken(inputs), parameters)

    operation = OPERATIONS[asked]
    slips = tuple((words, _slipped(operation, function, taken, parameters)) for words, function in operation.slips)
    try:
        truth = compute([record.nodes[each].truth for each, _ in named])
    except OperandError as error:
        raise table.error(fits or error.operand, str(error)) from None
    return Node(name, truth, tuple(each for each, _ in named), compute, shown=shown, slips=slips)


def _slipped(
    operation: Operation,
    function: Callable[..., Array],
    taken: Callable[[Sequence[Array]], list[Array]],
    parameters: dict[str, Any],
) -> Callable[[Sequence[Array]], Array]:
    return lambda inputs: applied(operation, function, taken(inputs), parameters)


def _reference(table: Table, field: str, text: str, head: int, record: Record) -> tuple[str, Index]:
    """A step or a named operation, or a part of one: "embed", "embed[0]" (a row), "embed[0, 1]" (an entry)."""
    match = _REFERENCE.fullmatch(text)
    name, part = text, ()  # type: tuple[str, Index]
    if text not in record.nodes and match is not None:
        name, part = match[1], tuple(int(i) for i in match[2].split(","))
    if name not in record.nodes:
        near = get_close_matches(name, record.nodes, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise table.error(field, f"is {described(text)}, which is neither a step nor a named operation above{hint}")
    shape = record.nodes[name].truth.shape
    if len(shape) == 3:
        if not 0 <= head < shape[0]:
            raise table.error("head", f"is {head}, but {name} has {shape[0]}")
        part = (head, *part)
    if len(part) > len(shape) or any(i >= size for i, size in zip(part, shape, strict=False)):
        raise table.error(field, f"is {described(text)}, but {name} is {times(record.nodes[name].truth)} (counted from 0)")
    return name, part


def _part(x: Array, part: Index) -> Array:
    return np.array(x[part], dtype=object)


def _parameter(table: Table, field: str) -> Any:
    match field:
        case "mask" | "pairs" | "by" | "epsilon_at":
            return table.one_of(field, _CHOICES[field])
        case "scale" if table.raw[field] in ("sqrt", "none"):
            return table.raw[field]
        case "factor" | "scale":
            value = table.take(field)
            if type(value) is not int and not isinstance(value, str):
                raise table.error(field, f"is {described(value)}, not a number")
            try:
                return closed_form(str(value))
            except (ValueError, Undecided) as error:
                raise table.error(f"{field}:", str(error)) from None
        case "epsilon" | "temperature" | "base":
            number = table.number(field)
            if number.value < 0 or (number.value == 0 and field != "epsilon"):
                raise table.error(field, f"is {number}, which is {'negative' if number.value else 'not positive'}")
            return number
        case "ddof" | "position":
            whole = table.whole(field)
            if whole < 0 or (field == "ddof" and whole > 1):
                raise table.error(field, f"is {whole}, {'neither 0 nor 1' if field == 'ddof' else 'which is negative'}")
            return whole
        case "correct":
            places = table.take(field)
            places = places if isinstance(places, list) else [places]
            if any(type(place) is not int for place in places):
                raise table.error(field, f"is {described(table.raw[field])}, not places in rows, counted from 0")
            return tuple(places)
        case _:
            return read_array(table, table.take(field), field)
