"""Weights of Llama's relatives with statistics like those of trained models, in bfloat16, one tensor after the other.

Nothing is learned. What is imitated: spectra with a few large values above a bulk; a few coordinates of the stream that layers
write much more to, and that norms damp; gains that are spread; large biases of keys where rotation is slow (Qwen 2); scores of
some spread; updates that are a share of the stream, which falls with depth. Scales are set layer by layer with a plain pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import llama_peer
from benchmarks.llama_peer import Settings

Pieces = Iterator[tuple[str, tuple[int, ...], Iterator[Any]]]  # name, shape, and the values, some rows at a time
_ROWS = 4096  # of the embedding at a time; the plain pass reads tokens of the first ones
_READ = 32  # tokens
_SPIKES = 12  # large singular values of a matrix
_HIGHEST = {"q": 3.3, "k": 3.3, "v": 3.3, "o": 1.2, "gate": 1.3, "up": 1.3, "down": 1.4}  # the largest, over the edge of the bulk
_OUTLIERS, _OUTLIER = 4, 4.0  # coordinates of the stream, and how much more is written to them: they reach 10 to 15 medians
_DAMPED = 6.0  # by which gains are smaller there
_SPREAD = 1.2  # standard deviation of a head's scores over the keys
_FIRST, _LAST = 0.5, 0.2  # what a half of a layer adds, as a share of the stream
_GAIN = 4.0  # of the final norm: logits are sharp


def bfloat16(values: Any) -> Any:
    """The nearest numbers that bfloat16 has, ties to even, as float32."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).astype(np.uint32).view(np.float32)


def pieces(c: Settings, seed: int = 0) -> Pieces:
    """All tensors of a model, as its config.json has it; at most one layer of them is in memory."""
    random, dim = np.random.default_rng(seed), c["hidden_size"]
    outliers, widths = random.choice(dim, _OUTLIERS, replace=False), np.exp(0.2 * random.standard_normal(dim)).astype(np.float32)
    kept: list[Any] = []

    def rows() -> Iterator[Any]:
        for start in range(0, c["vocab_size"], _ROWS):
            size = (min(_ROWS, c["vocab_size"] - start), dim)
            part = bfloat16(random.standard_normal(size, dtype=np.float32) * np.float32(0.05) * widths)
            if not start:
                kept.append(part[random.choice(len(part), min(_READ, len(part)), replace=False)].astype(np.float64))
            yield part

    yield "model.embed_tokens.weight", (c["vocab_size"], dim), rows()
    layers = _Layers(c, random, outliers, llama_peer.embedded(c, kept[0]))
    for n in range(c["num_hidden_layers"]):
        yield from ((name, values.shape, iter([values])) for name, values in layers.next(n).items())
    yield "model.norm.weight", (dim,), iter([layers.gain(_GAIN)])


