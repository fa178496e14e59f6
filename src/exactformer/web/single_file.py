"""The page as one file that opens from disk: the same code, the numbers of one pass, no server and no network.

The modules are joined in the order in which they import each other, each in a function of its own: so the file needs no loader, and
a policy that names its one script and its one style sheet by their hashes forbids every other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any

from exactformer.trace import Trace
from exactformer.web.document import glossary
from exactformer.web.holding import held

STYLES = ("base.css", "pass.css", "picture.css", "pages.css", "glossary.css")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_LATER = re.compile(r'import\("\./(\w+)\.js"\)')
_COMMENT = re.compile(r"^\s*(?://.*|/\*\*.*\*/)$", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)


def render(trace: Trace, digits: int = 12, about: str = "", at: str = "") -> str:
    """The whole page for one pass: with what its worksheet says of it, and open where the address `at` says.

    >>> from exactformer import load
    >>> text = render(load("capstone").trace())
    >>> text.startswith("<!doctype html>"), "http-equiv" in text, "src=" in text
    (True, True, False)
    """
    script, style = shortened(joined("pass.js", "exactly.js", "main.js")), "\n".join(asset(name) for name in STYLES)
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
<script type="application/json" id="held">{embedded(held(trace, digits, about) | {"at": at, "glossary": glossary()})}</script>
<script type="module">{script}</script>
</body>
</html>
"""


@lru_cache
def joined(*names: str) -> str:
    """The last module with all that it imports, each once and before it is needed; the others it asks for later.
    What else it may ask for is refused: views that the file does not offer.
    """
    *later, main = names
    modules = (*closure(*later), *(module for module in closure(main) if module not in closure(*later)))
    first = [module for module in modules if module != main]
    missing = f"Promise.reject(new Error({_variable('store')}.NEEDS_SERVER))"
    return enclosed(first) + f"const later = async (name) => ({by_name(later)})[name] ?? {missing};\n" + enclosed([main])


def shortened(script: str) -> str:
    """Without lines that are comments and without indentation: no template of ours goes over several lines."""
    return "\n".join(line.strip() for line in _COMMENT.sub("", script).splitlines() if line.strip())


def enclosed(modules: Iterable[str]) -> str:
    return "\n".join(map(_enclosed, modules))


@lru_cache
def closure(*names: str) -> tuple[str, ...]:
    """The modules that some import, before them, and they themselves."""
    order: list[str] = []

    def visit(module: str) -> None:
        if module not in order:
            for _, needed in _IMPORT.findall(asset(module)):
                visit(f"{needed}.js")
            order.append(module)

    for name in names:
        visit(name)
    return tuple(order)


def by_name(modules: Iterable[str]) -> str:
    """Modules that are enclosed, as one object."""
    pairs = (f"{name.removesuffix('.js')}: {_variable(name)}" for name in modules)
    return f"{{ {', '.join(pairs)} }}"


def _variable(module: str) -> str:
    return f"{module.removesuffix('.js')}_module"


def _enclosed(module: str) -> str:
    """A module as a function that is called at once and answers with what the module exports."""
    text = asset(module)
    exported = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub(lambda match: match[0].removeprefix("export "), _IMPORT.sub(r"const {\1} = \2_module;\n", text))
    body = _LATER.sub(r'later("\1")', body)
    return f"const {_variable(module)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n"


@lru_cache
def asset(name: str) -> str:
    return (files("exactformer.web") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def embedded(value: Any) -> str:
    """JSON that no text in it can end early."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
