"""The lessons that a page shows: teachers' own, which are files with their worksheets beside them, before the built-in ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exactformer.lessons.built_in import built_in, lessons, neighbours, read_lesson, translations
from exactformer.lessons.languages import ENGLISH
from exactformer.lessons.lesson import Lesson, LessonError
from exactformer.messages import quoted

_NAME = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")  # what an address and the name of a file of the site both have


@dataclass(frozen=True)
class Shelf:
    """`own` are lessons by the names that their addresses have. One that is called like a built-in lesson stands in its place.

    >>> Shelf.of(["lessons/root-d.md"]).slugs()[:2]
    ('root-d', 'attention-exactly')
    """

    own: tuple[tuple[str, Path], ...] = ()

    @classmethod
    def of(cls, paths: Sequence[str | Path]) -> Shelf:
        found: dict[str, Path] = {}
        for path in map(Path, paths):
            if path.suffix.lower() != ".md" or not _NAME.fullmatch(path.stem):
                asked = "its name becomes its address: letters, digits and single hyphens, and .md"
                raise LessonError([f"{path}: a lesson for the page cannot be called {quoted(path.name)}: {asked}"])
            if path.stem in found:
                raise LessonError([f"{path}: there is another lesson of that name: {found[path.stem]}"])
            found[path.stem] = path
        return cls(tuple(found.items()))

    def slugs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*(slug for slug, _ in self.own), *lessons())))

    def has(self, slug: str) -> bool:
        """Is it one of the teacher's own?"""
        return slug in dict(self.own)

    def read(self, slug: str, language: str = ENGLISH) -> Lesson:
        """A teacher's own is in its own language, whichever is asked for, and is read anew each time."""
        own = dict(self.own)
        return read_lesson(own[slug]) if slug in own else built_in(slug, language)

    def around(self, slug: str, language: str = ENGLISH) -> tuple[str | None, str | None]:
        """The lesson before, and the one after: of an own one, the own one after it, or the one that it names as next."""
        if not self.has(slug):
            return neighbours(slug, language)
        names = [name for name, _ in self.own]
        before, after = ([None, *names][names.index(slug)], [*names, None][names.index(slug) + 1])
        wanted = self.read(slug).next
        return before, wanted if wanted in self.slugs() else after

    def languages(self, slug: str) -> tuple[str, ...]:
        return (self.read(slug).language,) if self.has(slug) else translations(slug)
