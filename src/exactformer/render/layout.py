"""A trace laid out position by position in the order of the pipeline: what text, Markdown, LaTeX and HTML all draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exactformer.messages import printable
from exactformer.model import Config
from exactformer.model.axes import NOTHING, POSITION
from exactformer.numbers import Exact, exact
from exactformer.render.values import Shown, largest, show
from exactformer.trace import Output, Step, Trace

_MOST_WEIGHTS = 36
_WIDEST, _SHOWN = 64, 6  # a row longer than this is not shown whole, but so many of its entries


@dataclass(frozen=True)
class Line:
    """One step at one position, for one head where there are several."""

    step: Step
    position: int
    head: int | None
    cells: tuple[Shown, ...]
    columns: tuple[str, ...]  # what the cells stand for, or ()
    whole: int = 0  # how long the row is, where only some of its cells are here

    @property
    def brackets(self) -> tuple[str, str]:
        counted = self.step.axes[-1] if self.step.axes else None
        if self.columns or counted is NOTHING:
            return "", ""
        return ("[", "]") if counted is POSITION else ("(", ")")

    @property
    def name(self) -> str:
        return self.step.name if self.head is None else f"{self.step.name}[{self.head}]"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why values are undefined."""
        return tuple(dict.fromkeys(cell.why for cell in self.cells if cell.why))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be said of this step at this position; said once, where there are several heads."""
        if self.head:
            return ()
        return (*([self.rest] if self.rest else []), *(text for position, text in self.step.remarks if position == self.position))

    def variants(self) -> Iterator[tuple[str, list[str]]]:
        """The cells as they are shown (~ where one is named), as they were computed (=), and their proved digits (≈)."""
        readable = any(cell.status == "named" and not cell.too_long for cell in self.cells)
        yield "~" if readable else "", [cell.marked for cell in self.cells]
        if any(cell.written not in ("", cell.text) for cell in self.cells):
            yield "=", [cell.written or ("…" if cell.status == "named" else cell.text) for cell in self.cells]
        if any(cell.digits and not cell.too_long for cell in self.cells):
            yield "≈", [cell.digits or cell.text for cell in self.cells]

    def labelled(self, texts: list[str]) -> list[str]:
        """Each text with the token that it stands for, where the cells stand for tokens."""
        if not self.columns:
            return texts
        return [f"{c} {t}" if t.startswith("≈") else f"{c} = {t}" for c, t in zip(self.columns, texts, strict=True)]

    @property
    def rest(self) -> str:
        """What is left out, in words."""
        if not self.whole:
            return ""
        return (
            f"the largest {len(self.cells)} of {self.whole:,}" if self.columns else f"the first {len(self.cells)} of {self.whole:,}"
        )

    def joined(self, texts: list[str]) -> str:
        return ", ".join(self.labelled(texts)).join(self.brackets)


@dataclass(frozen=True)
class Section:
    position: int
    token: str
    lines: tuple[Line, ...]
    output: Output | None  # None where the model has no unembedding


def sections(trace: Trace, digits: int = 12, first: int = 0) -> Iterator[Section]:
    for position, token in list(enumerate(trace.tokens))[first:]:
        lines = [line for step in trace.shown(position) if step.op != "argmax" for line in lines_of(step, position, digits)]
        yield Section(position, printable(token), tuple(lines), trace.output[position] if trace.output else None)


def tokens(trace: Trace) -> str:
    """The input in a line; what cannot be seen, or turns the line round, is an escape."""
    return " ".join(map(printable, trace.tokens))


def lines_of(step: Step, position: int, digits: int = 12) -> Iterator[Line]:
    """A step at one position: a line, or one for each head."""
    rows = step.at(position)
    columns = tuple(map(printable, step.words.along(step.axes[-1]))) if step.axes and step.axes[-1].names else ()
    for head, row in enumerate(rows):
        which = head if len(rows) > 1 else None
        if len(row) > _WIDEST:
            yield _elided(step, position, which, row, columns, digits)
        elif step.labels:
            yield _by_name(step, position, which, row, step.labels[head], digits)
        else:
            yield Line(step, position, which, tuple(show(value, digits) for value in row), columns)


def _elided(step: Step, position: int, head: int | None, row: Any, columns: tuple[str, ...], digits: int) -> Line:
    """Of a long row the first entries; of logits and probabilities the largest."""
    order = largest(row, _SHOWN) if columns else list(range(_SHOWN))
    cells = tuple(show(row[n], digits) for n in order)
    return Line(step, position, head, cells, tuple(columns[n] for n in order) if columns else (), len(row))


def _by_name(step: Step, position: int, head: int | None, row: Any, labels: tuple[str, ...], digits: int) -> Line:
    """The entries that are not 0, each with its name."""
    kept = [(label, show(value, digits)) for label, value in zip(labels, row, strict=False) if not _is_zero(value)]
    if not kept:
        return Line(step, position, head, (show(exact(0)),), ())
    return Line(step, position, head, tuple(cell for _, cell in kept), tuple(label for label, _ in kept))


def _is_zero(value: Any) -> bool:
    return bool(value.value == 0) if isinstance(value, Exact) else not hasattr(value, "status") and bool(value == 0)


def weights(trace: Trace) -> Iterator[tuple[str, str]]:
    """The weights, each in a line: what a reader needs to check a product by hand. Large ones by their shape."""
    for name, values in trace.model.weights.named():
        if values.size > _MOST_WEIGHTS:
            yield name, " × ".join(map(str, values.shape))
        else:
            yield name, _nested(values[0] if values.ndim == 3 and len(values) == 1 else values)


def tokenization(trace: Trace) -> list[str]:
    """The text cut into pieces, each with its number, its one-hot row by index, and the merges that made it."""
    if not trace.pieces:
        return []
    lines = ["", f"tokenization {[piece.id for piece in trace.pieces]}"]
    for position, piece in enumerate(trace.pieces):
        made = " ".join(_spelt(merge.left + merge.right) for merge in piece.merges)
        hot = f"1 at index {piece.id} of {len(trace.model.config.vocabulary):,}; position: 1 at index {position}"
        lines.append(f"  {piece.text!r:<12} {piece.id:>6}   one-hot: {hot}" + (f"   merges: {made}" if made else ""))
    return lines


def _spelt(data: bytes) -> str:
    return repr(data.decode("utf-8", "backslashreplace"))


def _nested(values: Any) -> str:
    return str(values) if not getattr(values, "ndim", 0) else "(" + ", ".join(_nested(item) for item in values) + ")"


def outcome(trace: Trace) -> str:
    """The whole pass in one line: a b → a a."""
    said = " ".join(printable(out.token) if out.token is not None else "·" for out in trace.output)
    return f"{tokens(trace)}  →  {said}"


_KINDS = {"layer": "", "rms": " (RMS)"}


def summary(trace: Trace) -> str:
    """The configuration in one line."""
    return described(trace.model.config)


def described(config: Config) -> str:
    parts = [
        f"{config.dim} dimensions",
        count(config.heads, "head") + (f" ({config.kv_heads} of keys)" if config.kv_heads else ""),
        count(config.blocks, "block"),
        "no norm" if config.norm == "none" else f"{config.norm}-norm{_KINDS[config.norm_kind]}, ε = {config.epsilon}",
        f"mask {config.mask}",
        f"scale {config.scale_factor}",
        f"{'gated ' if config.mlp_kind == 'gated' else ''}MLP {config.mlp} {config.activation}" if config.mlp else "no MLP",
        {"tied": "tied unembedding", "own": "its own unembedding", "none": "no unembedding"}[config.unembedding],
    ]
    if config.positions == "rotary":
        parts.append("rotary positions")
    if config.window:
        parts.append(f"window {config.window}")
    if not config.residual:
        parts.append("no residual")
    return " · ".join(parts)


def verdict(output: Output, arithmetic: str) -> str:
    """The end of a position, in words."""
    if output.token is None:
        return output.why
    how = "proved" if output.proved else f"in {arithmetic}, not proved"
    if output.ties:
        others = ", ".join(map(printable, output.ties))
        return f"tied with {others}; the lowest index wins ({how})"
    if output.runner_up is None:
        return "the only token"
    margin = show(output.margin)
    amount = f"{margin.text} ≈ {margin.digits}" if margin.digits and not margin.too_long else margin.text
    return f"ahead of {printable(output.runner_up)} by {amount} ({how})"


def count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
