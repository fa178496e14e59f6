"""The tables `[[claims]]` of a worksheet: what is printed, and which entries of which step or operation it claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from exactformer.checking.allowing import NOTHING, AllowanceError, Allowed
from exactformer.checking.allowing import allowed as read_allowed
from exactformer.checking.applying import times
from exactformer.checking.computing import made
from exactformer.checking.entries import brackets, depth_of, is_hidden, leaves, shape_of
from exactformer.checking.gradients import add_gradients, needed
from exactformer.checking.operations import OPERATIONS
from exactformer.checking.printed import LEFT_OUT, Claimed, Token, read_any
from exactformer.checking.record import Index, Node, Record
from exactformer.model.arithmetics.exact import MASKED
from exactformer.numbers import Undecided, UndefinedValue, compare
from exactformer.numbers.arrays import Array
from exactformer.reading import Decimal, described
from exactformer.reading.toml_places import Located, Path
from exactformer.trace import Trace
from exactformer.worksheets.reader import Table

_FIELDS = {"step", "operation", "name", "value", "values", "index", "head", "row", "target", "upstream", "allow", "from", "columns"}


@dataclass(frozen=True)
class PrintedClaim:
    """One printed number or token: what it is said to be, and where it stands in the worksheet."""

    node: str
    index: Index
    printed: Claimed
    path: Path
    order: int = 0  # the larger, the further down on the page
    allowed: Allowed = NOTHING


class Usual(NamedTuple):
    """What a worksheet says of all its claims: what they count from, and whether their matrices stand transposed."""

    first: int = 0
    columns: bool = False


def read_claims(
    worksheet: Table, record: Record, trace: Trace | None = None, lost: bool = False, order: int = 0, allowed: Allowed = NOTHING
) -> list[PrintedClaim]:
    """Every claim of a worksheet, in order. Operations become nodes of the record, what is printed is put to theirs.

    `trace` is the pass that the record is of: claims may ask for its gradients. Problems are collected. Of what could not be read,
    a named operation or, where it is `lost`, the pass, was reported once: claims about it are passed over.
    """
    claims: list[PrintedClaim] = []
    failed: set[str] = set()
    tables: list[Table] = []
    usual = Usual()
    with worksheet.collect():
        usual = Usual(_first(worksheet, 0), worksheet.flag("columns", False))
        tables = worksheet.tables("claims")
    for n, table in enumerate(tables):
        before = len(worksheet.problems)
        with worksheet.collect():
            claims += [
                replace(claim, allowed=claim.allowed | allowed) for claim in _claim(table, n, record, trace, order + n, usual)
            ]
        if len(worksheet.problems) > before:
            named = table.raw.get("name")
            failed |= {named} if isinstance(named, str) else set()
            if _speaks_of(table, failed) or (lost and _speaks_of_steps(table)):
                del worksheet.problems[before:]
    return claims


def _claim(table: Table, n: int, record: Record, trace: Trace | None, order: int, usual: Usual) -> list[PrintedClaim]:
    table.only(_known(table))
    add_gradients(table, trace, record)
    node = _node(table, record, trace, usual)
    if "operation" in table.raw and "name" in table.raw and not {"value", "values"} & table.raw.keys():
        table.finish()  # nothing is claimed: the operation is there to be read further down
        return []
    entries = list(_entries(table, node, usual))
    allowed = allowances(table)
    table.finish()
    for index, printed, _ in entries:
        node.print(index, order, printed)
    return [PrintedClaim(node.name, index, printed, ("claims", n, *path), order, allowed) for index, printed, path in entries]


def allowances(table: Table) -> Allowed:
    """What a claim or a worksheet allows: a word, or a list of them."""
    said = table.take("allow", [])
    words = [said] if isinstance(said, str) else said
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise table.error("allow", f"is {described(said)}, not a list of texts")
    try:
        return read_allowed(words)
    except AllowanceError as error:
        raise table.error("allow:", str(error)) from None


def _first(table: Table, usual: int) -> int:
    """What rows, heads and entries are counted from."""
    first = table.whole("from", usual)
    if first not in (0, 1):
        raise table.error("from", f"is {first}: rows are counted from 0 or from 1")
    return first


def _speaks_of(table: Table, names: set[str]) -> bool:
    """Does a claim name one of these as what it is about, or as what it reads?"""
    said = [value for field, value in table.raw.items() if field != "name" and isinstance(value, str)]
    return any(value == name or value.startswith(f"{name}[") for value in said for name in names)


def _speaks_of_steps(table: Table) -> bool:
    """Not of an operation on numbers that stand there."""
    operands = {operand for operation in OPERATIONS.values() for operand in operation.operands}
    return "step" in table.raw or any(isinstance(table.raw.get(operand), str) for operand in operands)


def _known(table: Table) -> set[str]:
    """The fields that a claim may have: a misspelt one is named, rather than what goes wrong without it."""
    asked = table.raw.get("operation")
    operations = [OPERATIONS[asked]] if isinstance(asked, str) and asked in OPERATIONS else OPERATIONS.values()
    return _FIELDS.union(*((*each.operands, *each.required, *each.optional) for each in operations))


def _node(table: Table, record: Record, trace: Trace | None, usual: Usual) -> Node:
    """The step or operation that a claim is about."""
    step = table.text("step") if "step" in table.raw or "operation" not in table.raw else None
    if step is not None and step not in record.nodes:
        near = get_close_matches(step, record.nodes, 1)
        if (missing := needed(step, trace, record)) is not None:
            raise table.error("step", f"is {described(step)}: {missing}")
        known = (
            f"did you mean {near[0]}?"
            if near
            else f"there are {', '.join(record.nodes)}"
            if record.nodes
            else "there is no [model]"
        )
        raise table.error("step", f"is {described(step)}, neither a step of the pass nor a named operation above ({known})")
    if "operation" not in table.raw:
        assert step is not None
        return record.nodes[step]
    operation = table.one_of("operation", tuple(OPERATIONS))
    here = table.file.where(table.place) if isinstance(table.file, Located) else table.file
    name = table.text("name", f"{operation}, {table.place.rstrip('.')} of {here}")
    if name in record.nodes:
        raise table.error("name", f'is {described(name)}, which there is already (claim more of it with step = "{name}")')
    node = made(table, name, operation, record)
    if step is not None:
        return _another_way(table, record.nodes[step], node, record, usual)
    record.add(node)
    return node


def _another_way(table: Table, node: Node, other: Node, record: Record, usual: Usual) -> Node:
    """A step, or a part of it, with an operation: the author's way to it, which must lead there."""
    truth, reads, compute = other.truth, other.reads, other.compute
    if node.of_tokens:
        raise table.error("operation", f"gives numbers, but {node.name} has tokens")
    prefix = _prefix(table, node, usual)
    there = node.truth[prefix] if prefix else node.truth
    if np.size(there) != truth.size:
        raise table.error("operation", f"gives {times(truth)}, but {_shown(node, prefix)} is {times(np.array(there))}")
    if node.name in record.above(reads):
        raise table.error("operation", f"reads what is computed from {node.name} itself")
    if any(_differ(a, b) for a, b in zip(truth.flat, np.array(there, dtype=object).flat, strict=True)):
        raise table.error("operation", f"does not lead to {_shown(node, prefix)}: without any rounding, the two differ")
    if np.size(there) == node.truth.size:
        node.reads, node.compute = reads, lambda inputs: compute(inputs).reshape(node.truth.shape)
        return node
    before, rest = len(node.reads), node.compute

    def in_part(inputs: Sequence[Array]) -> Array:
        result = np.array(rest(inputs[:before]), dtype=object)
        part = compute(inputs[before:])
        result[prefix] = part.reshape(np.shape(result[prefix])) if np.shape(result[prefix]) else part.item()
        return result

    node.reads, node.compute = (*node.reads, *reads), in_part
    return node


