"""What the page draws: a pass or a gradient without its numbers; the numbers of its steps, by rows; one number opened."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, get_args

import numpy as np
from flint import arb

from exactformer.lessons.languages import ENGLISH
from exactformer.lessons.languages import words as catalogue
from exactformer.model import Config, Model
from exactformer.model.ablating import ModelPart
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.arithmetics.roles import Activation
from exactformer.model.axes import SPOKEN, Axis
from exactformer.model.breaking import MISTAKES, broken
from exactformer.model.fields import ConfigError
from exactformer.model.weights import assembled
from exactformer.numbers import Exact, Named, Undecided, Undefined
from exactformer.numbers.definitions import Symbols
from exactformer.numbers.digits import decimal_bounds
from exactformer.numbers.enclosure import ball
from exactformer.numbers.nearness import nearly
from exactformer.render import json as as_json
from exactformer.render.layout import summary, verdict
from exactformer.render.values import show
from exactformer.trace import Gradient, Step, Trace
from exactformer.web.links import Link, gradient_links, links
from exactformer.web.sources import RequestError

DIGITS = 12  # of the numbers in tables; an opened number has as many as asked for
_BRIEF_DIGITS = 8
_ALL = slice(None)
_MOST_VALUES = 20_000  # numbers in one answer
_MOST_SHADES = 200_000  # numbers of a matrix that is drawn
_LARGEST_VOCABULARY = 2000  # tokens that are sent with a pass
_FOREMOST = ("undefined", "named", "recovered")  # of a row with several kinds of numbers, the first of these that is there


def outline(trace: Trace, breaks: bool = True) -> dict[str, Any]:
    """A pass: its steps, and its weights as steps that read nothing; and which mistakes could be made in it."""
    return {
        "title": trace.title,
        "arithmetic": trace.arithmetic,
        "summary": summary(trace),
        "tokens": list(trace.tokens),
        "ids": trace.model.ids(trace.tokens),
        "model": _model(trace),
        "steps": [_step(step, trace, links(step)) for step in trace.steps],
        "weights": [_step(step, trace, []) for step in trace.weights],
        "output": [
            {
                "token": out.token,
                "id": None if out.token is None else token_id(trace, out.token),
                "proved": out.proved,
                "verdict": verdict(out, trace.arithmetic),
                "stopped": trace.stopped[n],
            }
            for n, out in enumerate(trace.output)
        ],
        "breaks": applicable_mistakes(trace.model) if breaks else [],
    }


def applicable_mistakes(model: Model) -> list[dict[str, str]]:
    """The mistakes that can be made in a model, each with what it does."""
    return _mistakes(model.config, tuple((name, values.shape) for name, values in model.weights.named()))


@functools.lru_cache(maxsize=64)  # they stay the same while somebody changes weights
def _mistakes(config: Config, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> list[dict[str, str]]:
    """Which mistakes apply is asked of shapes alone."""
    blank = Model(config, assembled(config, {name: np.zeros(shape) for name, shape in shapes}))
    return [
        {"name": name, "what": mistake.what, "effect": mistake.effect.format(scale=config.scale_factor)}
        for name, mistake in MISTAKES.items()
        if _applies(blank, name)
    ]


def glossary(language: str = ENGLISH) -> dict[str, Any]:
    """Terms and signs, each with the forms in which it is met and a sentence."""
    return {
        "language": language,
        "terms": [[term.term, list(term.also), term.text] for term in catalogue(language).glossary.values()],
    }


def token_id(trace: Trace, token: str) -> int:
    """Of a token that the model says."""
    return trace.model.column(token)


def gradient_outline(gradient: Gradient, digits: int = DIGITS) -> dict[str, Any]:
    forward = gradient.trace.computed
    return {
        "targets": list(gradient.targets),
        "loss": None if gradient.loss is None else as_json.value(gradient.loss, digits),
        "steps": [_step(step, gradient.trace, gradient_links(step, forward)) for step in gradient.steps],
    }


def window(step: Step, rows: slice = _ALL, columns: slice = _ALL) -> Any:
    """Some rows and columns of the matrices of a step."""
    return step.values[..., columns] if step.values.ndim < 2 else step.values[..., rows, columns]


def values(step: Step, digits: int = DIGITS) -> Any:
    return nested(step.values[...], lambda x: written(x, digits))


def asked(
    trace: Trace, found: Mapping[str, Step], start: int | None = None, end: int | None = None, left: int | None = None,
    right: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The numbers of steps; with a window, of rows from `start` and columns from `left`, and by their digits alone."""
    if (start, end, left, right) == (None,) * 4:
        _refuse_many(sum(step.values.size for step in found.values()))
        return {"values": {name: values(step) for name, step in found.items()}}
    windows = {name: window(step, slice(start, end), slice(left, right)) for name, step in found.items()}
    _refuse_many(sum(array.size for array in windows.values()))
    named = words(trace, found.values(), range(start or 0, end or 0), range(left or 0, right or 0))
    return {"values": {name: nested(array, brief) for name, array in windows.items()}, "words": named}


