"""The same question answered again by the independent arithmetic `arb`: both enclosures of every logit must intersect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

from exactformer.certificates.certificate import Claim
from exactformer.certificates.preparation import Prepared
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.limbs import BITS
from exactformer.model import InputError, Model, following, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers import Undefined
from exactformer.numbers.enclosure import precision

MOST_WEIGHTS = 4_000_000  # of a model in balls, which are objects: one for each weight
_BITS = 128  # beyond those of the certified pass, to begin with
_MOST_BITS = 4096


@dataclass(frozen=True)
class Audit:
    """How many logits were compared, with how many bits, and where the two contradict each other."""

    logits: int
    bits: int
    contradictions: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.contradictions


def check_size(model: Model, name: str) -> None:
    """Refuse a model that would take days in balls."""
    weights = sum(weight.size for _, weight in model.weights.named())
    if weights > MOST_WEIGHTS:
        raise InputError(f"{name}: has {weights:,} weights; --audit computes with balls, which takes up to {MOST_WEIGHTS:,}")


def audit(
    model: Model,
    ids: Sequence[int],
    claims: Sequence[Claim],
    *,
    prepared: Prepared | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Audit:
    """Compare every logit of every position of a certified pass with its ball; and the claims, of the last positions, with both.

    `ids` are the prompt; claim n is about what follows it and the tokens of the claims before.

    >>> from exactformer.certificates.certificate import certify
    >>> from exactformer.worksheets import load
    >>> model = load("capstone").model
    >>> audit(model, [0, 1], certify(model, [0, 1]).tokens).agrees
    True
    """
    whole = [*ids, *(model.fed_back(claim.token) for claim in claims[:-1] if claim.token is not None)]
    schedule = tuple(max(limbs) for limbs in zip(*(claim.schedule for claim in claims), strict=True))

    store = Prepared.of(model, prepared).store
    certified = forward(model, whole, CertifiedArithmetic(store, schedule), following(progress)).balls()  # [T, outputs]
    bits = BITS * max(*schedule, 4) + _BITS
    while True:
        ops = ArbArithmetic(bits)
        balls = forward(model, whole, ops, following(progress))
        choices = ops.choose(balls)
        undecided = [choices[len(ids) - 1 + n].index is None for n, claim in enumerate(claims) if claim.token is not None]
        if 2 * bits > _MOST_BITS or not any(undecided):
            break
        bits *= 2
    found = [
        f"position {t}, token {i}: certified arithmetic says {certified[t, i]}, arb says {balls[t, i]}"
        for t, i in np.ndindex(*certified.shape)
        if not _meet(certified[t, i], balls[t, i])
    ]
    for n, claim in enumerate(claims):
        found += _against(claim, len(ids) - 1 + n, balls[len(ids) - 1 + n], choices[len(ids) - 1 + n])
    return Audit(certified.size, bits, tuple(found))


def _against(claim: Claim, position: int, row: Any, choice: Any) -> list[str]:
    """What is claimed of one position, and what its balls say. Equal logits are never told apart by balls."""
    found = []
    if claim.token is not None and not claim.ties and choice.index != claim.token:
        said = "decides nothing" if choice.index is None else f"says {choice.index}"
        found.append(f"position {position}: the token is claimed to be {claim.token}, arb {said}")
    with precision(_MOST_BITS):
        for bound in claim.top:
            if not _meet(_between(Fraction(bound.low), Fraction(bound.high)), row[bound.token]):
                found.append(
                    f"position {position}, token {bound.token}: claimed {bound.low} to {bound.high}, arb says {row[bound.token]}"
                )
        if claim.margin is not None and claim.runner_up is not None:
            low, high = map(Fraction, claim.margin)
            if not _meet(_between(low, high), row[claim.token] - row[claim.runner_up]):
                found.append(
                    f"position {position}: the margin is claimed to be {claim.margin[0]} to {claim.margin[1]}, arb says otherwise"
                )
    return found


def _between(low: Fraction, high: Fraction) -> arb:
    return arb(fmpq(low.numerator, low.denominator)).union(arb(fmpq(high.numerator, high.denominator)))


def _meet(x: Any, y: Any) -> bool:
    """Do two balls intersect? What is undecided contradicts nothing; what is proved to be undefined contradicts every number."""
    if isinstance(y, Undefined):
        return y.undecided
    return bool(x.overlaps(y))
