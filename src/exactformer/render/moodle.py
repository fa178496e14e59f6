"""Sheets as questions for Moodle (its XML): numerical questions, or STACK questions, which compare formulas.

Moodle computes with floats: a numerical question accepts decimals within a tolerance, and no fractions or formulas. STACK's
answers go through Maxima's algebra (AlgEquiv), so that 1/(1+e) and e/(e+e^2) are both right there.
"""

from __future__ import annotations

from html import escape

from exactformer.exercises.cell import Cell
from exactformer.exercises.explaining import derivation, hints, question
from exactformer.exercises.sheet import Sheet, answer_of
from exactformer.messages import few
from exactformer.numbers import Exact, Named, formula
from exactformer.numbers.digits import fixed_decimals
from exactformer.numbers.display import simplest
from exactformer.numbers.formula import Formula, Function, Power, Product, Quotient, Sum, Symbol, Value

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n'
_FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "erf", "erfc")


def numerical(sheet: Sheet) -> str:
    """A numerical question each: right within one unit of the last decimal that counts."""
    return _HEAD + "".join(_numerical(sheet, n, cell) for n, cell in enumerate(sheet.cells, 1)) + "</quiz>\n"


def stack(sheet: Sheet) -> str:
    """A STACK question each: right where Maxima finds the answer algebraically equal."""
    return _HEAD + "".join(_stack(sheet, n, cell) for n, cell in enumerate(sheet.cells, 1)) + "</quiz>\n"


def _common(sheet: Sheet, n: int, cell: Cell, ending: str) -> str:
    rule = escape(hints(cell)[0]) if hints(cell) else ""
    given = "".join(f"<p>{escape(hint)}</p>" for hint in hints(cell)[1:2] if hint.startswith("It is"))
    text = f"<p>{escape(question(cell))}</p><p>{rule}</p>{given}{ending}"
    feedback = "".join(f"<p>{escape(line)}</p>" for line in derivation(cell))
    return (
        f"  <name><text>{escape(f'{sheet.source} {sheet.seed}.{n} {cell.name}')}</text></name>\n"
        f'  <questiontext format="html"><text>{escape(text)}</text></questiontext>\n'
        f'  <generalfeedback format="html"><text>{escape(feedback)}</text></generalfeedback>\n'
        "  <defaultgrade>1</defaultgrade>\n  <penalty>0.1</penalty>\n  <hidden>0</hidden>\n"
    )


def _numerical(sheet: Sheet, n: int, cell: Cell) -> str:
    if not isinstance(cell.value, Exact | Named):
        return _short_answer(sheet, n, cell)
    digits, tolerance = fixed_decimals(cell.value, sheet.decimals + 6), f"{10.0**-sheet.decimals:g}"
    return (
        f'<question type="numerical">\n{_common(sheet, n, cell, "")}'
        f'  <answer fraction="100" format="moodle_auto_format"><text>{digits}</text><tolerance>{tolerance}</tolerance></answer>\n'
        "</question>\n"
    )


def _short_answer(sheet: Sheet, n: int, cell: Cell) -> str:
    return (
        f'<question type="shortanswer">\n{_common(sheet, n, cell, "")}  <usecase>1</usecase>\n'
        f'  <answer fraction="100" format="moodle_auto_format"><text>{escape(answer_of(cell))}</text></answer>\n</question>\n'
    )


def _stack(sheet: Sheet, n: int, cell: Cell) -> str:
    if not isinstance(cell.value, Exact | Named):
        return _short_answer(sheet, n, cell)
    form = simplest(cell.value)
    if form is None:
        return _numerical(sheet, n, cell)
    common = _common(sheet, n, cell, "<p>[[input:ans1]] [[validation:ans1]]</p>")
    true, false = (
        f"<{kind}scoremode>=</{kind}scoremode><{kind}score>{score}</{kind}score><{kind}penalty></{kind}penalty>"
        f"<{kind}nextnode>-1</{kind}nextnode><{kind}answernote>prt1-1-{kind[0].upper()}</{kind}answernote>"
        f'<{kind}feedback format="html"><text></text></{kind}feedback>'
        for kind, score in (("true", 1), ("false", 0))
    )
    return (
        f'<question type="stack">\n{common}'
        f"  <questionvariables><text>ta: {escape(maxima(form))};</text></questionvariables>\n"
        '  <specificfeedback format="html"><text>[[feedback:prt1]]</text></specificfeedback>\n'
        f"  <questionnote><text>{escape(cell.name)}</text></questionnote>\n"
        "  <questionsimplify>1</questionsimplify>\n  <assumepositive>0</assumepositive>\n"
        "  <input><name>ans1</name><type>algebraic</type><tans>ta</tans><boxsize>25</boxsize><strictsyntax>1</strictsyntax>"
        "<insertstars>1</insertstars><syntaxhint></syntaxhint><forbidwords></forbidwords><allowwords></allowwords>"
        "<forbidfloat>1</forbidfloat><requirelowestterms>0</requirelowestterms><checkanswertype>0</checkanswertype>"
        "<mustverify>1</mustverify><showvalidation>1</showvalidation><options></options></input>\n"
        "  <prt><name>prt1</name><value>1</value><autosimplify>1</autosimplify><feedbackstyle>1</feedbackstyle>"
        "<feedbackvariables><text></text></feedbackvariables>"
        f"<node><name>0</name><answertest>AlgEquiv</answertest><sans>ans1</sans><tans>ta</tans><testoptions></testoptions><quiet>0</quiet>"
        f"{true}{false}</node></prt>\n</question>\n"
    )


def maxima(form: Formula) -> str:
    """A closed form as Maxima writes it.

    >>> from exactformer.numbers import exp, sqrt
    >>> maxima(simplest(exp(1) / (1 + sqrt(2))))
    '(%e)/((1)+((2)^(1/2)))'
    """
    match form:
        case Value(_):
            return formula.text(form)
        case Symbol(name, _):
            return {"e": "%e", "π": "%pi"}[name]
        case Sum(terms):
            return "+".join(f"({maxima(term)})" for term in terms)
        case Product(factors):
            return "*".join(f"({maxima(factor)})" for factor in factors)
        case Quotient(above, below):
            return f"({maxima(above)})/({maxima(below)})"
        case Power(base, exponent):
            inside = maxima(base)
            return f"{inside if inside.startswith('%') else f'({inside})'}^({exponent})"
        case Function(name, argument) if name in _FUNCTIONS:
            return f"{name}({maxima(argument)})"
    raise ValueError(f"{few([str(form)])} cannot be written for Maxima")
