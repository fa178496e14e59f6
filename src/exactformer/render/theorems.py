"""The report of a proof: statement, cases, verdict, margins, counterexamples; traces of them for other programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from fractions import Fraction
from textwrap import wrap
from typing import Any

from exactformer.messages import many
from exactformer.model import InputError
from exactformer.numbers.decimals import outwards
from exactformer.painting import Paint, judged, plain
from exactformer.proofs.domain import Tokens
from exactformer.proofs.patterns import PatternClaim, PatternReport, Unproved
from exactformer.proofs.report import CLAIMS, PROVED, REFUTED, UNDECIDED, Failure, Report
from exactformer.proofs.search import Strength
from exactformer.render import json as as_json
from exactformer.render.tables import entry, grid
from exactformer.trace import Trace

_WIDTH = 100
_RIGHT = {PROVED: True, REFUTED: False}
_DIGITS = 6
COLUMNS = ("sequences", "least lead", "at")


def text(report: Report, worksheet: Any = None, command: Sequence[str] = (), paint: Paint = plain, width: int | None = None) -> str:
    """With a worksheet, where the first counterexample looks; with the `command` that traces it, that too."""
    lines = [*wrap(f"Theorem: {report.statement}.", min(width or _WIDTH, _WIDTH)), "", *counted_cases(report), ""]
    lines += [f"  {line}" for line in _kinds(report, width)]
    if report.asked == "everywhere":
        lines += ["", judged(f"{report.verdict.upper()}: {counted(report)}", _RIGHT.get(report.verdict), paint)]
    else:
        claim = f"Claim: {CLAIMS[report.asked]}: {report.answer.upper()}"
        lines += ["", f"The rule: {counted(report)}", judged(claim, _RIGHT.get(report.answer), paint)]
    failed = zip(report.failures, failure_lines(report), strict=True)
    lines += [f"  {judged(line, _RIGHT.get(failure.verdict), paint)}" for failure, line in failed]
    if worksheet is not None and report.failures:
        first = report.failures[0].tokens
        lines += _attention(_traced(worksheet, first, report.arithmetic))
        lines += ["", f"Its trace: {shlex.join([*command, '--tokens', ' '.join(first)])}"] if command else []
    return "\n".join(lines) + "\n"


def _traced(worksheet: Any, tokens: Tokens, arithmetic: str) -> Trace | None:
    """None where the model is too large to be traced in the arithmetic of the proof."""
    try:
        trace: Trace = worksheet.trace(tokens, arithmetic)
    except InputError:
        return None
    return trace


def _attention(trace: Trace | None) -> list[str]:
    """Where the last position looks, whose token is the answer: a row for each head."""
    if trace is None:
        return []
    rows = {
        f"{step.name.removesuffix('.attn.pattern')}, head {head}": row
        for step in trace.steps
        if step.name.endswith(".attn.pattern")
        for head, row in enumerate(step.at(len(trace.tokens) - 1))
    }
    cells = [[entry(value, None, _DIGITS) for value in row] for row in rows.values()]
    title = f"After {' '.join(trace.tokens)} the last position looks at:"
    return ["", title, *(f"  {line}" for line in grid(list(rows), trace.tokens, cells))] if rows else []


def counted_cases(report: Report) -> list[str]:
    groups = [" ".join(members) for members in report.classes if len(members) > 1]
    alike = f" (interchangeable, proved: {'; '.join(groups)})" if groups else ""
    resumed = f"; {report.resumed:,} of them by an earlier run" if report.resumed else ""
    return [
        f"{report.cases:,} cases computed, which stand for {report.sequences:,} sequences{alike}",
        f"arithmetic {report.arithmetic}, {report.seconds:.1f} s{resumed}",
    ]


def counted(report: Report) -> str:
    return ", ".join(f"{many(number, 'sequence')} {verdict}" for verdict, number in report.counts.items())


def kind_rows(report: Report) -> list[list[str]]:
    """The kinds of sequences: their name, how many there are, the least lead, and where that is."""
    return [[name, f"{kind.sequences:,}", _least(kind.margin), " ".join(kind.at)] for name, kind in sorted(report.kinds.items())]


def _kinds(report: Report, width: int | None) -> list[str]:
    rows = kind_rows(report)
    return grid([row[0] for row in rows], COLUMNS, [row[1:] for row in rows], width)


def failure_lines(report: Report) -> list[str]:
    return [f"{failure.verdict}: {_failed(failure)}" for failure in report.failures]


def _least(margin: Fraction | None) -> str:
    return "" if margin is None else outwards(margin.numerator, margin.denominator, 6, down=True)


def _failed(failure: Failure) -> str:
    said = f"says {failure.token}" if failure.token is not None else f"says nothing ({failure.why})"
    tied = f" (tied with {', '.join(failure.ties)})" if failure.ties else ""
    where = (
        f"after {failure.words}{',' * bool(failure.fed_back)}"
        if failure.position is None
        else _at(failure.tokens, failure.position)
    )
    return f"{where} it {said}{tied}, where {' or '.join(failure.right) or 'a tie of all'} is demanded"


def _at(tokens: Tokens, position: int) -> str:
    return f"at position {position} of {' '.join(tokens)}"


def as_json_text(report: Report, worksheet: Any = None, command: Sequence[str] = ()) -> str:
    return json.dumps(document(report, worksheet), ensure_ascii=False, indent=1) + "\n"


def document(report: Report, worksheet: Any = None) -> dict[str, Any]:
    """The report for other programs, counterexamples with their traces."""
    return {
        "format": "exactformer theorem 1",
        "statement": report.statement,
        "verdict": report.verdict,
        **({"claim": CLAIMS[report.asked], "answer": report.answer} if report.asked != "everywhere" else {}),
        "arithmetic": report.arithmetic,
        "cases": report.cases,
        "sequences": report.sequences,
        "interchangeable": [list(members) for members in report.classes if len(members) > 1],
        "counts": report.counts,
        "kinds": {
            name: {"sequences": kind.sequences, "least_lead": _least(kind.margin) or None, "at": list(kind.at)}
            for name, kind in report.kinds.items()
        },
        "failures": [_failure(failure, worksheet, report.arithmetic) for failure in report.failures],
        "seconds": round(report.seconds, 3),
    }


def _failure(failure: Failure, worksheet: Any, arithmetic: str) -> dict[str, Any]:
    trace = None if worksheet is None else _traced(worksheet, failure.tokens, arithmetic)
    fields = {name: list(v) if isinstance(v, tuple) else v for name, v in vars(failure).items()}
    return fields | {"trace": None if trace is None else as_json.document(trace)}


def pattern_text(report: PatternReport) -> str:
    """A theorem about a pattern, a line each; the terminal folds them."""
    lines = [f"Theorem: {_pattern_statement(report)}.", "", pattern_told(report)]
    if report.nearest is not None:
        tokens, position, _, _ = report.nearest
        where = "farthest beyond" if report.verdict == REFUTED else "nearest to"
        lines.append(f"{where} the bound: {nearest_weight(report)}, {_at(tokens, position)}")
    lines += ["", _pattern_counted(report), *(f"  {line}" for line in pattern_lines(report))]
    return "\n".join(lines) + "\n"


def _pattern_statement(report: PatternReport) -> str:
    return f"in every sequence of up to {report.length} tokens, {report.claim}, where it sees such a token"


def pattern_told(report: PatternReport) -> str:
    return f"{report.passes:,} passes, which hold the patterns of {report.sequences:,} sequences"


def _pattern_counted(report: PatternReport) -> str:
    """The verdict; and where not all is proved, of how many passes, and how many of the others are listed."""
    if report.verdict == PROVED:
        return report.verdict.upper()
    counts = ", ".join(f"{number:,} {verdict}" for verdict, number in report.counts.items() if number or verdict != UNDECIDED)
    others = report.passes - report.counts[PROVED]
    listed = f"; the first {len(report.failures)} of {others:,}" if len(report.failures) < others else ""
    return f"{report.verdict.upper()}: of {report.passes:,} passes, {counts}{listed}"


def nearest_weight(report: PatternReport) -> str:
    """What is proved of the weight that is nearest to the bound, or farthest beyond it."""
    assert report.nearest is not None
    return _weight(report.claim, *report.nearest[2:])


def pattern_lines(report: PatternReport) -> list[str]:
    """The sequences of which the claim is not proved, a line each."""
    return [_unproved(failure, report.claim) for failure in report.failures]


def _unproved(failure: Unproved, claim: PatternClaim) -> str:
    if failure.weight is None:
        return f"{failure.verdict}: {' '.join(failure.tokens)}"
    position, low, high = failure.weight
    return f"{failure.verdict}: {_at(failure.tokens, position)} the weight is {_weight(claim, low, high)}"


def _weight(claim: PatternClaim, low: str, high: str) -> str:
    """Of a weight between two decimals, the end that settles the claim; both where none does, or where it says nothing."""
    below, above, bound = Fraction(low), Fraction(high), claim.bound.fraction
    if below == above:
        return low
    if above < bound or (above == bound and not claim.at_least):
        return f"at most {high}"
    if below > 0 and (below > bound or (below == bound and claim.at_least)):
        return f"at least {low}"
    return f"between {low} and {high}"


def pattern_document(report: PatternReport) -> dict[str, Any]:
    near = None
    if report.nearest is not None:
        tokens, position, low, high = report.nearest
        near = {"tokens": list(tokens), "position": position, "low": low, "high": high}
    return {
        "format": "exactformer pattern theorem 2",
        "statement": _pattern_statement(report),
        "verdict": report.verdict,
        "sequences": report.sequences,
        "passes": report.passes,
        "counts": report.counts,
        "nearest": near,
        "failures": [
            {"tokens": list(failure.tokens), "verdict": failure.verdict}
            | ({} if failure.weight is None else dict(zip(("position", "low", "high"), failure.weight, strict=True)))
            for failure in report.failures
        ],
    }


def pattern_json(report: PatternReport) -> str:
    return json.dumps(pattern_document(report), ensure_ascii=False, indent=1) + "\n"


def strengths(found: list[Strength], worksheet: Any) -> str:
    """A table of lengths, smallest strengths, and what goes wrong with one less."""
    rows = [str(row.length) for row in found]
    cells = [
        [
            "none" if row.strength is None else str(row.strength),
            "" if row.report is None else f"{row.report.cases:,} for {row.report.sequences:,}",
            "" if row.below is None or not row.strength else _failed(row.below),
        ]
        for row in found
    ]
    title = f"{worksheet.title}: the smallest integer strength at which the theorem holds, for sequences up to each length"
    table = grid(rows, ["strength", "cases", "with one less"], cells)
    return "\n".join([title, "", *("  " + line for line in table)]) + "\n"


RENDERERS = {"text": text, "json": as_json_text}
