"""A worksheet written out as TOML, so that what was made in Python, or changed on the page, can be kept and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.circuits import Circuit, Head
from exactformer.files import usual_mode, write_whole
from exactformer.messages import quoted
from exactformer.model import Config, Model
from exactformer.model.taking import entry
from exactformer.model.weights import rebuilt_weights
from exactformer.numbers import Exact, array, exact, from_float
from exactformer.worksheets.reader import WorksheetError
from exactformer.worksheets.worksheet import GPT2_TOKENS, Worksheet, loads

_WIDEST = 100
_MOST_NUMBERS = 200_000
_SAID = ("heads", "head_dim", "mlp", "positions", "unembedding", "epsilon", "activation", "final_norm", "residual", "length")


def written(worksheet: Worksheet, texts: Mapping[str, str] | None = None) -> str:
    """As TOML; `texts` has weights that are given in words ("identity", "drawn 1 by 1/1000"), by name.

    >>> from exactformer.worksheets import load, loads
    >>> again = loads(written(load("capstone")))
    >>> again.title, again.trace().token(1)
    ('The whole transformer, by hand', 'a')
    """
    lines = [f"{field} = {_text(text)}" for field, text in (("title", worksheet.title), ("about", worksheet.about)) if text]
    circuit = worksheet.circuit
    if circuit is not None and _is(circuit.build(), worksheet.model):
        lines += ["", *_circuit(circuit)]
        if worksheet.rule is not None:
            lines += ["", "[theorem]", f"match = {_list(map(list, worksheet.rule.match))}"]
            lines += [f"similar = {_text(name)}" for name in _similar(worksheet)]
    else:
        lines += ["", *_model(worksheet, texts or {})]
        if (stated := worksheet.theorem) is not None:
            lines += ["", "[theorem]", f"rule = {_text(stated.rule)}", f"domain = {_text(stated.domain)}"]
    lines += ["", "[input]", f"tokens = {_list(worksheet.tokens)}"]
    if worksheet.notes:
        lines += ["", "[notes]", *(f"{_key(step)} = {_text(said)}" for step, said in worksheet.notes)]
    return "\n".join(lines).lstrip("\n") + "\n"


def save_worksheet(worksheet: Worksheet, path: Path) -> None:
    """Write it whole or not at all. What was written is read again: what a worksheet cannot say is refused by its name.

    >>> from exactformer.worksheets import load
    >>> save_worksheet(load("stories"), Path("stories.toml"))
    Traceback (most recent call last):
    exactformer.worksheets.reader.WorksheetError: stories.toml: weights: are 289,088 numbers, and a worksheet has 8 MiB: ...
    """
    count = sum(values.size for _, values in worksheet.model.weights.named())
    if count > _MOST_NUMBERS:
        raise WorksheetError(f"{path}: weights: are {count:,} numbers, and a worksheet has 8 MiB: save a folder")
    model = _rational(worksheet.model, path)
    tokens = worksheet.tokens or model.config.vocabulary[:1]
    text = written(replace(worksheet, model=model, tokens=tokens))
    again = loads(text, str(path)).model
    if (field := model.config.differs(again.config)) is not None:
        raise WorksheetError(f"{path}: {field}: {quoted(getattr(model.config, field))} cannot be said by a worksheet")
    if not _is(replace(again, config=model.config), model):
        raise WorksheetError(f"{path}: weights: cannot be said by a worksheet")
    write_whole(path, text, usual_mode())


def _rational(model: Model, path: Path) -> Model:
    """Its floats as the fractions that they are."""
    values = {}
    for name, given in model.weights.named():
        values[name] = given if given.dtype == object else array([from_float(float(x)) for x in given.flat]).reshape(given.shape)
        for n, x in enumerate(values[name].flat):
            if type(x) is not Exact:
                raise WorksheetError(
                    f"{path}: {entry(name, given, n)}: {quoted(str(x))} is not a fraction, as a worksheet has them"
                )
    return Model(model.config, rebuilt_weights(model.weights, values))


def _is(one: Model, other: Model) -> bool:
    mine, theirs = dict(one.weights.named()), dict(other.weights.named())
    return one.config == other.config and mine.keys() == theirs.keys() and all(np.array_equal(mine[n], theirs[n]) for n in mine)


def given_in_words(raw: Mapping[str, Any]) -> dict[str, str]:
    """The weights of a parsed worksheet that are texts, by name.

    >>> given_in_words({"weights": {"W_E": [[1]], "blocks": [{"attn": {"W_Q": "2 identity"}}]}})
    {'blocks.0.attn.W_Q': '2 identity'}
    """

    def found(value: Any, name: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, str):
            yield name, value
        items = value.items() if isinstance(value, dict) else enumerate(value) if name == "blocks" else ()
        for key, item in items:
            yield from found(item, f"{name}.{key}".lstrip("."))

    return dict(found(raw.get("weights", {}), ""))


def _model(worksheet: Worksheet, texts: Mapping[str, str]) -> Iterator[str]:
    model, config = worksheet.model, worksheet.model.config
    yield "[model]"
    gpt2 = worksheet.tokenizer is not None and len(config.vocabulary) == GPT2_TOKENS
    yield f"vocabulary = {_text('gpt2') if gpt2 else _list(config.vocabulary)}"
    for field in ("dim", "blocks", "heads", "head_dim", "mlp"):
        yield f"{field} = {getattr(config, field)}"
    yield f"scale = {_number(config.scale) if isinstance(config.scale, Exact) else _text(str(config.scale))}"
    for field in ("norm", "mask", "positions", "unembedding"):
        yield f"{field} = {_text(getattr(config, field))}"
    if config.epsilon is not None:
        yield f"epsilon = {_number(config.epsilon)}"
    if config.mlp and config.activation is not None:
        yield f"activation = {_text(config.activation)}"
    for field in ("final_norm", "residual"):
        yield f"{field} = {str(getattr(config, field)).lower()}"
    for field, value in config.changed().items():
        if field not in _SAID and Config.__dataclass_fields__[field].metadata.get("worksheet") != "cannot":
            yield f"{field} = {_value(value)}"
    yield from ("", "[weights]")
    block = ""
    for name, values in sorted(model.weights.named(), key=lambda named: named[0].startswith("blocks.")):
        text = texts.get(name)
        if name.startswith("blocks."):
            _, number, name = name.split(".", 2)
            if number != block:
                block = number
                yield from ("", "[[weights.blocks]]")
        yield from _array(name, values) if text is None else (f"{name} = {_text(text)}",)


def _array(name: str, values: Any) -> Iterator[str]:
    whole = f"{name} = {_list(values)}"
    if len(whole) <= _WIDEST or values.ndim == 1:
        yield whole
        return
    yield f"{name} = ["
    yield from (f"  {_list(row)}," for row in values)
    yield "]"


def _circuit(circuit: Circuit) -> Iterator[str]:
    yield "[circuit]"
    yield f"vocabulary = {_list(circuit.vocabulary)}"
    yield f"length = {circuit.length}"
    yield f"mask = {_text(circuit.mask)}"
    yield f"stream = {_table(circuit.stream)}"
    yield f"codes = {_table(circuit.codes)}"
    yield f"predict = {_table({'from': circuit.predict, 'strength': circuit.confidence})}"
    for layer in circuit.layers:
        heads = ", ".join(_table(_fields(head)) for head in layer)
        yield from ("", "[[circuit.layers]]", f"heads = [{heads}]")


def _fields(head: Head) -> dict[str, Any]:
    return {field: getattr(head, field) for field in ("query", "key", "offset", "strength", "value", "to")}


def _similar(worksheet: Worksheet) -> Iterator[str]:
    """The subspace whose dot products the rule takes for similarities, where it does."""
    circuit, rule = worksheet.circuit, worksheet.rule
    if circuit is None or rule is None or rule.similarity is None:
        return
    table = [[Fraction(rule.similarity[one][other]) for other in circuit.vocabulary] for one in circuit.vocabulary]
    for name, code in circuit.codes.items():
        if not isinstance(code, str):
            rows = [[exact(entry).fraction for entry in row] for row in code]
            if [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows] == table:
                yield name
                return


def _table(fields: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{_key(name)} = {_value(value)}" for name, value in fields.items()) + " }"


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _text(name)


def _list(values: Any) -> str:
    return "[" + ", ".join(map(_value, values)) + "]"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, np.floating):  # of a checkpoint
        return _number(from_float(float(value)))
    return _number(value) if isinstance(value, Exact) else _list(value)


def _number(value: Exact) -> str:
    text = str(value)
    return text if text.removeprefix("-").isdecimal() and len(text) < 18 else _text(text)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
