"""Claims about patterns: in every sequence, how much weight a head puts on the token before, on itself, on the first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from exactformer.messages import quoted
from exactformer.model import Config
from exactformer.numbers import Exact, exact
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Tokens
from exactformer.proofs.report import PROVED, REFUTED, UNDECIDED

_CLAIM = re.compile(r"\s*([0-9]{1,6})\.([0-9]{1,6})\s+(previous|itself|first|([0-9]{1,4})\s+back)\s*(>=|<=|≥|≤)\s*(\S+)\s*")


@dataclass(frozen=True)
class PatternClaim:
    """A head puts at least (or at most) so much weight on one place, wherever there is such a place."""

    block: int
    head: int
    back: int | None  # how far back; None: the first position
    at_least: bool
    bound: Exact

    @classmethod
    def read(cls, text: str, config: Config) -> PatternClaim:
        """
        >>> from exactformer.worksheets import load
        >>> str(PatternClaim.read("0.0 previous >= 0.99", load("induction").model.config))
        'head 0 of block 0 puts at least 99/100 on the token 1 back'
        """
        found = _CLAIM.fullmatch(text)
        if found is None:
            ways = "write 0.0 previous >= 0.99; instead of previous: itself, first, 2 back; instead of >=: <="
            raise RunError(f"--pattern: {quoted(text)} is not a claim about a pattern: {ways}")
        block, head = int(found[1]), int(found[2])
        if block >= config.blocks or head >= config.heads:
            raise RunError(f"--pattern: there is no head {block}.{head}: the model has {config.blocks} blocks of {config.heads}")
        back = {"previous": 1, "itself": 0, "first": None}.get(found[3], int(found[4] or 0))
        try:
            return cls(block, head, back, found[5] in (">=", "≥"), exact(found[6]))
        except ValueError as error:
            raise RunError(f"--pattern: {error}") from None

    def __str__(self) -> str:
        place = "the first token" if self.back is None else "its own token" if not self.back else f"the token {self.back} back"
        return f"head {self.head} of block {self.block} puts {'at least' if self.at_least else 'at most'} {self.bound} on {place}"

    @property
    def side(self) -> int:
        """A claim `at most` is one of −weights: at least −bound."""
        return 1 if self.at_least else -1

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The floats next to the bound of these, below and above; weights are from 0 to 1, whatever the bound is."""
        bound = self.side * min(max(self.bound.fraction, Fraction(-1)), Fraction(2))
        near = float(bound)
        return near if near <= bound else math.nextafter(near, -math.inf), near if near >= bound else math.nextafter(near, math.inf)

    def nearness(self, low: str, high: str) -> Fraction:
        """Of a weight between two decimals: the less it is, the nearer to the bound or beyond it."""
        return Fraction(low) if self.at_least else -Fraction(high)

    def sources(self, length: int, config: Config) -> Iterator[tuple[int, int]]:
        """The places (i, j) that it speaks of: position i sees j there."""
        sight = config.sight_at(self.block)
        for i in range(length):
            j = 0 if self.back is None else i - self.back
            if j >= 0 and sight.sees(i, j):
                yield i, j


@dataclass(frozen=True)
class Unproved:
    """A sequence of which a claim is not proved, and the weight that refutes it, or is nearest to the bound."""

    tokens: Tokens
    verdict: str  # refuted or undecided
    weight: tuple[int, str, str] | None = None  # the position and two decimals around it, where it is known


@dataclass
class PatternReport:
    """What was shown of all sequences up to a length."""

    claim: PatternClaim
    length: int
    sequences: int  # of all lengths up to it
    passes: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((PROVED, REFUTED, UNDECIDED), 0))  # of the passes
    nearest: tuple[Tokens, int, str, str] | None = None  # tokens, position, and ends of the weight that is nearest to the bound
    failures: tuple[Unproved, ...] = ()

    @property
    def verdict(self) -> str:
        return next((name for name in (REFUTED, UNDECIDED) if self.counts[name]), PROVED)
