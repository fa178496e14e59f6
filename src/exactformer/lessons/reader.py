"""The reader of lessons: from a Markdown text to its blocks. Strict: whatever is nearly a directive is a problem with its line."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Any

from exactformer.checking.allowing import NOTHING
from exactformer.checking.blocks import nearly
from exactformer.checking.pages.found import Comment, Fence, Span, Unclosed
from exactformer.checking.pages.markdown import LONGEST_COMMENT
from exactformer.checking.pages.ours import OURS, like_ours
from exactformer.checking.pages.page import Page
from exactformer.lessons.binding import part
from exactformer.lessons.directives import DirectiveError, called, counted, directive, likely
from exactformer.lessons.languages import languages
from exactformer.lessons.lesson import Allow, Binding, Block, Bound, Count, Lesson, LessonError, Prose, Unread, Use, View, refuse
from exactformer.lessons.spots import Following, SpotError, behind, following
from exactformer.messages import quoted, short

LARGEST = 2**20  # characters of a lesson
MOST_DIRECTIVES = 2000
_DIRECTIVE = re.compile(r"\s*exactformer\s*:(.*)", re.DOTALL)
_CLOSING = re.compile(r"\s*/\s*exactformer\s*")
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_FIELDS = ("summary", "next", "language")
_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*\r?$", re.MULTILINE)
_RESERVED = re.compile("[\ue000-\ue002]")


def is_lesson(page: Page) -> bool:
    """Does a page have a comment that is a directive, or nearly one?"""
    return page.kind != "worksheet" and any(like_ours(each.text) for each in page.found() if isinstance(each, Comment))


def read(text: str, name: str = "lesson.md", folder: Path | None = None) -> Lesson:
    """A lesson; LessonError lists every problem that it has.

    >>> lesson = read("# Hello\\n\\n<!-- exactformer: use capstone -->\\n\\nIt is <!-- exactformer: embed[0, 1] -->**0**.\\n")
    >>> lesson.title, [type(block).__name__ for block in lesson.blocks]
    ('Hello', ['Prose', 'Use', 'Prose', 'Bound', 'Prose'])
    >>> read("<!-- exactfromer: use capstone -->")
    Traceback (most recent call last):
    exactformer.lessons.lesson.LessonError: lesson.md:1: 'exactfromer: use capstone' is nearly a directive: ...
    """
    return read_page(Page(text, name), folder)


def read_page(page: Page, folder: Path | None = None) -> Lesson:
    lesson = partly_read(page, folder)
    refuse(lesson.problems)
    return lesson


def partly_read(page: Page, folder: Path | None = None) -> Lesson:
    """A lesson as far as it can be read: what is wrong with the rest of it can be told together with its problems."""
    if page.kind == "worksheet" and page.name.endswith(".toml"):
        use = f"write <!-- exactformer: use {short(PurePath(page.name).name)} --> into a Markdown file beside it, and build that"
        raise LessonError([f"{page.name}: is a worksheet, not a lesson: {use}; exactformer check takes worksheets as they are"])
    if len(page.text) > LARGEST:
        raise LessonError([f"{page.name}: has {len(page.text):,} characters; a lesson may have {LARGEST:,}"])
    return _Reader(page, folder).lesson()


class _Reader:
    def __init__(self, page: Page, folder: Path | None) -> None:
        self.page, self.folder = page, folder
        self.text, self.name = page.text, page.name
        self.problems: list[tuple[int, str]] = []
        self.blocks: list[Block] = []
        self.at = 0  # up to here the text is taken
        self.used = False
        self.allowed = NOTHING
        self.first = 0  # what indices are counted from
        self.stack: list[tuple[Comment, Binding]] = []  # comments one below the other, which are bound to one block
        self.broken = -1  # where the last comment ends that stands alone and could not be read
        self.counted = True  # is it known what indices are counted from?

    def lesson(self) -> Lesson:
        front, self.at = self._front()
        body = self.at
        reserved = _RESERVED.search(self.text)
        if reserved:
            self._problem(reserved.start(), f"U+{ord(reserved[0]):04X} is not a character of a text")
        found = self.page.found(body)
        self.fences = {each.span[0]: each for each in found if isinstance(each, Fence)}
        if sum(isinstance(each, Comment) for each in found) > MOST_DIRECTIVES:
            raise LessonError([f"{self.name}: has more than {MOST_DIRECTIVES:,} comments"])
        events = [each for each in found if not isinstance(each, Comment) or _ours(each)]
        n = 0
        while n < len(events):
            n += self._take(events, n)
        self._prose(len(self.text))
        title = self._title(body, [each.span for each in found if isinstance(each, Fence)])
        problems = tuple(sorted(self.problems))
        return Lesson(self.name, self.page, title, tuple(self.blocks), folder=self.folder, body=body, problems=problems, **front)

    def _take(self, events: list[Any], n: int) -> int:
        """Read an event, and a closing comment where it is the next; how many that were."""
        each = events[n]
        match each:
            case Unclosed(span=span):
                if like_ours(self.text[span[0] + 4 : span[1]]):
                    self._problem(span[0], "the comment is not closed: --> is missing")
                    self._lose(span)
                return 1
            case Fence():
                self._fence(each)
                return 1
        if _CLOSING.fullmatch(each.text):
            self._problem(each.span[0], "nothing is open here: <!-- /exactformer --> ends the text of a view")
            return 1
        try:
            meant = _read(each)
            meant = counted(meant, self.first) if isinstance(meant, Binding) else meant
        except DirectiveError as error:
            self._unread(each, str(error))
            return 2 if _closes(events, n + 1) else 1
        if isinstance(meant, Use):
            self._use(each, meant)
        elif isinstance(meant, View):
            return self._view(each, meant, events, n)
        elif isinstance(meant, Allow | Count):
            if not each.alone:
                self._problem(each.span[0], "this stands on a line of its own, or behind the name of a step")
            self.allowed = meant.allowed if isinstance(meant, Allow) else self.allowed
            if isinstance(meant, Count):
                self.first, self.counted = meant.first, True
        else:
            self.stack.append((each, meant))
            if not self._stacked(each, events, n + 1):
                self._bound()
        return 1

    # -- what directives become
    def _use(self, comment: Comment, use: Use) -> None:
        self._prose(comment.span[0])
        if not comment.alone:
            self._problem(
                comment.span[0], "use stands on a line of its own; a pass with a name (use … as wide) is meant by wide: STEP"
            )
        named = replace(use, line=self._line(comment.span[0]), file=use.name if use.name.endswith(".toml") else "")
        self._append(named, comment.span[1])
        self.used = True

    def _view(self, comment: Comment, view: View, events: list[Any], n: int) -> int:
        closed = _closes(events, n + 1)
        end = events[n + 1].span[1] if closed else comment.span[1]
        self._prose(comment.span[0])
        if not comment.alone:
            self._problem(comment.span[0], f"{view.kind} stands on a line of its own")
        if self.page.kind != "markdown" and view.kind != "claim":
            self._problem(comment.span[0], f"{view.kind}: views are for lessons in Markdown; here numbers are bound and claimed")
        self._needs_pass(comment, view.kind)
        written = None
        if closed:
            start = self.text.find("\n", comment.span[1]) + 1 or comment.span[1]
            last = self.text.rfind("\n", 0, events[n + 1].span[0]) + 1
            written = (min(start, last), max(start, last)) if last >= start else (comment.span[1], comment.span[1])
        placed = replace(
            view, line=self._line(comment.span[0]), span=(comment.span[0], end), written=written, prefix=comment.prefix
        )
        self._append(placed, end)
        return 2 if closed else 1

    def _stacked(self, comment: Comment, events: list[Any], n: int) -> bool:
        """Does another comment that binds follow on a line of its own, so that both are bound to what comes next?"""
        after = events[n] if n < len(events) else None
        if not comment.alone or not isinstance(after, Comment) or not after.alone or _CLOSING.fullmatch(after.text):
            return False
        if not self._next(comment.span[1], after):
            return False
        try:
            return isinstance(_read(after), Binding)
        except DirectiveError:
            return True  # and none of them is bound

    def _bound(self) -> None:
        """The comments that were stacked become bound to what follows the last of them."""
        stack, self.stack = self.stack, []
        if stack[0][0].alone and self.broken >= 0 and self._next(self.broken, stack[0][0]):
            return  # the block is shared with a comment that could not be read
        block: Following | None = None
        before: Bound | None = None
        for n, (comment, how) in enumerate(stack):
            self._prose(comment.span[0])
            self._needs_pass(comment, str(how.to))
            bound = Bound(self._line(comment.span[0]), comment.span, how.to, "number", (), how.columns, how.allowed | self.allowed)
            try:
                if not comment.alone:
                    bound = replace(bound, rows=((behind(self.text, comment.span[1]),),))
                else:
                    last = stack[-1][0].span[1]
                    block = block or following(self.text, last, self.fences)
                    kind, rows, more = part(self.text, last, block, how, n, len(stack))
                    bound = replace(bound, kind=kind, rows=rows, more=more, after=None if how.after else before)
            except SpotError as error:
                self._problem(comment.span[0], f"{how.to}: {error}")
                return
            if self.counted or how.first is not None or not how.to.index:
                self._append(bound, comment.span[1])
            before = bound

    def _fence(self, fence: Fence) -> None:
        body = self.text[slice(*fence.body)]
        if fence.nearly:
            self._problem(fence.span[0], nearly(fence))
            self._lose(fence.span)
        if fence.is_worksheet(self.text):
            start = fence.span[0] if fence.hidden is None else fence.hidden[0]
            self._prose(start)
            line = self._line(fence.body[0])
            given = re.findall(r"[\w-]+", fence.info)
            name = given[given.index("as") + 1] if "as" in given[:-1] else ""
            try:
                name = called(name) if name else ""
            except DirectiveError as error:
                self._problem(fence.span[0], str(error))
                self._lose((start, start))
                name = ""
            end = start if fence.hidden is None else fence.hidden[1]
            self._append(Use(line, self.name, worksheet=body, fence=fence.body[0], called=name), end)
            self.used = True

    # -- small things
    def _needs_pass(self, comment: Comment, what: str) -> None:
        if not self.used:
            self._problem(comment.span[0], f"{short(what)}: no pass is named above it, as in <!-- exactformer: use capstone -->")
            self._lose((comment.span[0], comment.span[0]))  # said once

    def _next(self, end: int, comment: Comment) -> bool:
        """Does a comment stand on the next line that is not empty?"""
        return not self.text[end : comment.span[0]].strip(" \t\r\n>")

    def _unread(self, comment: Comment, problem: str) -> None:
        """A problem, after which what may have been meant by the comment is not known."""
        self._problem(comment.span[0], problem)
        self.stack = []
        self.broken = comment.span[1] if comment.alone else self.broken
        meant = likely(re.sub(r"^[\s/]*[\w-]*\s*:?", "", comment.text))
        if meant == "use":
            self._lose(comment.span)
        self.counted = self.counted and meant != "count"

    def _lose(self, span: Span) -> None:
        self._prose(span[0])
        self._append(Unread(span), span[1])
        self.used = True

    def _front(self) -> tuple[dict[str, str], int]:
        """Ours are a few fields; those of other programs, such as Quarto, are left alone, but for what is nearly one of ours."""
        match = _FRONT.match(self.text.removeprefix("\ufeff")) if self.page.kind == "markdown" else None
        if match is None:
            return {}, 0
        found: dict[str, str] = {}
        for n, line in enumerate(match[1].splitlines()):
            field, colon, value = line.partition(":")
            if field.strip() not in _FIELDS:
                near = get_close_matches(field.strip(), _FIELDS, 1, 0.8) if colon and field[:1].strip() else []
                if near:
                    self._told(n + 2, f"{quoted(line)} is no field of the front matter: did you mean {near[0]}?")
            elif field.strip() == "language" and value.strip() not in languages():
                self._told(n + 2, f"language is {quoted(value.strip())}, not one of {', '.join(languages())}")
            else:
                found[field.strip()] = value.strip()
        return found, match.end() + self.text.startswith("\ufeff")

    def _title(self, start: int, fences: list[Span]) -> str:
        for match in _HEADING.finditer(self.text, start):
            if not any(a <= match.start() < b for a, b in fences):
                return match[1]
        return Path(self.name).stem

    def _prose(self, end: int) -> None:
        if end > self.at:
            self.blocks.append(Prose((self.at, end), self.text[self.at : end]))
            self.at = end

    def _append(self, block: Block, end: int) -> None:
        self.blocks.append(block)
        self.at = max(self.at, end)

    def _line(self, at: int) -> int:
        return self.page.line(at)

    def _problem(self, at: int, problem: str) -> None:
        self._told(self._line(at), problem)

    def _told(self, line: int, problem: str) -> None:
        self.problems.append((line, f"{self.name}:{line}: {problem}"))


def _ours(comment: Comment) -> bool:
    return _CLOSING.fullmatch(comment.text) is not None or like_ours(comment.text)


def _read(comment: Comment) -> Use | Binding | View | Allow | Count:
    """DirectiveError of what is nearly a directive, too."""
    given = _DIRECTIVE.fullmatch(comment.text)
    if given is None:
        colon = comment.text.strip().strip("/ ").startswith(OURS)
        asked = f"write {OURS}: with a colon" if colon else f"did you mean {OURS}?"
        raise DirectiveError(f"{quoted(comment.text.strip())} is nearly a directive: {asked}")
    if len(comment.text) > LONGEST_COMMENT:
        raise DirectiveError(f"the comment has {len(comment.text):,} characters, more than {LONGEST_COMMENT:,}")
    return directive(given[1])


def _closes(events: list[Any], n: int) -> bool:
    return n < len(events) and isinstance(events[n], Comment) and _CLOSING.fullmatch(events[n].text) is not None
