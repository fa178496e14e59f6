"""Attention as it is called, and its parts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from exactformer.messages import quoted
from exactformer.oracle import formulas, sides
from exactformer.oracle.checks import broadcast, cut, formats
from exactformer.oracle.formats import OracleError
from exactformer.oracle.products import LARGE, classes, finite
from exactformer.oracle.taking import boolean, real, taken
from exactformer.oracle.truth import Block, Operation, Part, Truth

ATTENTION = Operation("attention", formulas.attention, sides.of_attention, columns=True)
SCORES = Operation("attention scores", formulas.scores, columns=True)
WEIGHTS = Operation("attention weights", formulas.weights)


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    mask: Any = None,
    causal: bool = False,
    offset: int = 0,
    scale: Any = None,
    softcap: Any = None,
    empty: str = "nan",
    dtype: Any = None,
) -> Truth:
    """softmax(cap(scale q kᵀ) + mask) v, with q [..., H, T, d], k [..., G, S, d], v [..., G, S, e] and H a multiple of G.

    mask: True where a key is seen, or numbers that are added. causal: the query t sees the keys up to t + offset. scale: 1/√d
    unless given. softcap c: c tanh(s/c). empty: `nan` or `zero`, what a query gives that sees nothing.

    >>> q = np.float32([[1, 0], [0, 1]])
    >>> attention(q, q, q, causal=True).rounded()
    array([[1.        , 0.        ],
           [0.33023846, 0.66976154]], dtype=float32)
    """
    if empty not in ("nan", "zero"):
        raise OracleError("empty", f"{quoted(empty)} is neither nan nor zero")
    _whole(offset)
    return attended(ATTENTION, q, k, v, [mask], offset if causal else None, scale, softcap, empty, dtype)


def attended(
    operation: Operation,
    q: Any,
    k: Any,
    v: Any,
    masks: list[Any],
    offset: int | None,
    scale: Any,
    softcap: Any,
    empty: str,
    dtype: Any,
) -> Truth:
    """Attention, its scores or its weights. Several masks count together."""
    arrays, forms = zip(*(taken(x, name) for x, name in ((q, "q"), (k, "k"), (v, "v"))), strict=True)
    if any(x.ndim < 2 for x in arrays):
        raise OracleError("q", "k and v have the axes [..., heads, positions, entries]")
    query, key, value = arrays
    (t, d), (s, e) = query.shape[-2:], value.shape[-2:]
    if key.shape[-2:] != (s, d):
        raise OracleError("k", f"has the shape {key.shape}; q and v ask for [..., {s}, {d}]")
    batch = query.shape[:-2]
    key_of, value_of = _shared(batch, key.shape[:-2], "k"), _shared(batch, value.shape[:-2], "v")
    factor: Any = _default_scale(d) if scale is None else real(scale, "scale")
    cap = None if softcap is None else real(softcap, "softcap")
    if cap is not None and cap <= 0:
        raise OracleError("softcap", "is not positive")
    form = formats(dtype, *zip(("q", "k", "v"), forms, strict=True))
    seen, added = np.broadcast_to(True, (*batch, t, s)), None
    for mask in masks:
        visible, bias = _mask(mask, (*batch, t, s))
        seen, added = seen & visible, bias if added is None else added if bias is None else added + bias
    if offset is not None:
        seen = seen & (np.arange(s) <= np.arange(t)[:, None] + offset)
    sign = 1.0 if callable(factor) else float(np.sign(factor))
    columns = e if operation is ATTENTION else s
    blocks: list[Block] = []
    given = np.zeros((math.prod(batch), t, columns))
    decided = np.zeros(given.shape, dtype=bool)
    for n, place in enumerate(np.ndindex(batch)):
        qh, kh, vh = query[place], key[key_of(place)], value[value_of(place)]
        ah = None if added is None else added[place]
        special = _special(qh, kh, ah, sign, cap)
        visible, nan = _sight(seen[place], special)
        none = ~visible.any(axis=-1, keepdims=True)
        score = Part(finite(qh)), Part(np.ascontiguousarray(finite(kh).T), rows=False, columns=operation is SCORES)
        rest = (
            Part(None if ah is None else finite(ah), columns=operation is SCORES),
            Part(factor, rows=False),
            Part(cap, rows=False),
        )
        if operation is SCORES:
            given[n], decided[n] = special, ~np.isfinite(special)
            parts = (*score, *rest)
        else:
            given[n] = np.where(
                nan, np.nan, np.where(none, np.nan if empty == "nan" else 0.0, _seen_values(operation, visible, vh))
            )
            decided[n] = ~np.isfinite(given[n]) | none
            values = (Part(finite(vh), rows=False, columns=True),) if operation is ATTENTION else ()
            parts = (*score, *values, Part(visible), *rest)
        blocks.extend(Block(n * t + b.start, b.rows, b.parts) for b in cut(t, s, parts, LARGE))
    flat = (given.reshape(-1, columns), decided.reshape(-1, columns)) if decided.any() else (None, None)
    return Truth(operation, form, (*batch, t, columns), len(batch) + 2, columns, tuple(blocks) if columns else (), *flat)


def _seen_values(operation: Operation, visible: Any, v: Any) -> Any:
    """Infinities and NaN of the values that are seen, or multiplied by 0; else 0."""
    if operation is not ATTENTION or np.isfinite(v).all():
        return 0.0
    with np.errstate(invalid="ignore"):
        return visible.astype(np.float64) @ classes(v)


def _default_scale(d: int) -> Any:
    root = math.isqrt(d)
    return Fraction(1, root) if root and root * root == d else lambda: 1 / arb(max(d, 1)).sqrt()


def _whole(offset: Any) -> int:
    if isinstance(offset, bool) or not isinstance(offset, int | np.integer):
        raise OracleError("offset", f"{quoted(offset)} is not a whole number")
    return int(offset)


def _shared(batch: tuple[int, ...], other: tuple[int, ...], argument: str) -> Any:
    """From a place of the queries to that of keys or values: the heads, the last axis before positions, may be fewer."""
    heads, groups = (shape[-1] if shape else 1 for shape in (batch, other))
    if len(batch) != len(other) or batch[:-1] != other[:-1] or (groups and heads % groups) or (heads and not groups):
        raise OracleError(argument, f"has the batch {other}, which does not fit {batch} of q")
    return lambda place: (*place[:-1], place[-1] // (heads // groups)) if place else ()


def _mask(mask: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Where a mask lets see, and what it adds."""
    if mask is None:
        return np.broadcast_to(True, shape), None
    visible = boolean(mask)
    if visible is not None:
        return broadcast(visible, shape, "mask"), None
    return np.broadcast_to(True, shape), broadcast(taken(mask, "mask")[0], shape, "mask")


def _special(q: Any, k: Any, added: Any, sign: float, cap: Fraction | None) -> Any:
    """The scores that are infinite or NaN; else 0."""
    special = np.zeros((len(q), len(k)))
    with np.errstate(invalid="ignore"):
        if not (np.isfinite(q).all() and np.isfinite(k).all()):
            scores = classes(q) @ classes(k).T * sign
            special = np.where(np.isfinite(scores), 0.0, scores)
            if cap is not None and np.isinf(special).any():
                raise OracleError("softcap", "of infinite scores is not supported")
        return special if added is None else special + np.where(np.isfinite(added), 0.0, added)


def _sight(seen: Any, special: Any) -> tuple[Any, Any]:
    """Which keys have a weight that is not 0, and which rows are NaN: those with a score that is +∞ or NaN."""
    nan = ((np.isnan(special) | (special == np.inf)) & seen).any(axis=-1, keepdims=True)
    return seen & (special != -np.inf), nan
