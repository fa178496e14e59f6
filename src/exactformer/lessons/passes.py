"""The passes of a lesson: each is computed once, whatever number of views and bound numbers read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from exactformer.checking.blocks import Block
from exactformer.checking.checker import parsed
from exactformer.lessons.lesson import Lesson, Reference, Use
from exactformer.messages import Refused, quoted
from exactformer.model import ConfigError, InputError
from exactformer.model.breaking import broken
from exactformer.model.operations.operation import short
from exactformer.reading.toml_places import Located
from exactformer.trace import Gradient, Step, Trace, usual_gradient
from exactformer.trace.naming import Ambiguous, full_name
from exactformer.worksheets import Worksheet, examples, load, loads
from exactformer.worksheets.models import built_in
from exactformer.worksheets.worksheet import LARGEST, read_text
from exactformer.worksheets.worksheet import read as read_worksheet

_KEPT = 32


class PassError(Refused):
    """A pass that cannot be computed, or a step that it has not."""


class NoPass(PassError):
    """There is none of this name."""

    def __init__(self, name: str, hint: str) -> None:
        super().__init__(f"there is no pass called {quoted(name)}: {hint}")
        self.name = name


class Source(NamedTuple):
    """What a pass is computed from: a built-in example by name, or the text of a worksheet, which errors call by its name."""

    name: str
    worksheet: str = ""
    tokens: str | None = None
    backward: bool = False
    target: str = ""
    mistakes: tuple[str, ...] = ()

    @property
    def forward(self) -> Source:
        return self._replace(backward=False, target="")


class Passes:
    """The passes of a lesson as it is read from top to bottom: the one that is meant, and those that have names."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.now: Source | None = None
        self.named: dict[str, Source] = {}

    def use(self, use: Use) -> Source:
        """From here on this one is meant; where it fails, none is."""
        self.now = None
        source = _again(use, self.named[use.name]) if use.name in self.named else _source(use, self.lesson)
        if use.called in self.named or use.called in examples():
            raise PassError(f"use: as {use.called}: there is a pass of that name already")
        if use.called:
            self.named[use.called] = source
        self.now = source
        return source

    def of(self, to: Reference) -> Source:
        """The pass that a reference speaks of."""
        if not to.of:
            if self.now is None:
                raise PassError(f"{to}{': ' * bool(to.step)}no pass is named above it, as in <!-- exactformer: use capstone -->")
            return self.now
        return named_pass(to.of, self.named)


def named_pass(name: str, named: Mapping[str, Source]) -> Source:
    if name in named:
        return named[name]
    near = get_close_matches(name, named, 1)
    there = f"did you mean {near[0]}?" if near else f"write use … as {name} above it"
    raise NoPass(name, there)


def _again(use: Use, source: Source) -> Source:
    """A pass that has a name, with what is said of it now."""
    tokens = source.tokens if use.tokens is None else use.tokens
    mistakes = (*source.mistakes, use.mistake) if use.mistake else source.mistakes
    backward, target = (True, use.target) if use.backward else (source.backward, source.target)
    return source._replace(tokens=tokens, backward=backward, target=target, mistakes=mistakes)


def _source(use: Use, lesson: Lesson) -> Source:
    """A worksheet beside the lesson is read here, and only from the lesson's own folder."""
    worksheet = use.worksheet
    if use.file:
        worksheet = _beside(use.file, lesson.folder)
    elif not worksheet and use.name not in examples():
        if use.name in built_in():
            raise PassError(f"use: {use.name} is a built-in model, whose numbers are not closed forms; a lesson takes an example")
        near = get_close_matches(use.name, examples(), 1)
        hint = (
            f"did you mean {near[0]}?" if near else f"there are {', '.join(examples())}, and worksheets (.toml) beside the lesson"
        )
        raise PassError(f"use: there is no example {quoted(use.name)}: {hint}")
    if use.fence >= 0:
        _read_in_place(use, lesson)
    name = f"{lesson.name}:{use.line - 1}" if use.fence >= 0 else use.name
    mistakes = (use.mistake,) if use.mistake else ()
    return Source(name, worksheet, use.tokens, use.backward, use.target, mistakes)


def _read_in_place(use: Use, lesson: Lesson) -> None:
    """Refuse a fenced worksheet that cannot be read, with the lines of the lesson."""
    block = Block(use.worksheet, use.fence)
    file = Located(lesson.name)
    file.locate(block.text, lambda at: lesson.line(block.start + at))
    read_worksheet(parsed(block, lesson.page), file)


def has_model(use: Use, lesson: Lesson) -> bool:
    """Is a fenced worksheet a pass of its own, or are there only claims in it?"""
    raw = parsed(Block(use.worksheet, use.fence), lesson.page)
    return "model" in raw or "circuit" in raw


def _beside(name: str, folder: Path | None) -> str:
    if folder is None:
        raise PassError(f"use: {quoted(name)} cannot be read here: there is no folder of the lesson")
    path = folder / name
    here = folder.resolve()
    inside = not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and "\\" not in name
    if not inside or not path.resolve().is_relative_to(here):
        raise PassError(f"use: {quoted(name)} is not in the folder of the lesson")
    if not path.exists():
        near = get_close_matches(name, sorted(each.name for each in folder.glob("*.toml")), 1)
        hint = f"did you mean {near[0]}?" if near else "worksheets lie beside the lesson"
        raise PassError(f"use: there is no file {quoted(name)} in the folder of the lesson: {hint}")
    return read_text(path, "example", examples()).removeprefix("\ufeff")