class _Layers:
    """Layer after layer, with what a plain pass has reached before it."""

    def __init__(self, c: Settings, random: np.random.Generator, outliers: Any, x: Any) -> None:
        self.c, self.random, self.outliers, self.x = c, random, outliers, x
        self.usual = np.setdiff1d(np.arange(c["hidden_size"]), outliers)

    def next(self, n: int) -> dict[str, Any]:
        c, depth, at = self.c, n / max(self.c["num_hidden_layers"] - 1, 1), f"model.layers.{n}."
        share, attn, mlp = _FIRST * (_LAST / _FIRST) ** depth, f"{at}self_attn.", f"{at}mlp."
        w = self._matrices(attn, mlp)
        w |= {f"{at}input_layernorm.weight": self.gain(0.3 + 0.7 * depth)}
        second = "pre_feedforward_layernorm" if llama_peer.is_gemma(c) else "post_attention_layernorm"
        w |= {f"{at}{second}.weight": self.gain(0.4 + 0.8 * depth)}
        self._spread_scores(w, attn, llama_peer.norm(c, self.x, w[f"{at}input_layernorm.weight"]))
        if c["model_type"] == "qwen2":
            w |= self._biases(attn)
        self._add(w, llama_peer.attention, at, f"{attn}o_proj.weight", f"{at}post_attention_layernorm.weight", share)
        h = llama_peer.before_mlp(c, w, at, self.x)
        for name, size in (("gate", 1.3), ("up", 1.0)):
            _scale(w, f"{mlp}{name}_proj.weight", size / (h @ w[f"{mlp}{name}_proj.weight"].T).std())
        self._add(w, llama_peer.mlp, at, f"{mlp}down_proj.weight", f"{at}post_feedforward_layernorm.weight", share)
        return w

    def gain(self, level: float) -> Any:
        """Of a norm before a half, or the last: spread, and small where the stream is large."""
        values = level * np.exp(0.35 * self.random.standard_normal(self.c["hidden_size"]))
        values[self.outliers] /= _DAMPED
        return bfloat16(values - llama_peer.is_gemma(self.c))

    def _matrices(self, attn: str, mlp: str) -> dict[str, Any]:
        c = self.c
        dim, wide, narrow = c["hidden_size"], *(c[f"num_{name}_heads"] * c["head_dim"] for name in ("attention", "key_value"))
        sizes = {
            "q": (wide, dim), "k": (narrow, dim), "v": (narrow, dim), "o": (dim, wide),
            "gate": (c["intermediate_size"], dim), "up": (c["intermediate_size"], dim), "down": (dim, c["intermediate_size"]),
        }  # fmt: skip
        w = {
            f"{attn if len(name) == 1 else mlp}{name}_proj.weight": self._matrix(*size, _HIGHEST[name])
            for name, size in sizes.items()
        }
        for name in (f"{attn}o_proj.weight", f"{mlp}down_proj.weight"):
            w[name][self.outliers] *= np.float32(_OUTLIER)
        if c["model_type"] in ("qwen3", "gemma3_text"):
            for name in "qk":
                values = np.exp(0.4 * self.random.standard_normal(c["head_dim"])) - llama_peer.is_gemma(c)
                w[f"{attn}{name}_norm.weight"] = bfloat16(values)
        return w

    def _matrix(self, rows: int, columns: int, highest: float) -> Any:
        """[rows, columns], with singular values of up to 1 in the bulk, and some above; some units take more part in these."""
        edge = rows**0.5 + columns**0.5
        left, right = (np.exp(0.5 * self.random.standard_normal((size, _SPIKES))) for size in (rows, columns))
        left, right = (each * self.random.standard_normal(each.shape) for each in (left, right))
        left, right = (each / np.linalg.norm(each, axis=0) for each in (left, right))
        left *= highest * np.arange(1, _SPIKES + 1) ** -0.7
        bulk = self.random.standard_normal((rows, columns), dtype=np.float32) / np.float32(edge)
        return bulk + left.astype(np.float32) @ right.T.astype(np.float32)

    def _biases(self, attn: str) -> dict[str, Any]:
        c = self.c
        slow = np.tile(np.exp(np.linspace(-3, 1.5, c["head_dim"] // 2)), 2)
        sizes = {"q": ("attention", 1.0 * slow), "k": ("key_value", 6.0 * slow), "v": ("key_value", 0.05)}
        found = {}
        for name, (kind, size) in sizes.items():
            values = self.random.standard_normal((c[f"num_{kind}_heads"], c["head_dim"])) * size
            found[f"{attn}{name}_proj.bias"] = bfloat16(values.reshape(-1))
        return found

    def _spread_scores(self, w: dict[str, Any], attn: str, h: Any) -> None:
        c = self.c
        found = llama_peer.scores(c, w, attn.removesuffix("self_attn."), h).std(axis=-1).mean(axis=-1)  # [kv heads, group]
        if f"{attn}q_norm.weight" in w:
            unit = llama_peer.is_gemma(c)
            w[f"{attn}q_norm.weight"] = bfloat16((w[f"{attn}q_norm.weight"] + unit) * (_SPREAD / found.mean()) - unit)
        else:
            wanted = _SPREAD * np.exp(0.4 * self.random.standard_normal(found.shape)) / found
            of_keys = np.sqrt(np.exp(np.log(wanted).mean(axis=1)))  # half of it is the keys', on average
            _scale(w, f"{attn}k_proj.weight", np.repeat(of_keys, c["head_dim"])[:, None])
            _scale(w, f"{attn}q_proj.weight", np.repeat((wanted / of_keys[:, None]).reshape(-1), c["head_dim"])[:, None])
        for name in "qkv":
            _scale(w, f"{attn}{name}_proj.weight", 1.0)

    def _add(self, w: dict[str, Any], half: Any, at: str, matrix: str, post: str, share: float) -> None:
        """What a half adds to the stream, after the matrix, or the norm that follows it, is made to add the share."""
        if llama_peer.is_gemma(self.c):
            _scale(w, matrix, 1.0)
            w[post] = np.zeros(self.c["hidden_size"], dtype=np.float32)
        size, added = (np.sqrt(np.square(y[:, self.usual]).mean()) for y in (self.x, half(self.c, w, at, self.x)))
        factor = share * size / added
        if llama_peer.is_gemma(self.c):
            w[post] = bfloat16(factor * np.exp(0.2 * self.random.standard_normal(self.c["hidden_size"])) - 1)
        else:
            _scale(w, matrix, factor)
        self.x = self.x + half(self.c, w, at, self.x)


def _scale(w: dict[str, Any], name: str, factor: Any) -> None:
    w[name] = bfloat16(w[name] * np.asarray(factor, dtype=np.float32))
