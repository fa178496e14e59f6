"""A trace as Markdown: a section a position, a table a section."""

from __future__ import annotations

import re

from exactformer.messages import printable
from exactformer.render.layout import Line, Section, outcome, sections, summary, tokenization, tokens, verdict, weights
from exactformer.trace import Trace


def render(trace: Trace, digits: int = 12) -> str:
    lines = [f"# {plain(trace.title)}" if trace.title else "# A forward pass", "", summary(trace), ""]
    lines += ["```", *tokenization(trace)[1:], "```", ""] if trace.pieces else []
    lines += [f"Tokens {code(tokens(trace))}, arithmetic {trace.arithmetic}.", ""]
    if trace.exact:
        lines += [
            "Marks: `*` simplifies back to a fraction; `~` formula, as computed (`=`), and its proved digits (`≈`).",
            "",
        ]
    lines += ["| weight | value |", "|---|---|", *(f"| {cell(name)} | {cell(values)} |" for name, values in weights(trace)), ""]
    for section in sections(trace, digits):
        lines += _section(section, trace)
    lines += [code(outcome(trace)), ""] if trace.output else []
    return "\n".join(lines)


def _section(section: Section, trace: Trace) -> list[str]:
    lines = [f"## Position {section.position}: {code(section.token)}", "", "| step | formula | value |", "|---|---|---|"]
    for line in section.lines:
        lines.append(f"| {cell(line.name)} | {cell(line.step.formula)} | {_value(line)} |")
    output = section.output
    if output is None:
        return [*lines, ""]
    end = verdict(output, trace.arithmetic)
    if output.token is None:
        lines += ["", f"No token: {plain(end)}.", ""]
    else:
        lines += ["", f"**Token {code(printable(output.token))}**, {plain(end)}.", ""]
    return lines


def _value(line: Line) -> str:
    rows = [cell(f"{mark} {line.joined(texts)}".strip()) for mark, texts in line.variants()]
    return "<br>".join([*rows, *(plain(reason) for reason in (*line.reasons, *line.remarks))])


def code(text: str) -> str:
    """Text as it is, between as many backticks as it needs.

    >>> code("a"), code("a`b"), code("`")
    ('`a`', '``a`b``', '`` ` ``')
    """
    ticks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{ticks} {text} {ticks}" if text.startswith(("`", " ")) or text.endswith(("`", " ")) else f"{ticks}{text}{ticks}"


def cell(text: str) -> str:
    """The same within a table."""
    return code(text.replace("|", r"\|"))


def plain(text: str) -> str:
    """Text that Markdown must not take for markup."""
    return "".join(f"\\{c}" if c in r"\`*_[]<>#|&" else c for c in printable(text))
