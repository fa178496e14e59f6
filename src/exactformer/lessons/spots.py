"""Where printed numbers stand in what a comment is bound to: behind it in the prose, in a table, a matrix or a code block.

Each kind of thing that can be bound is one function from a text and a place to rows of spots; a new kind (the output of a cell of a
notebook, another markup) is one more.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal, NamedTuple

from exactformer.checking.pages.found import Fence, Span
from exactformer.checking.pages.markdown import PREFIX
from exactformer.lessons import rst_tables
from exactformer.lessons.lesson import OPEN, Spot, Style

Rows = tuple[tuple[Spot, ...], ...]
_PRINTED = r"[+\-−]?(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+\-−]?[0-9]+)?(?:/[0-9]+)?|[-−](?:inf|∞)|\.\.\.|…"
_NUMBER = re.compile(f"{OPEN.pattern}|{_PRINTED}")
_IN_CODE = re.compile(rf"(?<![\w.])(?:{_NUMBER.pattern})(?![\w])|[A-Za-z_]\w*(?:\.\w+)*")
_STYLES: tuple[tuple[str, Style], ...] = (("**", "bold"), ("__", "bold"), ("`", "code"), ("$", "math"), ("*", "bold"))
_MATRIX = re.compile(r"\\begin\{([bpvBV]?matrix|array)\}(?:\{[lcr| ]*\})?(.*?)\\end\{\1\}", re.DOTALL)
_BLANK = "[ \u00a0\u202f]"
_OF_HUNDRED = rf"(?:\\?%|(?:percent|per{_BLANK}cent|por{_BLANK}ciento)\b)"
_PERCENT = re.compile(rf"(.*?)(?:{_BLANK}|\\,)*{_OF_HUNDRED}", re.DOTALL)
_PERCENT_BEHIND = re.compile(rf"(?:\*\*|__|[*`$])?{_BLANK}?{_OF_HUNDRED}")
_TYPED = re.compile(r"[ \t>]*(?:>>>|\$ |In \[[0-9]*\]:)")  # at a prompt
_GOES_ON = re.compile(r"[ \t>]*\.\.\.(?: |\r?$)")
_DELIMITER = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_CELL = re.compile(r"(?:\\.|`[^`\n]*`|[^|\\`\n]|`)*")


class SpotError(ValueError):
    """Why nothing can be bound here."""


def behind(text: str, at: int) -> Spot:
    """The number that follows a comment directly.

    >>> [behind(text, 0).text for text in ("0.27, and", "**1/(1+e)**.", "$\\\\frac12$", "`a`", "(1, 2)", "?", "0.?? of")]
    ['0.27', '1/(1+e)', '\\\\frac12', 'a', '(1, 2)', '?', '0.??']
    >>> [(spot.text, spot.percent) for spot in (behind("66.5 %.", 0), behind("**67%**", 0), behind("12 percent", 0))]
    [('66.5', True), ('67', True), ('12', True)]
    """
    return percentage(text, _behind(text, at))


def percentage(text: str, spot: Spot, start: int = 0) -> Spot:
    """A number with a percent sign behind it, or within its marks; `start` is where the text begins that places are counted in."""
    inside = _PERCENT.fullmatch(spot.text)
    if inside is not None:
        return replace(spot, span=(spot.span[0], spot.span[0] + len(inside[1])), text=inside[1], percent=True)
    return replace(spot, percent=spot.percent or _PERCENT_BEHIND.match(text, spot.span[1] - start) is not None)


def _behind(text: str, at: int) -> Spot:
    start = at
    while text[start : start + 2] == "≈ " or text[start : start + 1] == "≈":
        start += 2 if text[start + 1 : start + 2] == " " else 1
    styled = _styled(text, start)
    if styled is not None:
        return styled
    end = start
    depth = 0
    while end < len(text) and not (text[end].isspace() and not (depth and text[end] in " ")) and text[end] not in "|<*`$":
        depth += (text[end] == "(") - (text[end] == ")")
        if depth < 0:
            break
        end += 1
    run = text[start:end]
    if unwritten := OPEN.match(run):
        return Spot((start, start + unwritten.end()), unwritten[0])
    if re.match(r"[0-9.]*[0-9]\?\?", run):
        raise SpotError(f"{run}: write a question mark for every decimal, as in 0.??, or the number")
    while run and (run[-1] in ".,;:!?…\"'”’»_" or (run[-1] in ")]" and run.count("(") < run.count(")"))):
        run = run[:-1]
    if not run:
        raise SpotError("nothing follows the comment: write the number, or ?, right behind it")
    return Spot((start, start + len(run)), run)


def _styled(text: str, at: int) -> Spot | None:
    """A number in bold, as code or as a formula; one in the other."""
    for mark, style in _STYLES:
        if text.startswith(mark, at):
            inside = at + len(mark)
            if mark == "$" and text.startswith("$", inside):
                return None
            end = text.find(mark, inside)
            line = text.find("\n", inside)
            if end < 0 or end == inside or (0 <= line < end):
                raise SpotError(f"{mark} is opened behind the comment and not closed on the line")
            return within(text, (inside, end), style)
    return None


def within(text: str, span: Span, style: Style = "plain") -> Spot:
    """The number between two places, without blanks and marks around it."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    for mark, inner in _STYLES:
        if text.startswith(mark, start) and end - start > 2 * len(mark) and text[end - len(mark) : end] == mark:
            return within(text, (start + len(mark), end - len(mark)), inner if style == "plain" or inner == "math" else style)
    return Spot((start, end), text[start:end], style)


