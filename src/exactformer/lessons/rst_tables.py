"""Tables of reStructuredText as rows of cells, each with its place: simple ones, grids, lists and comma-separated ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from exactformer.checking.pages.found import Span

_BORDER = re.compile(r"=+(?: +=+)+")
_RULE = re.compile(r"\+(?:[-=]+\+)+")
_ITEM = re.compile(r"\s*(?:\* - |- )(.*)")
_DIRECTIVE = re.compile(r"\.\. +(table|list-table|csv-table)::")
_HEADER_ROWS = re.compile(r"\s*:header-rows:\s*([0-9]{1,3})\s*")
_OPTION = re.compile(r"\s*:[\w-]+:")
Cells = list[list[Span]]


def is_table(line: str) -> bool:
    """
    >>> [is_table(line) for line in ("== ==", "+--+--+", ".. list-table:: Weights", "| a | b |")]
    [True, True, True, False]
    """
    return any(pattern.match(line) is not None for pattern in (_BORDER, _RULE, _DIRECTIVE))


def table(text: str, start: int) -> Cells:
    """The cells below the head of the table whose first line begins at `start`; none where it is no table.

    >>> text = "=====  =====\\n  a      b\\n=====  =====\\n0.27   0.73\\n=====  =====\\n"
    >>> [[text[slice(*cell)].strip() for cell in row] for row in table(text, 0)]
    [['0.27', '0.73']]
    """
    lines = list(_block(text, start))
    directive = _DIRECTIVE.match(text[slice(*lines[0])]) if lines else None
    if directive is None:
        return _drawn(text, lines)
    head = next((int(m[1]) for line in lines if (m := _HEADER_ROWS.match(text[slice(*line)]))), 0)
    body = [line for line in lines[1:] if text[slice(*line)].strip() and not _OPTION.match(text[slice(*line)])]
    match directive[1]:
        case "list-table":
            return _items(text, body)[head:]
        case "csv-table":
            return [_separated(text, line) for line in body][head:]
        case _:
            return _drawn(text, body)


def _block(text: str, start: int) -> Iterator[Span]:
    """The lines of a table, without their indentation: up to an empty one, or of a directive all that is indented."""
    at, first = start, None
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].rstrip()
        indent = len(line) - len(line.lstrip())
        if first is None:
            first, directive = indent, _DIRECTIVE.match(line.lstrip()) is not None
        elif (line and directive and indent <= first) or (not line and not directive):
            return
        yield at + (indent if line else 0), at + len(line)
        at = end + 1


def _drawn(text: str, lines: list[Span]) -> Cells:
    first = text[slice(*lines[0])] if lines else ""
    if _RULE.fullmatch(first):
        return _grid(text, lines)
    if _BORDER.fullmatch(first):
        return _simple(text, lines)
    return []


def _grid(text: str, lines: list[Span]) -> Cells:
    heads = [n for n, line in enumerate(lines) if text[line[0] : line[0] + 2] == "+="]
    rows: Cells = []
    for start, end in lines[(heads[0] + 1) if heads else 0 :]:
        if text.startswith("|", start):
            bars = [start + m.start() for m in re.finditer(r"\|", text[start:end])]
            rows.append([(a + 1, b) for a, b in pairwise(bars)])
    return rows


def _simple(text: str, lines: list[Span]) -> Cells:
    borders = [n for n, line in enumerate(lines) if _BORDER.fullmatch(text[slice(*line)])]
    columns = [m.span() for m in re.finditer("=+", text[slice(*lines[0])])]
    body = lines[borders[-2] + 1 : borders[-1]] if len(borders) > 1 else []
    rows: Cells = []
    for start, end in body:
        line = text.rfind("\n", 0, start) + 1  # columns are counted from where the border begins
        begin = line + (lines[0][0] - (text.rfind("\n", 0, lines[0][0]) + 1))
        nexts = [a for a, _ in columns[1:]]
        edges = [(begin + a, begin + b) for (a, _), b in zip(columns, [*nexts, 10**6], strict=True)]
        rows.append([(min(max(a, start), end), min(b, end)) for a, b in edges])
    return rows


def _items(text: str, lines: list[Span]) -> Cells:
    rows: Cells = []
    for start, end in lines:
        item = _ITEM.match(text[start:end])
        if item is None:
            continue
        if item[0].lstrip().startswith("*"):
            rows.append([])
        if rows:
            rows[-1].append((start + item.start(1), end))
    return rows


def _separated(text: str, line: Span) -> list[Span]:
    start, end = line
    found = []
    for m in re.finditer(r'("[^"]*"|[^,]*)(?:,|$)', text[start:end]):
        if m.start() < end - start:
            quotes = m[1].strip().startswith('"')
            left = m.start(1) + (m[1].index('"') + 1 if quotes else 0)
            found.append((start + left, start + (m.start(1) + m[1].rindex('"') if quotes else m.end(1))))
    return found
