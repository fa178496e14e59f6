"""Sheets of exercises as Markdown, LaTeX and HTML, with or without their answers; grades; and one exercise in a notebook."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from typing import Any, NamedTuple

from exactformer.exercises.asking import Exercise
from exactformer.exercises.cell import Cell
from exactformer.exercises.explaining import derivation, hints, question
from exactformer.exercises.grading import Graded, Grades, shown_answer
from exactformer.exercises.judging import Judgement
from exactformer.exercises.sheet import LEVELS, Sheet, answer_of
from exactformer.numbers import Number
from exactformer.render import latex as as_latex
from exactformer.render.markdown import cell as code
from exactformer.render.markdown import plain

_STYLE = """
body { font: 11pt/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #111; background: #fff }
h1 { font-size: 1.5rem; margin-bottom: .2rem } .about { color: #555; margin-top: 0 }
.who { display: flex; gap: 2rem } .who span { flex: 1; border-bottom: 1px solid #888; padding-bottom: 1.2rem }
ol { padding-left: 1.6rem } li { margin: 1.4rem 0; break-inside: avoid }
.rule { color: #555 } .blank { border: 1px solid #888; border-radius: 4px; height: 2.2rem; margin-top: .4rem }
code { font: 10pt ui-monospace, monospace; overflow-wrap: anywhere } .key { break-before: page } .key p { margin: .1rem 0 }
"""


class _Asked(NamedTuple):
    """One exercise in words."""

    number: int
    cell: Cell
    question: str
    rule: str
    given: str


def _asked(sheet: Sheet) -> list[_Asked]:
    found = []
    for n, cell in enumerate(sheet.cells, 1):
        rule, *more = (*hints(cell), "")
        found.append(
            _Asked(n, cell, question(cell), rule, more[0] if more and more[0].startswith(("It is", "The numbers")) else "")
        )
    return found


def _about(sheet: Sheet) -> str:
    changed = f" Changed in the worksheet: {', '.join(sheet.changes)}." if sheet.changes else ""
    return f"Level {sheet.level} ({LEVELS[sheet.level]}), sheet {sheet.seed}. Tokens: {' '.join(sheet.tokens)}.{changed}"


def _how(sheet: Sheet) -> str:
    return (
        "Answer with a fraction or a formula such as 3/2, e/(1+e) or sqrt(2)/2; a decimal counts "
        f"with at least {sheet.decimals} decimals, rounded or cut off."
    )


def markdown(sheet: Sheet, answers: bool = False) -> str:
    lines = [
        f"# {plain(sheet.title or sheet.source)}",
        "",
        plain(_about(sheet)),
        "",
        _how(sheet),
        "",
        "Name: ____________________",
        "",
    ]
    for n, cell, asked, rule, given in _asked(sheet):
        lines += [f"**{n}.** {plain(asked)}", ""]
        lines += [text for part in (rule, given) if part for text in (plain(part), "")]
        lines += [f"Answer: `{code(answer_of(cell))}`" if answers else "Answer: ____________________", ""]
        lines += [*(f"    {line}" for line in derivation(cell)), ""] if answers else []
    return "\n".join(lines)


def latex(sheet: Sheet, answers: bool = False) -> str:
    escaped = as_latex.escape
    lines = [as_latex.PREAMBLE + rf"\section*{{{escaped(sheet.title or sheet.source)}}}", escaped(_about(sheet)), ""]
    lines += [escaped(_how(sheet)), "", r"\medskip Name: \rule{8cm}{0.4pt}", "", r"\begin{enumerate}"]
    for _, cell, asked, rule, given in _asked(sheet):
        lines += [rf"\item {escaped(_typeset(asked))}\\", rf"{{\small {escaped(_typeset(rule))}}}\\"]
        lines += [rf"{{\small {escaped(_typeset(given))}}}\\"] if given else []
        value = cell.value
        shown = f"${value.latex}$" if isinstance(value, Number) else escaped(answer_of(cell))
        lines.append(rf"\textbf{{{shown}}}" if answers else r"\rule[-4pt]{10cm}{0.4pt}")
    return "\n".join([*lines, r"\end{enumerate}", r"\end{document}", ""])


def _typeset(text: str) -> str:
    return text.replace("“", "``").replace("”", "''").replace("²", "^2").replace("∂", "d ")


def html(sheet: Sheet, answers: bool = False) -> str:
    """A page for printing: no scripts, and nothing from elsewhere."""
    items = "".join(
        f"<li><p>{escape(asked)}<br><span class=rule>{escape(rule)}<br>{escape(given)}</span></p><div class=blank></div></li>"
        for _, _, asked, rule, given in _asked(sheet)
    )
    key = "".join(
        f"<li><code>{escape(cell.name)}</code> = <strong><code>{escape(answer_of(cell))}</code></strong>"
        + "".join(f"<p><code>{escape(line)}</code></p>" for line in derivation(cell))
        + "</li>"
        for cell in sheet.cells
    )
    title = escape(sheet.title or sheet.source)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title><style>{_STYLE}</style>\n<h1>{title}</h1><p class=about>{escape(_about(sheet))}</p>"
        f"<p class=who><span>Name</span><span>Date</span></p><p>{escape(_how(sheet))}</p>\n<ol>{items}</ol>"
        + (f"\n<section class=key><h2>Answers</h2><ol>{key}</ol></section>" if answers else "")
        + "\n</html>\n"
    )


# -- grades
def grades_text(grades: Grades) -> str:
    lines = []
    for student in grades.students:
        lines.append(f"{student.student}: {_score(student)}")
        for n, (cell, said) in enumerate(zip(grades.sheet.cells, student.judgements, strict=True), 1):
            verdict = "" if said is None else f": {said.message}{_partly(said)}"
            lines.append(f"  {n}. {cell.name}: {shown_answer(said)}{verdict}")
    return "".join(f"{line}\n" for line in lines) or "nobody has answered\n"


def _score(student: Graded) -> str:
    all_of = len(student.judgements)
    extra = f", credit {student.credit:.2f}" if student.credit != student.right else ""
    return f"{student.right} of {all_of} right{extra}"


def _partly(said: Judgement) -> str:
    return f" (credit for {said.good} of {said.lines} lines)" if not said.right and said.good else ""


def grades_json(grades: Grades) -> str:
    document = {
        "format": "exactformer grades 1",
        "sheet": {"title": grades.sheet.title, "seed": grades.sheet.seed, "level": grades.sheet.level},
        "students": [
            {
                "student": student.student,
                "right": student.right,
                "credit": round(student.credit, 6),
                "exercises": [
                    {"number": n, "cell": cell.name} | ({"kind": "none"} if said is None else judgement_data(said))
                    for n, (cell, said) in enumerate(zip(grades.sheet.cells, student.judgements, strict=True), 1)
                ],
            }
            for student in grades.students
        ],
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def judgement_data(said: Judgement) -> dict[str, Any]:
    """A judgement as plain data."""
    return {
        "answer": said.answer, "kind": str(said.kind), "right": said.right, "message": said.message, "slip": said.slip,
        "good": said.good, "lines": said.lines,
    }  # fmt: skip


def grades_csv(grades: Grades) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["student", "number", "cell", "kind", "credit", "slip", "message"])
    for student in grades.students:
        for n, (cell, said) in enumerate(zip(grades.sheet.cells, student.judgements, strict=True), 1):
            name = _inert(student.student)
            row = ["none", "0", "", ""] if said is None else [said.kind, f"{said.credit:.4g}", said.slip, _inert(said.message)]
            table.writerow([name, n, cell.name, *row])
    return out.getvalue()


def _inert(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def grades_markdown(grades: Grades) -> str:
    numbers = range(1, len(grades.sheet.cells) + 1)
    lines = [f"# {plain(grades.sheet.title or grades.sheet.source)}", "", plain(_about(grades.sheet)), ""]
    lines += [f"| student | {' | '.join(map(str, numbers))} | right |", f"|---|{'---|' * len(numbers)}---|"]
    for student in grades.students:
        marks = ["–" if said is None else f"{said.kind}{f' ({said.slip})' if said.slip else ''}" for said in student.judgements]
        lines.append(f"| {plain(student.student)} | {' | '.join(marks)} | {_score(student)} |")
    return "\n".join([*lines, ""])


GRADES = {"text": grades_text, "json": grades_json, "csv": grades_csv, "markdown": grades_markdown}


# -- in a notebook
def exercise_text(exercise: Exercise) -> str:
    return f"{exercise.question}\n{hints(exercise.cell)[0] if hints(exercise.cell) else ''}".rstrip()


def exercise_html(exercise: Exercise) -> str:
    first, *rest = exercise_text(exercise).split("\n")
    more = "".join(f"<br><span style='opacity:.75'>{escape(line)}</span>" for line in rest)
    return (
        f'<p><strong>Your turn.</strong> {escape(first)}{more}<br><code>.answer("…")</code> judges, <code>.hint(1)</code> helps</p>'
    )


def judgement_html(said: Judgement) -> str:
    mark = "✓" if said.right else "?" if str(said.kind) in ("undecided", "unreadable") else "✗"
    return f"<p><strong>{mark}</strong> <code>{escape(said.answer)}</code> {escape(said.message)}</p>"
