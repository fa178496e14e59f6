"""The passes of a lesson: each is computed once, whatever number of views and bound numbers read it."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from exactformer.lessons.lesson import Lesson, Reference, Use
from exactformer.messages import Refused, quoted
from exactformer.model import InputError
from exactformer.model.breaking import broken
from exactformer.trace import Gradient, Step, Trace, usual_gradient
from exactformer.worksheets import Worksheet, examples, load, loads
from exactformer.worksheets.models import MODELS
from exactformer.worksheets.worksheet import LARGEST, parse, read_text

_KEPT = 32


class PassError(Refused):
    """A pass that cannot be computed, or a step that it has not."""


class Source(NamedTuple):
    """What a pass is computed from: a built-in example by name, or the text of a worksheet, which errors call by its name."""

    name: str
    worksheet: str = ""
    tokens: str | None = None
    backward: bool = False
    target: str = ""
    mistake: str = ""


def source_of(use: Use, lesson: Lesson) -> Source:
    """A worksheet beside the lesson is read here, and only from the lesson's own folder."""
    worksheet = use.worksheet
    if use.file:
        worksheet = _beside(use.file, lesson.folder)
    elif not worksheet and use.name not in examples():
        if use.name in MODELS:
            raise PassError(f"use: {use.name} is a built-in model, whose numbers are not closed forms; a lesson takes an example")
        near = get_close_matches(use.name, examples(), 1)
        hint = (
            f"did you mean {near[0]}?" if near else f"there are {', '.join(examples())}, and worksheets (.toml) beside the lesson"
        )
        raise PassError(f"use: there is no example {quoted(use.name)}: {hint}")
    name = f"{lesson.name}:{use.line - 1}" if use.fence >= 0 else use.name
    return Source(name, worksheet, use.tokens, use.backward, use.target)


def has_model(use: Use, name: str) -> bool:
    """Is a fenced worksheet a pass of its own, or are there only claims in it?"""
    raw = parse("\n" * (use.line - 1) + use.worksheet, f"{name}:{use.line - 1}")
    return "model" in raw or "circuit" in raw


def _beside(name: str, folder: Path | None) -> str:
    if folder is None:
        raise PassError(f"use: {quoted(name)} cannot be read here: there is no folder of the lesson")
    path = folder / name
    here = folder.resolve()
    inside = not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and "\\" not in name
    if not inside or not path.resolve().is_relative_to(here):
        raise PassError(f"use: {quoted(name)} is not in the folder of the lesson")
    return read_text(path, "example", examples()).removeprefix("\ufeff")


@lru_cache(_KEPT)
def worksheet_of(source: Source) -> Worksheet:
    assert len(source.worksheet) <= LARGEST
    return loads(source.worksheet, source.name) if source.worksheet else load(source.name)


@lru_cache(_KEPT)
def trace_of(source: Source) -> Trace:
    worksheet = worksheet_of(source._replace(tokens=None, backward=False, target="", mistake=""))
    if source.mistake:
        worksheet = replace(worksheet, model=broken(worksheet.model, [source.mistake]))
    try:
        return worksheet.trace(source.tokens)
    except InputError as error:
        raise PassError(f"tokens: {error}") from None


@lru_cache(_KEPT)
def gradient_of(source: Source) -> Gradient:
    """From the loss of the target tokens, or of the input itself; without logits, from ones at the last position."""
    trace = trace_of(source._replace(backward=False, target=""))
    try:
        return usual_gradient(trace, source.target)
    except InputError as error:
        raise PassError(f"target: {error}") from None


def steps_of(source: Source) -> dict[str, Step]:
    """Every step by name: of the pass, of the backward pass where it is asked for, and the weights."""
    trace = trace_of(source._replace(backward=False, target=""))
    found = {step.name: step for step in (*trace.steps, *trace.weights)}
    return found | ({step.name: step for step in gradient_of(source).steps} if source.backward else {})


def step_at(source: Source, name: str) -> Step:
    found = steps_of(source)
    if name in found:
        return found[name]
    if name.startswith("grad.") and not source.backward:
        raise PassError(f"{name}: the pass is used without backward, which brings gradients in")
    near = get_close_matches(name, found, 1)
    hint = f"did you mean {near[0]}?" if near else "exactformer trace lists the steps"
    raise PassError(f"there is no step {quoted(name)} here: {hint}")


def entry(values: Any, to: Reference, whole: bool = True) -> Any:
    """The part of a step's values that is referred to; with `whole`, one number. A last axis of one number may be left out.

    >>> print(entry(np.array([[1, 2], [3, 4]]), Reference("x", (1, 0))))
    3
    """
    index = to.index
    shape = values.shape
    if whole and len(index) == len(shape) - 1 and shape[-1] == 1:
        index = (*index, 0)
    if len(index) > len(shape) or any(i >= n for i, n in zip(index, shape, strict=False)):
        raise PassError(f"{to}: {to.step} is {times(shape)} (counted from 0)")
    if whole and len(index) < len(shape):
        raise PassError(f"{to}: is {times(shape[len(index) :])} numbers, not one: {to.step} is {times(shape)}")
    return values[index] if whole else np.asarray(values[index], dtype=object)


def times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"
