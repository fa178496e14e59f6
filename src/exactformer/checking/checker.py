"""Check a text: read its worksheets and claims, then judge every claimed number and token."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from exactformer.checking.blocks import Block, blocks
from exactformer.checking.claims import PrintedClaim, read_claims
from exactformer.checking.lessons import lesson_text, lessons
from exactformer.checking.positions import Span, positions
from exactformer.checking.printed import Claimed, Token
from exactformer.checking.record import Record
from exactformer.checking.report import BAD, CheckReport, Finding
from exactformer.checking.sheet import trace_of
from exactformer.checking.steps import record_of
from exactformer.checking.verdicts import judge, true_digits
from exactformer.trace import Trace
from exactformer.worksheets import WorksheetError
from exactformer.worksheets.reader import Table
from exactformer.worksheets.worksheet import parse, read_text


def check_text(text: str, name: str = "worksheet.toml") -> CheckReport:
    """Judge every claim of a worksheet, or of the worksheets in a Markdown text (`name` ends in .md).

    >>> report = check_text('''
    ... [[claims]]
    ... operation = "softmax"
    ... of = [0, 1]
    ... values = ["0.27", "0.74"]
    ... ''')
    >>> [(finding.printed, str(finding.verdict), finding.more) for finding in report.findings]
    [('0.27', 'right', '0.2689'), ('0.74', 'last digit off', '0.7311')]
    """
    found: list[Claim] = []
    known = Known(Record(), None)
    plain = " " + text[1:] if text.startswith("\ufeff") else text
    for block in blocks(plain, name):
        known, claims = claims_of(block, name, known)
        found += claims
    return CheckReport(name, tuple(finding(text, *claim) for claim in found))


class Known(NamedTuple):
    """The pass that claims speak of, where there is one, and the record of it."""

    record: Record
    trace: Trace | None


class Claim(NamedTuple):
    """A printed number, the record that it is held against, and where it stands in the text."""

    record: Record
    printed: PrintedClaim
    span: Span


def claims_of(block: Block, name: str, known: Known) -> tuple[Known, list[Claim]]:
    """The claims of a worksheet within a text, and what is known after it: its own pass, or the one from before."""
    file = f"{name}:{block.line}" if block.line else name
    raw = parse("\n" * block.line + block.text, file)  # so that a message of the parser names the line of the file
    another = trace_of(raw, file)
    if another is not None:
        known = Known(record_of(another), another)
    claims = read_claims(Table({"claims": raw.get("claims", [])}, file), *known)
    return known, [Claim(known.record, claim, span) for claim, span in zip(claims, _spans(claims, block, file), strict=True)]


def check_file(source: str | os.PathLike[str]) -> CheckReport:
    """`check_text` of a file, or of a built-in lesson by name."""
    return check_text(read_source(source), os.fspath(source))


def read_source(source: str | os.PathLike[str], others: Sequence[str] = ()) -> str:
    """The text of a file to the last character (also its line ends), or of a built-in lesson; `others` could have been meant."""
    name = os.fspath(source)
    if name in lessons():
        return lesson_text(name)
    if not name:
        raise WorksheetError(f"the name of a file is empty (built-in lessons: {', '.join((*others, *lessons()))})")
    return read_text(Path(name), "lesson", (*others, *lessons()))


def _spans(claims: list[PrintedClaim], block: Block, file: str) -> Iterator[Span]:
    """Where each number or token stands in the file."""
    places = positions(block.text) if claims else {}
    for claim in claims:
        start, end = places.get(claim.path, (0, 0))
        if not _is(claim.printed, block.text[start:end]):
            raise WorksheetError(f"{file}: {_field(claim)} is written in a way whose place was not found: write it plainly")
        yield block.start + start, block.start + end


def _is(printed: Claimed, there: str) -> bool:
    """Is this what stands there? A bare integer is read without its underscores and its plus."""
    if isinstance(printed, Token):
        return there == printed.text
    return there.strip() == printed.text.strip() or there.replace("_", "").removeprefix("+") == printed.text


def _field(claim: PrintedClaim) -> str:
    table, n, field, *index = claim.path
    return f"{table}.{n}.{field}" + "".join(f"[{i}]" for i in index)


def finding(text: str, record: Record, claim: PrintedClaim, span: Span) -> Finding:
    """What is to be said of a claim."""
    node = record.nodes[claim.node]
    x = node.truth[claim.index]
    verdict = judge(x, claim.printed)
    return Finding(
        line=text.count("\n", 0, span[0]) + 1,
        field=_field(claim),
        span=span,
        subject=node.shown or node.name,
        index=claim.index,
        printed=claim.printed.text,
        kind="number" if not node.of_tokens else "token" if isinstance(x, str) else "no token",
        verdict=verdict,
        true=true_digits(x, claim.printed),
        more=true_digits(x, claim.printed, 2),
        carried_on=verdict in BAD and record.follows(claim.node, claim.index, claim.printed),
    )
