"""Domains of sequences, and one of each kind: every orbit once, none lost, none twice."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest

from exactformer.proofs import Sequences
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import renamings

TOKENS = ("a", "b", "c", "d")
PARTITIONS = [
    (("a", "b", "c", "d"),),
    (("a",), ("b",), ("c",), ("d",)),
    (("a", "c"), ("b", "d")),
    (("d", "a", "b"), ("c",)),
]


def all_sequences(longest: int, shortest: int = 1) -> set[tuple[str, ...]]:
    return {tokens for n in range(shortest, longest + 1) for tokens in product(TOKENS, repeat=n)}


def orbit(tokens: tuple[str, ...], classes: tuple[tuple[str, ...], ...]) -> set[tuple[str, ...]]:
    """By trying every permutation of every class."""
    found = {tokens}
    for members in classes:
        names = [dict(zip(members, new, strict=True)) for new in permutations(members)]
        found = {tuple(name.get(t, t) for t in sequence) for sequence in found for name in names}
    return found


def test_how_many_and_which() -> None:
    for longest, shortest in ((1, 1), (3, 1), (4, 3), (2, 2)):
        domain = Sequences(TOKENS, longest, shortest)
        assert set(domain) == all_sequences(longest, shortest)
        assert len(list(domain)) == len(domain) == domain.size == len(all_sequences(longest, shortest))
    assert len(Sequences(TOKENS, 6)) == 5460
    assert str(Sequences(TOKENS, 6)) == "every sequence of 1 to 6 tokens over a b c d"
    assert str(Sequences(TOKENS, 2, 2)) == "every sequence of 2 tokens over a b c d"


@pytest.mark.parametrize("classes", PARTITIONS)
@pytest.mark.parametrize(("longest", "shortest"), [(1, 1), (4, 1), (4, 3)])
def test_orbits_of_representatives_cover_everything_once(classes: tuple[tuple[str, ...], ...], longest: int, shortest: int) -> None:
    domain = Sequences(TOKENS, longest, shortest)
    kinds = domain.representatives(classes)
    covered: set[tuple[str, ...]] = set()
    for tokens in kinds:
        by_renaming = [tuple(names[t] for t in tokens) for names in renamings(tokens, classes)]
        assert by_renaming[0] == tokens
        assert len(by_renaming) == len(set(by_renaming)), "a sequence is counted twice"
        assert set(by_renaming) == orbit(tokens, classes)
        assert not covered & set(by_renaming)
        covered |= set(by_renaming)
    assert covered == all_sequences(longest, shortest)


def test_known_numbers_of_kinds() -> None:
    """Up to renaming of all: the numbers of ways to split n places into at most 4 groups, 1 + 2 + 5 + 15 + 51 + 187."""
    kinds = Sequences(TOKENS, 6).representatives((TOKENS,))
    assert [sum(len(tokens) == n for tokens in kinds) for n in range(1, 7)] == [1, 2, 5, 15, 51, 187]
    assert len(kinds) == 261


def test_a_domain_over_part_of_the_vocabulary() -> None:
    domain = Sequences(("a", "b"), 3)
    assert domain.within((("a", "b", "c"), ("d",))) == (("a", "b"), ("c",), ("d",))
    kinds = domain.representatives(domain.within((("a", "b", "c"), ("d",))))
    assert {t for tokens in kinds for t in tokens} == {"a", "b"}
    assert len(kinds) == 1 + 2 + 4
    alone = domain.within((("a", "c"), ("b", "d")))
    assert set(alone) == {("a",), ("b",), ("c",), ("d",)}
    assert len(domain.representatives(alone)) == len(domain)


def test_what_is_too_much_is_refused_before_it_takes_memory() -> None:
    with pytest.raises(RunError, match=r"^every sequence of 1 to 64 tokens over a b c d: more than 5,000,000 cases; no more"):
        Sequences(TOKENS, 64).representatives((TOKENS,))
    with pytest.raises(RunError, match=r"^every sequence of 12 tokens over a b c d: more than 5,000,000 cases"):
        Sequences(TOKENS, 12, 12).representatives(tuple((t,) for t in TOKENS))
    with pytest.raises(ValueError, match=r"^sequences of 3 to 2 tokens: there are none$"):
        Sequences(TOKENS, 2, 3)
    with pytest.raises(ValueError, match=r"^sequences of 0 to 2 tokens: there are none$"):
        Sequences(TOKENS, 2, 0)


@pytest.mark.parametrize("longest", [10**6, 10**12])
@pytest.mark.parametrize("vocabulary", [("a",), ("a", "b")])
def test_far_too_long_sequences_are_refused_at_once(vocabulary: tuple[str, ...], longest: int) -> None:
    """They were counted first, in integers of a million bits."""
    alone = tuple((token,) for token in vocabulary)
    with pytest.raises(RunError, match="too long"):
        Sequences(vocabulary, longest).representatives(alone)


def test_long_sequences_are_listed_without_recursion() -> None:
    domain = Sequences(("a",), 1500)
    assert list(map(len, domain.representatives((("a",),)))) == list(range(1, 1501))


@pytest.mark.parametrize("number", [2.5, True, "2", None])
def test_numbers_of_tokens_are_whole(number: Any) -> None:
    for lengths in ((number,), (4, number)):
        with pytest.raises(ValueError, match="give a whole number"):
            Sequences(TOKENS, *lengths)
