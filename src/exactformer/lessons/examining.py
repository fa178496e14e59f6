"""A lesson held against its passes: the true value of every bound number, what should stand for every view, whether claims hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from exactformer.checking.blocks import Block as Worksheet
from exactformer.checking.checker import Claim, Known, claims_of
from exactformer.checking.gradients import nodes as gradient_nodes
from exactformer.checking.printed import Claimed
from exactformer.checking.record import Node, Record
from exactformer.checking.steps import record_of
from exactformer.lessons.binding import LEFT_OUT, fitted
from exactformer.lessons.built_in import lessons
from exactformer.lessons.claims import Judged, judged
from exactformer.lessons.languages import words
from exactformer.lessons.lesson import Bound, Index, Lesson, Problem, Reference, Spot, Unread, Use, View
from exactformer.lessons.numerals import printed
from exactformer.lessons.passes import NoPass, PassError, Passes, Source, entry, gradient_of, has_model, step_at, times, trace_of
from exactformer.lessons.spots import percentage
from exactformer.lessons.views import written
from exactformer.messages import Refused
from exactformer.numbers import Undecided, total
from exactformer.worksheets import examples

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One bound number: where it stands, and what it is. Without a spot of its own, `whole` says how to write the row it is of."""

    bound: Bound
    spot: Spot
    node: str
    index: Index
    value: Any
    record: Record
    of_tokens: bool
    claimed: Claimed | None  # what stands there; None where it is still to be written


@dataclass(frozen=True)
class Row:
    """A row that is still to be written: `?` stands for (1, 0)."""

    bound: Bound
    spot: Spot
    values: tuple[Any, ...]


@dataclass
class Examined:
    """`problems` has every step, index, table and number of the lesson that does not fit, with those of reading it."""

    lesson: Lesson
    problems: list[Problem] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    views: list[tuple[View, Source, str]] = field(default_factory=list)
    claims: list[tuple[View, Judged]] = field(default_factory=list)
    printed: list[Claim] = field(default_factory=list)  # of the tables [[claims]] of fenced worksheets


def examined(lesson: Lesson) -> Examined:
    """Also of a lesson with problems; `refuse` tells them."""
    return _Examination(lesson).made()


