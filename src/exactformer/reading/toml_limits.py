"""What is asked of TOML before it is parsed. Python's parser keeps every prefix of a dotted key and a record for each of its parts,
so that a line of 40 kB can take gigabytes.
"""

from __future__ import annotations

import re

_DEEPEST = 8  # parts of a dotted key, such as weights.blocks
_MOST_KEYS = 50_000  # with at most as many parts each: some hundred megabytes

# Texts and comments, where a dot or a bracket is a character like any other. One that does not end is not TOML; it is taken to
# the end of its line or of the file, so that nothing is looked at twice.
TEXTS = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)'
    r"|'''(?:[^']++|'(?!''))*+(?:'''|\Z)"
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_DEEP = re.compile(rf"(?:\.[ \t]*+[\w-]++[ \t]*+){{{_DEEPEST}}}")  # a decimal has one point
_HEADER = re.compile(r"^[ \t]*+\[\[?[^\[\],\n]*+\]\]?[ \t\r]*+$", re.MULTILINE)  # rows of a matrix end with a comma


def toml_problem(text: str) -> str | None:
    """Why a TOML text is not parsed: keys of too many parts, or too many keys. None for every worksheet that people write.

    >>> toml_problem('a.b = 0.5 # see a.b.c.d.e.f.g.h.i.j'), toml_problem('title = "1.2.3.4.5.6.7.8.9.10"')
    (None, None)
    >>> toml_problem("a" + ".a" * 20_000 + " = 1")
    'line 1 has a key of more than 8 parts'
    """
    bare = TEXTS.sub(_blank, text)
    if deep := _DEEP.search(bare):
        return f"line {bare.count(chr(10), 0, deep.start()) + 1:,} has a key of more than {_DEEPEST} parts"
    keys = bare.count("=") + sum(1 for _ in _HEADER.finditer(bare))
    return f"has {keys:,} keys; a worksheet may have {_MOST_KEYS:,}" if keys > _MOST_KEYS else None


def _blank(found: re.Match[str]) -> str:
    """A text as one word, with its line ends, so that lines keep their numbers; of a comment nothing is left."""
    held = found[0]
    return "" if held.startswith("#") else "x" + "\n" * held.count("\n")
