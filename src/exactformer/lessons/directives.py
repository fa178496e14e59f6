"""What stands in a comment of a lesson, word by word: `step blocks.0.attn.pattern at 1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from exactformer.checking.allowing import AllowanceError, Allowed, allowed
from exactformer.lessons.lesson import Allow, Binding, Count, Reference, Use, View, ViewKind
from exactformer.messages import quoted, short
from exactformer.model.breaking import MISTAKES

MOST_DIGITS = 1000
MOST_HINTS = 10
_WORD = re.compile(r'\s*(?:"([^"\n]*)"|(\[[^\]]*\])|([^\s"\[]+))')
_INDEX = re.compile(r"\[\s*[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*\s*\]")
_NAME = re.compile(r"[A-Za-z][\w-]*")
_STEP = re.compile(r"[A-Za-z_][\w.]*")
_VERBS = ("use", "allow", "count", "step", "number", "picture", "break", "claim", "exercise")
_OPTIONS = {
    "use": ("tokens", "backward", "target", "break", "as"),
    "step": ("at", "head"),
    "number": ("digits",),
    "picture": ("at", "head"),
    "break": ("from", "at", "head"),
    "exercise": ("tokens", "sum", "hint"),
    "bind": ("after", "columns", "from", "allow"),
}


class DirectiveError(ValueError):
    """What is wrong with a directive, without its place."""


@dataclass
class _Words:
    """The words of a directive, taken one after the other."""

    verb: str
    left: list[tuple[str, str]]  # kind: text, index, word

    def take(self, what: str) -> str:
        if not self.left or self.left[0][0] != "word":
            raise DirectiveError(f"{self.verb}: {what} is missing")
        return self.left.pop(0)[1]

    def text(self, option: str) -> str:
        if not self.left or self.left[0][0] != "text":
            raise DirectiveError(f'{self.verb}: {option} is followed by a text in quotes, as in {option} "a b"')
        return self.left.pop(0)[1]

    def whole(self, option: str, most: int = 10**6) -> int:
        text = self.left.pop(0)[1] if self.left else ""
        if not re.fullmatch("[0-9]{1,7}", text) or int(text) > most:
            raise DirectiveError(f"{self.verb}: {option} is followed by a whole number up to {most:,}, not {quoted(text)}")
        return int(text)

    def reference(self) -> Reference:
        step = self.take("the name of a step")
        if step.endswith(":"):
            step += self.take("the name of a step")
        index = self.left.pop(0)[1] if self.left and self.left[0][0] == "index" else ""
        return reference(step + index)

    def mistake(self) -> str:
        mistake = self.take("the name of a mistake")
        if mistake not in MISTAKES:
            near = get_close_matches(mistake, MISTAKES, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(MISTAKES)}"
            raise DirectiveError(f"{self.verb}: there is no mistake {quoted(mistake)}: {hint}")
        return mistake


def directive(text: str) -> Use | Binding | View | Allow | Count:
    """A pass to use, a step to bind to, or a view; lines and places are put in by the reader.

    >>> directive("step blocks.0.attn.pattern at 1").position
    1
    >>> print(directive("blocks.0.attn.pattern[0,1, 0]").to, directive("pattern columns").columns)
    blocks.0.attn.pattern[0, 1, 0] True
    >>> directive("stp embed")
    Traceback (most recent call last):
    exactformer.lessons.directives.DirectiveError: 'stp embed' is neither ... did you mean step?
    """
    stripped = " ".join(text.split())
    verb, _, rest = stripped.partition(" ")
    if verb == "claim":
        if not rest:
            raise DirectiveError("claim: what is claimed is missing, as in claim probs[0, 1] = 1/2")
        return View(0, (0, 0), "claim", claim=rest)
    if verb == "allow":
        return Allow(_allowed(rest))
    if verb not in _VERBS:
        return _binding(stripped, verb)
    words = _Words(verb, _words(rest, verb))
    if verb == "count":
        if words.take("from") != "from":
            raise DirectiveError("count: write count from 1, or count from 0")
        return Count(words.whole("from", 1))
    return _use(words) if verb == "use" else _view(verb, words)  # type: ignore[arg-type]


def _binding(text: str, verb: str) -> Binding:
    named = verb.endswith(":") and _NAME.fullmatch(verb[:-1])
    if not named and not _STEP.match(verb):
        raise DirectiveError(_unknown(text, verb))
    words = _Words("bind", _words(text, verb))
    to = words.reference()
    if words.left and words.left[0][1] not in _OPTIONS["bind"] and not get_close_matches(words.left[0][1], _OPTIONS["bind"], 1):
        raise DirectiveError(_unknown(text, verb))
    found: dict[str, Any] = {}
    for option in _options(words):
        match option:
            case "after":
                found["after"] = words.text("after")
            case "columns":
                found["columns"] = True
            case "allow":
                found["allowed"] = _allowed(" ".join(word for _, word in words.left))
                words.left.clear()
            case "from":
                found["first"] = words.whole("from", 1)
    return Binding(to, **found)


def counted(how: Binding, usual: int) -> Binding:
    """The same, counted from 0.

    >>> print(counted(directive("pattern[1, 2] from 1"), 0).to, counted(directive("pattern[1, 2]"), 1).to)
    pattern[0, 1] pattern[0, 1]
    """
    first = usual if how.first is None else how.first
    if any(i < first for i in how.to.index):
        raise DirectiveError(f"{how.to}: counted from 1, there is no 0")
    return replace(how, to=replace(how.to, index=tuple(i - first for i in how.to.index)))


def _allowed(text: str) -> Allowed:
    """What is allowed, with commas between: truncated, within 1."""
    try:
        return allowed(text.split(","))
    except AllowanceError as error:
        raise DirectiveError(f"allow: {error}") from None


def reference(text: str) -> Reference:
    """
    >>> reference("embed[0, 1]"), reference("wide: embed")
    (Reference(step='embed', index=(0, 1), of=''), Reference(step='embed', index=(), of='wide'))
    """
    name, bracket, rest = text.partition("[")
    index = bracket + rest
    of, _, step = (part.strip() for part in name.rpartition(":"))
    if not _STEP.fullmatch(step) or (of and not _NAME.fullmatch(of)):
        raise DirectiveError(f"{quoted(text)} is not the name of a step, such as blocks.0.attn.pattern[0, 1, 0]")
    if index and not _INDEX.fullmatch(index.strip()):
        raise DirectiveError(f"{short(text)}: an index is written as whole numbers from 0 in brackets, such as [0, 1]")
    return Reference(step, tuple(int(n) for n in re.findall("[0-9]+", index)), of)


def called(name: str) -> str:
    """The name that a lesson gives to a pass."""
    if not _NAME.fullmatch(name):
        raise DirectiveError(f"as {quoted(name)}: the name of a pass is a word of letters and digits, as in as wide")
    return name


def _unknown(text: str, verb: str) -> str:
    near = get_close_matches(verb, _VERBS, 1, 0.6)
    hint = f"did you mean {near[0]}?" if near else f"write {', '.join(_VERBS)}, or the name of a step"
    return f"{quoted(text)} is neither a directive nor the name of a step: {hint}"


def likely(text: str) -> str:
    """The verb that was probably meant in a directive that could not be read; of a word that could be anything, `use`.

    >>> [likely(text) for text in ("us capstone", "load capstone", "cuont from 1", "stepp embed", "embed[0 1]")]
    ['use', 'use', 'count', 'step', '']
    """
    verb, _, rest = text.strip().partition(" ")
    near = get_close_matches(verb, _VERBS, 1, 0.6)
    return near[0] if near else "use" if verb.isalpha() and rest.strip() else ""


def _words(text: str, verb: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _WORD.match(text, at)
        if match is None:
            raise DirectiveError(f"{verb}: {quoted(text[at:])} is not understood (a text stands in quotes)")
        kind = "text" if match[1] is not None else "index" if match[2] else "word"
        found.append((kind, match[1] if match[1] is not None else match[2] or match[3]))
        at = match.end()
    return found


def _use(words: _Words) -> Use:
    name = words.left.pop(0)[1] if words.left and words.left[0][0] == "text" else words.take("the name of an example or worksheet")
    found: dict[str, object] = {}
    for option in _options(words):
        match option:
            case "backward":
                found["backward"] = True
            case "break":
                found["mistake"] = words.mistake()
            case "as":
                found["called"] = called(words.take("the name that the pass is to have"))
            case _:
                found[option] = words.text(option)
    if "target" in found and not found.get("backward"):
        raise DirectiveError("use: target goes with backward")
    return Use(0, name, **found)  # type: ignore[arg-type]


def _view(kind: ViewKind, words: _Words) -> View:
    found: dict[str, object] = {}
    if kind == "break":
        found["mistake"] = words.mistake()
        if words.take("from STEP") != "from":
            raise DirectiveError("break: write from and the name of a step after the mistake")
    to = words.reference()
    hints: list[str] = []
    for option in _options(words):
        match option:
            case "at":
                found["position"] = words.whole("at")
            case "head":
                found["head"] = words.whole("head")
            case "digits":
                found["digits"] = max(1, words.whole("digits", MOST_DIGITS))
            case "tokens":
                found["tokens"] = words.text("tokens")
            case "sum":
                found["total"] = True
            case "hint":
                hints.append(words.text("hint"))
                if len(hints) > MOST_HINTS:
                    raise DirectiveError(f"exercise: more than {MOST_HINTS} hints")
    return View(0, (0, 0), kind, to, hints=tuple(hints), **found)  # type: ignore[arg-type]


def _options(words: _Words) -> Iterator[str]:
    known = _OPTIONS[words.verb]
    seen: set[str] = set()
    while words.left:
        option = words.left.pop(0)[1]
        if option not in known:
            near = get_close_matches(option, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise DirectiveError(f"{words.verb}: {quoted(option)} is not understood here: {hint}")
        if option in seen and option != "hint":
            raise DirectiveError(f"{words.verb}: {option} is given twice")
        seen.add(option)
        yield option
