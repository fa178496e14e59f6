"""The model of a worksheet: its configuration, and its weights with their shorthands and defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import MISSING
from dataclasses import fields as declared_fields
from functools import cache
from hashlib import shake_256
from itertools import chain
from math import prod
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
from flint import fmpq

from exactformer.checkpoints.safetensors import Tensor, read_tensors
from exactformer.messages import Refused, quoted
from exactformer.model import BlockWeights, Config, ConfigError, Model, Weights
from exactformer.model.weights import assembled, declared
from exactformer.numbers import Exact, Number, Undecided, UndefinedValue, closed_form
from exactformer.numbers.arrays import Array, zeros
from exactformer.numbers.parse import exact_many
from exactformer.reading import Decimal, NumberArray, described
from exactformer.tokenizers import Tokenizer
from exactformer.worksheets.reader import Table

_MOST_ENTRIES = 1_000_000
_SMALL = 64  # bits of an integer
_DRAWN = re.compile(r"drawn ([0-9]{1,9}) by 1/([1-9][0-9]{0,5})")
_IDENTITY = re.compile(r"(-|[^\s*]*)\s*\*?\s*identity")


def read_model(worksheet: Table, tokenizer: Tokenizer | None = None, folder: Path | None = None) -> Model:
    """With weights that stand in the worksheet, or in a safetensors file that it names, beside it in the `folder`."""
    if isinstance(worksheet.raw.get("weights"), str):
        return _with_tensors(worksheet, tokenizer, folder)
    fields, weights = worksheet.table("model"), worksheet.table("weights")
    table = weights.take("W_pos") if fields.raw.get("positions") == "table" else None
    if isinstance(table, str):
        raise weights.error("W_pos", f"is {described(table)}: write a list of rows, as many as there are positions")
    try:
        config = _config(fields, tokenizer, len(table) if isinstance(table, list) else None)
        made = _weights(weights, config)
        weights.refuse_problems()
        return Model(config, made)
    except ConfigError as error:
        raise _refused(worksheet, error) from None


def _with_tensors(worksheet: Table, tokenizer: Tokenizer | None, folder: Path | None) -> Model:
    fields, file = worksheet.table("model"), worksheet.text("weights")
    if folder is None:
        raise worksheet.error("weights", f"names the file {quoted(file)}, which only a worksheet that is a file has beside it")
    if not file.endswith(".safetensors") or Path(file).name != file:
        raise worksheet.error(
            "weights", f"is {described(file)}: write a table of weights, or the name of a safetensors file beside it"
        )
    tensors = read_tensors(folder / file)
    table = tensors.get("W_pos") if fields.raw.get("positions") == "table" else None
    try:
        config = _config(fields, tokenizer, table.shape[0] if table is not None and table.shape else None)
        return Model(config, tensor_weights(config, tensors))
    except ConfigError as error:
        raise _refused(worksheet, error) from None


def _refused(worksheet: Table, error: ConfigError) -> Refused:
    place = "model" if hasattr(Config, error.field) or error.field in Config.__dataclass_fields__ else "weights"
    return worksheet.error(f"{place}.{error.field}", error.problem)


def tensor_weights(config: Config, tensors: dict[str, Tensor]) -> Weights:
    """The weights under their own names; one that is usual may be missing, and none may be there that has no place."""
    known = declared(config)
    values: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if name not in known:
            raise tensor.error("has no place in the model that the worksheet describes")
        if tensor.shape != known[name].shape:
            raise tensor.error(f"has the shape {_times(tensor.shape)}, not {_times(known[name].shape)}")
        values[name] = tensor.array()
        if not np.isfinite(values[name]).all():
            raise tensor.error("has an entry that is infinite or not a number")
    for name, weight in known.items():
        if name not in values and weight.usual is not None:
            values[name] = weight.usual(config)
    return assembled(config, values)


def _config(fields: Table, tokenizer: Tokenizer | None, length: int | None) -> Config:
    vocabulary = fields.take("vocabulary")
    if tokenizer is not None:
        vocabulary = list(tokenizer.vocabulary)
    elif isinstance(vocabulary, str):
        raise fields.error("vocabulary", f'is {described(vocabulary)}: write a list of texts, or "gpt2"')
    elif not isinstance(vocabulary, list) or not all(isinstance(token, str) for token in vocabulary):
        raise fields.error("vocabulary", "is not a list of texts")
    choices = _choices(fields, length)
    with fields.collect():
        fields.finish(activation="an mlp")
    fields.refuse_problems()
    return Config(vocabulary=tuple(vocabulary), **choices)


def _choices(fields: Table, length: int | None) -> dict[str, Any]:
    """The fields of a configuration, each read as its type says."""
    found: dict[str, Any] = {"length": length}
    for choice in _offered():
        if choice.needs and not found.get(choice.needs):
            continue
        if choice.must or choice.name in fields.raw:
            with fields.collect():
                found[choice.name] = _setting(fields, choice.name, choice.kind)
        fields.take(choice.name, None)
    return found


class _Choice(NamedTuple):
    name: str
    kind: Any  # its type
    must: bool
    needs: str  # a field without which it means nothing


@cache
def _offered() -> tuple[_Choice, ...]:
    """The fields of a configuration that a worksheet may say; those that others need come first."""
    kinds = get_type_hints(Config)
    choices = []
    for field in declared_fields(Config):
        said = field.metadata.get("worksheet", "must" if field.default is MISSING else "may")
        if field.name != "vocabulary" and said != "cannot":
            choices.append(_Choice(field.name, kinds[field.name], said == "must", field.metadata.get("needs", "")))
    return tuple(sorted(choices, key=lambda choice: choice.needs))


def _setting(fields: Table, name: str, kind: Any) -> Any:
    """A value of the type that the configuration wants: a whole number, a flag, one of some words, or an exact number."""
    if kind is int:
        value = fields.whole(name)
        if name == "head_dim" and value < 1:  # 0 stands for dim / heads in a configuration, and for nothing in a worksheet
            raise fields.error(name, f"is {value}, not a whole number of at least 1")
        return value
    if kind is bool:
        return fields.flag(name, False)
    if get_origin(kind) is tuple:
        return _listed(fields, name, get_args(kind)[0])
    kinds = get_args(kind) if get_origin(kind) is UnionType or get_origin(kind) is Union else (kind,)
    words = tuple(word for each in kinds if get_origin(each) is Literal for word in get_args(each))
    if Exact not in kinds and Number not in kinds:
        return fields.one_of(name, words)
    value = fields.take(name)
    if isinstance(value, str) and not isinstance(value, Decimal) and value in words:
        return value
    if Number in kinds and isinstance(value, str) and not isinstance(value, Decimal):
        return _closed(fields, name, value, words)
    if words and isinstance(value, str) and not isinstance(value, Decimal) and value[:1] not in "+-.0123456789":
        raise fields.error(name, f"is {described(value)}, not one of {', '.join(words)}, or a number")
    return fields.exact(value, name)


def _closed(fields: Table, name: str, text: str, words: tuple[str, ...]) -> Number:
    """A fraction, or a formula such as "8^(-1/2)"."""
    try:
        return closed_form(text)
    except (ValueError, UndefinedValue, Undecided) as error:
        raise fields.error(name, f"is {described(text)}, not one of {', '.join(words)}, or a number: {error}") from None


def _listed(fields: Table, name: str, kind: type) -> tuple[Any, ...]:
    """A list of texts, of whole numbers, or of exact ones."""
    given = fields.take(name)
    if kind is str:
        if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
            raise fields.error(name, "is not a list of texts")
        if not given:
            raise fields.error(name, "is empty")
        return tuple(given)
    if not isinstance(given, list):
        raise fields.wrong(name, given, "a list of numbers")
    if kind is int and not all(type(item) is int for item in given):
        raise fields.error(name, "is not a list of whole numbers")
    return tuple(item if kind is int else fields.exact(item, f"{name}[{n}]") for n, item in enumerate(given))


def _weights(fields: Table, config: Config) -> Weights:
    blocks = fields.tables("blocks")
    if len(blocks) != config.blocks:
        raise fields.error("blocks", f"has {len(blocks)} entries, but model.blocks is {config.blocks}")
    result: Weights = _group(fields, Weights, config)
    return result


def _group(fields: Table, kind: type, config: Config) -> Any:
    """The weights of a layer, as it declares them; what has no place in the model is refused with what it goes with."""
    made: dict[str, Any] = {}
    elsewhere: dict[str, str] = {}
    for field in declared_fields(kind):
        if field.name == "blocks":
            made["blocks"] = tuple(_group(block, BlockWeights, config) for block in fields.tables("blocks"))
        elif not field.metadata["when"](config):
            elsewhere[field.name] = field.metadata["goes_with"]
        elif "kind" in field.metadata:
            inside = fields.table(field.name, required=not _may_be_silent(field.metadata["kind"]))
            made[field.name] = _group(inside, field.metadata["kind"], config)
        else:
            with fields.collect():
                made[field.name] = _weight(fields, field.name, field.metadata, config)
    with fields.collect():
        fields.finish(**elsewhere)
    return None if fields.problems else kind(**made)


def _may_be_silent(kind: type) -> bool:
    return all(field.metadata["optional"] or field.metadata["usual"] is not None for field in declared_fields(kind))


def _weight(fields: Table, name: str, metadata: Any, config: Config) -> Array | None:
    shape = tuple(axis.size(config) for axis in metadata["axes"])
    if prod(shape) > _MOST_ENTRIES:
        raise fields.error(name, f"would have {prod(shape):,} entries; in a worksheet a weight may have {_MOST_ENTRIES:,}")
    if name in fields.raw or not (metadata["optional"] or metadata["usual"]):
        return _array(fields, name, shape)
    fields.take(name, None)
    try:
        return metadata["usual"](config) if metadata["usual"] else None
    except ConfigError as error:
        raise fields.error(error.field, error.problem) from None


def _array(fields: Table, name: str, shape: tuple[int, ...]) -> Array:
    """An array of the given shape; the axis of a single head may be left out."""
    large = fields.raw.get(name)
    if isinstance(large, NumberArray) and large.shape in (shape, shape[1:] if shape[0] == 1 else shape):
        with suppress(ValueError):  # which is said of the number that is at fault
            made = large.numbers().reshape(shape)
            fields.taken.add(name)
            return made
    value = fields.take(name)
    if isinstance(value, str):
        return _shorthand(fields, name, value, shape)
    if not isinstance(value, list):
        raise fields.error(name, f'is {described(value)}, not a list of numbers or "identity"')
    if len(shape) > 1 and shape[0] == 1 and _depth(value) == len(shape) - 1:
        value = [value]
    entries = _plainly(value, shape) or list(_entries(fields, name, value, shape, ()))  # checked before memory is taken for it
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    return result.reshape(shape)


def _plainly(value: list[Any], shape: tuple[int, ...]) -> list[Exact] | None:
    """The entries of an array of that shape whose numbers are as usual; None of one that has to be looked at."""
    entries: list[Any] = [value]
    for wanted in shape:
        if not set(map(type, entries)) <= {list} or not set(map(len, entries)) <= {wanted}:
            return None
        entries = list(chain.from_iterable(entries))
    whole = [x for x in entries if type(x) is int] if int in (kinds := set(map(type, entries))) else []
    if not kinds <= {Decimal, str, int} or any(x.bit_length() >= _SMALL for x in whole):
        return None
    try:
        return exact_many(entries)
    except ValueError:
        return None


def _entries(fields: Table, name: str, value: Any, shape: tuple[int, ...], place: tuple[int, ...]) -> Iterator[Exact]:
    where = name + "".join(f"[{i}]" for i in place)
    if len(place) == len(shape):
        yield fields.exact(value, where)
        return
    wanted = shape[len(place)]
    if not isinstance(value, list) or len(value) != wanted:
        raise fields.error(where, f"is {described(value)}, where a list of {wanted} belongs ({name} is {_times(shape)})")
    for i, item in enumerate(value):
        yield from _entries(fields, name, item, shape, (*place, i))


def _shorthand(fields: Table, name: str, text: str, shape: tuple[int, ...]) -> Array:
    if text.strip() == "zeros":
        return zeros(*shape)
    if drawn := _DRAWN.fullmatch(text.strip()):
        return _drawn(f"{drawn[1]} {fields.place}{name}", int(drawn[2]), shape)
    match = _IDENTITY.fullmatch(text.strip())
    if match is None or len(shape) < 2:
        wanted = '"zeros"' if len(shape) < 2 else '"identity", a multiple such as "1/2 identity", or "zeros"'
        raise fields.error(name, f"is {described(text)}: write a list of numbers, {wanted}")
    if shape[-1] != shape[-2] or any(n != 1 for n in shape[:-2]):
        raise fields.error(name, f"is the identity, but its shape {_times(shape)} is not square")
    factor = fields.exact({"": "1", "-": "-1"}.get(match[1], match[1]), name)
    return _identity(shape[-1], factor).reshape(shape)


def _drawn(seed: str, parts: int, shape: tuple[int, ...]) -> Array:
    """Multiples of 1/parts from -1 to 1, drawn from a seed, the same on every machine.

    They are read off SHAKE-256 of the seed, the table and the name, four bytes at a time; what would favour some is passed over.
    """
    count, choices = prod(shape), 2 * parts + 1
    stream = shake_256(seed.encode()).digest(4 * (count + count // 100 + 64))
    numbers = (int.from_bytes(stream[n : n + 4]) for n in range(0, len(stream), 4))
    fair = (number % choices for number in numbers if number < 2**32 - 2**32 % choices)
    result = np.empty(count, dtype=object)
    result[:] = [Exact(fmpq(next(fair) - parts, parts)) for _ in range(count)]
    return result.reshape(shape)


def _times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def _identity(n: int, factor: Exact) -> Array:
    result = zeros(n, n)
    for i in range(n):
        result[i, i] = factor
    return result


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, list):
        depth += 1
        value = value[0] if value else None
    return depth
