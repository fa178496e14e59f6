"""Built-in lessons: Markdown with claims."""

from __future__ import annotations

from importlib.resources import files


def lessons() -> tuple[str, ...]:
    """
    >>> lessons()
    ('attention',)
    """
    return tuple(sorted(entry.name[:-3] for entry in files(__name__).iterdir() if entry.name.endswith(".md")))


def lesson_text(name: str) -> str:
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8")
