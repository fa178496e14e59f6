"""A grammar of little stories. People meet; they have things, give, swap, lose and find them, and the story says who has what.

Who has what is kept while a story is told, so every sentence is true. Words that follow from the story so far (a name, a thing, a
pronoun) are marked as questions. A pronoun stands for the one whom the sentence before was about.

One description serves twice: with random choices it writes stories, and with every choice in turn it reads them (reading.py).

>>> write(0).text[:71]
'Once upon a time, a lonely fox named Zoe lived at the end of the road. '
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
    _going(t, hero)
    _meeting(t, hero)
    for turn in range(t.choose((1, 2, 2))):
        if turn == 1 and t.sometimes():
            _joining(t)
        t.choose([event for event, possible in _EVENTS if possible(t)])(t)
        if t.sometimes():
            _between(t)
    _ending(t)


def _opening(t: Telling) -> Person:
    t.say("Once upon a time, ")
    form = t.choose((0, 1, 2))
    if form == 0:
        t.say("there was ")
        hero = t.new_person()
        t.say(".")
    elif form == 1:
        hero = t.new_person()
        t.say(" lived ", HOMES, ".")
    else:
        t.say(HOMES, ", there lived ")
        hero = t.new_person()
        t.say(".")
    t.say(" ", hero.word("He"), " had ")
    thing = t.new_thing(hero)
    t.say(".")
    if t.sometimes():
        t.say(" ", hero.word("He"))
        t.say((f" loved the {thing} very much.", f" took the {thing} everywhere.", f" was proud of the {thing}."))
    return hero


def _going(t: Telling, hero: Person) -> None:
    t.say(" ", ("One day", "One morning", "One summer day", "On a cold day"), f", {hero.name} went to the ", PLACES)
    if t.sometimes():
        t.say(" with ", hero.word("his"), " ", Ask("thing", t.things(hero)[0]))
    t.say(".")


def _meeting(t: Telling, hero: Person) -> None:
    t.say((" There ", " On the way "), hero.word("he"), " met ")
    other = t.new_person()
    t.say(".")
    form = t.choose((0, 1, 2))
    if form == 0:
        t.say(f" {other.name} had ")
        t.new_thing(other)
        t.say(".")
    elif form == 1:
        t.say(f" {other.name} was ", SAD, ". ", other.word("He"), " had nothing to play with.")
    else:
        for says, person in ((' "My name is ', hero), (' "And I am ', other)):
            t.say(f'{says}{person.name}," said ', Ask("speaker", person.name), ".")


def _joining(t: Telling) -> None:
    t.say((" Then ", " Soon "))
    third = t.new_person()
    t.say(" came along.")
    if t.sometimes():
        t.say(" ", third.word("He"), " had ")
        t.new_thing(third)
        t.say(".")


def _giving(t: Telling) -> None:
    thing = t.choose(t.held())
    giver = t.holder[thing]
    taker = t.choose(t.others(giver))
    a, b = giver.name, taker.name
    t.say(
        " ",
        (
            f"{a} gave the {thing} to {b}.",
            f"{a} gave {b} the {thing}.",
            f'"You may have the {thing}, {b}," said {a}.',
            f'{b} asked for the {thing}, and {a} gave it away.',
            f"{b} liked the {thing}, so {a} gave it to {b}.",
        ),
    )  # fmt: skip
    t.holder[thing] = taker
    if t.sometimes():
        t.say(' "Thank you, ', Ask("speaker", a), '," said ', Ask("speaker", b), ".")
        if t.sometimes():
            t.say(" ", taker.word("He"), " was ", GLAD, ".")
    _who_has(t, thing)


def _swapping(t: Telling) -> None:
    a = t.choose([person for person in t.people if len(t.things(person)) == 1])
    b = t.choose([person for person in t.others(a) if len(t.things(person)) == 1])
    (mine,), (yours,) = t.things(a), t.things(b)
    t.holder[mine], t.holder[yours] = b, a
    t.say(f" {a.name} and {b.name} ", ("swapped", "traded"), f" their things. Now {a.name} had the ", Ask("thing", yours))
    t.say(f", and {b.name} had the ", Ask("thing", mine), ".")


def _losing(t: Telling) -> None:
    thing = t.choose(t.held())
    loser = t.holder[thing]
    t.say((" But then ", " Suddenly "), loser.name, (f" lost the {thing}.", f" dropped the {thing} and could not find it."))
    t.say(" ", loser.word("He"), " was ", SAD, ".")
    t.holder[thing] = None
    if t.sometimes():
        t.say(" ", loser.word("He"), " looked ", SPOTS, ", but it was not there.")
    finder = t.choose(t.people)
    t.say((" At last ", " After a while "), f"{finder.name} found it ", SPOTS, ".")
    t.holder[thing] = finder
    if finder != loser and t.sometimes():
        t.say(" ", finder.word("He"), " gave it back to ", Ask("holder", loser.name), ".")
        t.holder[thing] = loser
    elif finder != loser:
        t.say((' "You may keep it," said ', ' "It is yours now," said '), Ask("speaker", loser.name), ".")
    _who_has(t, thing)


def _finding(t: Telling) -> None:
    finder = t.choose([person for person in t.people if not t.things(person)])
    t.say(f" {finder.name} looked ", SPOTS, " and found ")
    thing = t.new_thing(finder)
    t.say(".")
    if t.sometimes():
        t.say(" ", finder.word("He"), " put the ", Ask("thing", thing), " in ", finder.word("his"), " ", POCKETS, ".")


_EVENTS = (
    (_giving, lambda t: True),
    (_swapping, lambda t: sum(len(t.things(person)) == 1 for person in t.people) > 1),
    (_losing, lambda t: True),
    (_finding, lambda t: any(not t.things(person) for person in t.people)),
)


def _who_has(t: Telling, thing: str) -> None:
    holder = Ask("holder", t.holder[thing].name)
    form = t.choose((0, 1, 2, 3))
    if form == 0:
        t.say(f" Now the {thing} belonged to ", holder, ".")
    elif form == 1:
        t.say(f" So the {thing} was with ", holder, ".")
    elif form == 2:
        t.say(" Who had the ", thing, " now? It was ", holder, ".")


def _between(t: Telling) -> None:
    t.say(
        (
            " The sun was shining.", " It was a fine day.", " They played and laughed.", " A bird sang a song.",
            " They sat down to rest.", " They ran up and down the hill.", " The wind was blowing.",
        ),
    )  # fmt: skip


def _ending(t: Telling) -> None:
    t.say((" In the evening they all went home.", " At the end of the day they said goodbye.", " Then it was time to go home."))
    left = list(t.people)
    while left:
        person = t.choose(left)
        left.remove(person)
        things = [f"the {thing}" for thing in t.things(person)]
        t.say(f" {person.name} went home with ", Ask("thing", (" and ".join(things) or "nothing") + "."))
    t.say((" They were friends ever after.", " And they were all happy.", " They met again the next day."), " The end.")