def shades(step: Step, head: int = 0) -> dict[str, Any]:
    """Floats near the numbers of one matrix of a step, by which it is drawn: of no number, null; under the mask, "hidden"."""
    shape = step.values.shape
    if len(shape) == 3 and not 0 <= head < shape[0]:
        raise RequestError(f"head: {head} is none of 0 to {shape[0] - 1}")
    if int(np.prod(shape[-2:])) > _MOST_SHADES:
        raise RequestError(f"step: {step.name} is too large to be drawn ({' × '.join(map(str, shape))})")
    if not isinstance(step.values, np.ndarray):
        rows = step.values.shades(head)
    else:
        rows = [list(map(_shade, row)) for row in np.atleast_2d(step.values[head] if len(shape) == 3 else step.values).tolist()]
    return {"shades": rows}


def _shade(x: Any) -> float | str | None:
    """To a few digits, as far as floats go."""
    if x is MASKED:
        return "hidden"
    if isinstance(x, Exact | Named):
        x = ball(x, 64)
    try:
        near = float(x.mid() if isinstance(x, arb) else x)
    except (TypeError, ValueError, OverflowError):
        return None
    return float(f"{near:.4g}") if math.isfinite(near) else None


def _refuse_many(count: int) -> None:
    if count > _MOST_VALUES:
        raise RequestError(f"steps: {count:,} numbers at once; ask for fewer rows or columns (up to {_MOST_VALUES:,} numbers)")


def entry(step: Step, index: Sequence[int]) -> tuple[int, ...]:
    """The index, where it is one of the step."""
    shape = step.values.shape
    if len(index) != len(shape) or any(not 0 <= i < n for i, n in zip(index, shape, strict=False)):
        raise RequestError(f"index: {list(index)} is no entry of {step.name}, which is {' × '.join(map(str, shape))}")
    return tuple(index)


def words(trace: Trace, steps: Iterable[Step], rows: range, columns: range) -> dict[int, str]:
    """The tokens that rows or columns stand for, where the vocabulary is too large to be sent with the pass. Outputs of their own
    are always sent with it."""
    vocabulary = trace.model.config.vocabulary
    if len(vocabulary) <= _LARGEST_VOCABULARY:
        return {}
    kinds = [trace.axes(step.name)[-2:] for step in steps]
    asked = {
        n
        for pair in kinds
        for kind, numbers in zip(pair, (rows, columns), strict=False)
        if _of_vocabulary(kind, trace)
        for n in numbers
    }
    return {n: vocabulary[n] for n in asked if n < len(vocabulary)}


def _of_vocabulary(kind: Axis, trace: Trace) -> bool:
    return kind.names is not None and not _of_outputs(kind, trace)


def _of_outputs(kind: Axis, trace: Trace) -> bool:
    """Does an axis count what is said, where that is not what is read?"""
    return kind is SPOKEN and bool(trace.model.config.outputs)


def brief(x: Any) -> dict[str, Any]:
    """A number of a large table by its digits alone: a closed form is looked for when the number is opened."""
    if isinstance(x, Named):
        with suppress(Undecided):
            low, high = decimal_bounds(x, _BRIEF_DIGITS)
            return {"status": "named", "text": f"≈ {low}", "low": low, "high": high}
    return as_json.value(x, _BRIEF_DIGITS)


def opened(step: Step, index: Sequence[int], digits: int) -> dict[str, Any]:
    """One number: its closed form as written and simplified, an enclosure, and its proved digits."""
    value = step.values[tuple(index)]
    return opened_value(value.item() if isinstance(value, np.ndarray) else value, digits, Symbols())


