"""What a theorem demands of the next token: rules on tokens alone, which know nothing of any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from exactformer.messages import quoted
from exactformer.model.sight import Mask
from exactformer.proofs.chunks import RunError

Tokens = tuple[str, ...]


@dataclass(frozen=True)
class Demand:
    """The tokens any of which is right, and the kind of case: a word for the report."""

    right: frozenset[str]
    kind: str = "demanded"


class Rule(Protocol):
    """A rule says what must follow a sequence: a token, several any of which is right, or a `Demand`."""

    def __call__(self, tokens: Tokens, /) -> Any: ...


def demand(rule: Rule, tokens: Tokens) -> Demand:
    """What the rule demands, whichever way it says so. Of shares of a mixture, the largest are demanded."""
    wanted = rule(tokens)
    if isinstance(wanted, Demand) and isinstance(wanted.right, frozenset | set) and all(isinstance(t, str) for t in wanted.right):
        return wanted
    if isinstance(wanted, str):
        return Demand(frozenset([wanted]))
    if isinstance(wanted, Mapping) and wanted and all(share == share for share in wanted.values()):  # NaN is no share
        most = max(wanted.values())
        return Demand(frozenset(token for token, share in wanted.items() if share == most))
    if isinstance(wanted, set | frozenset | list | tuple) and wanted and all(isinstance(token, str) for token in wanted):
        return Demand(frozenset(wanted))
    raise ValueError(f"the rule says {wanted!r} of {' '.join(tokens)}: it must name a token, or several any of which is right")


def statement(rule: Any) -> str:
    """The rule in words."""
    said = getattr(rule, "statement", None) or (getattr(rule, "__doc__", None) or "").strip().partition("\n")[0]
    return str(said) or f"what {getattr(rule, '__name__', type(rule).__name__)} demands"


@dataclass(frozen=True)
class Lookup:
    """Copy what stands where the past looks like the present.

    `match` lists pairs (a, b): the token a places before the last is compared with the token b places before each position that the
    last may look at. A position scores one point for each pair that agrees (or the similarity of the two tokens, where `similarity`
    gives it). The positions that score most are the matches, and the rule demands the token that stands at most of them; where
    several do equally often, any of them.

    `mask` says what the last may look at: "strict" its past, "causal" itself too. It belongs to the rule; give it the model's.

    What a head reads n places back exists from position n on. Before that, a head that must look somewhere looks at all it may see
    alike: what stands "n before" position j < n is the equal mixture of these tokens, and nothing where it may see nothing.

    >>> rule = Lookup(match=((0, 1),))
    >>> sorted(rule(tuple("!abacb")).right), rule(tuple("!abacb")).kind
    (['a'], 'one follower')
    >>> sorted(rule(tuple("abaca")).right), rule(tuple("abaca")).kind
    (['b', 'c'], 'a tie')
    """

    match: tuple[tuple[int, int], ...] = ((0, 1),)
    mask: Mask = "strict"
    similarity: Mapping[str, Mapping[str, Fraction]] | None = field(default=None, hash=False)

    @property
    def statement(self) -> str:
        earlier = "earlier" if self.mask == "strict" else "so far"
        if self.match == ((0, 1),):
            last = "the last token, or the one most similar to it," if self.similarity else "the last token"
            what = f"the token that most often followed {last} {earlier}"
        else:
            verb = "is most similar to" if self.similarity else "is"
            pairs = " and ".join(f"{_other(b)} {verb} {_back(a)}" for a, b in self.match)
            condition = pairs if len(self.match) == 1 else f"most of this holds: {pairs}"
            what = f"the token that is most frequent {earlier} where {condition}"
        return f"{what}; if several tie, any of them; if there is no such position, the most frequent token {earlier}"

    def __call__(self, tokens: Tokens) -> Demand:
        last = len(tokens) - 1
        seen = self._seen(tokens, last)
        if not seen:
            return Demand(frozenset(), "nothing to look at")
        scores = {j: self._score(tokens, last, j) for j in seen}
        best = max(scores.values())
        matches = [j for j in seen if scores[j] == best]
        counts = {token: sum(tokens[j] == token for j in matches) for token in (tokens[j] for j in matches)}
        right = frozenset(token for token, count in counts.items() if count == max(counts.values()))
        if best == 0:
            return Demand(right, "no match")
        kind = "a tie" if len(right) > 1 else "one follower" if len(counts) == 1 else "one most frequent"
        return Demand(right, kind)

    def _seen(self, tokens: Tokens, i: int) -> range:
        return range({"strict": i, "causal": i + 1, "none": len(tokens)}[self.mask])

    def _read(self, tokens: Tokens, i: int, back: int) -> dict[str, Fraction]:
        """What a head that looks `back` places back finds at position i: shares of tokens."""
        if i >= back:
            return {tokens[i - back]: Fraction(1)}
        seen = self._seen(tokens, i)
        shares: dict[str, Fraction] = {}
        for j in seen:
            shares[tokens[j]] = shares.get(tokens[j], Fraction(0)) + Fraction(1, len(seen))
        return shares

    def _score(self, tokens: Tokens, i: int, j: int) -> Fraction:
        total = Fraction(0)
        for a, b in self.match:
            for one, share in self._read(tokens, i, a).items():
                for other, part in self._read(tokens, j, b).items():
                    total += share * part * self._alike(one, other)
        return total

    def _alike(self, one: str, other: str) -> Fraction:
        return Fraction(one == other) if self.similarity is None else self.similarity[one][other]


@dataclass(frozen=True)
class Sorted:
    """The first `prompt` tokens in order: what must follow them, one by one.

    >>> sorted(Sorted(3, "ABC")(("C", "A", "B", "A")).right)
    ['B']
    """

    prompt: int
    order: Sequence[str]

    @property
    def statement(self) -> str:
        return f"the first {self.prompt} tokens again, sorted"

    def arrays(self, ids: Any, vocabulary: Tokens, outputs: Tokens | None = None) -> tuple[Any, str]:
        """All that must follow inputs [n, prompt], as ids of outputs."""
        rank = np.array([self.order.index(token) if token in self.order else -1 for token in vocabulary])
        if ids.shape[1] != self.prompt or (rank[ids] < 0).any():
            raise ValueError(f"the rule sorts {self.prompt} tokens of {' '.join(self.order)}")
        in_order = np.take_along_axis(ids, np.argsort(rank[ids], axis=1, kind="stable"), axis=1)
        return as_outputs(in_order, vocabulary, outputs, "sorted"), "sorted"

    def __call__(self, tokens: Tokens) -> Demand:
        in_order = sorted(tokens[: self.prompt], key=self.order.index)
        return Demand(frozenset([in_order[len(tokens) - self.prompt]]), "sorted")


def as_outputs(ids: Any, vocabulary: Tokens, outputs: Tokens | None, rule: str) -> Any:
    """Answers that are tokens of the input, as ids of the outputs that have their names. Without outputs these are the vocabulary.

    >>> as_outputs(np.array([[0, 1]]), ("a", "b"), ("b", "a"), "copy").tolist()
    [[1, 0]]
    """
    if outputs is None or outputs == vocabulary:
        return ids
    index = {token: n for n, token in enumerate(outputs)}
    found = np.array([index.get(token, -1) for token in vocabulary])[ids]
    if (found < 0).any():
        token = vocabulary[int(ids[found < 0][0])]
        raise RunError(f"rule {quoted(rule)}: the answer {quoted(token)} is not a token that the model says")
    return found


def _back(n: int) -> str:
    return "the last token" if n == 0 else f"the token {n} before the last"


def _other(n: int) -> str:
    return "the token there" if n == 0 else f"the token {n} before"
