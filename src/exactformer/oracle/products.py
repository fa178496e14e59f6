"""The operations with products of several arrays: matmul, rotary embedding, attention."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from exactformer.messages import quoted
from exactformer.oracle import formulas, sides
from exactformer.oracle.checks import broadcast, cut, entrywise, formats
from exactformer.oracle.formats import OracleError
from exactformer.oracle.taking import integers, real, taken
from exactformer.oracle.truth import Block, Operation, Part, Truth

MATMUL = Operation("matmul", formulas.matmul, columns=True)
ROTARY = Operation("rotary", formulas.rotation)
ROTARY_BY_POSITION = Operation("rotary", formulas.turned)
ATTENTION = Operation("attention", formulas.attention, sides.of_attention, columns=True)
_LARGE = 2**18  # entries of a block whose rows share a matrix


def classes(x: Any) -> Any:
    """Infinities and NaN as they are, other numbers by their sign: products and sums of these are infinite or NaN as those of x are."""
    return np.where(np.isfinite(x), np.sign(x), x)


def finite(x: Any) -> Any:
    return np.where(np.isfinite(x), x, 0.0)


def matmul(a: Any, b: Any, bias: Any = None, dtype: Any = None, alpha: Any = 1, beta: Any = 1) -> Truth:
    """α a b + β bias, with the batches and vectors of NumPy's matmul.

    >>> matmul(np.float16([[2048, 1]]), np.float16([[1], [1]])).rounded()  # 2049 lies half-way between two float16
    array([[2048.]], dtype=float16)
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
        given = classes(x) @ classes(w) * float(np.sign(factor)) if not (np.isfinite(x).all() and np.isfinite(w).all()) else None
        if given is not None or (added is not None and not np.isfinite(added).all()):
            given = (0.0 if given is None else given) + (0.0 if added is None else classes(added) * float(np.sign(share)))
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
        blocks.extend(Block(start + block.start, block.rows, block.parts) for block in cut(m, n, parts, _LARGE))
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
    """Pairs of the last axis, turned: (x₁ cos − x₂ sin, x₂ cos + x₁ sin). Pairs are `halves` (i, i + r/2) or `neighbours` (2i, 2i + 1) of the
    first r = `width` entries; the others stay. Either cos and sin are given, one for each pair ([…, T, r/2]), or whole `positions` of the
    last axis but one: then the angles are the real numbers position · base^(−2i/r).

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
        position, pair = spread(np.broadcast_to(places[..., None], pairs_shape), 0.0), spread(np.arange(half, dtype=np.float64), 0.0)
        parts = (array, partner, position, pair, max(r, 1), angle_base)
        return entrywise(ROTARY_BY_POSITION, formats(dtype, ("x", form)), array.shape, parts, (array, np.zeros(array.shape, dtype=bool)))
    (c, c_form), (s, s_form) = taken(cos, "cos"), taken(sin, "sin")
    c, s = (spread(broadcast(v, pairs_shape, name), rest) for v, name, rest in ((c, "cos", 1.0), (s, "sin", 0.0)))
    with np.errstate(invalid="ignore"):
        given = classes(array) * classes(c) + classes(partner) * classes(s)
    everything = tuple(map(finite, (array, partner, c, s)))
    form = formats(dtype, ("x", form), ("cos", c_form), ("sin", s_form))
    return entrywise(ROTARY, form, array.shape, everything, (given, ~np.isfinite(given)))


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

    mask: True where a key is seen, or numbers that are added. causal: the query t sees the keys up to t + offset. scale: 1/√d unless
    given. softcap c: c tanh(s/c). empty: `nan` or `zero`, what a query gives that sees nothing.

    >>> q = np.float32([[1, 0], [0, 1]])
    >>> attention(q, q, q, causal=True).rounded()
    array([[1.        , 0.        ], [0.33023846, 0.6697615 ]], dtype=float32)
    """
    arrays, forms = zip(*(taken(x, name) for x, name in ((q, "q"), (k, "k"), (v, "v"))), strict=True)
    if any(x.ndim < 2 for x in arrays):
        raise OracleError("q", "k and v have the axes [..., heads, positions, entries]")
    query, key, value = arrays
    (t, d), (s, e) = query.shape[-2:], value.shape[-2:]
    if key.shape[-2:] != (s, d):
        raise OracleError("k", f"has the shape {key.shape}; q and v ask for [..., {s}, {d}]")
    batch = query.shape[:-2]
    shared = _shared(batch, key.shape[:-2], "k"), _shared(batch, value.shape[:-2], "v")
    if empty not in ("nan", "zero"):
        raise OracleError("empty", f"{quoted(empty)} is neither nan nor zero")
    factor: Any = _default_scale(d) if scale is None else real(scale, "scale")
    cap = None if softcap is None else real(softcap, "softcap")
    if cap is not None and cap <= 0:
        raise OracleError("softcap", "is not positive")
    form = formats(dtype, *zip(("q", "k", "v"), forms, strict=True))
    seen, added = _mask(mask, (*batch, t, s))
    sight = np.ones((t, s), dtype=bool) if not causal else np.arange(s) <= np.arange(t)[:, None] + _whole(offset)
    sign = 1.0 if callable(factor) else float(np.sign(factor))
    blocks, given, any_given = [], np.zeros((int(np.prod(batch)) * t, e)), np.zeros((int(np.prod(batch)) * t, e), dtype=bool)
    for n, place in enumerate(np.ndindex(batch)):
        qh, kh, vh = query[place], key[shared[0](place)], value[shared[1](place)]
        ah = None if added is None else added[place]
        visible, nan = _sight(qh, kh, sight & seen[place], ah, sign, cap)
        here = slice(n * t, (n + 1) * t)
        with np.errstate(invalid="ignore"):
            result = visible.astype(np.float64) @ classes(vh) if not np.isfinite(vh).all() else np.zeros((t, e))
        result = np.where(visible.any(axis=-1, keepdims=True), result, np.nan if empty == "nan" else 0.0)
        given[here] = np.where(nan, np.nan, result)
        any_given[here] = ~np.isfinite(given[here]) | ~visible.any(axis=-1, keepdims=True)
        parts = (
            Part(finite(qh)),
            Part(finite(kh), rows=False),
            Part(finite(vh), rows=False, columns=True),
            Part(visible),
            Part(None if ah is None else finite(ah)),
            Part(factor, rows=False),
            Part(cap, rows=False),
        )
        blocks.extend(Block(n * t + b.start, b.rows, b.parts) for b in cut(t, s, parts, _LARGE))
    if not any_given.any():
        given = any_given = None  # type: ignore[assignment]
    return Truth(ATTENTION, form, (*batch, t, e), len(batch) + 2, e, tuple(blocks) if e else (), given, any_given)


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
    array = np.from_dlpack(mask) if not isinstance(mask, np.ndarray) and "bool" in str(getattr(mask, "dtype", "")) else mask
    if isinstance(array, np.ndarray) and array.dtype == bool:
        return broadcast(array, shape, "mask"), None
    return np.broadcast_to(True, shape), broadcast(taken(mask, "mask")[0], shape, "mask")


def _sight(q: Any, k: Any, seen: Any, added: Any, sign: float, cap: Fraction | None) -> tuple[Any, Any]:
    """Which keys have a weight that is not 0, and which rows are NaN: those with a score that is +∞ or NaN."""
    special = np.zeros(seen.shape)
    with np.errstate(invalid="ignore"):
        if not (np.isfinite(q).all() and np.isfinite(k).all()):
            scores = classes(q) @ classes(k).T * sign
            special = np.where(np.isfinite(scores), 0.0, scores)
            if cap is not None and np.isinf(special).any():
                raise OracleError("softcap", "of infinite scores is not supported")
        if added is not None:
            special = special + np.where(np.isfinite(added), 0.0, added)
    nan = ((np.isnan(special) | (special == np.inf)) & seen).any(axis=-1, keepdims=True)
    return seen & (special != -np.inf), nan