class _Examination:
    def __init__(self, lesson: Lesson) -> None:
        self.lesson, self.found = lesson, Examined(lesson, [*lesson.problems])
        self.passes = Passes(lesson)
        self.record = self.alone = Record()  # of operations without a pass
        self.lost = False  # did the pass that is meant fail?
        self.failed: set[str] = set()  # names of passes that did
        self.unread = False  # may there be others, with names that nobody could read?
        self.ends: dict[tuple[int, int], int] = {}  # of comments that share a block, where the numbers of each end
        self.records: dict[Source, Record] = {}
        self.known = Known(self.record, None)

    def made(self) -> Examined:
        self.follows()
        for block in self.lesson.blocks:
            match block:
                case Use():
                    self.attempt(block.line, lambda block=block: self.use(block))  # type: ignore[misc]
                case Bound() if self.ready(block):
                    self.attempt(block.line, lambda block=block: self.bound(block))  # type: ignore[misc]
                case View() if self.ready(block):
                    self.attempt(block.line, lambda block=block: self.view(block))  # type: ignore[misc]
                case Unread():
                    self.unread = True
                    self.lose()
        return self.found

    def follows(self) -> None:
        """Is there the lesson that is named as the next?"""
        after, folder = self.lesson.next, self.lesson.folder
        if after and folder is not None and after not in lessons() and not (folder / f"{after}.md").is_file():
            there = f"there is no {after}.md beside this lesson, nor a built-in lesson of that name ({', '.join(lessons())})"
            self.found.problems.append((0, f"{self.lesson.name}: next: {there}"))

    def ready(self, block: Bound | View) -> bool:
        """Is its pass there? One that failed is reported already."""
        named = self.passes.named.get(block.to.of)
        return not self.lost if not block.to.of else named is None or named in self.records

    def attempt(self, line: int, what: Callable[[], T]) -> None:
        try:
            what()
        except Undecided as error:
            self.problem(line, str(error))
        except Refused as error:
            if not (isinstance(error, NoPass) and self.told(error.name)):
                for said in getattr(error, "problems", [str(error)]):
                    self.problem(line, said)

    def problem(self, line: int, said: str) -> None:
        """Some name the file already, with a line or without."""
        placed = re.match(r"([0-9]+): ", said.removeprefix(f"{self.lesson.name}:"))
        own = said.startswith(f"{self.lesson.name}:")
        self.found.problems.append(
            (int(placed[1]) if own and placed else line, said if own else f"{self.lesson.name}:{line}: {said}")
        )

    def told(self, name: str) -> bool:
        """Was it told already why there may be no pass of this name?"""
        return name in self.failed or self.unread

    def lose(self) -> None:
        """What follows is not held against the pass before."""
        self.lost, self.passes.now, self.known = True, None, Known(Record(), None, lost=True)

    def use(self, use: Use) -> None:
        known = self.known
        was, now = self.lost, self.passes.now
        self.lose()  # where this fails
        if use.fence >= 0 and not has_model(use, self.lesson):
            self.lost, self.passes.now, self.known = was, now, known
            self.claims(use)
            return
        self.failed |= {use.called} - {""}
        if not (use.worksheet or use.file or use.name in self.passes.named or use.name in examples()) and self.told(use.name):
            return
        source = self.passes.use(use)
        self.passes.now = None
        trace = trace_of(source.forward)
        self.record = record_of(trace)
        for weight in trace.weights:
            self.record.add(Node(weight.name, weight.values, (), lambda inputs: inputs[0]))
        if source.backward:
            for node in gradient_nodes(gradient_of(source)):
                self.record.add(node)
            self.record.has_gradients = True
        self.passes.now, self.records[source], self.known = source, self.record, Known(self.record, trace)
        self.lost = False
        self.failed -= {use.called}
        self.claims(use)

    def claims(self, use: Use) -> None:
        """Tables of claims in a fenced worksheet."""
        if use.fence < 0 or "claims" not in use.worksheet:
            return
        self.known, found = claims_of(Worksheet(use.worksheet, use.fence), self.lesson.page, self.known)
        self.found.printed += found

    def view(self, view: View) -> None:
        source = self.passes.of(view.to)
        if view.kind == "claim":
            self.found.claims.append((view, judged(view.claim, source, self.passes.named)))
            return
        if view.kind == "exercise":
            self.exercise(view, source)
        self.found.views.append((view, source, written(view, source, words(self.lesson.language))))

    def exercise(self, view: View, source: Source) -> None:
        """Is there such a number? Its value is not looked at."""
        step = step_at(source if view.tokens is None else source._replace(tokens=view.tokens), view.to.step)
        if view.total:
            total(list(entry(step.values, view.to, whole=False).flat))
        else:
            entry(step.values, view.to)

    def bound(self, bound: Bound) -> None:
        record, node = self.node(bound.to)
        for spot, index in self.placed(bound, node.truth):
            if index is None:
                part = entry(node.truth, bound.to, whole=False)
                self.found.rows.append(Row(bound, spot, tuple(part.reshape(-1))))
            elif spot.text not in LEFT_OUT:
                try:
                    said = None if spot.open else printed(spot.text, node.of_tokens, spot.percent)
                except (ValueError, Undecided) as error:
                    self.problem(self.lesson.line(spot.span[0]), f"{bound.to}: {error}")
                    continue
                self.found.entries.append(Entry(bound, spot, node.name, index, node.truth[index], record, node.of_tokens, said))

    def node(self, to: Reference) -> tuple[Record, Node]:
        """A step, a weight or a gradient of the pass, or an operation that a worksheet above has named."""
        for record in (self.record, self.alone) if not to.of else ():
            if to.step in record.nodes:
                return record, record.nodes[to.step]
        source = self.passes.of(to)
        record = self.records[source]
        if to.step == "loss" and "loss" in record.nodes:
            return record, record.nodes["loss"]
        return record, record.nodes[step_at(source, to.step).name]

    def placed(self, bound: Bound, values: Any) -> Iterator[tuple[Spot, Index | None]]:
        """Each printed number with the entry that it is bound to; None for a row that is still to be written."""
        to, shape = bound.to, values.shape
        prefix = to.index
        if len(prefix) == len(shape) - 1 and shape[-1] == 1 and bound.kind == "number":
            prefix = (*prefix, 0)
        entry(values, to, whole=False)  # refuses what is out of range
        left = shape[len(prefix) :]
        while len(left) > 1 and left[0] == 1 and len(left) > 2 - (bound.kind == "number"):
            prefix, left = (*prefix, 0), left[1:]  # of a single head, or row, the number need not be said
        if not left:
            if bound.kind != "number":
                raise PassError(f"{to}: is one number: write the comment directly before it, not on a line of its own")
            yield bound.rows[0][0], prefix
        elif bound.kind == "number":
            yield from self.inline(bound, prefix, left)
        else:
            yield from self.block(bound, prefix, values)

    def inline(self, bound: Bound, prefix: Index, left: Index) -> Iterator[tuple[Spot, Index | None]]:
        """A row in the prose: (1, 0)."""
        (spot,) = bound.rows[0]
        if len(left) > 1:
            raise PassError(f"{bound.to}: is {times(left)} numbers: write the comment on a line of its own, before a table of them")
        if spot.open:
            yield spot, None
            return
        spots = _split(spot)
        if len(spots) != left[0]:
            said = f"{len(spots)} number{'s' * (len(spots) != 1)} behind it"
            raise PassError(f"{bound.to}: is {left[0]} numbers, but there are {said}: {spot.text}")
        for n, each in enumerate(spots):
            yield each, (*prefix, n)

    def block(self, bound: Bound, prefix: Index, values: Any) -> Iterator[tuple[Spot, Index]]:
        if bound.after is not None and bound.after.span not in self.ends:
            return  # the one before failed, and nobody knows where its numbers end
        left = values.shape[len(prefix) :]
        if len(left) > 2:
            raise PassError(f"{bound.to}: is {times(left)} numbers: say which of the {left[0]} is meant, as in {bound.to.step}[0]")
        matrix = np.asarray(values[prefix], dtype=object).reshape(left if len(left) == 2 else (1, left[0]))
        rows = fitted(bound, matrix, 0 if bound.after is None else self.ends[bound.after.span])
        placed = [(i, j, spot) for i, row in enumerate(rows) for j, spot in enumerate(row) if spot is not None]
        self.ends[bound.span] = max((spot.span[1] for *_, spot in placed), default=0)
        for i, j, spot in placed:
            if spot.text not in LEFT_OUT:
                yield spot, (*prefix, i, j) if len(left) == 2 else (*prefix, j)


def _split(spot: Spot) -> list[Spot]:
    """The numbers of a row in brackets, each with its place. A percent sign behind the brackets is meant of each."""
    text, start = spot.text, spot.span[0]
    if text[:1] in ("(", "[") and text[-1:] in (")", "]"):
        inside = text[1:-1]
        start += 1
    else:
        inside = text
    found, depth, begin = [], 0, 0
    for n, sign in enumerate(inside + ","):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            piece = inside[begin:n]
            left = len(piece) - len(piece.lstrip())
            bare = piece.strip()
            place = start + begin + left
            found.append(percentage(text, Spot((place, place + len(bare)), bare, spot.style, spot.percent), spot.span[0]))
            begin = n + 1
    return found
