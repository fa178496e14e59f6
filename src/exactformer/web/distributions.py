"""What temperature, top-k and top-p make of a row of logits: probabilities, and what is cut off, proved or said undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from exactformer.decoding import DecodingError, Strategy
from exactformer.decoding.row import Row
from exactformer.decoding.rows import row_of
from exactformer.decoding.selection import in_order, largest, nucleus
from exactformer.numbers import Undecided, UndefinedValue
from exactformer.numbers.field import ONE
from exactformer.web import document
from exactformer.web.sources import RequestError

_COOLEST, _HOTTEST = Fraction(1, 100), Fraction(100)
MOST = 100  # tokens that an answer holds
_FEW = 60  # tokens whose probabilities are written as closed forms


def strategy_of(temperature: str, top_k: int | None, top_p: str | None) -> Strategy:
    """
    >>> print(strategy_of("0.7", 3, "9/10"))
    temperature 7/10, top-k 3, top-p 9/10
    >>> strategy_of("1e-9", None, None)
    Traceback (most recent call last):
    exactformer.decoding.strategy.DecodingError: temperature: 1e-9 is neither 0 nor from 1/100 to 100
    """
    strategy = Strategy(temperature, top_k, top_p)
    if not (strategy.greedy or _COOLEST <= strategy.temperature.fraction <= _HOTTEST):
        raise DecodingError(f"temperature: {temperature} is neither 0 nor from 1/100 to 100")
    return strategy


def distribution(logits: Any, strategy: Strategy, name: Callable[[int], str], position: int) -> dict[str, Any]:
    """The largest logits of a position with their probabilities, of which those that are cut off have none."""
    if not 0 <= position < len(logits):
        raise RequestError(f"position: {position} is none of 0 to {len(logits) - 1}")
    try:
        row = row_of(logits[position], ONE if strategy.greedy else strategy.temperature)
    except UndefinedValue as undefined:
        raise RequestError(f"position {position}: {undefined}") from None
    kept, why = _kept(row, strategy)
    order, ordered = _order(row)
    write = document.written if row.size <= _FEW else document.brief
    inside = set(kept)
    return {
        "position": position,
        "strategy": str(strategy),
        "size": row.size,
        "kept": None if why else len(kept),
        "proved": row.proved and not why,
        "ordered": ordered and row.proved,
        "why": why,
        "tokens": [
            {
                "id": i,
                "token": name(i),
                "logit": write(row.logits[i]),  # type: ignore[attr-defined]
                "probability": write(row.probability(i, kept)) if i in inside else None,
            }
            for i in order
        ],
    }


def _kept(row: Row, strategy: Strategy) -> tuple[Sequence[int], str]:
    """The tokens that may be drawn, and what is undecided about that: then all are here that the cuts before it left."""
    kept: Sequence[int] = range(row.size)
    cut = "the largest logit"
    try:
        if strategy.greedy:
            return largest(row, kept, 1), ""
        if strategy.top_k is not None:
            cut = f"top-k {strategy.top_k}"
            kept = largest(row, kept, strategy.top_k)
        if strategy.top_p is not None:
            cut = f"top-p {strategy.top_p}"
            kept = nucleus(row, kept, strategy.top_p.fraction)
    except Undecided as undecided:
        return kept, f"{cut}: {undecided}"
    return kept, ""


def _order(row: Row) -> tuple[list[int], bool]:
    """The largest, in order; and whether that order is proved."""
    hinted = row.hinted(range(row.size))[:MOST]
    try:
        first = largest(row, range(row.size), len(hinted))
        return in_order(row, first), True
    except Undecided:
        return hinted, False