class Following(NamedTuple):
    """What follows a comment on a line of its own: its kind, and the rows of the one block, or of each matrix of a formula."""

    kind: Literal["table", "matrix", "code"]
    parts: list[Rows]


def following(text: str, at: int, fences: dict[int, Fence]) -> Following:
    end = text.find("\n", at)
    start = len(text) if end < 0 else end + 1
    blank = PREFIX.match(text, start)
    while blank is not None and text[blank.end() : blank.end() + 1] in ("\n", "\r") and start < len(text):
        start = text.find("\n", blank.end()) + 1
        blank = PREFIX.match(text, start)
    if start in fences:
        return _fenced(text, fences[start])
    here = blank.end() if blank else start
    line = text[here : (text.find("\n", here) + 1 or len(text) + 1) - 1]
    if text.startswith(("$$", "\\[", "\\begin", "$\\begin"), here):
        return Following("matrix", _matrices(text, here, _end_of_formula(text, here)))
    if rst_tables.is_table(line):
        return Following("table", [_cells_to_spots(text, rst_tables.table(text, start))])
    if "|" in line:
        return Following("table", [_table(text, start)])
    raise SpotError("a comment on a line of its own is bound to the table, matrix or code block that follows it, and none does")


def _fenced(text: str, fence: Fence) -> Following:
    """The numbers of a block of code. Where it has what was typed at a prompt, those of what was printed alone."""
    start, end = fence.body
    if _MATRIX.search(text, start, end):
        return Following("matrix", _matrices(text, start, end))
    rows = []
    typed = False
    for line in re.finditer(r"[^\n]+", text[start:end]):
        typed = _TYPED.match(line[0]) is not None or (typed and _GOES_ON.match(line[0]) is not None)
        if typed:
            continue
        spots = [
            Spot((start + line.start() + m.start(), start + line.start() + m.end()), m[0], "code")
            for m in _IN_CODE.finditer(line[0])
            if _NUMBER.fullmatch(m[0])
        ]
        if spots:
            rows.append(tuple(spots))
    return Following("code", [tuple(rows)])


def _end_of_formula(text: str, start: int) -> int:
    """Up to the mark that closes it, or an empty line."""
    mark = next((close for open, close in (("$$", "$$"), ("\\[", "\\]"), ("$", "$")) if text.startswith(open, start)), "\n\n")
    end = text.find(mark, start + len(mark))
    return len(text) if end < 0 else end


def _matrices(text: str, start: int, end: int) -> list[Rows]:
    found = [_matrix(text, match) for match in _MATRIX.finditer(text, start, end)]
    if not found:
        raise SpotError("a formula follows without a matrix (\\begin{bmatrix} … \\end{bmatrix}) to be bound to")
    return found


def _matrix(text: str, match: re.Match[str]) -> Rows:
    rows = []
    at = match.start(2)
    for line in re.split(r"(\\\\)", match[2]):
        if line != "\\\\" and line.replace("\\hline", "").strip():
            cells, place = [], at
            for cell in re.split(r"(&)", line):
                if cell != "&":
                    spot = within(text, (place, place + len(cell)), "math")
                    cells.append(percentage(text, Spot(spot.span, spot.text, "math")))
                place += len(cell)
            rows.append(tuple(cells))
        at += len(line)
    return tuple(rows)


def _table(text: str, start: int) -> Rows:
    lines: list[Span] = []
    at = start
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        prefix = PREFIX.match(text, at)
        here = prefix.end() if prefix else at
        if "|" not in text[here:end]:
            break
        lines.append((here, end - (text[end - 1 : end] == "\r")))
        at = end + 1
    if len(lines) < 3 or not _DELIMITER.fullmatch(text[slice(*lines[1])].strip()):
        raise SpotError("what follows is no table: it needs a row of names, a row |---|---|, and rows of numbers")
    return _cells_to_spots(text, [_cells(text, line) for line in lines[2:]])


def _cells_to_spots(text: str, rows: rst_tables.Cells) -> Rows:
    return tuple(tuple(percentage(text, within(text, cell)) for cell in row) for row in rows)


def _cells(text: str, line: Span) -> list[Span]:
    """The cells of a row: between bars, but for those in code and behind a backslash."""
    start, end = line
    while end > start and text[end - 1].isspace():
        end -= 1
    start += text.startswith("|", start)
    if end > start and text[end - 1] == "|" and text[end - 2] != "\\":
        end -= 1
    found = []
    while start <= end:
        match = _CELL.match(text, start, end)
        assert match is not None
        found.append((start, match.end()))
        start = match.end() + 1
    return found
