"""A second forward pass for models of heads alone, written plainly: lists, loops, and whatever kind of number is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from exactformer.model import Model

Sparse = tuple[int, list[tuple[int, int, Any]]]  # columns, and (row, column, entry) of what is not 0


class PlainPass:
    """`PlainPass(model)(tokens)["blocks.0.attn.pattern"][head][i][j]`, in floats; with `digits`, in that many decimal digits."""

    def __init__(self, model: Model, digits: int | None = None, rational: bool = False) -> None:
        self.config = model.config
        assert (self.config.norm, self.config.mlp, self.config.unembedding) == ("none", 0, "own")
        self.context = mpmath.MPContext()
        self.context.dps = digits or 15
        self.number: Callable[[Fraction], Any] = float
        self.exp: Callable[[Any], Any] = math.exp
        if digits is not None:
            self.number, self.exp = lambda x: self.context.mpf(x.numerator) / x.denominator, self.context.exp
        if rational:
            self.number = Fraction
        self.weights = dict(model.weights.named())
        self.scale = self.number(model.config.scale_factor.fraction)  # type: ignore[union-attr]
        self._loaded: dict[Any, Sparse] = {}

    def matrix(self, name: str, head: int | None = None) -> Sparse:
        if (name, head) not in self._loaded:
            values = self.weights[name] if head is None else self.weights[name][head]
            entries = [(i, j, self.number(x.fraction)) for i, row in enumerate(values) for j, x in enumerate(row) if x != 0]
            self._loaded[name, head] = (values.shape[1], entries)
        return self._loaded[name, head]

    def times(self, rows: list[list[Any]], matrix: Sparse) -> list[list[Any]]:
        columns, entries = matrix
        result = [[self.number(Fraction(0))] * columns for _ in rows]
        for row, out in zip(rows, result, strict=True):
            for i, j, weight in entries:
                if row[i]:
                    out[j] += row[i] * weight
        return result

    def pattern(self, scores: list[Any], i: int) -> list[Any]:
        """Weights over all positions for what position i scores with them."""
        length = len(scores)
        seen = range({"strict": i, "causal": i + 1, "none": length}[self.config.mask])
        most = max((scores[j] for j in seen), default=None)
        if self.config.hard:
            powers = {j: self.number(Fraction(scores[j] == most)) for j in seen}
        else:
            powers = {j: self.exp(scores[j] - most) for j in seen}
        normaliser = sum(powers.values())
        return [powers[j] / normaliser if j in powers else self.number(Fraction(0)) for j in range(length)]

    def probabilities(self, logits: list[Any]) -> list[Any]:
        powers = [self.exp(x - max(logits)) for x in logits]
        return [x / sum(powers) for x in powers]

    def __call__(self, tokens: Sequence[str]) -> dict[str, Any]:
        steps: dict[str, Any] = {}
        ids = [self.config.vocabulary.index(token) for token in tokens]
        one = self.number(Fraction(1))
        steps["embed"] = self.times(
            [[one if i == n else 0 * one for i in range(len(self.config.vocabulary))] for n in ids], self.matrix("W_E")
        )
        places = [[one if i == n else 0 * one for i in range(self.config.length or 0)] for n in range(len(ids))]
        steps["pos_embed"] = self.times(places, self.matrix("W_pos"))
        x = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(steps["embed"], steps["pos_embed"], strict=True)]
        for n in range(self.config.blocks):
            name = f"blocks.{n}.attn"
            for key in ("q", "k", "v", "scores", "pattern", "z"):
                steps[f"{name}.{key}"] = []
            total = [[0 * one] * self.config.dim for _ in ids]
            for h in range(self.config.heads):
                q, k, v = (self.times(x, self.matrix(f"{name}.W_{letter}", h)) for letter in "QKV")
                scores = [
                    [self.scale * sum((a * b for a, b in zip(qi, kj, strict=True) if a and b), 0 * one) for kj in k] for qi in q
                ]
                pattern = [self.pattern(row, i) for i, row in enumerate(scores)]
                z = [
                    [sum((w * vj[d] for w, vj in zip(row, v, strict=True) if w), 0 * one) for d in range(len(v[0]))]
                    for row in pattern
                ]
                for key, value in (("q", q), ("k", k), ("v", v), ("scores", scores), ("pattern", pattern), ("z", z)):
                    steps[f"{name}.{key}"].append(value)
                written = self.times(z, self.matrix(f"{name}.W_O", h))
                total = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(total, written, strict=True)]
            steps[f"{name}.out"] = total
            x = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(x, total, strict=True)]
        steps["logits"] = self.times(x, self.matrix("W_U"))
        return steps

    def winners(self, tokens: Sequence[str], tolerance: Any) -> set[str]:
        """The tokens whose last logit is the largest, or less than the tolerance below it."""
        logits = self(tokens)["logits"][-1]
        return {token for token, x in zip(self.config.vocabulary, logits, strict=True) if max(logits) - x <= tolerance}
