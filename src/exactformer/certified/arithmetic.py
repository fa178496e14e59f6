"""The arithmetic `certified`: arrays with one proved L2 radius a token. Lemmas are those of docs/certified.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exactformer.certified import attention, bounds, moving, perceptron
from exactformer.certified.ball import FLOAT, Ball, Gained, outwards, resize, row_norms
from exactformer.certified.capping import Cap
from exactformer.certified.choosing import choose_row
from exactformer.certified.constants import constant_limbs, near
from exactformer.certified.directions import Paths
from exactformer.certified.head_norms import head_norm
from exactformer.certified.limbs import FEWEST, MOST, carry, multiply, ulp
from exactformer.certified.moving import Moves
from exactformer.certified.normalising import layer_norm, rms_norm
from exactformer.certified.products import gained_of, product, reach
from exactformer.certified.store import Store
from exactformer.certified.tracing import attention_steps, norm_steps, rms_steps
from exactformer.certified.turning import Rows, Turning
from exactformer.certified.weights import Vector
from exactformer.model import AttentionWeights, Choice, Config, MlpWeights, NormWeights, machine
from exactformer.model.arithmetics.roles import FusedLayers
from exactformer.model.cache import Cache
from exactformer.model.errors import InputError
from exactformer.model.rotary import Rotary
from exactformer.numbers import Number

DEFAULT_LIMBS = 8
_MOST_READ = 1 << 36  # products that it may take to follow errors in the directions in which they are read
LimbSchedule = tuple[int, ...]  # the limbs of every half of a block, attention then MLP, and of what follows the blocks; 0: float64


_USUAL = "certified arithmetic turns queries and keys, and shares them one after the other: mistakes go with other arithmetics"
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


class CertifiedArithmetic(FusedLayers):
    """Limbs by `schedule`: the last entry holds for all that comes after it.

    With `last_only`, what follows the final LayerNorm is computed for the last position alone. With `traced`, lines that the proof
    does not need are shown too: means, deviations, scores and weights.
    """

    name = "certified"
    numbers = "balls"
    proves = True
    without = {"hard": _SOFT, "late_mask": _SOFT, "late_rotary": _USUAL, "mixed_sharing": _USUAL}  # noqa: RUF012

    def __init__(
        self, store: Store | None = None, schedule: LimbSchedule = (DEFAULT_LIMBS,), last_only: bool = False, traced: bool = False
    ) -> None:
        self.store = Store() if store is None else store
        self.schedule, self.last_only, self.traced = checked(schedule), last_only, traced

    @classmethod
    def takes(cls, config: Config) -> bool:
        """A LayerNorm has to have an ε: its bounds divide by the root of it."""
        return super().takes(config) and (config.epsilon is None or config.epsilon.value > 0)

    def limbs_at(self, name: str) -> int:
        """The limbs of a step, or of a weight by the name of its step."""
        if not name.startswith("blocks."):
            return self.schedule[-1]
        block, part = name.split(".")[1:3]
        return self.schedule[min(2 * int(block) + (part in ("ln2", "mlp", "ln2_post")), len(self.schedule) - 1)]

    def begin(self) -> None:
        machine.check(blas=True)

    # -- weights and the stream
    def constant(self, number: Number) -> Number:
        return number

    @bounds.MAY_BE_INFINITE
    def scale(self, x: Ball, factor: Number) -> Ball:
        """All entries times one number."""
        number = near(factor, "a factor") if factor != 0 else 0.0
        if x.n == FLOAT:
            mid = x.mid * number
            return Ball(mid, x.n, outwards(abs(number) * x.radius + 3 * bounds.UNIT * row_norms(mid)))
        limbs, error = constant_limbs(factor, x.n + 1)
        mid = multiply(x.mid, limbs[:, None, None], x.n)
        rounding = (
            math.sqrt(x.shape[-1]) * bounds.product(x.n, x.n + 1, x.n) * ulp(x.n) + error * row_norms(x.midpoint()) * bounds.UP
        )
        return Ball(mid, x.n, outwards(abs(number) * x.radius + rounding))

    def cap(self, x: Ball, limit: Number) -> Ball:
        return Cap(limit).ball(x)

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

    _product = staticmethod(product)
    _reach = staticmethod(reach)

    # -- whole layers
    @bounds.MAY_BE_INFINITE
    def layer_norm(self, x: Ball, weights: NormWeights, config: Config, name: str) -> dict[str, Any]:
        assert config.epsilon is not None
        if self.last_only and name == "ln_final":
            x = x[-1:]
        x = resize(x, self.limbs_at(name))
        gain, epsilon = self.store.gain(weights.w, config.norm_unit), config.epsilon.fraction
        rms = config.norm_kind == "rms"
        out = rms_norm(x, gain, epsilon) if rms else layer_norm(x, gain, self.store.vector(weights.b), epsilon)
        lines = (rms_steps if rms else norm_steps)(x, epsilon, name) if self.traced else {}
        return lines | {f"{name}.out": out}

    @bounds.MAY_BE_INFINITE
    def attention(
        self, x: Ball, weights: AttentionWeights, config: Config, block: int, name: str, cache: Cache | None = None
    ) -> dict[str, Any]:
        x = _resized_gained(x, self.limbs_at(name))
        n, heads, factor, sight = x.n, config.heads, config.scale_at(block), config.sight_at(block)
        start, turns = (0 if cache is None else cache.length), self._turns(config.rotary_at(block))
        (q, rq), *new = self._queries_keys_values(x, weights)
        lines = {f"{name}.{letter}": ball for letter, (ball, _) in zip("qkv", ((q, rq), *new), strict=True)}
        if weights.q_norm is not None and weights.k_norm is not None:
            if self.traced and config.epsilon is not None:
                for letter, x_of_heads in (("q", q), ("k", new[0][0])):
                    lines |= rms_steps(x_of_heads, config.epsilon.fraction, f"{name}.{letter}_norm")
            q, rq = self._head_norm(q, rq, weights.q_norm.w, config)
            new[0] = self._head_norm(*new[0], weights.k_norm.w, config)
            lines |= {f"{name}.q_norm.out": q, f"{name}.k_norm.out": new[0][0]}
        if turns is not None:
            (q, rq), new[0] = (turns.turned(*rows, start) for rows in ((q, rq), new[0]))
            lines |= {f"{name}.rot_q": q, f"{name}.rot_k": new[0][0]}
        (k, rk), (v, rv) = new if cache is None else _extended(cache, name, *new)
        moving.check_length(k.shape[1], k.shape[2], heads)
        seen = sight.seen(q.shape[1], k.shape[1])
        number = near(factor, "the factor of the scores") if factor != 0 else 0.0
        cap = None if config.score_cap is None else Cap(config.score_cap)
        if n == FLOAT:
            mixed = attention.attend_float(q.mid, k.mid, v.mid, seen, number, cap)
        else:
            limbs, error = constant_limbs(factor, n + 1)
            mixed = attention.attend_limbs(q.mid, k.mid, v.mid, seen, limbs, error, self.traced, cap)
        moved, score_moved = moving.reach(
            mixed, seen, number * (1 + 2.0**-40), q.midpoint(), k.midpoint(), v.midpoint(), (rq, rk, rv),
            self._paths(x, weights, turns, range(start, start + q.shape[1])), None if cap is None else cap.near,
        )  # fmt: skip
        radius = outwards(moved + mixed.rounding)
        if self.traced and config.kv_heads:
            lines |= {f"{name}.shared_k": _for_every_head(k, heads), f"{name}.shared_v": _for_every_head(v, heads)}
        if self.traced:
            lines |= attention_steps(mixed, n, number, seen, score_moved, sight, cap is not None, name)
        z = Ball(mixed.z, n, np.broadcast_to(radius, (heads, len(radius))))
        beside = Ball(_side_by_side(mixed.z, n), n, radius)
        matrix, bias = self.store.output(weights.W_O), self.store.some_vector(weights.b_O)
        mid, rounding = self._product(beside, matrix, bias)
        return lines | {f"{name}.z": z, f"{name}.out": Ball(mid, n, outwards(matrix.norm() * radius + rounding))}

    def _turns(self, rotary: Rotary | None) -> Turning | None:
        return None if rotary is None else self.store.kept(rotary, lambda: Turning(rotary))

    def _head_norm(self, x: Ball, moves: Moves, w: Any, config: Config) -> Rows:
        assert config.epsilon is not None
        mid, moves = head_norm(x.mid, x.n, moves, self.store.gain(w, config.norm_unit), config.epsilon.fraction)
        return Ball(mid, x.n, moves.heads), moves

    def _queries_keys_values(self, x: Ball, weights: AttentionWeights) -> list[tuple[Ball, Moves]]:
        """[heads, T, head_dim] each, with the radii of single heads, and what is known of how they move."""
        matrix = self.store.projections(weights.W_Q, weights.W_K, weights.W_V)
        mid, rounding = self._product(x, matrix, None)
        gained, end, parts = gained_of(x), 0, []
        for piece, letter in enumerate("QKV"):
            array, bias = getattr(weights, f"W_{letter}"), getattr(weights, f"b_{letter}")
            heads, _, width = array.shape
            start, end = end, end + heads * width
            part = mid[..., start:end].reshape(*mid.shape[:-1], heads, width)  # [(n,) T, heads, head_dim]
            part, rest = np.ascontiguousarray(np.moveaxis(part, -2, -3)), rounding + matrix.frobenius * gained.outer
            if bias is not None:
                part, added = _with_bias(part, self.store.vector(bias), x.n)
                rest = rest + added
            whole = matrix.norm(piece, gained.gain) * gained.inner + rest
            each = matrix.head_norms(piece, heads, gained.gain)[:, None] * gained.inner + rest
            moves = Moves(outwards(whole), outwards(each), gained.inner, np.broadcast_to(outwards(rest), each.shape))
            parts.append((Ball(part, x.n, moves.heads), moves))
        return parts

    def _paths(self, x: Ball, weights: AttentionWeights, turns: Turning | None, positions: range) -> Paths | None:
        """The matrices through which errors come to queries and keys, unless it takes too long to follow each."""
        heads, _, width = weights.W_Q.shape
        if heads * len(positions) * positions.stop * width**2 > _MOST_READ:
            return None
        matrix, gain = self.store.projections(weights.W_Q, weights.W_K, weights.W_V), gained_of(x).gain
        query, key = (matrix.grams(piece, len(array), gain) for piece, array in enumerate((weights.W_Q, weights.W_K)))
        if turns is None:
            return Paths(key, query)
        here, there = turns.table.at(FLOAT, positions.start, positions.stop), turns.table.at(FLOAT, 0, positions.stop)
        return Paths(key, query, there, here, turns.pairs)

    @bounds.MAY_BE_INFINITE
    def mlp(self, x: Ball, weights: MlpWeights, config: Config, name: str) -> dict[str, Any]:
        assert config.activation is not None
        x = _resized_gained(x, self.limbs_at(name))
        second, second_bias = self.store.matrix(weights.W_out), self.store.some_vector(weights.b_out)
        if config.mlp_kind == "gated":
            both, biases = self.store.beside(weights.W_gate, weights.W_in), self.store.biases(weights.b_gate, weights.b_in)
            gate, up, post, out = perceptron.gated(x, both, second, biases, second_bias, config.activation)
            return {f"{name}.pre": gate, f"{name}.pre_linear": up, f"{name}.post": post, f"{name}.out": out}
        first, first_bias = self.store.matrix(weights.W_in), self.store.some_vector(weights.b_in)
        pre, post, out = perceptron.plain(x, first, second, first_bias, second_bias, config.activation)
        return {f"{name}.pre": pre, f"{name}.post": post, f"{name}.out": out}

    def softmax(self, rows: Ball) -> Ball:
        """Of logits, whose radii are those of entries."""
        return attention.softmax(rows)

    def choose(self, logits: Ball) -> list[Choice]:
        return [choose_row(logits, t) for t in range(len(logits))]

    def shown(self, value: Any) -> Any:
        return value.balls() if isinstance(value, Ball) else value


def _for_every_head(x: Ball, heads: int) -> Ball:
    """Keys or values [kv_heads, T, head_dim], once for each head that reads them."""
    return Ball(attention.shared(x.mid, heads, 1 if x.n else 0), x.n, attention.shared(x.radius, heads))


def _resized_gained(x: Ball, n: int) -> Ball:
    """A part reads its norm, in the limbs that it has already, or in those of the other part of a parallel block; or the stream."""
    if x.n == n or x.gained is None:
        return resize(x, n)
    still = resize(replace(x, radius=np.zeros(len(x)), gained=None), n)
    outer = outwards(x.gained.outer + still.radius)
    return Ball(still.mid, n, outwards(x.radius + still.radius), replace(x.gained, outer=outer))


def _with_bias(part: Any, bias: Vector, n: int) -> tuple[Any, Any]:
    """[heads, T, head_dim] plus b, and the rounding of a token over all heads."""
    if n == FLOAT:
        mid = part + bias.floats[:, None, :]
        ends = np.abs(mid) + 2 * np.abs(bias.floats)[:, None, :]
        return mid, bounds.UNIT * np.sqrt(np.square(ends).sum(axis=(0, 2))) * bounds.UP
    limbs, exact = bias.limbs(n)
    mid = carry(part + limbs[:, :, None, :], n)
    return mid, 0.0 if exact else 0.75 * ulp(n) * math.sqrt(limbs[0].size) * bounds.UP


def _side_by_side(z: Any, n: int) -> Any:
    """[heads, T, head_dim] → [T, heads · head_dim]"""
    moved = np.moveaxis(z, -3, -2)
    return np.ascontiguousarray(moved).reshape(*moved.shape[:-2], -1)


def _extended(cache: Cache, name: str, k: Rows, v: Rows) -> tuple[Rows, Rows]:
    """All keys and values of a layer, the new ones last, in the limbs of the new ones."""
    if cache.length:
        k, v = (_joined(_kept(old[0], old[1], new[0].n), new) for old, new in zip(cache.held[name], (k, v), strict=True))
    cache.held[name] = (k, v)
    return k, v


def _kept(x: Ball, moves: Moves, n: int) -> Rows:
    """Keys or values in n limbs, with what that costs each head added to how they move."""
    if x.n == n:
        return x, moves
    resized = resize(Ball(x.mid, x.n, np.zeros(x.shape[:-1])), n)
    moves = moves.wider(resized.radius)
    return Ball(resized.mid, n, moves.heads), moves


def _joined(old: Rows, new: Rows) -> Rows:
    moves = old[1].joined(new[1])
    return Ball(np.concatenate([old[0].mid, new[0].mid], axis=-2), new[0].n, moves.heads), moves
