"""Many sequences at once: certified passes in floats, whose rows are those of all sequences, each with a radius of its own.

What goes row by row is that of every certified pass in floats (docs/certified.md, Lemmas 4 to 30); attention alone knows which rows
belong to a sequence, and has a lemma of its own (Lemma 31), which is less sharp and much faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.certified import bounds, perceptron, together
from exactformer.certified.arithmetic import CertifiedArithmetic
from exactformer.certified.ball import FLOAT, Ball, Gained, outwards, row_norms
from exactformer.certified.capping import Cap
from exactformer.certified.constants import near
from exactformer.certified.normalising import rms_parts
from exactformer.certified.products import gained_of, in_floats, product
from exactformer.certified.rotating import rotate_floats
from exactformer.certified.store import Store
from exactformer.certified.together import Rows
from exactformer.model import AttentionWeights, Config, MlpWeights, Model
from exactformer.model.arithmetics.roles import Values
from exactformer.model.cache import Cache
from exactformer.model.sight import Sight

_TERMS = 512  # of a product that are summed at once


class Prefixes(Cache):
    """Keys and values of many sequences of one length. `ids` are their tokens, [sequences, T]."""

    ids: Any
    held: dict[str, tuple[Rows, Rows]]

    def __init__(self) -> None:
        super().__init__()
        self.ids = np.zeros((1, 0), dtype=np.intp)

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])

    def begin(self, model: Model, ops: Values) -> Prefixes:
        result = Prefixes()
        result.__dict__.update(super().begin(model, ops).__dict__, ids=self.ids)
        return result

    def finish(self, extended: Cache, ids: Any = ()) -> None:
        self.__dict__.update(vars(extended), ids=np.concatenate([extended.ids, ids], axis=1))

    def branched(self, parents: Any) -> Prefixes:
        """The same sequences, each as often as it stands in `parents`."""
        result = Prefixes()
        held = {name: (k.of(parents), v.of(parents)) for name, (k, v) in self.held.items()}
        result.__dict__.update(vars(self), ids=self.ids[parents], held=held)
        return result


class Kept(Exception):
    """All keys and values of a pass are kept, and nothing else was asked for."""

    def __init__(self, cache: Cache) -> None:
        super().__init__()
        self.cache = cache


class Looked(Exception):
    """The weights of a block are there, [sequences, heads, T, S]: nothing else was asked for."""

    def __init__(self, cache: Cache | None, pattern: Ball) -> None:
        super().__init__()
        self.cache, self.pattern = cache, pattern


class BatchArithmetic(CertifiedArithmetic):
    """Unless `asked`, a pass ends with the keys and values of the last block, and raises `Kept`."""

    many = True

    def __init__(self, store: Store, sequences: int, asked: bool = True) -> None:
        super().__init__(store, (FLOAT,))
        self.sequences, self.asked = sequences, asked

    def embed(self, table: Any, rows: Any) -> Ball:
        """Rows of tokens, sequence after sequence; or of positions, which all sequences share."""
        vector = self.store.vector(table)
        mid = vector.floats[np.ravel(rows)]
        rounded = bounds.UNIT * row_norms(mid) if table.dtype == object else np.zeros(len(mid))  # Lemma 19
        return Ball(mid, FLOAT, outwards(rounded))

    def add(self, x: Ball, y: Ball) -> Ball:
        if len(y) < len(x):
            times = len(x) // len(y)
            y = Ball(np.tile(y.mid, (times, 1)), FLOAT, np.tile(y.radius, times))
        return super().add(x, y)

    @bounds.MAY_BE_INFINITE
    def linear(self, x: Ball, weight: Any, bias: Any | None) -> Ball:
        """Of the logits: one radius for every entry of a row (Lemma 18, with the largest column)."""
        matrix = self.store.matrix(weight)
        mid, terms = in_floats(x.mid, matrix, _TERMS)
        size, column = row_norms(x.mid), matrix.largest_column(None)
        radius = size * (bounds.gamma(terms) * column + matrix.dense_slack)
        if bias is not None:
            vector = self.store.vector(bias)
            mid += vector.floats
            radius = radius + bounds.UNIT * (size * column * (1 + 2.0**-20) + 3 * vector.largest)
        gained = x.gained or Gained(None, np.zeros(len(x)), x.radius)
        radius = radius + gained.outer * column
        if gained.gain is not None:
            radius = radius + gained.inner * matrix.largest_column(gained.gain)
        return Ball(mid, FLOAT, np.broadcast_to(outwards(radius)[:, None], mid.shape))

    @bounds.MAY_BE_INFINITE
    def attention(
        self, x: Ball, weights: AttentionWeights, config: Config, block: int, name: str, cache: Cache | None = None
    ) -> dict[str, Any]:
        q, k, v = self._queries_keys(x, weights, config, block, name, cache)
        if not self.asked and block == config.blocks - 1 and cache is not None:
            raise Kept(cache)
        mid, radius = together.attend(q, k, v, *_scoring(config, block))
        z = Ball(_side_by_side(mid), FLOAT, outwards(row_norms(np.moveaxis(radius, 1, -1)).ravel()))
        matrix, bias = self.store.output(weights.W_O), self.store.some_vector(weights.b_O)
        out, rounding = product(z, matrix, bias, block=_TERMS)
        return {f"{name}.out": Ball(out, FLOAT, outwards(matrix.norm() * z.radius + rounding))}

    def _queries_keys(
        self, x: Ball, weights: AttentionWeights, config: Config, block: int, name: str, cache: Cache | None
    ) -> tuple[Rows, Rows, Rows]:
        """Queries of the new positions; keys and values of all, which the cache keeps."""
        start = 0 if cache is None else cache.length
        q, k, v = self._rows(x, weights)
        if weights.q_norm is not None and weights.k_norm is not None:
            q, k = (self._normed(rows, norm.w, config) for rows, norm in ((q, weights.q_norm), (k, weights.k_norm)))
        if (turns := self._turns(config.rotary_at(block))) is not None:
            table = turns.table.at(FLOAT, start, start + q.mid.shape[2])
            q, k = (_turned(rotate_floats(rows.mid, table, turns.pairs), rows) for rows in (q, k))
        if cache is not None:
            if start:
                k, v = (old.joined(new) for old, new in zip(cache.held[name], (k, v), strict=True))
            cache.held[name] = (k, v)
        return q, k, v

    def _rows(self, x: Ball, weights: AttentionWeights) -> list[Rows]:
        """Queries, keys and values, [sequences, heads, T, width] each."""
        matrix = self.store.projections(weights.W_Q, weights.W_K, weights.W_V)
        mid, rounding = product(x, matrix, None, block=_TERMS)
        gained, end, parts = gained_of(x), 0, []
        for piece, letter in enumerate("QKV"):
            array, bias = getattr(weights, f"W_{letter}"), self.store.some_vector(getattr(weights, f"b_{letter}"))
            heads, _, width = array.shape
            begin, end = end, end + heads * width
            part, rest = mid[:, begin:end], rounding + matrix.frobenius * gained.outer
            if bias is not None:
                part = part + bias.floats.reshape(-1)
                rest = rest + bounds.UNIT * (row_norms(part) + 2 * row_norms(bias.floats.reshape(-1)))
            each = outwards(np.outer(gained.inner, matrix.head_norms(piece, heads, gained.gain)) + rest[:, None])
            rows = self._by_head(part.reshape(len(x), heads, width))
            parts.append(Rows(rows, row_norms(rows), self._by_head(each)))
        return parts

    def _by_head(self, rows: Any) -> Any:
        """[sequences · T, heads, …] → [sequences, heads, T, …]"""
        return np.ascontiguousarray(np.moveaxis(rows.reshape(self.sequences, -1, *rows.shape[1:]), 2, 1))

    def _normed(self, rows: Rows, w: Any, config: Config) -> Rows:
        """RMSNorm of every head: Lemmas 20 and 22 for each by itself."""
        assert config.epsilon is not None
        gain, shape = self.store.gain(w, config.norm_unit), rows.mid.shape
        flat = Ball(rows.mid.reshape(-1, shape[-1]), FLOAT, rows.radius.ravel())
        mid, moved, rounding, outer = rms_parts(flat, gain, config.epsilon.fraction)
        radius = outwards(gain.largest * (moved + rounding) + outer)
        return Rows(mid.reshape(shape), row_norms(mid).reshape(shape[:-1]), radius.reshape(shape[:-1]))

    @bounds.MAY_BE_INFINITE
    def mlp(self, x: Ball, weights: MlpWeights, config: Config, name: str) -> dict[str, Any]:
        """Lemmas 17 and 28, with all units as steep as any."""
        assert config.activation is not None
        second, second_bias = self.store.matrix(weights.W_out), self.store.some_vector(weights.b_out)
        if config.mlp_kind == "gated":
            first, bias = self.store.beside(weights.W_gate, weights.W_in), self.store.biases(weights.b_gate, weights.b_in)
            out = perceptron.gated(x, first, second, bias, second_bias, config.activation, False, _TERMS)[-1]
        else:
            first, bias = self.store.matrix(weights.W_in), self.store.some_vector(weights.b_in)
            out = perceptron.plain(x, first, second, bias, second_bias, config.activation, False, _TERMS)[-1]
        return {f"{name}.out": out}


class Looking(BatchArithmetic):
    """A pass that ends with the weights of one block, and raises `Looked`."""

    def __init__(self, store: Store, sequences: int, block: int) -> None:
        super().__init__(store, sequences)
        self.block = block

    def attention(
        self, x: Ball, weights: AttentionWeights, config: Config, block: int, name: str, cache: Cache | None = None
    ) -> dict[str, Any]:
        if block < self.block:
            return super().attention(x, weights, config, block, name, cache)
        q, k, _ = self._queries_keys(x, weights, config, block, name, cache)
        shares = together.softmax(q, k, *_scoring(config, block))
        raise Looked(cache, Ball(shares.weights, FLOAT, together.weight_radii(shares)))


def _scoring(config: Config, block: int) -> tuple[Sight, float, Cap | None]:
    """What is seen, the factor of the scores, and their cap."""
    factor, cap = config.scale_at(block), config.score_cap
    number = near(factor, "the factor of the scores") if factor != 0 else 0.0
    return config.sight_at(block), number, None if cap is None else Cap(cap)


def _turned(mid: Any, before: Rows) -> Rows:
    """Lemma 23: no row becomes longer, but for rounding."""
    size = before.size * (1 + bounds.FLOAT_TURN) * bounds.UP
    return Rows(mid, size, outwards(before.radius + bounds.FLOAT_TURN * before.size))


def _side_by_side(z: Any) -> Any:
    """[sequences, heads, T, width] → [sequences · T, heads · width]"""
    sequences, heads, length, width = z.shape
    return np.ascontiguousarray(np.moveaxis(z, 1, 2)).reshape(sequences * length, heads * width)
