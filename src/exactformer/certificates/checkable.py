"""What `exactformer_check.py`, the checker that needs Python alone, asks for: files by their hashes, ids, claims, and how many bits
to begin with. The bits are foreseen by a pass in floats with the norms that the checker uses; nothing depends on them but whether
they suffice, so nobody has to trust them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.arithmetics import arithmetic
from exactformer.certificates.certificate import Claim
from exactformer.model import BlockWeights, Model, Step, forward
from exactformer.model.layers.norm import HeadNormWeights, NormWeights

if TYPE_CHECKING:
    from exactformer.checkpoints import Origin

FORMAT = "exactformer check 1"
FEWEST, MOST = 32, 4000  # bits that the checker takes
_SPARE = 21  # bits
_SLOPE = 5 / 4  # of every activation
_ULP = 1 / 64  # of a radius by the root of the length of its row: no more is lost where rows are trimmed
_DIGITS = 5  # of a margin
_KEPT = "_sizes_for_the_checker"  # where a model keeps the sizes of its weights, which nobody can change


@dataclass(frozen=True)
class Leads:
    """After a position comes a token, which leads all others by the margin or more."""

    position: int
    token: int
    margin: str


@dataclass(frozen=True)
class Check:
    files: dict[str, str]  # SHA-256 by name
    reading: str
    ids: tuple[int, ...]
    claims: tuple[Leads, ...]
    bits: int


def check_of(model: Model, origin: Origin | None, ids: Sequence[int], claims: Sequence[Claim]) -> Check | None:
    """For tokens that were proved to follow; None where there is no folder, or nothing that the checker takes."""
    proved = [claim for claim in claims if claim.token is not None]
    leads = tuple(
        Leads(len(ids) - 1 + n, claim.token, _less(Fraction(claim.margin[0])))
        for n, claim in enumerate(proved)
        if claim.token is not None and claim.margin is not None and not claim.ties
    )
    if origin is None or not leads or model.config.outputs or (network := _network(origin)) is None:
        return None
    read = (*ids, *(claim.token for claim in proved[:-1] if claim.token is not None))
    bits = foreseen_bits(model, read, min(float(Fraction(lead.margin)) for lead in leads))
    if bits > MOST or not network.has_room(len(read), bits):
        return None
    return Check(origin.hashes, origin.reading, read, leads, bits)


def foreseen_bits(model: Model, ids: Sequence[int], margin: float) -> int:
    """How many bits the checker should begin with: those by which a radius grows, and those of the margin."""
    seen = _Seen(model, ids)
    grown = seen.growth() - math.log2(margin) + math.log2(model.config.dim) / 2 + _SPARE
    return max(FEWEST, math.ceil(grown)) if math.isfinite(grown) else MOST + 1


@lru_cache(maxsize=8)
def _network(origin: Origin) -> Any:
    """What the checker makes of this folder; None: it knows fewer kinds of configurations. Asked once, not for every prompt."""
    checker: Any = import_module("exactformer_check")
    with ExitStack() as stack:
        found = {name: stack.enter_context((origin.folder / name).open("rb")) for name in origin.files}
        try:
            return checker.network(*checker.read_model(origin.folder, found))
        except checker.Refused:
            return None


def _less(margin: Fraction) -> str:
    """A decimal of a few digits, a thousandth below or more.

    >>> _less(Fraction("0.0123456789"))
    '0.012333'
    """
    least = margin * Fraction(999, 1000)
    places = max(0, _DIGITS - 1 - math.floor(math.log10(least)))
    scaled = math.floor(least * 10**places)
    return f"{scaled // 10**places}.{scaled % 10**places:0{places}}" if places else str(scaled)


class _Seen:
    """A pass in floats, and by what factor radii grow along it. One radius a position; the largest is kept at 1."""

    def __init__(self, model: Model, ids: Sequence[int]) -> None:
        self.model, self.config, self.values = model, model.config, dict[str, Any]()
        with np.errstate(all="ignore"):
            forward(model, list(ids), arithmetic("float32"), self._note)
        self.radius, self.bits = np.ones(len(ids)), 0.0
        self.sizes: dict[str, Any] = model.__dict__.setdefault(_KEPT, {})

    def _size(self, name: str, size: Callable[[Any], Any], weights: Any) -> Any:
        """Taken once of each model, not for every prompt."""
        if name not in self.sizes:
            self.sizes[name] = size(weights)
        return self.sizes[name]

    def _note(self, step: Step) -> Any:
        if step.name.rsplit(".", 1)[-1] in ("std", "rms", "q", "k", "v", "out", "pre", "pre_linear", "post"):
            self.values[step.name] = np.asarray(step.values, dtype=np.float64)
        return step.values

    def growth(self) -> float:
        """In bits, from the embeddings to the difference of two logits."""
        weights = self.model.weights
        with np.errstate(all="ignore"):
            for n, block in enumerate(weights.blocks):
                self._block(block, f"blocks.{n}", float(self.config.scale_at(n).to_float()))
            self._keep(self._normed(self.radius, weights.ln_final, "ln_final"))
            rows = weights.W_E if weights.W_U is None else weights.W_U
            return self.bits + math.log2(self._size("W_U", _largest, rows) * math.sqrt(self.config.dim))

    def _keep(self, radius: Any) -> None:
        self.bits += math.log2(float(radius.max()))
        self.radius = radius / radius.max()

    def _block(self, block: BlockWeights, at: str, scale: float) -> None:
        config = self.config
        first = self._normed(self.radius, block.ln1, f"{at}.ln1")
        mixed = self._normed(self._attention(first, block.attn, f"{at}.attn", scale), block.ln1_post, f"{at}.ln1_post")
        after = self.radius + mixed
        if block.mlp is None:
            return self._keep(after)
        second = first if config.shared_norm else self._normed(self.radius if config.parallel else after, block.ln2, f"{at}.ln2")
        done = self._normed(self._mlp(second, block.mlp, f"{at}.mlp"), block.ln2_post, f"{at}.ln2_post")
        return self._keep(after + done)

    def _normed(self, radius: Any, weights: NormWeights | HeadNormWeights | None, name: str) -> Any:
        """Times the largest gain, over the deviation."""
        if weights is None:
            return radius
        sizes: Any = self.values.get(f"{name}.std", self.values.get(f"{name}.rms"))
        gain = self._size(name, lambda w: _largest(np.asarray(w, dtype=np.float64) + self.config.norm_unit), weights.w)
        return radius * (gain / sizes[..., 0] + _ULP * (2 * gain + 2))

    def _attention(self, radius: Any, weights: Any, at: str, scale: float) -> Any:
        q, k, v = (
            radius * self._size(f"{at}.W_{letter}", _norms, getattr(weights, f"W_{letter}"))[:, None] for letter in "QKV"
        )  # [heads, T]
        if weights.q_norm is not None:
            q, k = self._normed(q, weights.q_norm, f"{at}.q_norm"), self._normed(k, weights.k_norm, f"{at}.k_norm")
        norms = [f"{at}.{x}_norm.out" if weights.q_norm is not None and x != "v" else f"{at}.{x}" for x in "qkv"]
        sizes = [np.sqrt(np.square(self.values[name]).sum(-1)) for name in norms]
        share = self.config.heads // self.config.key_heads
        k, v, k_sizes, v_sizes = (np.repeat(np.maximum.accumulate(x, -1), share, 0) for x in (k, v, *sizes[1:]))
        if self.config.positions == "rotary":
            q, k = (x * (1 + 2 * _ULP * size / math.sqrt(self.config.head_dim)) for x, size in ((q, sizes[0]), (k, k_sizes)))
        wrong = scale * (sizes[0] * k + q * k_sizes)
        return np.sqrt(np.square(v + wrong * v_sizes).sum(0)) * self._size(f"{at}.W_O", _norm, weights.W_O)

    def _mlp(self, radius: Any, weights: Any, at: str) -> Any:
        up, out = radius * self._size(f"{at}.W_in", _norm, weights.W_in), self._size(f"{at}.W_out", _norm, weights.W_out)
        gate = np.abs(self.values[f"{at}.pre"]).max(-1)
        slope = _SLOPE + _ULP * (2 * gate + 8)  # with what is lost by rounding
        if weights.W_gate is None:
            return slope * up * out
        linear = np.abs(self.values[f"{at}.pre_linear"]).max(-1)
        return (gate * up + linear * slope * radius * self._size(f"{at}.W_gate", _norm, weights.W_gate)) * out


def _largest(weights: Any) -> float:
    return float(np.abs(weights).max())


def _norm(weights: Any) -> float:
    return float(np.sqrt(np.square(weights, dtype=np.float64).sum()))


def _norms(weights: Any) -> Any:
    """Of each head."""
    return np.sqrt(np.square(weights, dtype=np.float64).sum((1, 2)))
