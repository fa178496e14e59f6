"""A story while it is being told: its text, who is there, who has what, and which words can be known from the story so far."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from training.stories.words import ANIMALS, BOYS, GIRLS, HERS, HIS, LOOKS, MANNERS, THINGS

Kind = Literal["holder", "thing", "pronoun", "speaker"]
_HERS = {"he": "she", "him": "her", "his": "her", "He": "She", "His": "Her"}


@dataclass(frozen=True)
class Ask:
    """A word that the story so far decides."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Question:
    """Where such a word stands in a story."""

    kind: Kind
    start: int
    end: int


@dataclass(frozen=True)
class Person:
    name: str
    she: bool

    def word(self, his: str) -> Ask:
        """`he`, `him` or `his` of this person, with a capital where it has one."""
        return Ask("pronoun", _HERS[his] if self.she else his)


def often(words: Sequence[str], but: Collection[str]) -> list[str]:
    """The first words more often than the last, as in any language; where some are taken, the last more often than the first.

    >>> [words.count("a") for words in (often("abc", ()), often("abc", "b"))]
    [24, 12]
    """
    free = [word for word in (reversed(words) if but else words) if word not in but]
    return [word for rank, word in enumerate(free) for _ in range(max(1, 24 // (rank + 1)))]


@dataclass
class Telling:
    """Choices are made by `choose`, and what is said is given to `emit`, piece by piece."""

    choose: Callable[[Sequence[Any]], Any]
    emit: Callable[[str], None]
    people: list[Person] = field(default_factory=list)
    holder: dict[str, Person | None] = field(default_factory=dict)  # things in the order in which they came; None: lost
    questions: list[Question] = field(default_factory=list)
    length: int = 0

    def say(self, *parts: str | Ask | Sequence[str]) -> str:
        """Emit the parts one by one; of a list one is chosen when it is its turn. Returns the last one."""
        text = ""
        for part in parts:
            text = part if isinstance(part, str) else part.text if isinstance(part, Ask) else self.choose(part)
            if isinstance(part, Ask):
                self.questions.append(Question(part.kind, self.length, self.length + len(text)))
            self.emit(text)
            self.length += len(text)
        return text

    def sometimes(self) -> bool:
        return bool(self.choose((True, False)))

    def others(self, person: Person) -> list[Person]:
        return [other for other in self.people if other != person]

    def things(self, person: Person) -> list[str]:
        return [thing for thing, holder in self.holder.items() if holder == person]

    def held(self) -> list[str]:
        return [thing for thing, holder in self.holder.items() if holder is not None]

    def belongings(self, person: Person) -> Ask:
        """`the kite and the ball`, or `nothing`."""
        return Ask("thing", " and ".join(f"the {thing}" for thing in self.things(person)) or "nothing")

    def new_person(self) -> Person:
        """`a shy fox named Nora`."""
        self.say(MANNERS, " ")
        kind = self.say((*GIRLS, *BOYS, *ANIMALS))
        names = HERS if kind in GIRLS else HIS if kind in BOYS else [name for pair in zip(HERS, HIS, strict=True) for name in pair]
        self.say(" named ")
        name = self.say(often(names, {person.name for person in self.people}))
        person = Person(name, name in HERS)
        self.people.append(person)
        return person

    def new_thing(self, person: Person) -> str:
        """`a red kite`, which this person has."""
        self.say(LOOKS, " ")
        thing = self.say(often(THINGS, self.holder))
        self.holder[thing] = person
        return thing
