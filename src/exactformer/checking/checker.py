"""Check a text: read its worksheets and claims, then judge every claimed number and token."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from exactformer.checking.allowing import ALLOWED, NOTHING, is_allowed, noise
from exactformer.checking.blocks import Block, blocks
from exactformer.checking.causes import cause
from exactformer.checking.claims import PrintedClaim, allowances, read_claims
from exactformer.checking.lessons import lesson_text, lessons
from exactformer.checking.pages.found import Span
from exactformer.checking.pages.notebook import LARGEST as NOTEBOOK
from exactformer.checking.pages.page import Page
from exactformer.checking.printed import Claimed, Token
from exactformer.checking.record import Record
from exactformer.checking.report import BAD, CheckReport, Finding
from exactformer.checking.sheet import trace_of
from exactformer.checking.steps import record_of
from exactformer.checking.verdicts import Verdict, judge, true_digits
from exactformer.messages import Refused
from exactformer.reading.toml_places import Located, positions
from exactformer.trace import Trace
from exactformer.worksheets import WorksheetError
from exactformer.worksheets.reader import Table, WorksheetProblems
from exactformer.worksheets.worksheet import LARGEST, OF_CLAIMS, parse, read_text

_LINE = re.compile(r" \(at (?:line ([0-9]+), column [0-9]+|end of document)\)")


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
    return check_page(Page(text, name))


def check_page(page: Page) -> CheckReport:
    """WorksheetProblems has all that is wrong with the page, so that nothing could be judged."""
    found: list[Claim] = []
    problems: list[str] = []
    known = Known(Record(), None)
    for block in blocks(page):
        try:
            known, claims = claims_of(block, page, known)
        except Unread as unread:
            problems += unread.problems
            known = unread.known
        else:
            found += claims
    if problems:
        raise WorksheetProblems(problems)
    return CheckReport(page.name, tuple(finding(page, *claim) for claim in found))


class Known(NamedTuple):
    """The pass that claims speak of, where there is one, and the record of it; `lost`: there is one, and it could not be read."""

    record: Record
    trace: Trace | None
    lost: bool = False


class Unread(WorksheetProblems):
    """The problems of a worksheet, and what is known all the same."""

    def __init__(self, problems: Sequence[str], known: Known) -> None:
        super().__init__(problems)
        self.known = known


class Claim(NamedTuple):
    """A printed number, the record that it is held against, and where it stands in the text."""

    record: Record
    printed: PrintedClaim
    span: Span


def claims_of(block: Block, page: Page, known: Known) -> tuple[Known, list[Claim]]:
    """The claims of a worksheet within a page, and what is known after it: its own pass, or the one from before."""
    if block.problem:
        raise Unread([block.problem], known._replace(lost=True))
    file = Located(page.name)
    try:
        raw = parsed(block, page)
    except Refused as error:
        raise Unread([str(error)], known._replace(lost=True)) from None
    file.locate(block.text, lambda at: page.line(block.start + at))
    table = Table({field: raw[field] for field in ("claims", *OF_CLAIMS) if field in raw}, file)
    try:
        another = trace_of(raw, file)
        known = known if another is None else Known(record_of(another), another)
    except Refused as error:
        known = Known(Record(), None, lost=True)
        file.problems[:] = getattr(error, "problems", [str(error)])
    allowed = NOTHING
    with table.collect():
        allowed = allowances(table)
    claims = read_claims(table, *known, order=block.start, allowed=allowed)
    spans: list[Span] = []
    with table.collect():
        spans = list(_spans(claims, block, file))
    if table.problems:
        raise Unread(table.problems, known)
    return known, [Claim(known.record, claim, span) for claim, span in zip(claims, spans, strict=True)]


def parsed(block: Block, page: Page) -> dict[str, Any]:
    """The document of a worksheet; what is wrong with its TOML is reported with the line of the page."""
    try:
        return parse(block.text, page.name)
    except WorksheetError as error:
        said = _LINE.search(str(error))
        starts = [0, *(match.end() for match in re.finditer("\n", block.text))]
        before = 0 if said is None else starts[int(said[1]) - 1] if said[1] else len(block.text.rstrip())
        problem = str(error).removeprefix(f"{page.name}: ").replace("" if said is None else said[0], "")
        raise WorksheetError(f"{page.name}:{page.line(block.start + before)}: {problem}") from None


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
    return read_text(Path(name), "lesson", (*others, *lessons()), NOTEBOOK if name.endswith(".ipynb") else LARGEST)


def _spans(claims: list[PrintedClaim], block: Block, file: Located) -> Iterator[Span]:
    """Where each number or token stands in the file."""
    places = positions(block.text) if claims else {}
    for claim in claims:
        start, end = places.get(claim.path, (0, 0))
        if not _is(claim.printed, block.text[start:end]):
            field = _field(claim)
            raise WorksheetError(f"{file.where(field)}: {field} is written in a way whose place was not found: write it plainly")
        yield block.start + start, block.start + end


def _is(printed: Claimed, there: str) -> bool:
    """Is this what stands there? A bare integer is read without its underscores and its plus."""
    if isinstance(printed, Token):
        return there == printed.text
    return there.strip() == printed.text.strip() or there.replace("_", "").removeprefix("+") == printed.text


def _field(claim: PrintedClaim) -> str:
    table, n, field, *index = claim.path
    return f"{table}.{n}.{field}" + "".join(f"[{i}]" for i in index)


def finding(page: Page, record: Record, claim: PrintedClaim, span: Span) -> Finding:
    """What is to be said of a claim."""
    node = record.nodes[claim.node]
    x = node.truth[claim.index]
    verdict = judge(x, claim.printed)
    bad = verdict in BAD
    carried_on = bad and record.follows(claim.node, claim.index, claim.printed, claim.order)
    float_of = noise(x, claim.printed) if bad else ""
    why = f"a {float_of} result" if float_of else ""
    if bad and not carried_on and not why:
        why = cause(record, claim.node, claim.index, claim.printed, claim.order)
    permitted = verdict is not Verdict.RIGHT and is_allowed(x, claim.printed, verdict, carried_on, float_of, claim.allowed)
    return Finding(
        line=page.line(span[0]),
        field=_field(claim),
        span=span,
        subject=node.shown or node.name,
        index=claim.index,
        printed=claim.printed.text,
        kind="number" if not node.of_tokens else "token" if isinstance(x, str) else "no token",
        verdict=verdict,
        true=true_digits(x, claim.printed),
        more=true_digits(x, claim.printed, 2),
        carried_on=carried_on,
        hint=why,
        excused=ALLOWED if permitted else "",
    )
