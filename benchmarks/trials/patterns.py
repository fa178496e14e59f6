"""Theorems about patterns, tried on models drawn at random, against Arb, sequence by sequence.

Of each model some heads and places are drawn. The least weight (or the greatest) is taken from Arb, and claims are made just below
it and just above it, by as little as 10^−40; the same claims are made of another head, and of another place.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb, fmpq

from benchmarks.result import Progress, Result, Table
from benchmarks.trials.batches import LENGTH, drawn_model
from benchmarks.trials.drawn import drawn
from exactformer.model import Config, Model, Step
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.forward import through
from exactformer.numbers import exact
from exactformer.numbers.digits import ball_fractions
from exactformer.numbers.enclosure import precision
from exactformer.proofs.attending import prove_pattern
from exactformer.proofs.patterns import PatternClaim
from exactformer.proofs.report import PROVED, REFUTED, UNDECIDED

NUMBER = 72
_BASES = 8  # places of heads, of each model
_BITS = 400
_FARTHEST, _NEAREST = 2, 40  # thresholds are 10^−k away from the true weight
_PLACES = (0, 1, 2, None)


@dataclass(frozen=True)
class Tried:
    """One model: claims and how they were judged, and what was false."""

    claims: int
    counts: dict[str, int]
    near: int  # of the claims, those that are nearer to the truth than 10^−12
    decided_near: int
    failed: tuple[str, ...] = ()


def patterns(model: Model) -> list[dict[str, Any]]:
    """By Arb: the pattern of each block, [heads, T, T], for every sequence of up to LENGTH tokens; whole ones hold the others."""
    found, balls = [], ArbArithmetic(_BITS)
    for n in range(LENGTH if model.config.mask == "causal" else 1, LENGTH + 1):
        for tokens in product(range(len(model.config.vocabulary)), repeat=n):
            held: dict[str, Any] = {}

            def note(step: Step, held: dict[str, Any] = held) -> Any:
                if step.name.endswith(".attn.pattern"):
                    held[step.name] = step.values
                return step.values

            through(model, list(tokens), balls, range(model.config.blocks), note=note)
            found.append(held)
    return found


def weights(held: list[dict[str, Any]], claim: PatternClaim, config: Config) -> list[arb]:
    """All weights that a claim speaks of."""
    name = f"blocks.{claim.block}.attn.pattern"
    found = []
    for each in held:
        pattern = each[name][claim.head]
        found += [pattern[i, j] for i, j in claim.sources(len(pattern), config)]
    return found


def truth(found: list[arb], claim: PatternClaim) -> bool | None:
    """Does the claim hold of all of them? None where balls cannot tell."""
    with precision(_BITS):
        bound = arb(fmpq(claim.bound.fraction.numerator, claim.bound.fraction.denominator))
        if all(w >= bound if claim.at_least else w <= bound for w in found):
            return True
        return False if any(w < bound if claim.at_least else w > bound for w in found) else None


def claims(rng: random.Random, model: Model, held: list[dict[str, Any]]) -> Iterator[tuple[PatternClaim, Fraction]]:
    """Claims near the truth, with how near the first of them are; and the same of other heads and places."""
    config = model.config
    for _ in range(_BASES):
        base = PatternClaim(
            rng.randrange(config.blocks), rng.randrange(config.heads), rng.choice(_PLACES), rng.random() < 0.5, exact(0)
        )
        found = [ball_fractions(weight.mid()).low for weight in weights(held, base, config)]
        if not found:
            continue
        worst, gap = (min if base.at_least else max)(found), Fraction(1, 10 ** rng.randint(_FARTHEST, _NEAREST))
        for side in (-1, 1):
            near = replace(base, bound=exact(worst + side * gap))
            yield near, gap
            yield replace(near, back=rng.choice(_PLACES)), Fraction(1)
            yield replace(near, block=rng.randrange(config.blocks), head=rng.randrange(config.heads)), Fraction(1)


def tried(rng: random.Random) -> Tried:
    model = drawn_model(rng, near_tie=False)
    held, counts, failed, near, decided = patterns(model), Counter[str](), list[str](), 0, 0
    for claim, gap in claims(rng, model, held):
        verdict = prove_pattern(model, claim, LENGTH, workers=1, alone=("arb",)).verdict
        true = truth(weights(held, claim, model.config), claim)
        counts[verdict] += 1
        if gap < Fraction(1, 10**12):
            near, decided = near + 1, decided + (verdict in (PROVED, REFUTED))
        if (verdict == PROVED and true is not True) or (verdict == REFUTED and true is not False):
            failed.append(f"{claim}: {verdict}, by Arb {true}")
        if verdict not in (PROVED, REFUTED) and gap > Fraction(1, 10**12) and true is not None and gap < 1:
            failed.append(f"{claim}: {verdict}, though the weights are {float(gap):.0e} away")
    return Tried(sum(counts.values()), dict(counts), near, decided, tuple(failed))


def trials(number: int, seed: int = 0, workers: int | None = 1) -> Iterator[Tried]:
    return (Tried(**found) for found in drawn(tried, "model", number, seed, workers))


def run(progress: Progress) -> Result:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for n, result in enumerate(trials(NUMBER, workers=None), 1):
        counts["models"] += 1
        counts["claims"] += result.claims
        for verdict in (PROVED, REFUTED, UNDECIDED):
            counts[f"of them, {verdict}"] += result.counts.get(verdict, 0)
        counts["claims nearer to the truth than 10^−12"] += result.near
        counts["of these, decided"] += result.decided_near
        failed += result.failed
        if n % 4 == 0:
            progress(f"{n} of {NUMBER} models, {counts['claims']:,} claims, {len(failed)} failed")
    told = (
        f"{NUMBER:,} models drawn at random: one block or two, with and without norms, MLPs, masks and windows, and every sequence "
        f"of up to {LENGTH} of three or four tokens. Arb ({_BITS} bits) has the least or the greatest weight of a head; claims are "
        f"made below and above it, 10^−{_FARTHEST} to 10^−{_NEAREST} away, and the same of other heads and places. "
        "What is proved or refuted must be so by Arb. What floats leave open, balls of 128 bits decide, or nothing does."
    )
    rows = tuple((name, f"{number:,}") for name, number in counts.items())
    parts = (told, Table(("", "number"), rows), f"{len(failed)} claims were judged wrongly.")
    return Result("trials_patterns", "Theorems about patterns", parts, {"counts": counts, "failed": failed})
