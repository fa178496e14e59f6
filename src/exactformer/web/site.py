"""The page as a folder of files: all lessons and examples, for any web server, and for a browser that opens them from disk.

Nothing is fetched: a file of data is a script that hands its data over (store.js). The page's modules are joined as in the single
file. What a server would compute is computed here once, and what nobody asked for beforehand needs `exactformer serve`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from exactformer import __version__
from exactformer.exercises import find_cell
from exactformer.exercises.hidden import hidden
from exactformer.files import whole_folder
from exactformer.lessons import lessons
from exactformer.lessons.languages import languages
from exactformer.lessons.shelf import Shelf
from exactformer.messages import Refused
from exactformer.model import Model, Step, forward
from exactformer.model.arithmetics.counting import CountingArithmetic
from exactformer.web import document, tasks, theories
from exactformer.web.document import DIGITS
from exactformer.web.holding import held
from exactformer.web.single_file import asset, by_name, closure, embedded, enclosed, shortened
from exactformer.web.sources import Source, gradient_of, step_of, trace_of, worksheet_of
from exactformer.worksheets import examples

STYLES = ("base.css", "pass.css", "picture.css", "answer.css", "pages.css", "glossary.css", "lesson.css")
# modules that the first view does without
_LATER = ("pass.js", "breaking.js", "theory.js", "lesson.js", "picture.js", "answer.js", "exactly.js")
_MARK = f'<meta name="generator" content="exactformer {__version__}">'
_ANY_MARK = re.compile(r'<meta name="generator" content="exactformer [^"]*">')
_POLICY = "; ".join(  # a file on disk is not its own origin, so that it has to be named
    (
        "default-src 'none'",
        "script-src 'self' file:",
        "style-src 'self' file:",
        "img-src 'self' file: data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
)
_THEOREMS = range(1, 5)  # lengths
_MOST_NUMBERS = 1_000  # of a pass whose mistakes are computed too


class SiteError(Refused):
    """A folder that cannot be written to, in one line."""


def write(
    folder: Path,
    tell: Callable[[int, int], None] = lambda done, total: None,
    names: Sequence[str] = examples(),
    taught: Sequence[str] = lessons(),
    own: Sequence[str] = (),
) -> int:
    """Write the site, whole or not at all; how many bytes it has. `own` are files of lessons, which come before those `taught`.

    `tell` hears how many of all pages are done: the passes, and the lessons in each language.
    """
    _check(folder)
    size = 0
    with whole_folder(folder, 0o755) as made:
        for name, text in files(tell, names, taught, own):
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_text(text, encoding="utf-8")
            size += len(text.encode())
        if folder.exists():
            shutil.rmtree(folder)
    return size


def _check(folder: Path) -> None:
    """An empty place, or a site of ours, which is replaced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise SiteError(str(folder), "is not a folder")
    if folder.exists() and any(folder.iterdir()):
        index = folder / "index.html"
        if not (index.is_file() and _ANY_MARK.search(index.read_text(encoding="utf-8", errors="replace"))):
            raise SiteError(str(folder), "is not empty, and no site of ours: give a new folder")


