"""What a request is about: an example or a worksheet, the changes made to it, and the pass that comes of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from exactformer.arithmetics import able
from exactformer.messages import Refused
from exactformer.model.breaking import broken
from exactformer.trace import Gradient, Step, Trace, usual_gradient
from exactformer.web.editing import edited
from exactformer.worksheets import Worksheet, example_text, load, loads
from exactformer.worksheets.models import networks

ARITHMETICS = able(lambda kind: kind.stepwise)  # the page shows every operation of a pass
_KEPT = 6  # passes that a worker remembers, whatever their size
_MOST, _NUMBERS = 100, 20_000  # passes that it remembers, as long as they have no more numbers in all


class RequestError(Refused):
    """A request that makes no sense: one line that names its field."""


@dataclass(frozen=True)
class Source:
    """`example` is the name of a built-in one; else `worksheet` is the text of a user's own, which errors call `name`."""

    example: str = ""
    worksheet: str = ""
    name: str = "worksheet.toml"
    edits: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    arithmetic: str = "exact"
    target: str = ""  # target tokens, for the gradient of a model with logits

    @classmethod
    def read(cls, raw: object) -> Source:
        """
        >>> Source.read({"example": "capstone", "edits": ["mask=none"]}).edits
        ('mask=none',)
        >>> Source.read({"example": "capstone", "edits": "mask=none"})
        Traceback (most recent call last):
        exactformer.web.sources.RequestError: source.edits: is not a list of texts
        """
        if not isinstance(raw, Mapping):
            raise RequestError("source: is not an object")
        for field, value in raw.items():
            default = getattr(cls, field, None) if field in cls.__dataclass_fields__ else None
            if default is None:
                raise RequestError(f"source.{field}: is not known here ({', '.join(cls.__dataclass_fields__)})")
            if isinstance(default, tuple) and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
                raise RequestError(f"source.{field}: is not a list of texts")
            if isinstance(default, str) and not isinstance(value, str):
                raise RequestError(f"source.{field}: is not a text")
        fields: dict[str, Any] = {field: tuple(value) if isinstance(value, list) else value for field, value in raw.items()}
        source = cls(**fields)
        if bool(source.example) == bool(source.worksheet):
            raise RequestError("source: give an example or a worksheet")
        if source.arithmetic not in ARITHMETICS:
            raise RequestError(f"source.arithmetic: {source.arithmetic!r} is not one of {', '.join(ARITHMETICS)}")
        return source


@lru_cache(_KEPT)
def worksheet_of(source: Source, length: int | None = None) -> Worksheet:
    """The worksheet with its changes and mistakes made; of a circuit, built for inputs up to another length."""
    if source.breaks:
        right = worksheet_of(replace(source, breaks=()), length)
        return replace(right, model=broken(right.model, source.breaks))
    if source.example in networks():
        worksheet = load(source.example)
    else:
        worksheet = loads(example_text(source.example) if source.example else source.worksheet, source.example or source.name)
    return edited(worksheet if length is None else worksheet.changed(length=length), source.edits)


_passes: OrderedDict[Source, Trace] = OrderedDict()


def trace_of(source: Source) -> Trace:
    """Remembered: the last few, and many more where they are small, as those of a class are that changes weights of one example."""
    if source in _passes:
        _passes.move_to_end(source)
    else:
        _passes[source] = worksheet_of(source).trace(arithmetic=source.arithmetic)
        while len(_passes) > _KEPT and (len(_passes) > _MOST or sum(map(_size, _passes.values())) > _NUMBERS):
            _passes.popitem(last=False)
    return _passes[source]


def _size(trace: Trace) -> int:
    return sum(step.values.size for step in (*trace.steps, *trace.weights))


@lru_cache(_KEPT)
def gradient_of(source: Source) -> Gradient:
    """From the loss of the target tokens; for a model without logits, from ones at the last position."""
    return usual_gradient(trace_of(source), source.target)


def step_of(source: Source, name: str) -> Step:
    """A step of the pass, a gradient, or a weight, which is treated as a step that reads nothing."""
    if name.startswith("grad."):
        found: Any = gradient_of(source)
    else:
        found = trace_of(source)
        weights: dict[str, Step] = {step.name: step for step in found.weights}
        if name in weights:
            return weights[name]
    try:
        step: Step = found[name]
    except KeyError:
        raise RequestError(f"step: there is no step {name!r}") from None
    return step