def _differ(a: Any, b: Any) -> bool:
    if a is MASKED or b is MASKED:
        return a is not b
    try:
        return compare(a, b) != 0
    except (Undecided, UndefinedValue):
        return False


def _entries(table: Table, node: Node, usual: Usual) -> Iterator[tuple[Index, Claimed, Path]]:
    """The printed numbers or tokens of one claim, with the entries that they claim."""
    whole = "values" in table.raw or "value" not in table.raw
    field = "values" if whole else "value"
    value = table.take(field)
    prefix = _prefix(table, node, usual)
    across = table.flag("columns", usual.columns)
    wanted = node.truth.shape[len(prefix) :]
    wanted = (*wanted[:-2], *wanted[:-3:-1]) if across else wanted
    ragged = _is_ragged(value, node.truth[prefix]) and not across
    shape = wanted if ragged else shape_of(table, value, field)
    column = len(wanted) > 0 and wanted[-1] == 1 and shape == wanted[:-1]  # one number a row: it may stand without its brackets
    if shape != wanted and not column:
        there, here = (" × ".join(map(str, size)) or "a single number" for size in (wanted, shape))
        raise table.error(field, f"is {here}, but {_shown(node, prefix)} is {there}")
    for index, entry in leaves(value):
        if entry in LEFT_OUT and not node.of_tokens:
            continue
        printed = _read_entry(table, entry, field + brackets(index), node)
        place = (*index[:-2], *index[:-3:-1]) if across else index
        yield (*prefix, *place, *((0,) if column else ())), printed, (field, *index)


