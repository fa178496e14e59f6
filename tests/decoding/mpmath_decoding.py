"""Decoding once more, with mpmath at many digits and by brute force: what ours is compared with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath


def real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def by_size(logits: Sequence[Fraction]) -> list[int]:
    return sorted(range(len(logits)), key=lambda i: (-logits[i], i))


def kept_and_probabilities(
    logits: Sequence[Fraction], temperature: Fraction, top_k: int | None, top_p: Fraction | None
) -> tuple[dict[int, Any], Any]:
    """Probabilities of what is kept, by index; and how near the nucleus is to having another size."""
    order = by_size(logits)[:top_k]
    powers = {i: mpmath.exp(real(logits[i] / temperature)) for i in order}
    gap = mpmath.mpf(1)
    if top_p is not None and top_p < 1:
        whole, so_far, size = sum(powers.values()), mpmath.mpf(0), 0
        for i in order:
            so_far += powers[i]
            size += 1
            gap = min(gap, abs(so_far / whole - real(top_p)))
            if so_far / whole >= real(top_p):
                break
        order = order[:size]
    whole = sum(powers[i] for i in order)
    return {i: powers[i] / whole for i in sorted(order)}, gap


def drawn(probabilities: dict[int, Any], seed: int, place: int, bits: int = 512) -> int:
    """The first token whose cumulative sum lies above the number of a seed, which is written out again here."""
    text = "".join(hashlib.sha256(b"%d:%d:%d" % (seed, place, n)).hexdigest() for n in range(bits // 256))
    u = mpmath.mpf(int(text, 16)) / mpmath.mpf(2) ** bits
    so_far = mpmath.mpf(0)
    for i, p in sorted(probabilities.items()):
        so_far += p
        if u < so_far:
            return i
    raise AssertionError("probabilities sum to less than 1")
