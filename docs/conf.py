"""The documentation as a static site, README first: `make docs`. Whatever leads nowhere or cannot be read ends the build."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

import exactformer

project = "exactformer"
author = "the exactformer authors"
project_copyright = f"2026, {author}"
release = exactformer.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "benchmarks/results/*.md"]
exclude_patterns = [".venv", ".git", "build", "src", "tests", "training"]
myst_heading_anchors = 5
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
html_theme = "furo"
html_title = f"exactformer {release}"
html_copy_source = False
html_show_sourcelink = False
highlight_language = "none"  # most of what is shown is output

_PARTS = {
    "To begin with": ["tutorial", "worksheets", "commands", "terminal", "web", "lessons", "exercises", "checking", "gallery"],
    "Models": ["attention", "llama", "circuits", "programs", "explain", "checkpoints", "tokenizers", "decoding", "stories"],
    "Proofs": ["certify", "certified", "theorems", "checker", "judge", "oracle", "numbers", "trust"],
    "Reference": ["python", "api", "formats", "json", "architecture"],
}


def contents() -> str:
    """The pages in parts; those that no part names come last."""
    named = {page for pages in _PARTS.values() for page in pages}
    others = sorted({path.stem for path in Path(__file__).parent.glob("*.md")} - named)
    parts = {part: [f"docs/{page}" for page in pages] for part, pages in (_PARTS | {"More": others}).items() if pages}
    parts |= {"Measured": ["benchmarks/results/*"], "The project": ["CHANGELOG", "CONTRIBUTING", "SECURITY"]}
    return "".join(
        "\n\n```{toctree}\n:hidden:\n:glob:\n:titlesonly:\n:caption: " + part + "\n\n" + "\n".join(pages) + "\n```\n"
        for part, pages in parts.items()
    )


def reference() -> str:
    """Every public name, by package, as its docstring says it."""
    lines = []
    for package, names in exactformer._PLACES.items():
        lines += ["", f"## {package}", "", "```{eval-rst}"]
        for name in names:
            thing = getattr(exactformer, name)
            kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
            members = "   :members:\n" if kind == "class" and not issubclass(thing, Exception) else ""
            lines += [f".. auto{kind}:: exactformer.{name}\n{members}"]
        lines += ["```"]
    return "\n".join(lines)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] += {"README": contents, "docs/api": reference}.get(page, str)()


def as_rst(app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in it."""
    for n, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`[^`]+`)", line)
            lines[n] = "".join(f"`{part}`" if part[:1] == "`" else re.sub(r"([*|_\\])", r"\\\1", part) for part in parts)


def finish(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        shutil.copyfile(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", as_rst)
    app.connect("build-finished", finish)