def passes_of(lesson: Lesson) -> list[tuple[str, Source]]:
    """The passes of a page in order, each with the name that it is called by, where it has one."""
    passes = Passes(lesson)
    meant = [block for block in lesson.blocks if isinstance(block, Use) and (block.fence < 0 or has_model(block, lesson))]
    return [(use.called, passes.use(use)) for use in meant]


def worksheet_in(name: str, which: str = "") -> Worksheet:
    """The worksheet of the pass of a page that is meant by its number, from 1, or its name."""
    from exactformer.lessons.built_in import read_lesson

    lesson = read_lesson(Path(name))
    found = passes_of(lesson)
    called = {each: n for n, (each, _) in enumerate(found) if each}
    if not found:
        raise PassError(f"{name}: has no pass: a worksheet in a block toml exactformer, or a comment exactformer: use …")
    if not which and len({source for _, source in found}) > 1:
        raise PassError(f"{name}: has {len(found)} passes: say which, as in {name}#1")
    number = int(which) - 1 if which.isdigit() and len(which) < 5 else called.get(which, 0 if not which else -1)
    if not 0 <= number < len(found):
        raise PassError(f"{name}: there is no pass {quoted(which)}: it has {len(found)}, counted from 1")
    _, source = found[number]
    worksheet = worksheet_of(Source(source.name, source.worksheet))
    worksheet = replace(worksheet, model=broken(worksheet.model, source.mistakes))
    return worksheet if source.tokens is None else replace(worksheet, tokens=tuple(source.tokens.split()))


@lru_cache(_KEPT)
def worksheet_of(source: Source) -> Worksheet:
    assert len(source.worksheet) <= LARGEST
    return loads(source.worksheet, source.name) if source.worksheet else load(source.name)


@lru_cache(_KEPT)
def trace_of(source: Source) -> Trace:
    worksheet = worksheet_of(Source(source.name, source.worksheet))
    try:
        model = broken(worksheet.model, source.mistakes)
        return replace(worksheet, model=model).trace(source.tokens)
    except ConfigError as error:
        raise PassError(str(error).removeprefix("--")) from None
    except InputError as error:
        raise PassError(f"tokens: {error}") from None


@lru_cache(_KEPT)
def gradient_of(source: Source) -> Gradient:
    """From the loss of the target tokens, or of the input itself; without logits, from ones at the last position."""
    trace = trace_of(source.forward)
    try:
        return usual_gradient(trace, source.target)
    except InputError as error:
        raise PassError(f"target: {error}") from None


def steps_of(source: Source) -> dict[str, Step]:
    """Every step by name: of the pass, of the backward pass where it is asked for, and the weights."""
    trace = trace_of(source.forward)
    found = {step.name: step for step in (*trace.steps, *trace.weights)}
    return found | ({step.name: step for step in gradient_of(source).steps} if source.backward else {})


def step_at(source: Source, name: str) -> Step:
    found = steps_of(source)
    try:
        full = full_name(name, found)
    except Ambiguous as error:
        raise PassError(str(error)) from None
    if full is not None:
        return found[full]
    if name.startswith("grad.") and not source.backward:
        raise PassError(f"{name}: the pass is used without backward, which brings gradients in")
    if name == "loss":
        where = "a number in the prose or a claim may speak of it" if source.backward else "it goes with use … backward"
        raise PassError(f"loss is not a step: {where}")
    near = _meant(name, found)
    hint = f"did you mean {near}?" if near else "exactformer trace lists the steps"
    raise PassError(f"there is no step {quoted(name)} here: {hint}")


def _meant(name: str, steps: Iterable[str]) -> str:
    """The step that somebody may have meant: by its last word, by the same letters, by its looks.

    >>> steps = ("blocks.0.attn.q", "blocks.0.attn.qk", "blocks.0.attn.pattern")
    >>> [_meant(name, steps) for name in ("pattern", "attn.kq", "attn.patern")]
    ['blocks.0.attn.pattern', 'blocks.0.attn.qk', 'blocks.0.attn.pattern']
    """
    by_short = {short(step): step for step in reversed(list(steps))}
    ends = [step for step in steps if step.endswith(f".{name}")]
    near = get_close_matches(short(name), by_short, 3)
    same = [each for each in near if sorted(each) == sorted(short(name))]
    return ends[0] if ends else by_short[(same or near)[0]] if near else ""


def entry(values: Any, to: Reference, whole: bool = True) -> Any:
    """The part of a step's values that is referred to; with `whole`, one number. A last axis of one number may be left out.

    >>> print(entry(np.array([[1, 2], [3, 4]]), Reference("x", (1, 0))))
    3
    """
    index = to.index
    shape = values.shape
    if whole and len(index) == len(shape) - 1 and shape[-1] == 1:
        index = (*index, 0)
    if len(index) > len(shape):
        raise PassError(f"{to}: {to.step} is {times(shape)}: it has {len(shape)} ind{'ex' if len(shape) == 1 else 'ices'}")
    for place, (i, n) in enumerate(zip(index, shape, strict=False)):
        if i >= n:
            raise PassError(f"{to}: {to.step} is {times(shape)}, counted from 0: there is no {i} at place {place + 1}")
    if whole and len(index) < len(shape):
        one = replace(to, index=(*index, *(0 for _ in shape[len(index) :])))
        raise PassError(f"{to}: is {times(shape[len(index) :])} numbers, not one: say which, as in {one}")
    return values[index] if whole else np.asarray(values[index], dtype=object)


def times(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a single number"
