"""Rules against a brute force of another style: vectors of shares and a table of scores, instead of look-ups."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import exactformer as xf
from exactformer.proofs import Demand, Lookup, Sorted
from exactformer.proofs.rules import demand, statement

TOKENS = ("a", "b", "c")
MATCHES = {"induction": ((0, 1),), "context": ((0, 1), (1, 2)), "skip": ((0, 2),)}


def brute_force(tokens: tuple[str, ...], match: tuple[tuple[int, int], ...], mask: str, gram: np.ndarray) -> tuple[set[str], str]:
    """The heads of the circuit, hard, as matrices of fractions: what each position reads, scores, and copies."""
    n = len(tokens)
    codes = np.array([[Fraction(t == token) for t in TOKENS] for token in tokens], dtype=object)  # [n, 3]
    may = np.array([[mask == "none" or j < i or (mask == "causal" and j == i) for j in range(n)] for i in range(n)])

    def read(back: int) -> np.ndarray:
        rows = []
        for i in range(n):
            wanted = [j for j in range(n) if may[i, j] and j == i - back] or [j for j in range(n) if may[i, j]]
            if back == 0:
                wanted = [i]
            weights = np.array([Fraction(int(j in wanted), max(1, len(wanted))) for j in range(n)], dtype=object)
            rows.append(weights @ codes)
        return np.array(rows)

    scores = sum(read(a) @ gram @ read(b).T for a, b in match)
    row = [scores[n - 1, j] for j in range(n) if may[n - 1, j]]
    if not row:
        return set(), "nothing to look at"
    votes = Counter(tokens[j] for j in range(n) if may[n - 1, j] and scores[n - 1, j] == max(row))
    right = {token for token, count in votes.items() if count == max(votes.values())}
    if max(row) == 0:
        return right, "no match"
    return right, "a tie" if len(right) > 1 else "one follower" if len(votes) == 1 else "one most frequent"


@pytest.mark.parametrize("mask", ["strict", "causal", "none"])
@pytest.mark.parametrize("name", MATCHES)
def test_lookups_agree_with_the_brute_force_on_every_sequence_up_to_length_5(name: str, mask: str) -> None:
    match, identity = MATCHES[name], np.array([[Fraction(i == j) for j in range(3)] for i in range(3)], dtype=object)
    rule = Lookup(match, mask)  # type: ignore[arg-type]
    kinds = set()
    for n in range(1, 6):
        for tokens in product(TOKENS, repeat=n):
            wanted = rule(tokens)
            assert (set(wanted.right), wanted.kind) == brute_force(tokens, match, mask, identity), tokens
            kinds.add(wanted.kind)
    assert {"a tie", "one follower"} <= kinds
    assert ("nothing to look at" in kinds) == (mask == "strict")


def test_lookups_by_similarity() -> None:
    gram = np.array([[1, Fraction(4, 5), 0], [Fraction(4, 5), 1, 0], [0, 0, 1]], dtype=object)
    alike = {one: {other: Fraction(gram[i, j]) for j, other in enumerate(TOKENS)} for i, one in enumerate(TOKENS)}
    rule = Lookup(((0, 1),), "strict", alike)
    for n in range(1, 6):
        for tokens in product(TOKENS, repeat=n):
            wanted = rule(tokens)
            assert (set(wanted.right), wanted.kind) == brute_force(tokens, ((0, 1),), "strict", gram), tokens
    assert rule(("a", "c", "b")).right == {"c"}  # b is like a, which c followed
    assert "the one most similar to it" in rule.statement


def test_the_rules_of_the_examples() -> None:
    for name, match in MATCHES.items():
        rule = xf.load(name).rule
        assert (rule.match, rule.mask, rule.similarity) == (match, "strict", None)  # type: ignore[union-attr]
        assert xf.load(name).changed(mask="causal").rule == Lookup(match, "causal")
    similar = xf.load("similar").rule
    assert similar is not None
    assert similar.similarity is not None
    assert similar.similarity["cat"]["kitten"] == Fraction(4, 5)
    assert similar.similarity["sat"]["ran"] == Fraction(3, 5)
    assert similar.similarity["cat"]["car"] == 0


def test_what_the_slides_and_the_issue_name() -> None:
    rule = Lookup()
    assert rule(tuple("!abacb")) == Demand(frozenset("a"), "one follower")
    assert rule(tuple("abaca")) == Demand(frozenset("bc"), "a tie")
    assert rule(tuple("ababaca")) == Demand(frozenset("b"), "one most frequent")
    assert rule(tuple("abbc")) == Demand(frozenset("b"), "no match")
    assert rule(("a",)) == Demand(frozenset(), "nothing to look at")


def test_ways_to_demand() -> None:
    tokens = ("a", "b")
    assert demand(lambda t: "c", tokens) == Demand(frozenset("c"))
    assert demand(lambda t: {"c", "a"}, tokens).right == {"a", "c"}
    assert demand(lambda t: ["c"], tokens).right == {"c"}
    assert demand(lambda t: ("c", "b"), tokens).right == {"c", "b"}
    assert demand(lambda t: {"c": Fraction(1, 2), "a": Fraction(1, 2), "b": Fraction(0)}, tokens).right == {"a", "c"}
    assert demand(lambda t: Demand(frozenset("b"), "odd"), tokens).kind == "odd"


@pytest.mark.parametrize("nonsense", [None, 3, [], [1], set(), ("a", 2), {}])
def test_a_rule_that_demands_nothing_sensible_is_told(nonsense: object) -> None:
    with pytest.raises(ValueError, match=r"^the rule says .* of a b: it must name a token, or several any of which is right$"):
        demand(lambda t: nonsense, ("a", "b"))


def test_statements() -> None:
    def last_again(tokens: tuple[str, ...]) -> str:
        """the last token again

        and more"""
        return tokens[-1]

    assert statement(last_again) == "the last token again"
    assert statement(lambda tokens: "a") == "what <lambda> demands"
    assert statement(Lookup()).startswith("the token that most often followed the last token earlier; ")
    assert "the last token so far" in statement(Lookup(mask="causal"))
    assert "most of this holds" in statement(Lookup(((0, 1), (1, 2))))


def test_sorted_continuations() -> None:
    rule = Sorted(3, "ABC")
    for prompt in product("ABC", repeat=3):
        right = sorted(prompt)
        for n in range(3):
            assert rule((*prompt, *right[:n])).right == {right[n]}
    assert statement(rule) == "the first 3 tokens again, sorted"
