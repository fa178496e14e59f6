"""What stands in the file for the views of a lesson: Markdown that any reader shows, with the numbers of the pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exactformer.lessons.languages import Words
from exactformer.lessons.lesson import View
from exactformer.lessons.numerals import DECIMALS, SHORT, decimal, with_minus
from exactformer.lessons.passes import PassError, Source, entry, step_at, trace_of
from exactformer.messages import printable
from exactformer.model.axes import POSITION
from exactformer.model.breaking import MISTAKES
from exactformer.model.operations.operation import short
from exactformer.numbers import Exact, Named, Undecided
from exactformer.numbers.nearness import nearly
from exactformer.render.markdown import plain
from exactformer.render.values import largest, show
from exactformer.trace import Step, Trace

MOST_COLUMNS = 16
MOST_ROWS = 64
_BESIDE = 6  # entries of a row that is too long to be shown whole


def written(view: View, source: Source, words: Words) -> str:
    """The text of a view, without the marks of a quotation; "" for claims and exercises, of which nothing is written."""
    match view.kind:
        case "step" | "picture":
            return _step(view, source, words)
        case "number":
            return _number(view, source, words)
        case "break":
            return _broken(view, source, words)
        case _:
            return ""


def _step(view: View, source: Source, words: Words) -> str:
    step = _checked(view, source)
    table = _table(step, trace_of(source.forward), view, words)
    title = words.title(step.op, step.title) if step.op != "gradient" else words.say("views", "gradient", of=short(step.name))
    of = "∂" if step.name.startswith("grad.") else ""
    formula = f": `{of}{short(step.name)} = {step.formula}`" if step.formula else f": `{step.name}`"
    return f"**{plain(title)}**{formula}\n\n{table}"


def _number(view: View, source: Source, words: Words) -> str:
    step = step_at(source, view.to.step)
    x = entry(step.values, view.to)
    shown = show(x, view.digits)
    name = f"`{view.to}`"
    if shown.status == "undefined":
        return f"{name}: {words.say('kinds', 'undefined')} ({plain(shown.why)})\n"
    if not isinstance(x, Named):
        return f"{name} = {_text(shown.text, x)}\n"
    digits = with_minus(shown.digits)
    lines = [f"{name} = " + (f"{_text(shown.text, x)} ≈ {digits}" if not shown.too_long else f"{digits} …")]
    if shown.written and shown.written != shown.text:
        lines += ["", words.say("views", "computed_as", form=_text(shown.written, x))]
    return "\n".join(lines) + "\n"


def _broken(view: View, source: Source, words: Words) -> str:
    right, wrong = source, source._replace(mistakes=(*source.mistakes, view.mistake))
    what = words.mistake(view.mistake, MISTAKES[view.mistake].what)
    parts = []
    for label, each in (
        (words.say("views", "correct"), right),
        (f"{words.say('views', 'broken')} (`{view.mistake}`: {what})", wrong),
    ):
        try:
            text = _table(_checked(view, each), trace_of(each.forward), view, words)
        except PassError:
            if each is right:
                raise
            text = words.say("views", "no_such_step") + "\n"
        parts.append(f"{label}: `{'∂' if view.to.step.startswith('grad.') else ''}{short(view.to.step)}`\n\n{text}")
    return "\n".join(parts)


def _checked(view: View, source: Source) -> Step:
    """The step of a view, which has the position and the head that it names."""
    step = step_at(source, view.to.step)
    heads = step.values.shape[0] if step.by_head else 1
    if view.head is not None and view.head >= heads:
        raise PassError(f"{view.kind}: there is no head {view.head}: {step.name} has {heads}")
    if view.position is not None and view.position >= step.values.shape[1 if step.by_head else 0]:
        raise PassError(f"{view.kind}: there is no position {view.position} in {step.name}")
    if view.to.index:
        raise PassError(f"{view.kind}: {view.to}: write at and a position, or head and its number, instead of an index")
    return step


def _table(step: Step, trace: Trace, view: View, words: Words) -> str:
    """Rows and columns with their names; of several heads, each."""
    values = step.values
    rank = values.ndim
    matrices = [(h, values[h]) for h in range(len(values))] if rank == 3 else [(0, values if rank == 2 else values.reshape(1, -1))]
    many = rank == 3 and len(matrices) > 1 and view.head is None
    chosen = [(h, m) for h, m in matrices if view.head is None or rank != 3 or h == view.head]
    rows = range(chosen[0][1].shape[0]) if view.position is None else [view.position]
    columns, wide = _columns(step, trace, chosen[0][1], rows)
    head = [
        "",
        *([words.say("views", "head")] if many else []),
        *(_label(step, trace, rank - 1, j) for j in columns),
        *(["…"] if wide else []),
    ]
    lines = [_row(head), _row(["---"] * len(head))]
    for h, matrix in chosen:
        for i in list(rows)[:MOST_ROWS]:
            name = _label(step, trace, rank - 2, i) if rank > 1 else ""
            cells = [cell(matrix[i, j]) for j in columns]
            lines.append(_row([name, *([str(h)] if many else []), *cells, *(["…"] if wide else [])]))
    if wide:
        lines += [
            "",
            words.say("views", "largest" if _counts_tokens(step) else "first", shown=len(columns), all=chosen[0][1].shape[1]),
        ]
    return "\n".join(lines) + "\n"


def _columns(step: Step, trace: Trace, matrix: Any, rows: Sequence[int]) -> tuple[list[int], bool]:
    count = matrix.shape[1]
    if count <= MOST_COLUMNS:
        return list(range(count)), False
    if _counts_tokens(step):
        return largest(matrix[rows[-1]], _BESIDE), True
    return list(range(_BESIDE)), True


def _counts_tokens(step: Step) -> bool:
    return bool(step.axes) and step.axes[-1].names is not None


def _label(step: Step, trace: Trace, axis: int, n: int) -> str:
    """The name of a row or column, as the page has it."""
    if axis == step.values.ndim - 1 and step.labels and n < len(step.labels[0]):
        return _safe(step.labels[0][n])
    kinds = trace.axes(step.name)
    kind = kinds[axis] if axis < len(kinds) else None
    if kind is POSITION:
        token = _safe(trace.tokens[n]) if n < len(trace.tokens) else str(n)
        return f"{n} {token}" if axis == step.values.ndim - 2 else token
    if kind is not None and kind.names is not None:
        return _safe(kind.names(trace.model.config)[n])
    if kind is not None and kind.word == "":
        return ""
    return str(n)


def cell(x: Any) -> str:
    """A number in a table: its closed form where that is short, and decimals.

    >>> from exactformer.numbers import exact, exp
    >>> cell(exact("-1/2")), cell(1 / (1 + exp(1)))
    ('−1/2', '1/(1+e) ≈ 0.2689')
    """
    shown = show(x, 12)
    if shown.status == "masked":
        return "−∞"
    if isinstance(x, Exact) and len(shown.text) > SHORT + 6:
        return with_minus(f"≈ {decimal(x, DECIMALS)}")
    if isinstance(x, Named):
        digits = with_minus(_digits(x, shown.digits))
        return f"{_text(shown.text, x)} ≈ {digits}" if not shown.too_long and len(shown.text) <= SHORT else f"≈ {digits}"
    return _text(shown.text, x)


def _text(text: str, x: Any) -> str:
    """Of a token its name as it is, of a number with the minus sign of print."""
    return _safe(text if x is None or isinstance(x, str) else with_minus(text))


def _digits(x: Named, proved: str) -> str:
    """Decimals; what a number is next to, 1 - 7.44e-44, where they would be nines or zeros."""
    try:
        near = nearly(x, 3)
        return near if " " in near or "e" in near else decimal(x, DECIMALS)
    except (Undecided, ValueError):
        return proved


def _safe(text: str) -> str:
    return plain(printable(text))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
