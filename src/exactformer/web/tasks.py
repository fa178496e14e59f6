"""What the server computes, each task in a process of its own: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from exactformer.arithmetics import kind
from exactformer.checking.fixing import to_fix
from exactformer.checking.lessons import lesson_text, lessons
from exactformer.checking.report import document as check_document
from exactformer.exercises import explaining, find_cell, judged
from exactformer.exercises.judging import FEWEST
from exactformer.lessons import Lesson
from exactformer.lessons import page as lesson_page
from exactformer.lessons import read as read_markdown
from exactformer.lessons.checking import check_text, fix_text, problems, report
from exactformer.lessons.languages import ENGLISH, languages, words
from exactformer.lessons.shelf import Shelf
from exactformer.messages import Refused
from exactformer.numbers import Undecided, UndefinedValue
from exactformer.proofs.report import CLAIMS
from exactformer.render import explanations
from exactformer.render.comparison import sides
from exactformer.render.exercises import judgement_data
from exactformer.trace import Trace
from exactformer.web import document, single_file, theories
from exactformer.web.distributions import distribution as distributed
from exactformer.web.distributions import strategy_of
from exactformer.web.sources import RequestError, Source, gradient_of, step_of, trace_of, worksheet_of
from exactformer.worksheets import example_text, examples
from exactformer.worksheets.models import networks
from exactformer.worksheets.worksheet import parse, worksheet_text
from exactformer.worksheets.writing import given_in_words, written

REFUSED = (Refused, Undecided)
_TYPES = {"json": "application/json", "markdown": "text/markdown", "latex": "application/x-tex", "html": "text/html"}
_ENDINGS = {"markdown": "md", "latex": "tex", "worksheet": "toml", "text": "txt"}


def cards() -> dict[str, Any]:
    """The built-in examples, networks and lessons."""
    found, trained = (
        sorted(map(_card, names), key=lambda card: (card["circuit"], card["blocks"] * card["heads"]))
        for names in (examples(), networks())
    )
    return {"examples": found, "networks": trained, "lessons": list(lessons())}


def _card(name: str) -> dict[str, Any]:
    """An example, or a network, as its file describes it: no weights are made for that."""
    raw = parse(worksheet_text(name), name)
    circuit, model = raw.get("circuit"), raw.get("model", {})
    tokens = raw["input"].get("tokens") or raw["input"].get("prompt", "")
    return {
        "name": name,
        "title": raw.get("title", name),
        "about": raw.get("about", ""),
        "tokens": tokens.split() if isinstance(tokens, str) else tokens,
        "blocks": len(circuit["layers"]) if circuit else model["blocks"],
        "heads": max(len(layer["heads"]) for layer in circuit["layers"]) if circuit else model.get("heads", 1),
        "mlp": bool(model.get("mlp")),
        "logits": bool(circuit) or model["unembedding"] != "none",
        "mask": circuit.get("mask", "strict") if circuit else model["mask"],
        "circuit": bool(circuit),
    }


def passed(source: Source) -> dict[str, Any]:
    """A pass without its numbers: closed forms are made for the steps that somebody looks at."""
    worksheet = worksheet_of(source)
    return document.outline(trace_of(source)) | {
        "about": worksheet.about, "circuit": worksheet.circuit is not None, "claims": CLAIMS,
    }  # fmt: skip


def graded(source: Source) -> dict[str, Any]:
    return document.gradient_outline(gradient_of(source))


def values(
    source: Source,
    steps: list[str],
    start: int | None = None,
    end: int | None = None,
    left: int | None = None,
    right: int | None = None,
) -> dict[str, Any]:
    """The numbers of steps; with a window, of rows from `start` and columns from `left`, and by their digits alone."""
    return document.asked(trace_of(source), {name: step_of(source, name) for name in steps}, start, end, left, right)


def number(source: Source, step: str, index: list[int], digits: int = 30) -> dict[str, Any]:
    found = step_of(source, step)
    return document.opened(found, document.entry(found, index), digits)


def shades(source: Source, step: str, head: int = 0) -> dict[str, Any]:
    return document.shades(step_of(source, step), head)


def distribution(
    source: Source, position: int, temperature: str = "1", top_k: int | None = None, top_p: str | None = None
) -> dict[str, Any]:
    """What temperature, top-k and top-p make of the logits of a position."""
    trace, strategy = trace_of(source), strategy_of(temperature, top_k, top_p)
    config = trace.model.config
    if config.unembedding == "none":
        raise RequestError("source: the model has no logits")
    return distributed(trace.logits, strategy, lambda i: config.spoken[i], position)


def explained(source: Source, position: int, token: str | None = None, over: str | None = None) -> dict[str, Any]:
    """Where a logit comes from, or the lead of one token over another."""
    try:
        found = trace_of(source).explain(token, over, position)
        return explanations.document(found, document.DIGITS, document.written) | {"told": explanations.PROOFS[found.proof]}
    except UndefinedValue as undefined:
        raise RequestError(str(undefined)) from None


def looked(source: Source, position: int) -> dict[str, Any]:
    """What the model would say after each block."""
    return explanations.lens_document(trace_of(source).lens(position), document.DIGITS)


def answered(source: Source, cell: str, answer: str = "", hints: int = 0, decimals: int = FEWEST) -> dict[str, Any]:
    """What is said of an answer, and the hints that were asked for; after the last of them the derivation."""
    asked = find_cell(trace_of(source), cell, gradient_of(source) if "grad." in cell else None)
    known = explaining.hints(asked)
    return {
        "cell": asked.name,
        "question": explaining.question(asked),
        "judgement": judgement_data(judged(answer, asked, decimals)) if answer.strip() else None,
        "hints": list(known[:hints]),
        "last": hints >= len(known),
        "derivation": list(explaining.derivation(asked)) if hints > len(known) else [],
    }


def compared(source: Source) -> dict[str, Any]:
    """The pass and, where it can be had, the gradient, each against that with the mistakes: which steps are proved the same?"""
    if not source.breaks:
        raise RequestError("source.breaks: no mistake is named")
    right = replace(source, breaks=())
    graded = kind(source.arithmetic).differentiates and (bool(source.target) or trace_of(right).model.config.unembedding == "none")
    gradients = (gradient_of(right), gradient_of(source)) if graded else None
    return {
        side.title.removeprefix("the "): {
            "first": None if side.first is None else side.first.name,
            "steps": [
                {"name": d.name, "equal": d.equal, "left": d.left is not None, "right": d.right is not None} for d in side.found
            ],
        }
        for side in sides(trace_of(right), trace_of(source), gradients)
    }


def checked(text: str, name: str = "worksheet.toml") -> dict[str, Any]:
    """The verdict on every claim, with its place in the text; and the corrected text."""
    said = check_text(text, name)
    found: dict[str, Any] = check_document([said])["files"][0]
    for finding, entry in zip(said.findings, found["findings"], strict=True):
        entry["span"] = list(finding.span)
    try:
        fixed = fix_text(text, said) if to_fix(said) else None
    except Refused:
        fixed = None
    return found | {"fixed": fixed}


def lesson(name: str) -> dict[str, Any]:
    if name not in lessons():
        raise RequestError(f"name: there is no lesson {name!r} ({', '.join(lessons())})")
    return {"name": f"{name}.md", "text": lesson_text(name)}


def listed_lessons(language: str = ENGLISH, own: Sequence[str] = ()) -> dict[str, Any]:
    """The lessons in the order in which they are read, in a language or else in English; `own` are files of teachers' own."""
    words(language)
    shelf = Shelf.of(own)
    found = [(slug, shelf.read(slug, language)) for slug in shelf.slugs()]
    return {
        "language": language,
        "languages": {each: words(each).tables["name"] for each in languages()},
        "lessons": [
            {
                "slug": slug, "title": each.title, "summary": each.summary, "language": each.language,
                "languages": {other: shelf.read(slug, other).title for other in shelf.languages(slug)},
            }
            for slug, each in found
        ],
    }  # fmt: skip


