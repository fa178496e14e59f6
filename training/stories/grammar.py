"""A grammar of little stories. People meet; they have things, give, swap, lose and find them, and the story says who has what.

Who has what is kept while a story is told, so every sentence is true. Words that follow from the story so far (a name, a thing, a
pronoun) are marked as questions. A pronoun stands for the one who was named last.

One description serves twice: with random choices it writes stories, and with every choice in turn it reads them (reading.py).

>>> write(0).text[:72]
'Once upon a time, a lonely fox named Anna lived at the end of the road. '
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from training.stories.telling import Ask, Person, Question, Telling
from training.stories.words import GLAD, HOMES, PLACES, POCKETS, SAD, SPOTS

_HELD_OUT_OF = 10  # one cast in ten is in no story of the training set


@dataclass(frozen=True)
class Story:
    text: str
    questions: tuple[Question, ...]
    cast: tuple[str, str, str]  # the first two names, and the thing that came first
    chance: float  # minus the logarithm of the probability of its choices: no model can have a smaller loss, on average

    @property
    def held_out(self) -> bool:
        """Decided by the cast: no story of the training set has these two people in this order, and this thing first."""
        return hashlib.sha256("|".join(self.cast).encode()).digest()[0] % _HELD_OUT_OF == 0


def write(seed: int) -> Story:
    """The story of this number: always the same one."""
    pieces: list[str] = []
    chances: list[float] = []
    source = random.Random(seed)

    def choose(options: Sequence[Any]) -> Any:
        choice = source.choice(options)
        chances.append(math.log(len(options) / options.count(choice)))
        return choice

    telling = Telling(choose, pieces.append)
    tell(telling)
    first, second = (person.name for person in telling.people[:2])
    return Story("".join(pieces), tuple(telling.questions), (first, second, next(iter(telling.holder))), math.fsum(chances))


def stories(number: int, held_out: bool, first: int = 0) -> Iterator[Story]:
    """So many stories of the training set, or of those that are held out, from the seed `first` on."""
    return islice((story for story in map(write, count(first)) if story.held_out == held_out), number)


def tell(t: Telling) -> None:
    """A story from its beginning to its end."""
    hero = _opening(t)
    _meeting(t, hero)
    for _ in range(t.choose((1, 2))):
        t.choose([event for event, possible in _EVENTS if possible(t)])(t)
        if t.choose((True, False, False)):
            t.say(_BETWEEN)
    _ending(t)


def _opening(t: Telling) -> Person:
    t.say("Once upon a time, ")
    if t.sometimes():
        t.say("there was ")
        hero = t.new_person()
        t.say(". ")
    else:
        hero = t.new_person()
        t.say(" lived ", HOMES, ". ")
    t.say(*((hero.word("He"),) if t.sometimes() else (hero.name,)), " had ")
    t.new_thing(hero)
    t.say(".")
    return hero


def _meeting(t: Telling, hero: Person) -> None:
    t.say((" One day", " One morning", " One summer day"), f", {hero.name} went to the ", PLACES)
    if t.sometimes():
        t.say(" with ", hero.word("his"), " ", Ask("thing", t.things(hero)[0]))
    t.say((". There ", ". On the way "), hero.word("he"), " met ")
    other = t.new_person()
    t.say(". ", *((other.word("He"),) if t.sometimes() else (other.name,)), " had ")
    if t.choose((True, True, False)):
        t.new_thing(other)
        t.say(".")
    else:
        t.say("nothing to play with.")


def _who_has_what(t: Telling, begin: str) -> None:
    """What everybody has, in any order."""
    first = t.choose(t.people)
    (second,) = t.others(first)
    t.say(f"{begin}{first.name} had ", t.belongings(first), f", and {second.name} had ", t.belongings(second), ".")


def _giving(t: Telling) -> None:
    thing = t.choose(t.held())
    giver = t.holder[thing]
    (taker,) = t.others(giver)
    a, b = giver.name, taker.name
    t.say(
        " ",
        (
            f"{a} gave the {thing} to {b}.",
            f"{a} gave {b} the {thing}.",
            f'"You may have the {thing}, {b}," said {a}.',
            f"{b} liked the {thing}, so {a} gave it to {b}.",
        ),
    )
    t.holder[thing] = taker
    if t.sometimes():
        t.say(' "Thank you, ', Ask("speaker", a), '," said ', Ask("speaker", b), ". ", taker.word("He"), " was ", GLAD, ".")
    _news(t, thing)


def _swapping(t: Telling) -> None:
    a, b = t.people
    (mine,), (yours,) = t.things(a), t.things(b)
    t.holder[mine], t.holder[yours] = b, a
    first = t.choose(t.people)
    (second,) = t.others(first)
    t.say(f" {first.name} and {second.name} ", ("swapped", "traded"), " their things.")
    _who_has_what(t, " Now ")


def _losing(t: Telling) -> None:
    thing = t.choose(t.held())
    loser = t.holder[thing]
    t.say((" But then ", " Suddenly "), loser.name, (f" lost the {thing}. ", f" dropped the {thing}. "))
    t.say(loser.word("He"), " was ", SAD, ".")
    finder = t.choose(t.people)
    t.holder[thing] = finder
    t.say((" At last ", " After a while "), f"{finder.name} found it ", SPOTS, ".")
    if finder != loser and t.sometimes():
        t.say(" ", finder.word("He"), " gave it back to ", Ask("holder", loser.name), ".")
        t.holder[thing] = loser
    elif finder != loser:
        t.say((' "You may keep it," said ', ' "It is yours now," said '), Ask("speaker", loser.name), ".")
    _news(t, thing)


def _finding(t: Telling) -> None:
    finder = t.choose([person for person in t.people if not t.things(person)])
    t.say(f" {finder.name} looked ", SPOTS, " and found ")
    thing = t.new_thing(finder)
    t.say(".")
    if t.sometimes():
        t.say(" ", finder.word("He"), " put the ", Ask("thing", thing), " in ", finder.word("his"), " ", POCKETS, ".")
    _who_has_what(t, " Now ")


def _swappable(t: Telling) -> bool:
    return all(len(t.things(person)) == 1 for person in t.people)


def _findable(t: Telling) -> bool:
    return any(not t.things(person) for person in t.people)


_EVENTS = ((_giving, Telling.held), (_swapping, _swappable), (_losing, Telling.held), (_finding, _findable))


def _news(t: Telling, thing: str) -> None:
    """Who has the thing, sometimes; then who has what."""
    if t.sometimes():
        t.say((f" Who had the {thing} now? It was ", f" So the {thing} belonged to "), Ask("holder", t.holder[thing].name), ".")
    _who_has_what(t, " Now ")


_BETWEEN = (
    " The sun was shining.", " It was a fine day.", " They played and laughed.", " A bird sang a song.", " They sat down to rest.",
    " They ran up and down the hill.", " The wind was blowing.",
)  # fmt: skip


def _ending(t: Telling) -> None:
    t.say((" In the evening they went home.", " At the end of the day they said goodbye.", " Then it was time to go home."))
    first = t.choose(t.people)
    for person in (first, *t.others(first)):
        t.say(f" {person.name} went home with ", t.belongings(person), ".")
    t.say((" They were friends ever after.", " And they were both happy.", " They met again the next day."), " The end.")
