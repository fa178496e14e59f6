"""The circuit of a worksheet: a model given by heads in words, and the rule that its theorem is about."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any, get_args

from exactformer.circuits import Circuit, CircuitError, Head
from exactformer.messages import whole_number
from exactformer.model.fields import ConfigError
from exactformer.model.sight import Mask
from exactformer.model.weights import declared
from exactformer.numbers import array
from exactformer.proofs.rules import Lookup
from exactformer.reading import described
from exactformer.worksheets.reader import Table, WorksheetError

_LONGEST = 512  # positions
_MOST_ENTRIES = 8_000_000  # of all weights together


def read_circuit(worksheet: Table) -> Circuit:
    fields = worksheet.table("circuit")
    vocabulary, stream, codes = fields.take("vocabulary"), fields.table("stream"), fields.table("codes")
    if not isinstance(vocabulary, list) or not all(isinstance(token, str) and token for token in vocabulary):
        raise fields.error("vocabulary", "is not a list of texts")
    length = fields.whole("length")
    if not 1 <= length <= _LONGEST:
        raise fields.error("length", f"is {length}, not a number from 1 to {_LONGEST}")
    for name, held in stream.raw.items():
        if type(held) is int and held > _LONGEST:
            raise stream.error(name, f"is {whole_number(held)}; a subspace may have {_LONGEST} dimensions")
    predict = fields.table("predict")
    layers = tuple(tuple(_head(head) for head in _heads(layer)) for layer in fields.tables("layers"))
    try:
        circuit = Circuit(
            vocabulary=tuple(vocabulary),
            length=length,
            stream=dict(stream.raw),
            codes={name: _code(codes, name, code) for name, code in codes.raw.items()},
            layers=layers,
            predict=predict.text("from"),
            confidence=predict.number("strength"),
            mask=fields.one_of("mask", get_args(Mask)),  # type: ignore[arg-type]
        )
        entries = sum(map(prod, (weight.shape for weight in declared(circuit.config).values())))
        if entries > _MOST_ENTRIES:
            raise CircuitError(f"its weights would have {entries:,} entries; a circuit may have {_MOST_ENTRIES:,}")
        circuit.build()
    except (CircuitError, ConfigError) as error:
        raise WorksheetError(f"{worksheet.file}: circuit: {error}") from None
    predict.finish()
    fields.finish()
    return circuit


def read_rule(worksheet: Table, circuit: Circuit) -> Lookup:
    """What the theorem demands: by default, what stands where the token before is the last one."""
    fields = worksheet.table("theorem", required=False)
    pairs = fields.take("match", [[0, 1]])
    whole = isinstance(pairs, list) and bool(pairs)
    if not whole or not all(isinstance(p, list) and len(p) == 2 and all(type(n) is int and n >= 0 for n in p) for p in pairs):
        raise fields.error(
            "match", "is not a list of pairs such as [[0, 1]]: how far back in the present, how far back in the past"
        )
    similar = None if fields.take("similar", None) is None else fields.text("similar")
    fields.finish()
    if similar is None:
        return Lookup(tuple((a, b) for a, b in pairs), circuit.mask)
    if similar not in circuit.codes or isinstance(circuit.codes[similar], str):
        raise fields.error("similar", f"is {described(similar)}, which is not a subspace with a vector for each token")
    return Lookup(tuple((a, b) for a, b in pairs), circuit.mask, _similarities(circuit, similar))


def _similarities(circuit: Circuit, subspace: str) -> dict[str, dict[str, Fraction]]:
    """The dot product of every two tokens."""
    vectors = {
        token: [entry.fraction for entry in row]
        for token, row in zip(circuit.vocabulary, array(circuit.codes[subspace]), strict=True)
    }
    return {one: {other: _dot(u, v) for other, v in vectors.items()} for one, u in vectors.items()}


def _dot(u: list[Fraction], v: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def _heads(layer: Table) -> list[Table]:
    heads = layer.tables("heads")
    layer.finish()
    return heads


def _head(fields: Table) -> Head:
    head = Head(
        query=_reads(fields, "query"),
        key=_reads(fields, "key"),
        strength=fields.number("strength"),
        value=fields.text("value"),
        to=fields.text("to"),
        offset=fields.whole("offset", 0),
    )
    fields.finish()
    return head


def _reads(fields: Table, name: str) -> tuple[str, ...]:
    value = fields.take(name)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(item, str) for item in names):
        raise fields.error(name, f"is {described(value)}, not a subspace or a list of subspaces")
    return tuple(names)


def _code(codes: Table, name: str, code: Any) -> Any:
    codes.take(name)
    if isinstance(code, str):
        return code
    if not isinstance(code, list) or not all(isinstance(row, list) for row in code) or len({len(row) for row in code}) != 1:
        raise codes.error(name, 'is neither "one-hot" nor a list of vectors of one length')
    return [[codes.exact(entry, f"{name}[{i}][{j}]") for j, entry in enumerate(row)] for i, row in enumerate(code)]
