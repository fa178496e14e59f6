"""The page as one file that opens from disk: the same code, the numbers of one pass, no server and no network.

The modules are joined in the order in which they import each other, each in a function of its own: so the file needs no loader, and
a policy that names its one script and its one style sheet by their hashes forbids every other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import lru_cache
from html import escape
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np

from exactformer.model.axes import TOKEN
from exactformer.numbers import Named
from exactformer.numbers.definitions import Symbols
from exactformer.trace import Step, Trace
from exactformer.web import document

STYLES = ("base.css", "pass.css", "picture.css", "pages.css", "glossary.css")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
_MOST_VALUES = 20_000  # numbers of a step that a file holds
_MOST_OPENED = 4_000
_OPENED_DIGITS = 50
_BLOCK = (16, 32)  # rows and columns that are fetched at once (book.js)
_SHOWN = 48  # columns that a table shows at once (table.js)


def render(trace: Trace, digits: int = 12, about: str = "", at: str = "") -> str:
    """The whole page for one pass: with what its worksheet says of it, and open where the address `at` says.

    >>> from exactformer import load
    >>> text = render(load("capstone").trace())
    >>> text.startswith("<!doctype html>"), "http-equiv" in text, "src=" in text
    (True, True, False)
    """
    script, style = joined("main.js"), "\n".join(asset(name) for name in STYLES)
    sources = f"script-src {_hash(script)}; style-src {_hash(style)}; img-src data:"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    title = escape(trace.title or "A forward pass")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<a class="skip-link" href="#main">Skip to the content</a>
<header class="top"><span class="brand">exactformer</span></header>
<main id="main" tabindex="-1"><noscript><p>{title}: this page needs scripts, which it carries in itself.</p></noscript></main>
<p id="live" class="visually-hidden" role="status" aria-live="polite"></p>
<script type="application/json" id="held">{_embedded(held(trace, digits, about) | {"at": at})}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def held(trace: Trace, digits: int, about: str = "") -> dict[str, Any]:
    """What the file holds: the pass with its numbers, and its named numbers opened."""
    steps = [*trace.steps, *trace.weights]
    values = {step.name: document.values(step, digits) for step in steps if step.values.size <= _MOST_VALUES}
    numbers, opened = _opened([step for step in trace.steps if step.name in values], digits)
    blocks, words = _blocks(trace, [step for step in steps if step.name not in values])
    outline = document.outline(trace) | {"values": values, "about": about}
    return {
        "pass": outline,
        "numbers": numbers,
        "opened": opened,
        "blocks": blocks,
        "words": words,
        "glossary": document.glossary(),
    }


def _blocks(trace: Trace, steps: list[Step]) -> tuple[dict[str, Any], dict[int, str]]:
    """Of tables too large to be held: the blocks that show the largest logit of each position, and the rows of the input."""
    ids = trace.model.ids(trace.tokens)
    winners = [document.token_id(trace, out.token) for out in trace.output if out.token is not None]
    blocks: dict[str, Any] = {}
    words: dict[int, str] = {}
    count = 0
    for step in steps:
        high, wide = (-(-size // part) for size, part in zip(step.values.shape[-2:], _BLOCK, strict=True))
        kinds = trace.axes(step.name)
        rows = sorted({i // _BLOCK[0] for i in ids}) if kinds[0] is TOKEN else range(high)
        last = step.values.shape[-1]
        columns = sorted({c for w in winners for c in _around(w, last)}) if kinds[-1] is TOKEN else range(wide)
        for r, c in product(rows, columns):
            across, down = (range(n * part, (n + 1) * part) for n, part in zip((r, c), _BLOCK, strict=True))
            shown = document.window(step, slice(across.start, across.stop), slice(down.start, down.stop))
            count += shown.size
            if count > _MOST_VALUES:
                return blocks, words
            blocks[f"{step.name} {r} {c}"] = document.nested(shown, document.brief)
            words |= document.words(trace, [step], across, down)
    return blocks, words


def _around(column: int, columns: int) -> range:
    """Blocks of the columns that the page shows when it goes to one."""
    left = max(0, min(column - 1, columns - _SHOWN))
    return range(left // _BLOCK[1], (left + _SHOWN - 1) // _BLOCK[1] + 1)


def _opened(steps: list[Step], digits: int) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Every named number once, and where it stands."""
    numbers: dict[str, int] = {}
    opened: list[dict[str, Any]] = []
    seen: dict[int, int] = {}
    symbols = Symbols()
    for step in steps:
        for place, value in _named(step):
            if id(value) not in seen:
                if len(opened) == _MOST_OPENED:
                    return numbers, opened
                seen[id(value)] = len(opened)
                opened.append(document.opened_value(value, max(digits, _OPENED_DIGITS), symbols))
            numbers[place] = seen[id(value)]
    return numbers, opened


def _named(step: Step) -> list[tuple[str, Named]]:
    if step.values.dtype != object:
        return []
    entries = ((index, step.values[index]) for index in np.ndindex(*step.values.shape))
    return [(f"{step.name}[{','.join(map(str, index))}]", value) for index, value in entries if isinstance(value, Named)]


@lru_cache
def joined(name: str) -> str:
    """A module with all that it imports, each once and before it is needed."""
    order: list[str] = []

    def visit(module: str) -> None:
        if module not in order:
            for _, needed in _IMPORT.findall(asset(module)):
                visit(f"{needed}.js")
            order.append(module)

    visit(name)
    return "\n".join(map(_enclosed, order))


def _enclosed(module: str) -> str:
    """A module as a function that is called at once and answers with what the module exports."""
    text = asset(module)
    exported = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub(lambda match: match[0].removeprefix("export "), _IMPORT.sub(r"const {\1} = \2_module;\n", text))
    return f"const {module.removesuffix('.js')}_module = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


@lru_cache
def asset(name: str) -> str:
    return (files("exactformer.web") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embedded(value: Any) -> str:
    """JSON that no text in it can end early."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
