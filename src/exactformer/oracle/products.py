"""The operations with products of several arrays: matmul and rotary embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.oracle import formulas
from exactformer.oracle.checks import broadcast, cut, entrywise, formats
from exactformer.oracle.formats import OracleError
from exactformer.oracle.sides import sign
from exactformer.oracle.taking import integers, real, taken
from exactformer.oracle.truth import Block, Operation, Part, Truth

MATMUL = Operation("matmul", formulas.matmul, columns=True)
ROTARY = Operation("rotary", formulas.rotation)
ROTARY_BY_POSITION = Operation("rotary", formulas.turned)
LARGE = 2**18  # entries of a block whose rows share a matrix


def classes(x: Any) -> Any:
    """Infinities and NaN as they are, other numbers by their sign: products and sums of these are infinite or NaN alike."""
    return np.where(np.isfinite(x), np.sign(x), x)


def finite(x: Any) -> Any:
    return np.where(np.isfinite(x), x, 0.0)


def matmul(a: Any, b: Any, bias: Any = None, dtype: Any = None, alpha: Any = 1, beta: Any = 1) -> Truth:
    """α a b + β bias, with the batches and vectors of NumPy's matmul.

    >>> matmul(np.float16([[2048, 1]]), np.float16([[1], [1]])).rounded() == 2048  # 2049 lies half-way between two
    array([[ True]])
    """
    (left, form), (right, other) = taken(a, "a"), taken(b, "b")
    if not left.ndim or not right.ndim:
        raise OracleError("a" if not left.ndim else "b", "is a single number, not a matrix")
    x = left[None] if left.ndim == 1 else left
    w = right[:, None] if right.ndim == 1 else right
    if x.shape[-1] != w.shape[-2]:
        raise OracleError("b", f"has {w.shape[-2]:,} rows for {x.shape[-1]:,} columns of a")
    try:
        batch = np.broadcast_shapes(x.shape[:-2], w.shape[:-2])
    except ValueError:
        raise OracleError("b", f"has the shape {right.shape}, which does not fit {left.shape}") from None
    m, n = x.shape[-2], w.shape[-1]
    shape = (*batch, *(() if left.ndim == 1 else (m,)), *(() if right.ndim == 1 else (n,)))
    named, added = [("a", form), ("b", other)], None
    if bias is not None:
        added, bias_form = taken(bias, "bias")
        named.append(("bias", bias_form))
        added = broadcast(added, shape, "bias").reshape(*batch, m, n)
    factor, share = real(alpha, "alpha"), real(beta, "beta")
    form = formats(dtype, *named)
    x, w = np.broadcast_to(x, (*batch, *x.shape[-2:])), np.broadcast_to(w, (*batch, *w.shape[-2:]))
    with np.errstate(invalid="ignore"):
        given = classes(x) @ classes(w) * sign(factor) if not (np.isfinite(x).all() and np.isfinite(w).all()) else None
        if given is not None or (added is not None and not np.isfinite(added).all()):
            given = (0.0 if given is None else given) + (0.0 if added is None else classes(added) * sign(share))
            given = np.broadcast_to(given, (*batch, m, n)).reshape(-1, n)
    blocks: list[Block] = []
    for place in np.ndindex(batch):
        parts = (
            Part(finite(x[place])),
            Part(finite(w[place]), rows=False, columns=True),
            Part(None if added is None else finite(added[place]), columns=True),
            Part(factor, rows=False),
            Part(share, rows=False),
        )
        start = len(blocks) and blocks[-1].start + blocks[-1].rows
        blocks.extend(Block(start + block.start, block.rows, block.parts) for block in cut(m, n, parts, LARGE))
    blocks = blocks if m * n else []
    decided = None if given is None else ~np.isfinite(given)
    return Truth(MATMUL, form, shape, len(shape), n, tuple(blocks), given, decided)


def rotary(
    x: Any,
    cos: Any = None,
    sin: Any = None,
    *,
    positions: Any = None,
    base: Any = 10000,
    style: str = "halves",
    width: int | None = None,
    dtype: Any = None,
) -> Truth:
    """Pairs of the last axis, turned: (x₁ cos − x₂ sin, x₂ cos + x₁ sin).

    Pairs are `halves` (i, i + r/2) or `neighbours` (2i, 2i + 1) of the first r = `width` entries; the others stay. Either cos and
    sin are given, one for each pair ([..., T, r/2]), or whole `positions` of the last axis but one: then the angles are the real
    numbers position · base^(−2i/r).

    >>> rotary(np.float32([[1, 0], [1, 0]]), positions=[0, 1]).rounded()
    array([[1.        , 0.        ], [0.5403023 , 0.84147096]], dtype=float32)
    """
    array, form = taken(x, "x")
    if style not in ("halves", "neighbours"):
        raise OracleError("style", f"{quoted(style)} is neither halves nor neighbours")
    if array.ndim < 2:
        raise OracleError("x", "has no axis of positions: [..., T, d]")
    r = array.shape[-1] if width is None else width
    if not isinstance(r, int) or isinstance(r, bool) or r % 2 or not 0 <= r <= array.shape[-1]:
        raise OracleError("width", f"{quoted(r)} is not an even number of at most {array.shape[-1]}")
    if (cos is None) != (sin is None) or (cos is None) == (positions is None):
        raise OracleError("positions", "give either positions, or cos and sin")
    half = r // 2
    first, second = (slice(0, half), slice(half, r)) if style == "halves" else (slice(0, r, 2), slice(1, r, 2))
    partner = np.zeros_like(array)
    partner[..., first], partner[..., second] = -array[..., second], array[..., first]
    pairs_shape = (*array.shape[:-1], half)

    def spread(values: Any, besides: float) -> Any:
        """One number a pair, for both of its entries; and for those that stay."""
        out = np.full(array.shape, besides)
        out[..., first] = out[..., second] = values
        return out

    if positions is not None:
        if not np.isfinite(array).all():
            raise OracleError("x", "has entries that are not finite: give cos and sin")
        places = broadcast(integers(positions, "positions"), array.shape[:-1], "positions")
        angle_base = real(base, "base")
        if angle_base <= 0:
            raise OracleError("base", "is not positive")
        if (np.abs(places) >= 2**52).any():
            raise OracleError("positions", "are beyond 2^52")
        position, pair = (
            spread(np.broadcast_to(places[..., None], pairs_shape), 0.0),
            spread(np.arange(half, dtype=np.float64), 0.0),
        )
        parts = (array, partner, position, pair, max(r, 1), angle_base)
        return entrywise(
            ROTARY_BY_POSITION, formats(dtype, ("x", form)), array.shape, parts, (array, np.zeros(array.shape, dtype=bool))
        )
    (c, c_form), (s, s_form) = taken(cos, "cos"), taken(sin, "sin")
    c, s = (spread(broadcast(v, pairs_shape, name), rest) for v, name, rest in ((c, "cos", 1.0), (s, "sin", 0.0)))
    with np.errstate(invalid="ignore"):
        given = classes(array) * classes(c) + classes(partner) * classes(s)
    everything = tuple(map(finite, (array, partner, c, s)))
    form = formats(dtype, ("x", form), ("cos", c_form), ("sin", s_form))
    return entrywise(ROTARY, form, array.shape, everything, (given, ~np.isfinite(given)))
