"""The arithmetic `certified`: arrays with one proved L2 radius a token. Lemmas are those of docs/certified.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactformer.certified import attention, bounds
from exactformer.certified.ball import FLOAT, Ball, Gained, outwards, resize, row_norms
from exactformer.certified.choosing import choose_row
from exactformer.certified.elementwise import activate, activate_float
from exactformer.certified.limbs import carry, from_integers, ulp
from exactformer.certified.normalising import layer_norm
from exactformer.certified.tracing import attention_steps, norm_steps
from exactformer.certified.weights import RATIONAL_BITS, Matrix, Store, Vector, integers, near
from exactformer.model import AttentionWeights, Choice, Config, MlpWeights, NormWeights, machine
from exactformer.model.arithmetics.roles import FusedLayers
from exactformer.model.cache import Cache
from exactformer.model.errors import InputError
from exactformer.model.fields import ConfigError
from exactformer.numbers import Number

DEFAULT_LIMBS = 8
BLOCK = 96  # terms that one product in floats sums: fewer would be slower, more would round more
FEWEST, MOST = 4, 15  # limbs
LimbSchedule = tuple[int, ...]  # the limbs of every half of a block, attention then MLP, and of what follows the blocks; 0: float64


_SOFT = "certified arithmetic has soft attention with the mask before it, and no other"


def checked(schedule: Sequence[int], length: int | None = None) -> LimbSchedule:
    """A schedule of plain integers, or one clear line."""
    if isinstance(schedule, str) or not isinstance(schedule, Sequence) or not schedule:
        raise InputError("a schedule is a tuple of limbs, and not empty")
    for n in schedule:
        if type(n) is not int or (n != FLOAT and not FEWEST <= n <= MOST):
            raise InputError(f"a schedule: {str(n)[:40]} limbs: from {FEWEST} to {MOST}, or 0 for float64")
    if length is not None and len(schedule) != length:
        raise InputError(f"a schedule of {len(schedule):,} entries: this model has {length}, two for each block and one besides")
    return tuple(schedule)


_PLAIN: dict[str, tuple[Any, ...]] = {
    "norm_kind": ("layer",), "norm_unit": (False,), "positions": ("none", "table", "sinusoidal"), "qk_norm": (False,),
    "score_cap": (None,), "mlp_kind": ("plain",), "activation": (None, "relu", "identity", "gelu", "gelu_tanh"),
}  # fmt: skip


class CertifiedArithmetic(FusedLayers):
    """Limbs by `schedule`: the last entry holds for all that comes after it.

    With `last_only`, what follows the final LayerNorm is computed for the last position alone. With `traced`, lines that the proof
    does not need are told too: means, deviations, scores and weights.
    """

    name = "certified"
    proves = True
    without = {"hard": _SOFT, "late_mask": _SOFT}  # noqa: RUF012

    def __init__(
        self, store: Store | None = None, schedule: LimbSchedule = (DEFAULT_LIMBS,), last_only: bool = False, traced: bool = False
    ) -> None:
        self.store = Store() if store is None else store
        self.schedule, self.last_only, self.traced = checked(schedule), last_only, traced

    def limbs_at(self, name: str) -> int:
        """The limbs of a step, or of a weight by the name of its step."""
        if not name.startswith("blocks."):
            return self.schedule[-1]
        block, part = name.split(".")[1:3]
        return self.schedule[min(2 * int(block) + (part in ("ln2", "mlp", "ln2_post")), len(self.schedule) - 1)]

    def begin(self) -> None:
        machine.check(blas=True)

    def check(self, config: Config) -> None:
        super().check(config)
        for field, plain in _PLAIN.items():
            if getattr(config, field) not in plain:
                raise ConfigError(field, f"{getattr(config, field)} is not yet proved by certified arithmetic: use arb or exact")
        if config.kv_heads:
            raise ConfigError("kv_heads", "shared keys are not yet proved by certified arithmetic: use arb or exact")

    # -- weights and the stream
    def constant(self, number: Number) -> Number:
        return number

    def scale(self, x: Ball, factor: Number) -> Ball:
        raise ConfigError("embedding_scale", "is not yet proved by certified arithmetic: use arb or exact")

    def cap(self, x: Ball, limit: Number) -> Ball:
        raise ConfigError("logit_cap", "is not yet proved by certified arithmetic: use arb or exact")

    def load(self, weights: Any) -> Any:
        return weights

    def embed(self, table: Any, rows: list[int]) -> Ball:
        n = max(self.schedule[0], 4)  # the first addition is exact; a block in floats rounds its sum once
        limbs, exact = self.store.vector(table).rows(n, rows)
        error = 0.0 if exact else 0.75 * ulp(n) * math.sqrt(limbs.shape[-1])  # Lemma 5
        return Ball(limbs, n, np.full(limbs.shape[1], error * bounds.UP))

    @bounds.MAY_BE_INFINITE
    def add(self, x: Ball, y: Ball) -> Ball:
        """Exact in limbs; in floats, each entry is rounded once."""
        n = min(x.n, y.n)
        x, y = resize(x, n), resize(y, n)
        if n == FLOAT:
            mid = x.mid + y.mid
            return Ball(mid, n, outwards(x.radius + y.radius + bounds.UNIT * row_norms(mid)))
        return Ball(carry(x.mid + y.mid, n), n, outwards(x.radius + y.radius))

    @bounds.MAY_BE_INFINITE
    def linear(self, x: Ball, weight: Any, bias: Any | None) -> Ball:
        """Of the logits: a radius for every entry (Lemma 18)."""
        matrix = self.store.matrix(weight)
        mid, rounding = self._product(x, matrix, None if bias is None else self.store.vector(bias), by_entry=True)
        gained = x.gained or Gained(None, np.zeros(len(x)), x.radius)
        radius = gained.outer[:, None] * matrix.column_sizes(None) + rounding
        if gained.gain is not None:
            radius = radius + gained.inner[:, None] * matrix.column_sizes(gained.gain)
        return Ball(mid, x.n, outwards(radius))

    def _product(self, x: Ball, matrix: Matrix, bias: Vector | None, by_entry: bool = False) -> tuple[Any, Any]:
        """x W + b of the midpoint, and its rounding: L2 of each row, or of every entry (Lemmas 3 and 4)."""
        if x.n == FLOAT:
            mid, terms = _in_blocks(x.mid, matrix.dense)
            sizes = row_norms(x.mid)
            if by_entry:
                rounding = bounds.gamma(terms) * sizes[:, None] * matrix.column_sizes(None)
            else:
                rounding = bounds.gamma(terms) * (np.abs(x.mid) @ matrix.row_sizes) * bounds.UP
            rounding = rounding + (sizes * matrix.dense_slack)[:, *([None] * by_entry)]
            if bias is not None:
                mid += bias.floats
                ends = np.abs(mid) + 2 * np.abs(bias.floats)
                rounding = rounding + bounds.UNIT * (ends if by_entry else row_norms(ends))
            return mid, rounding * bounds.UP
        mid = matrix.sliced.times(x.mid)
        entry = matrix.sliced.error()
        if bias is not None:
            limbs, exact = bias.limbs(x.n)
            mid += limbs.reshape(x.n, 1, -1)
            mid = carry(mid, x.n)
            entry += 0.0 if exact else 0.75
        rounding = np.full(len(x), entry * ulp(x.n) * (1.0 if by_entry else math.sqrt(matrix.outputs)))
        if matrix.slack:
            rounding = rounding + row_norms(x.midpoint()) * bounds.UP * matrix.slack
        return mid, (rounding * bounds.UP)[:, *([None] * by_entry)]

    def _reach(self, x: Ball, matrix: Matrix, piece: int = 0) -> Any:
        """How far x W may be from what its midpoint gives: Lemma 16, with γ and W as one matrix where x comes from a LayerNorm."""
        if x.gained is None:
            return matrix.norm(piece) * x.radius
        return matrix.norm(piece, x.gained.gain) * x.gained.inner + matrix.frobenius * x.gained.outer

    # -- whole layers
    @bounds.MAY_BE_INFINITE
    def layer_norm(self, x: Ball, weights: NormWeights, config: Config, name: str) -> dict[str, Any]:
        assert config.epsilon is not None
        if self.last_only and name == "ln_final":
            x = x[-1:]
        x = resize(x, self.limbs_at(name))
        out = layer_norm(x, self.store.vector(weights.w), self.store.vector(weights.b), config.epsilon.fraction)
        lines = norm_steps(x, config.epsilon.fraction, name) if self.traced else {}
        return lines | {f"{name}.out": out}

    @bounds.MAY_BE_INFINITE
    def attention(
        self, x: Ball, weights: AttentionWeights, config: Config, block: int, name: str, cache: Cache | None = None
    ) -> dict[str, Any]:
        x = _resized_gained(x, self.limbs_at(name))
        n, heads, factor, sight = x.n, config.heads, config.scale_at(block), config.sight_at(block)
        q, new_k, new_v = self._queries_keys_values(x, weights)
        k, v = (new_k, new_v) if cache is None else _extended(cache, name, new_k, new_v)
        attention.check_length(k.shape[1], k.shape[2])
        seen = sight.seen(q.shape[1], k.shape[1])
        number = near(factor, "the factor of the scores") if factor != 0 else 0.0
        if n == FLOAT:
            mixed = attention.attend_float(q.mid, k.mid, v.mid, seen, number)
        else:
            limbs, error = _constant_limbs(factor, n + 1)
            mixed = attention.attend_limbs(q.mid, k.mid, v.mid, seen, limbs, error, self.traced)
        radii = (q.radius[0], k.radius[0], v.radius[0])
        moved, score_moved = attention.reach(mixed, seen, number * (1 + 2.0**-40), q.midpoint(), k.midpoint(), v.midpoint(), radii)
        radius = outwards(moved + mixed.rounding)
        lines = attention_steps(mixed, n, number, seen, score_moved, sight, name) if self.traced else {}
        z = Ball(mixed.z, n, np.broadcast_to(radius, (heads, len(radius))))
        beside = Ball(_side_by_side(mixed.z, n), n, radius)
        matrix, bias = self.store.output(weights.W_O), None if weights.b_O is None else self.store.vector(weights.b_O)
        mid, rounding = self._product(beside, matrix, bias)
        out = Ball(mid, n, outwards(matrix.norm() * z.radius[0] + rounding))
        return lines | {f"{name}.q": q, f"{name}.k": new_k, f"{name}.v": new_v, f"{name}.z": z, f"{name}.out": out}

    def _queries_keys_values(self, x: Ball, weights: AttentionWeights) -> list[Ball]:
        """[heads, T, head_dim] each; a radius is that of a token over all heads."""
        matrix = self.store.projections(weights.W_Q, weights.W_K, weights.W_V)
        heads, _, width = weights.W_Q.shape
        mid, rounding = self._product(x, matrix, None)
        mid = mid.reshape(*mid.shape[:-1], 3, heads, width)  # [(n,) T, 3, heads, head_dim]
        parts = []
        for piece, bias in enumerate((weights.b_Q, weights.b_K, weights.b_V)):
            part = np.ascontiguousarray(np.moveaxis(mid[..., piece, :, :], -2, -3))
            radius = self._reach(x, matrix, piece) + rounding
            if bias is not None:
                part, added = _with_bias(part, self.store.vector(bias), x.n)
                radius = radius + added
            parts.append(Ball(part, x.n, np.broadcast_to(outwards(radius), (heads, len(radius)))))
        return parts

    @bounds.MAY_BE_INFINITE
    def mlp(self, x: Ball, weights: MlpWeights, config: Config, name: str) -> dict[str, Any]:
        assert config.activation is not None
        x = _resized_gained(x, self.limbs_at(name))
        first, second = self.store.matrix(weights.W_in), self.store.matrix(weights.W_out)
        biases = [None if b is None else self.store.vector(b) for b in (weights.b_in, weights.b_out)]
        mid, pre_rounding = self._product(x, first, biases[0])
        pre = Ball(mid, x.n, outwards(self._reach(x, first) + pre_rounding))
        low, high = bounds.SLOPES[config.activation]
        steepest = max(abs(low), abs(high))
        if x.n == FLOAT:
            post_mid, entries = activate_float(mid, config.activation)
            post_rounding = row_norms(entries)
        else:
            post_mid, entry = activate(mid, config.activation)
            post_rounding = np.full(len(x), entry * ulp(x.n) * math.sqrt(first.outputs))
        post = Ball(post_mid, x.n, outwards(steepest * pre.radius + post_rounding))
        out_mid, rounding = self._product(post, second, biases[1])
        # Lemma 17: what comes in through the LayerNorm passes both matrices at once; rounding on the way passes the second
        gained = x.gained or Gained(None, x.radius, np.zeros(len(x)))
        through = steepest * first.norm(0, gained.gain) * second.norm()
        middle, half = (high + low) / 2, (high - low) / 2 * bounds.UP
        through = min(through, middle * first.norm_through(second, gained.gain) + half * first.norm(0, gained.gain) * second.norm())
        inner = steepest * (first.frobenius * gained.outer + pre_rounding) + post_rounding
        out = Ball(out_mid, x.n, outwards(through * gained.inner + second.norm() * inner + rounding))
        return {f"{name}.pre": pre, f"{name}.post": post, f"{name}.out": out}

    def softmax(self, rows: Ball) -> Ball:
        """Of logits, whose radii are those of entries."""
        return attention.softmax(rows)

    def choose(self, logits: Ball) -> list[Choice]:
        return [choose_row(logits, t) for t in range(len(logits))]

    def shown(self, value: Any) -> Any:
        return value.balls() if isinstance(value, Ball) else value


def _in_blocks(x: Any, matrix: Any) -> tuple[Any, int]:
    """x W in floats, and the number of terms in the bound of its rounding: blocks are summed one after the other (Lemma 4)."""
    total = x[:, :BLOCK] @ matrix[:BLOCK]
    for start in range(BLOCK, len(matrix), BLOCK):
        total += x[:, start : start + BLOCK] @ matrix[start : start + BLOCK]
    return total, BLOCK + -(-len(matrix) // BLOCK)


def _resized_gained(x: Ball, n: int) -> Ball:
    """A block reads its LayerNorm, which has the limbs of the block already, or the stream."""
    return x if x.n == n else resize(x, n)


def _with_bias(part: Any, bias: Vector, n: int) -> tuple[Any, Any]:
    """[heads, T, head_dim] plus b, and the rounding of a token over all heads."""
    if n == FLOAT:
        mid = part + bias.floats[:, None, :]
        ends = np.abs(mid) + 2 * np.abs(bias.floats)[:, None, :]
        return mid, bounds.UNIT * np.sqrt(np.square(ends).sum(axis=(0, 2))) * bounds.UP
    limbs, exact = bias.limbs(n)
    mid = carry(part + limbs[:, :, None, :], n)
    return mid, 0.0 if exact else 0.75 * ulp(n) * math.sqrt(limbs[0].size) * bounds.UP


def _constant_limbs(number: Number, n: int) -> tuple[Any, float]:
    """A constant in n limbs, and its error."""
    values, exact = integers(np.array([number], dtype=object))
    drop = RATIONAL_BITS - 21 * (n - 1)
    kept = (values + (1 << (drop - 1))) >> drop
    error = 0.0 if exact and not ((kept << drop) - values).any() else 0.75 * ulp(n)
    return from_integers(kept, n)[:, 0], error


def _side_by_side(z: Any, n: int) -> Any:
    """[heads, T, head_dim] → [T, heads · head_dim]"""
    moved = np.moveaxis(z, -3, -2)
    return np.ascontiguousarray(moved).reshape(*moved.shape[:-2], -1)


def _extended(cache: Cache, name: str, k: Ball, v: Ball) -> tuple[Ball, Ball]:
    """All keys and values of a layer, the new ones last, in the limbs of the new ones."""
    if cache.length:
        k, v = (_joined(_kept(old, new.n), new) for old, new in zip(cache.held[name], (k, v), strict=True))
    cache.held[name] = (k, v)
    return k, v


def _kept(x: Ball, n: int) -> Ball:
    """Keys or values in n limbs: a radius is that of a token over all heads, and so is what is added."""
    if x.n == n:
        return x
    heads = len(x)
    beside = resize(Ball(_side_by_side(x.mid, x.n), x.n, x.radius[0]), n)
    mid = np.moveaxis(beside.mid.reshape(*beside.mid.shape[:-1], heads, -1), -2, -3)
    return Ball(mid, n, np.broadcast_to(beside.radius, (heads, len(beside))))


def _joined(old: Ball, new: Ball) -> Ball:
    return Ball(np.concatenate([old.mid, new.mid], axis=-2), new.n, np.concatenate([old.radius, new.radius], axis=-1))
