"""Theorems about patterns: in every sequence, how much weight a head puts on the token before, on itself, on the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb

from exactformer.arithmetics import arithmetic, kind
from exactformer.messages import quoted
from exactformer.model import Config, Model, Step
from exactformer.model.forward import through
from exactformer.numbers import Exact, Number, Undecided, exact
from exactformer.numbers.digits import ball_bounds
from exactformer.numbers.enclosure import ball
from exactformer.numbers.order import compare
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Tokens
from exactformer.proofs.fingerprint import model_fingerprint
from exactformer.proofs.runner import run

_CLAIM = re.compile(r"\s*([0-9]{1,6})\.([0-9]{1,6})\s+(previous|itself|first|([0-9]{1,4})\s+back)\s*(>=|<=|≥|≤)\s*(\S+)\s*")
_MOST = 1_000_000  # sequences that are looked at, one pass each
_BITS, _DIGITS = 128, 12


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

    def sources(self, length: int, config: Config) -> Iterator[tuple[int, int]]:
        """The places (i, j) that it speaks of: position i sees j there."""
        sight = config.sight_at(self.block)
        for i in range(length):
            j = 0 if self.back is None else i - self.back
            if j >= 0 and sight.sees(i, j):
                yield i, j


@dataclass(frozen=True)
class PatternCase:
    """One sequence, looked at by balls, and where they leave something open by exact numbers."""

    model: Model
    claim: PatternClaim

    def __call__(self, ids: list[int]) -> dict[str, Any]:
        """JSON: the verdict; the position where the weight is nearest to the bound, or beyond it; and the weight there."""
        names = [name for name in ("arb", "exact") if kind(name).takes(self.model.config)]
        found = self._judged(ids, names[0])
        return self._judged(ids, names[1]) if found["verdict"] == "undecided" and len(names) > 1 else found

    def _judged(self, ids: list[int], name: str) -> dict[str, Any]:
        kept: list[Any] = []

        def note(step: Step) -> Any:
            if step.name == f"blocks.{self.claim.block}.attn.pattern":
                kept.append(step.values[self.claim.head])  # [T, T]
            return step.values

        through(self.model, ids, arithmetic(name), range(self.claim.block + 1), note=note)
        places = [(i, kept[0][i, j]) for i, j in self.claim.sources(len(ids), self.model.config)]
        verdicts = [self._holds(weight) for _, weight in places]
        whole = "refuted" if False in verdicts else "undecided" if None in verdicts else "proved"
        if not places:
            return {"verdict": whole, "position": None, "low": None, "high": None}
        position, weight = min(places, key=lambda place: self._room(place[1]))
        low, high = ball_bounds(_ball(weight), _DIGITS)
        return {"verdict": whole, "position": position, "low": low, "high": high}

    def _holds(self, weight: Any) -> bool | None:
        if isinstance(weight, arb):
            bound = ball(self.claim.bound, _BITS)
            more, less = (weight >= bound, weight < bound) if self.claim.at_least else (weight <= bound, weight > bound)
            return True if more else False if less else None
        try:
            sign = compare(weight, self.claim.bound)
        except Undecided:
            return None
        return sign >= 0 if self.claim.at_least else sign <= 0

    def _room(self, weight: Any) -> float:
        """How far it is from the bound, nearly: which place is told, and no proof."""
        return float(_ball(weight).mid()) * (1 if self.claim.at_least else -1)


def _ball(weight: Any) -> arb:
    return ball(weight, _BITS) if isinstance(weight, Number) else weight  # type: ignore[arg-type]


@dataclass
class PatternReport:
    """What was shown of all sequences up to a length."""

    claim: PatternClaim
    length: int
    sequences: int  # of all lengths up to it
    passes: int = 0
    counts: dict[str, int] | None = None
    nearest: tuple[Tokens, int, str, str] | None = None  # tokens, position, and ends of the weight that is nearest to the bound
    failures: tuple[Tokens, ...] = ()

    @property
    def verdict(self) -> str:
        assert self.counts is not None
        return next((name for name in ("refuted", "undecided") if self.counts[name]), "proved")


def prove_pattern(
    model: Model, claim: PatternClaim, length: int, workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PatternReport:  # fmt: skip
    """The claim for every sequence up to a length. Under a mask, a sequence holds the patterns of all that it begins with.

    >>> from exactformer.worksheets import load
    >>> model = load("induction").model
    >>> report = prove_pattern(model, PatternClaim.read("0.0 previous >= 0.99", model.config), 2, workers=1)
    >>> report.verdict, report.sequences, report.passes
    ('proved', 20, 16)
    """
    config = model.config
    if config.length is not None and length > config.length:
        raise RunError(f"{length} positions are needed, the model has {config.length}")
    tokens = range(len(config.vocabulary))
    lengths = range(length if config.keeps_past else 1, length + 1)
    passes, sequences = (sum(len(tokens) ** n for n in some) for some in (lengths, range(1, length + 1)))
    if passes > _MOST:
        raise RunError(f"there are {passes:,} sequences to look at; up to {_MOST:,} are: give a smaller --length")
    cases = [list(ids) for n in lengths for ids in product(tokens, repeat=n)]
    report = PatternReport(claim, length, sequences, passes, dict.fromkeys(("proved", "refuted", "undecided"), 0))
    assert report.counts is not None
    failures: list[tuple[int, Tokens]] = []
    nearest: tuple[Fraction, int] | None = None
    key = f"{model_fingerprint(model)} {claim} {length}"
    for index, said in run(PatternCase(model, claim), cases, fingerprint=key, workers=workers, progress=progress):
        report.counts[said["verdict"]] += 1
        words = tuple(config.vocabulary[i] for i in cases[index])
        if said["verdict"] != "proved":
            failures.append((index, words))
        if said["position"] is not None:
            end = Fraction(said["low"]) if claim.at_least else -Fraction(said["high"])
            if nearest is None or (end, index) < nearest:
                nearest = end, index
                report.nearest = (words[: said["position"] + 1], said["position"], said["low"], said["high"])
    report.failures = tuple(words for _, words in sorted(failures)[:10])
    return report