def opened_value(value: Any, digits: int, symbols: Symbols) -> dict[str, Any]:
    """The same of a value; the numbers of a pass share their `symbols`."""
    result: dict[str, Any] = {"value": as_json.value(value, digits), "digits": "", "where": []}
    if not isinstance(value, Exact | Named):
        return result | {"simplified": show(value, digits).text, "written": "", "latex": show(value, digits).latex}
    result |= {"simplified": str(value), "written": value.written, "latex": value.latex}
    if isinstance(value, Named) and result["simplified"].startswith("≈"):
        text, where = symbols.define(value)
        result |= {"simplified": text, "written": "", "where": [list(pair) for pair in where]}
    try:
        result["digits"] = nearly(value, digits) if isinstance(value, Named) else value.digits(digits)
        result["low"], result["high"] = decimal_bounds(value, digits)
    except Undecided as undecided:
        result["why"] = str(undecided)
    return result


def nested(array: Any, write: Callable[[Any], dict[str, Any]]) -> Any:
    """An array as nested lists, each number written."""
    if array.ndim == 0:
        return write(array.item() if array.dtype == object else array[()])
    return [nested(array[i, ...], write) for i in range(len(array))]


def written(x: Any, digits: int = DIGITS) -> dict[str, Any]:
    """A number as in the JSON of a trace; what it is next to, 1 - 7.44e-44, where digits alone would be nines or zeros."""
    result = as_json.value(x, digits)
    low = result.get("low")
    if isinstance(x, Named) and low is not None and ("99999" in low or low[:3] != result["high"][:3]):
        near = nearly(x, 3)
        return result | ({"near": near} if " " in near else {})
    return result


def _step(step: Step, trace: Trace, read: list[Link]) -> dict[str, Any]:
    return {
        "name": step.name,
        "op": step.op,
        "title": step.title,
        "about": step.operation.about,
        "note": step.note,
        "formula": step.formula,
        "reads": list(step.reads),
        "shape": list(step.values.shape),
        "axes": ["output" if _of_outputs(axis, trace) else axis.word for axis in trace.axes(step.name)],
        "labels": _directions(step, trace),
        "stage": step.stage,
        "sign": step.operation.sign,
        "equation": step.operation.equation,
        "entry": step.operation.entry,
        "known": step.operation.known,
        "heat": step.operation.weights,
        "multilinear": step.operation.multilinear,
        "links": [list(link) for link in read],
        "remarks": [list(remark) for remark in step.remarks if remark[1] not in step.note],
        "kinds": [] if step.op == "weight" else [_row_kind(step, position) for position in range(_positions(step))],
    }


def _directions(step: Step, trace: Trace) -> list[list[str]]:
    """Names of the columns where they have some, for each head: the directions of a circuit's stream."""
    named = step.labels
    if not named and step.name.startswith("grad."):
        named = next((each.labels for each in trace.steps if each.gradient == step.name), ())
    return [list(names) for names in named]


def _positions(step: Step) -> int:
    return int(step.values.shape[1 if step.by_head else 0])


def _row_kind(step: Step, position: int) -> str:
    """What the numbers of a step are at one position."""
    if not isinstance(step.values, np.ndarray):
        return "ball"  # balls that are made when they are looked at
    found = {_kind(value) for row in step.at(position) for value in np.atleast_1d(row)}
    return next((kind for kind in _FOREMOST if kind in found), min(found, default="exact"))


def _kind(value: Any) -> str:
    """The status of a number, read from its type alone: a step may have very many."""
    if isinstance(value, Exact):
        return "recovered" if value.recovered else "exact"
    if isinstance(value, Named | Undefined):
        return "named" if isinstance(value, Named) else "undefined"
    if value is MASKED:
        return "masked"
    if value is None or isinstance(value, str):
        return "token"
    return "ball" if isinstance(value, arb) else "float" if value == value else "undefined"


def _model(trace: Trace) -> dict[str, Any]:
    config = trace.model.config
    fields = ("dim", "heads", "head_dim", "blocks", "norm", "final_norm", "positions", "length", "mask", "mlp")
    said = (*fields, "activation", "unembedding", "residual", "hard", "epsilon")
    return {field: getattr(config, field) for field in said} | {
        "vocabulary": list(config.vocabulary) if len(config.vocabulary) <= _LARGEST_VOCABULARY else None,
        "outputs": list(config.outputs) or None,  # what is said, where that is not the vocabulary
        "scale": str(config.scale_factor),
        "scale_given": config.scale if isinstance(config.scale, str) else str(config.scale),
        "epsilon": None if config.epsilon is None else str(config.epsilon),
        "activations": list(get_args(Activation)),
        "parts": [part.name for part in ModelPart.every(config)],
        "more": {field: as_json.setting(value) for field, value in config.changed().items() if field not in (*said, "outputs")},
    }


def _applies(model: Model, mistake: str) -> bool:
    try:
        broken(model, [mistake])
    except ConfigError:
        return False
    return True
