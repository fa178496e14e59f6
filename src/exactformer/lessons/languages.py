"""The words of each language: one catalogue a language, in `languages/`. What one has not is said in English, and is listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from exactformer.lessons.lesson import LessonError
from exactformer.messages import quoted
from exactformer.model.breaking import MISTAKES
from exactformer.model.operations.records import RECORDS
from exactformer.reading import toml_table

ENGLISH = "en"
_TABLES = ("name", "texts", "page", "views", "kinds", "titles", "abouts", "mistakes", "glossary")


@dataclass(frozen=True)
class Term:
    """A term or sign of the glossary: the forms in which it is met, and one sentence."""

    term: str
    also: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Words:
    """The words of one language, with English where there are none."""

    language: str
    tables: Mapping[str, Any]
    english: Mapping[str, Any]

    def say(self, table: str, key: str, **known: Any) -> str:
        """
        >>> words("es").say("views", "broken"), words("es").say("views", "largest", shown=3, all=9)
        ('Roto', 'los 3 mayores de 9')
        """
        text: str = self.tables.get(table, {}).get(key) or self.english[table][key]
        return text.format(**known) if known else text

    def title(self, operation: str, title: str) -> str:
        """The title of a step, by its operation; `title` is the English one, which a step has itself."""
        found: str = self.tables.get("titles", {}).get(operation) or title
        return found[:1].upper() + found[1:]

    def about(self, operation: str, about: str) -> str:
        found: str = self.tables.get("abouts", {}).get(operation) or about
        return found

    def mistake(self, name: str, what: str) -> str:
        """What a mistake does, by its name; `what` is the English of it."""
        found: str = self.tables.get("mistakes", {}).get(name) or what
        return found

    @property
    def glossary(self) -> dict[str, Term]:
        mine = self.tables.get("glossary", {})
        return {key: _term(mine.get(key, entry)) for key, entry in self.english["glossary"].items()}


def _term(raw: Mapping[str, Any]) -> Term:
    return Term(raw["term"], tuple(raw.get("also", ())), raw["text"])


def languages() -> tuple[str, ...]:
    """
    >>> languages()
    ('en', 'es')
    """
    folder = files("exactformer.lessons") / "languages"
    return tuple(sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml")))


@lru_cache
def words(language: str = ENGLISH) -> Words:
    if language not in languages():
        raise LessonError([f"there are no words of the language {quoted(language)} (there are {', '.join(languages())})"])
    return Words(language, _catalogue(language), _catalogue(ENGLISH))


@lru_cache
def _catalogue(language: str) -> dict[str, Any]:
    name = f"languages/{language}.toml"
    text = (files("exactformer.lessons") / "languages" / f"{language}.toml").read_text(encoding="utf-8")
    return toml_table(text, name, lambda *args: LessonError([": ".join(map(str, args))]))  # type: ignore[arg-type]


def missing(language: str) -> Iterator[str]:
    """The strings that a language has not, and those that are not known. Those of operations and mistakes are in their records, and
    texts of the page are English themselves: there they are a list."""
    mine, english = words(language).tables, words().tables
    wanted = {table: set(english[table]) for table in _TABLES if isinstance(english.get(table), dict)}
    if language != ENGLISH:
        operations = {record.name for record in RECORDS}
        wanted |= {"titles": operations, "abouts": operations, "mistakes": set(MISTAKES), "texts": set(english["texts"])}
    for table, keys in wanted.items():
        yield from (f"{table}.{key}: is missing" for key in sorted(keys - set(mine.get(table, {}))))
        yield from (f"{table}.{key}: is not known" for key in sorted(set(mine.get(table, {})) - keys))
    yield from (f"{table}: is not known" for table in sorted(set(mine) - set(_TABLES)))