def read_lesson(slug: str, language: str = ENGLISH, own: Sequence[str] = ()) -> dict[str, Any]:
    """A lesson as plain data, with those before and after it."""
    shelf = Shelf.of(own)
    found = shelf.read(slug, language)
    around = [
        None if name is None else {"slug": name, "title": shelf.read(name, language).title} for name in shelf.around(slug, language)
    ]
    return (_judged(found) if shelf.has(slug) else lesson_page(found)) | {
        "slug": slug,
        "previous": around[0],
        "next": around[1],
        "languages": {each: words(each).tables["name"] for each in shelf.languages(slug)},
    }


def drawn(text: str, name: str = "lesson.md") -> dict[str, Any]:
    """A lesson that is given as a text, without files beside it."""
    found = _judged(read_markdown(text, name))
    return found | {"slug": "", "previous": None, "next": None, "languages": {}}


def _judged(lesson: Lesson) -> dict[str, Any]:
    """A lesson that nobody has checked yet: the lines of what is not right in it, and of each claim whether it holds."""
    found = report(lesson)
    verdicts = iter([str(finding.verdict) for finding in found.findings if finding.kind == "claim"])
    page = lesson_page(lesson)
    for view in page["views"]:
        if view["kind"] == "claim":
            view["verdict"] = next(verdicts)
    return page | {"problems": problems(found)}


def exported(source: Source, form: str, at: str = "") -> dict[str, Any]:
    """A file: its name, its type and its text; a page opens at the step that the address `at` names."""
    worksheet = worksheet_of(source)
    if form == "worksheet":
        text = written(worksheet, _unchanged(source))
    else:
        trace: Trace = trace_of(source)
        if form == "html":
            text = single_file.render(trace, document.DIGITS, worksheet.about, at)
        else:
            text = import_module(f"exactformer.render.{form}").render(trace, document.DIGITS)
    name = (source.example or source.name.rpartition(".")[0] or "pass").replace("/", "-")
    return {"name": f"{name}.{_ENDINGS.get(form, form)}", "type": _TYPES.get(form, "text/plain"), "text": text}


def _unchanged(source: Source) -> dict[str, str]:
    """Weights that the worksheet gives in words, and that are still so."""
    if source.example in networks():  # whose weights are in a file
        return {}
    raw = parse(example_text(source.example) if source.example else source.worksheet, source.name)
    before = dict(worksheet_of(replace(source, edits=(), breaks=())).model.weights.named())
    after = dict(worksheet_of(source).model.weights.named())
    return {
        name: text
        for name, text in given_in_words(raw).items()
        if name in before and name in after and (before[name] is after[name] or np.array_equal(before[name], after[name]))
    }


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "examples": cards, "pass": passed, "gradient": graded, "values": values, "number": number, "answer": answered,
    "compare": compared, "check": checked, "lesson": lesson, "circuits": theories.heads, "theorem": theories.theorem,
    "export": exported,
    "distribution": distribution, "shades": shades, "lessons": listed_lessons, "read_lesson": read_lesson, "draw": drawn,
    "glossary": document.glossary, "explain": explained, "lens": looked, "ablate": theories.ablated,
    "pattern": theories.looking,
}  # fmt: skip


def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """
    >>> run("number", {"source": {"example": "capstone"}, "step": "blocks.0.ln1.std", "index": [1, 0], "digits": 4})["digits"]
    '0.1345'
    """
    given = dict(arguments)
    if "source" in given:
        given["source"] = Source.read(given["source"])
    return TASKS[name](**given)