def files(
    tell: Callable[[int, int], None], names: Sequence[str], taught: Sequence[str], own: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """The files of the site: names and texts."""
    shelf = Shelf.of(own)
    slugs = [slug for slug in shelf.slugs() if shelf.has(slug) or slug in taught]
    pages = {f"lesson-{slug}-language-{each}": tasks.read_lesson(slug, each, own) for slug in slugs for each in languages()}
    for page in pages.values():
        if page.get("problems"):
            raise SiteError(f"{page['problems'][0]} (a site takes lessons that are right: exactformer check)")
    asked = _asked(pages.values())
    sources = dict.fromkeys(source for name in names for source in _sources(name)) | dict.fromkeys(_shown(pages.values()))
    passes: dict[str, str] = {}
    all_sources = (*sources, *(source for source in asked if source not in sources))
    for source in all_sources:
        tell(len(passes), len(all_sources) + len(pages))
        file = f"pass-{len(passes)}"
        passes[_key(source)] = file
        held = _held(source) if source in sources else _blank(source)
        yield f"data/{file}.js", data(file, held | {"exercises": _hidden(source, asked.get(source, ()))})
    for done, (name, page) in enumerate(pages.items(), len(passes) + 1):
        tell(done, len(all_sources) + len(pages))
        yield f"data/{name}.js", data(name, page)
    listed = tasks.listed_lessons(own=own)
    listed["lessons"] = [each for each in listed["lessons"] if each["slug"] in slugs]
    yield "data/lessons.js", data("lessons", listed)
    for each in languages():
        yield f"data/glossary-language-{each}.js", data(f"glossary-language-{each}", document.glossary(each))
    cards = [card for card in tasks.cards()["examples"] if card["name"] in names]
    yield "data/index.js", data("index", {"examples": cards, "passes": passes})
    main = closure("main.js")
    later = [module for module in closure(*_LATER) if module not in main]
    yield "data/modules.js", shortened(enclosed(later)) + f"\nexactformer.hold('modules', {by_name(_LATER)});\n"
    yield "page.js", "const later = (name) => exactformer.later(name);\n" + shortened(enclosed(main))
    yield "page.css", "\n".join(map(asset, STYLES))
    yield "icon.svg", asset("icon.svg")
    yield "index.html", _page()


def data(name: str, value: Any) -> str:
    """A script that hands data over to the page."""
    return f"exactformer.hold({json.dumps(name)}, {embedded(value)});\n"


def _sources(name: str) -> Iterator[Source]:
    """An example, and, where it is small, with each mistake that can be made in it; no pass is computed for that."""
    source = Source(example=name)
    yield source
    worksheet = worksheet_of(source)
    if _numbers(worksheet.model, worksheet.tokens) <= _MOST_NUMBERS:
        for mistake in document.applicable_mistakes(worksheet.model):
            yield replace(source, breaks=(mistake["name"],))


def _numbers(model: Model, tokens: tuple[str, ...]) -> int:
    """About how many a pass has, from its wiring alone."""
    sizes: list[int] = []

    def note(step: Step) -> Any:
        sizes.append(step.values.size)
        return step.values

    forward(model, model.ids(tokens), CountingArithmetic(), note)
    return sum(sizes)


def _shown(pages: Iterable[dict[str, Any]]) -> Iterator[Source]:
    """The passes whose numbers lessons show."""
    for page in pages:
        for part in (*page["views"], *page["numbers"]):
            if part.get("kind") not in ("claim", "exercise"):
                source = Source.read(page["passes"][part["pass"]])
                yield source
                if "mistake" in part:
                    yield replace(source, breaks=(*source.breaks, part["mistake"]))


def _asked(pages: Iterable[dict[str, Any]]) -> dict[Source, list[dict[str, Any]]]:
    """The exercises of lessons, by their passes."""
    found: dict[Source, list[dict[str, Any]]] = {}
    for page in pages:
        for view in page["views"]:
            if view["kind"] == "exercise":
                found.setdefault(Source.read(page["passes"][view["pass"]]), []).append(view)
    return found


def _hidden(source: Source, views: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Exercises by the cells that they ask for, as lesson.js names them; answers are not in plain text."""
    found = {}
    for view in views:
        shape = step_of(source, view["step"]).values.shape
        wanted = len(shape) - view["sum"]
        rest = shape[len(view["index"]) : wanted]
        index = [*view["index"], *(0 for _ in rest)] if all(size == 1 for size in rest) else view["index"]
        name = f"{'sum ' if view['sum'] else ''}{view['step']}[{', '.join(map(str, index))}]"
        found[name] = hidden(find_cell(trace_of(source), name, gradient_of(source) if "grad." in name else None))
    return found


def _blank(source: Source) -> dict[str, Any]:
    """A pass that is only asked about: its steps without their numbers."""
    outline = tasks.passed(source) | {"values": {}, "views": []}
    return {"pass": outline, "numbers": {}, "opened": [], "blocks": {}, "cells": {}, "words": {}}


def _key(source: Source) -> str:
    """As store.js writes it."""
    return json.dumps(
        [source.example or source.worksheet, source.target, *source.edits, "|", *source.breaks],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _held(source: Source) -> dict[str, Any]:
    """All that the page asks of a pass."""
    trace = trace_of(source)
    try:
        gradient = gradient_of(source)
    except Refused:
        gradient = None
    worksheet = worksheet_of(source)
    found = held(trace, DIGITS, worksheet.about, gradient)
    outline = found["pass"]
    views = ["backward"] if gradient is not None else []
    if source.breaks:
        found["compare"] = tasks.compared(source)
    else:
        views += ["break"] if outline["breaks"] else []
        if outline["model"]["vocabulary"]:
            found["circuits"] = theories.heads(source)
            views.append("circuits")
        if worksheet.circuit is not None:
            found["theorem"] = {length: theories.theorem(source, length) for length in _THEOREMS}
            views.append("theorem")
    outline |= {"circuit": worksheet.circuit is not None, "views": views}
    return found


def _page() -> str:
    head, body = asset("index.html").split('<link rel="icon"', 1)
    body = body[body.index("</head>") :].replace('<a href="#check">Check</a>', "")  # which needs the program
    return f"""{head.rstrip()}
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
{_MARK}
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
<script defer src="page.js"></script>
{body}""".replace('<html lang="en">', '<html lang="en" data-site>')