def _is_ragged(value: Any, truth: Any) -> bool:
    """Row i with i + 1 numbers, where all others are hidden by the mask."""
    shape = np.shape(truth)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2 or not isinstance(value, list):
        return False
    rows = [len(row) if isinstance(row, list) and not any(isinstance(x, list) for x in row) else 0 for row in value]
    return rows == list(range(1, shape[0] + 1)) and all(
        is_hidden(truth[i, j]) for i, j in zip(*np.triu_indices(shape[0], 1), strict=True)
    )


def _read_entry(table: Table, entry: Any, place: str, node: Node) -> Claimed:
    if node.of_tokens:
        if not isinstance(entry, str) or isinstance(entry, Decimal):
            raise table.error(place, f"is {described(entry)}, not a token (which is written in quotes)")
        return Token(entry)
    if type(entry) is not int and not isinstance(entry, str):
        raise table.error(place, f"is {described(entry)}, not a number")
    try:
        return read_any(str(entry))
    except ValueError as error:
        raise table.error(f"{place}:", str(error)) from None


def _prefix(table: Table, node: Node, usual: Usual) -> Index:
    """Which part of a step is claimed: an entry (`index`), a row of a head (`head`, `row`), a head, or all of it. They are counted
    from 0, or where the claim says so from 1."""
    shape = node.truth.shape
    first = _first(table, usual.first)
    if "index" in table.raw:
        index = table.take("index")
        if not isinstance(index, list) or any(type(i) is not int for i in index):
            raise table.error("index", f"is {described(index)}, not a list of whole numbers")
        if len(shape) == 3 and len(index) == 2:
            index = [table.whole("head", 0), *index]
        if len(index) != len(shape):
            raise table.error("index", f"has {len(index)} numbers, but {node.name} has {len(shape)} axes")
        places = [("index", i) for i in index]
    else:
        head, row = table.take("head", None), table.take("row", None)
        places = []
        if len(shape) == 3 and (head is not None or depth_of(table.raw.get("values")) + (row is not None) < 3):
            places.append(("head", table.whole("head", 0)))
        if row is not None:
            places.append(("row", table.whole("row")))
    if len(places) > len(shape):
        raise table.error(places[-1][0], f"is given, but {node.name} has {len(shape)} axes")
    said = {field for field in ("index", "head", "row") if field in table.raw}
    places = [(field, i - first if field in said else i) for field, i in places]
    for (field, i), size in zip(places, shape, strict=False):
        if not 0 <= i < size:
            raise table.error(field, f"is {i + first}, but {node.name} has {size} there (counted from {first})")
    return tuple(i for _, i in places)


def _shown(node: Node, prefix: Index) -> str:
    return (node.shown or node.name) + (f"[{', '.join(map(str, prefix))}]" if prefix else "")
