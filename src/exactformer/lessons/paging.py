"""A lesson as plain data for the page and the site: a tree of its Markdown, its views, and the passes that they are of.

Markdown is read by markdown-it, with HTML off and no links made of text. What it finds becomes a tree of lists, ["p", {}, "text"],
with known tags and attributes alone, so that whoever shows it never turns a text into markup. Bound numbers, formulas and views go
through markdown-it as marks in characters of the private use area, which the reader refuses in lessons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from exactformer.checking.pages.found import Comment, Fence, Span
from exactformer.checking.pages.markdown import code_spans
from exactformer.checking.printed import plain
from exactformer.lessons.languages import ENGLISH, Words, words
from exactformer.lessons.lesson import Bound, Lesson, Reference, Spot, Use, View
from exactformer.lessons.numerals import is_number, with_minus
from exactformer.lessons.passes import PassError, Passes, Source, has_model, step_at
from exactformer.messages import NotInstalled

try:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode
except ImportError:
    raise NotInstalled("the page needs its extra", "web") from None

Tree = list[Any]  # [tag, attributes, *children]
_MARK = re.compile("\ue000([a-z])([0-9]+)\ue001")
_MATH = re.compile(r"(?<![\\$\w])\$(?!\s|\$)([^$\n]{1,300}?)(?<!\s)\$(?![\d$])|\$\$(.{1,2000}?)\$\$", re.DOTALL)
_PLAIN = re.compile(r"[\w\s+\-−·/^(),.=≈<>√|≥≤′²³ᵀ∂πεθ∞*:\[\]]*")
_WHERE = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "blockquote": "blockquote", "strong": "strong",
    "em": "em", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr", "th": "th", "td": "td", "hr": "hr", "s": "s",
}  # fmt: skip
_LINK = re.compile(r"(?:https?://[^\s]+|[\w./#-]*)", re.ASCII)


def page(lesson: Lesson) -> dict[str, Any]:
    """
    >>> from exactformer.lessons.reader import read
    >>> text = "# Hi\\n\\n<!-- exactformer: use capstone -->\\nIt is **<!-- exactformer: embed[0, 1] -->0**, <b>plainly</b>.\\n"
    >>> page(read(text))["tree"][1][2:]
    ['It is ', ['strong', {}, ['number', {'n': 0}, '0']], ', <b>plainly</b>.']
    """
    return _Page(lesson).made()


class _Page:
    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.words: Words = words(lesson.language)
        self.sources: list[Source] = []
        self.views: list[dict[str, Any]] = []
        self.numbers: list[dict[str, Any]] = []
        self.formulas: list[str] = []
        self.shown: list[str] = []

    def made(self) -> dict[str, Any]:
        text = self.marked()
        nodes = SyntaxTreeNode(MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").parse(text))
        tree = [each for node in nodes.children for each in self.block(node)]
        return {
            "title": self.lesson.title,
            "summary": self.lesson.summary,
            "language": self.lesson.language,
            "tree": tree,
            "views": self.views,
            "numbers": self.numbers,
            "passes": [_pass(source) for source in self.sources],
            "words": {table: _texts(self.words, table) for table in ("page", "views", "kinds")},
            "texts": dict(self.words.tables.get("texts", {})) if self.lesson.language != ENGLISH else {},
            **{table: dict(self.words.tables.get(table, {})) for table in ("titles", "abouts", "mistakes")},
        }

    # -- the text with marks in the places of what is ours
    def marked(self) -> str:
        """The Markdown with every comment, view, bound number and formula replaced by a mark."""
        text = self.lesson.text
        changes: list[tuple[Span, str]] = [((0, self.lesson.body), "")]
        passes = Passes(self.lesson)
        for block in self.lesson.blocks:
            match block:
                case Use() if block.fence < 0 or has_model(block, self.lesson):
                    passes.use(block)
                case View():
                    source = self.source(passes.of(block.to))
                    changes.append((block.span, f"\n{block.prefix}{self.view(block, source)}\n{block.prefix.rstrip()}"))
                case Bound() if block.kind == "number" and (to := _opened(block, passes)) is not None:
                    source = self.source(passes.of(block.to))
                    spot = block.rows[0][0]
                    changes.append((block.span, ""))
                    changes.append((spot.span, self.number(to, _printed(spot), spot.style, source)))
                    if spot.style == "math":
                        changes += [((spot.span[0] - 1, spot.span[0]), ""), ((spot.span[1], spot.span[1] + 1), "")]
                case Bound():
                    changes += [(block.span, ""), *((spot.span, _printed(spot)) for row in block.rows for spot in row)]
        taken = [span for span, _ in changes]
        scanned = self.lesson.page.found(self.lesson.body)
        for found in scanned:
            if isinstance(found, Comment) and not any(a <= found.span[0] < b for a, b in taken):
                changes.append((found.span, ""))
        changes += [(span, "") for span in {each.hidden for each in scanned if isinstance(each, Fence) and each.hidden is not None}]
        fences = [each.hidden or each.span for each in scanned if isinstance(each, Fence)]
        for span, formula in _formulas(text, [*taken, *fences]):
            self.formulas.append(formula)
            changes.append((span, f"\ue000m{len(self.formulas) - 1}\ue001"))
        for (start, end), better in sorted(changes, reverse=True):
            text = text[:start] + better + text[end:]
        return text

    def source(self, source: Source) -> int:
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    def view(self, view: View, source: int) -> str:
        data: dict[str, Any] = {"kind": view.kind, "pass": source, "step": ""}
        if view.kind != "claim":
            data["step"] = step_at(self.sources[source], view.to.step).name
        match view.kind:
            case "step" | "picture" | "break":
                data |= {"position": view.position, "head": view.head}
            case "number":
                data |= {"index": list(view.to.index), "digits": view.digits}
            case "claim":
                data = {"kind": "claim", "claim": view.claim}
            case "exercise":
                another = self.sources[source] if view.tokens is None else self.sources[source]._replace(tokens=view.tokens)
                data |= {
                    "pass": self.source(another), "index": list(view.to.index), "sum": view.total, "hints": list(view.hints),
                }  # fmt: skip
        if view.kind == "break":
            data["mistake"] = view.mistake
        self.views.append(data)
        return f"\ue000v{len(self.views) - 1}\ue001"

    def number(self, to: Reference, text: str, style: str, source: int) -> str:
        self.numbers.append({"pass": source, "step": to.step, "index": list(to.index)})
        self.shown.append(plain(text) if style == "math" else text)
        return f"\ue000n{len(self.numbers) - 1}\ue001"

    # -- the tree
    def block(self, node: SyntaxTreeNode) -> Iterator[Any]:
        match node.type:
            case "heading":
                yield [node.tag if node.tag in ("h1", "h2", "h3", "h4") else "h4", {}, *self.inside(node)]
            case "fence" | "code_block":
                yield ["pre", {}, ["code", {}, self.back(node.content)]]
            case "inline":
                yield from self.inside(node)
            case "paragraph":
                inside = list(self.inside(node))
                if node.hidden or (inside and all(isinstance(each, list) and each[0] == "view" for each in inside)):
                    yield from inside
                else:
                    yield ["p", {}, *inside]
            case kind if kind in _WHERE:
                attributes = (
                    {"start": node.attrs["start"]} if kind == "ordered_list" and isinstance(node.attrs.get("start"), int) else {}
                )
                yield [_WHERE[kind], attributes, *self.inside(node)]
            case "text":
                yield from self.text(node.content)
            case "code_inline":
                yield ["code", {}, *self.text(node.content)]
            case "softbreak":
                yield "\n"
            case "hardbreak":
                yield ["br", {}]
            case "link":
                yield self.link(node)
            case "image":
                yield node.content  # pictures of strangers are not fetched
            case _:
                yield node.content

    def inside(self, node: SyntaxTreeNode) -> Iterator[Any]:
        for child in node.children:
            yield from self.block(child)

    def link(self, node: SyntaxTreeNode) -> Any:
        """Links lead to the web or to another lesson; all others are their text."""
        to = str(node.attrs.get("href", ""))
        inside = list(self.inside(node))
        if not _LINK.fullmatch(to) or not to:
            return ["span", {}, *inside]
        slug = re.fullmatch(r"(?:\./|\.\./[a-z]{2,3}/)?([\w-]+)\.md", to)  # in this language or another
        return ["a", {"lesson": slug[1]} if slug else {"href": to}, *inside]

    def text(self, text: str) -> Iterator[Any]:
        at = 0
        for mark in _MARK.finditer(text):
            if mark.start() > at:
                yield text[at : mark.start()]
            yield self.ours(mark[1], int(mark[2]))
            at = mark.end()
        if at < len(text):
            yield text[at:]

    def ours(self, kind: str, n: int) -> Any:
        if kind == "v":
            return ["view", {"n": n}]
        if kind == "n":
            return ["number", {"n": n}, self.shown[n]]
        formula = plain(self.formulas[n]).strip()
        return ["math", {}, formula] if _PLAIN.fullmatch(formula) else ["code", {}, self.formulas[n].strip()]

    def back(self, text: str) -> str:
        """Code as it was."""
        originals: dict[str, Callable[[int], str]] = {"n": lambda n: self.shown[n], "m": lambda n: f"${self.formulas[n]}$"}
        return _MARK.sub(lambda mark: originals[mark[1]](int(mark[2])) if mark[1] in originals else "", text)


def _printed(spot: Spot) -> str:
    """A number with the minus sign of print; what is in code or in a formula, or no number, as it is."""
    return with_minus(spot.text) if spot.style in ("plain", "bold") and is_number(spot) else spot.text


def _opened(bound: Bound, passes: Passes) -> Reference | None:
    """The step of a number by its full name; None of an operation, which is no part of the pass that the page opens."""
    try:
        return replace(bound.to, step="loss" if bound.to.step == "loss" else step_at(passes.of(bound.to), bound.to.step).name)
    except (PassError, AssertionError):
        return None


def _formulas(text: str, taken: list[Span]) -> Iterator[tuple[Span, str]]:
    """$…$ outside of code, comments and bound numbers."""
    closed = [*taken, *code_spans(text)]
    for match in _MATH.finditer(text):
        start, end = match.span()
        if not any(a < end and start < b for a, b in closed):
            yield (start, end), match[1] if match[1] is not None else match[2]


def _texts(words: Words, table: str) -> dict[str, str]:
    return {key: words.say(table, key) for key in words.english[table]}


def _pass(source: Source) -> dict[str, Any]:
    """As the page's API takes it."""
    what = {"worksheet": source.worksheet, "name": source.name} if source.worksheet else {"example": source.name}
    edits = [] if source.tokens is None else [f"tokens={source.tokens}"]
    return {**what, "edits": edits, "breaks": list(source.mistakes), "arithmetic": "exact", "target": source.target}
