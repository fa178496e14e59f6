"""Attention: every position looks at others, and takes a weighted average of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from exactformer.model.arithmetics.roles import FusedLayers
from exactformer.model.axes import DIMENSION, HEAD, HEAD_DIMENSION, KEY_HEAD
from exactformer.model.fields import Array, ConfigError, Part, along, group, one_of, positive, setting, whole
from exactformer.model.layers.norm import HeadNormWeights, head_norm
from exactformer.model.operations.activations import Cap
from exactformer.model.operations.attention import HARDMAX, MIX, SCORES, SHIFT, SOFTMAX, Erase, Hide, Scale
from exactformer.model.operations.products import MERGE, PROJECT
from exactformer.model.operations.rotation import Rotate, Share
from exactformer.model.recorder import Handle, Recorder
from exactformer.model.rotary import Rotary
from exactformer.model.sight import Mask, Sight
from exactformer.numbers import Exact, Number, Undefined, array, exact, sqrt

if TYPE_CHECKING:
    from exactformer.model.config import Config


@dataclass(frozen=True, kw_only=True)
class AttentionFields:
    dim: int
    mask: Mask  # causal: j ≤ i; strict: j < i; none
    scale: Number | Literal["none", "sqrt"]  # scores are multiplied by 1, by 1/√head_dim, or by a number, exact or a closed form
    scale_by_block: bool = setting(False, worksheet="cannot")  # are the scores of block n divided by n + 1 besides?
    heads: int = 1
    head_dim: int = 0  # 0: dim / heads
    kv_heads: int = 0  # heads of keys and values, each for several heads of queries; 0: as many as heads
    window: int = 0  # position i looks back no further than i − window + 1; 0: to the first
    full_blocks: tuple[int, ...] = ()  # blocks that the window does not hold for
    score_cap: Exact | None = None  # c: scores become c · tanh(score/c)
    late_mask: bool = setting(False, worksheet="cannot")  # a mistake: is the mask put after the softmax?
    mixed_sharing: bool = setting(False, worksheet="cannot")  # a mistake: does head h read key head h mod kv_heads?
    hard: bool = setting(False, worksheet="cannot")  # do heads look at the largest scores alone: the limit of infinite strength?
    stable: bool = setting(False, worksheet="cannot")  # is the largest score of each row subtracted before the softmax?

    def check(self) -> None:
        whole("heads", self.heads, 1)
        whole("head_dim", self.head_dim, 0)
        whole("kv_heads", self.kv_heads, 0)
        whole("window", self.window, 0)
        one_of("mask", self.mask, get_args(Mask))
        if self.head_dim == 0:
            if self.dim % self.heads:
                raise ConfigError("heads", f"{self.heads} heads do not divide the dimension {self.dim}: give head_dim as well")
            object.__setattr__(self, "head_dim", self.dim // self.heads)
        if self.kv_heads == self.heads:
            object.__setattr__(self, "kv_heads", 0)
        if self.heads % self.key_heads:
            raise ConfigError("kv_heads", f"{self.kv_heads} heads of keys do not divide the {self.heads} heads of queries")
        if not isinstance(self.scale, Number):
            one_of("scale", self.scale, ("none", "sqrt"))
        elif isinstance(self.scale, Undefined):
            raise ConfigError("scale", f"is undefined: {self.scale.why}")
        positive("score_cap", self.score_cap)
        if self.window and self.mask == "none":
            raise ConfigError("window", 'goes with a mask: mask = "causal" or "strict"')
        if self.full_blocks and not self.window:
            raise ConfigError("full_blocks", "is given, but the model has no window")

    @property
    def key_heads(self) -> int:
        return self.kv_heads or self.heads

    @property
    def scale_factor(self) -> Number:
        """The exact number that scores are multiplied by, in block 0 where that depends on the block."""
        if isinstance(self.scale, Number):
            return self.scale
        return exact(1) if self.scale == "none" else 1 / sqrt(self.head_dim)

    def scale_at(self, block: int) -> Number:
        """The same in a block.

        >>> from exactformer.model import Config
        >>> fields = {"vocabulary": ("a",), "dim": 4, "blocks": 3, "norm": "none", "mask": "causal", "scale": "sqrt"}
        >>> Config(**fields, scale_by_block=True).scale_at(2)
        exact('1/6')
        """
        return self.scale_factor / (block + 1) if self.scale_by_block else self.scale_factor

    def sight_at(self, block: int) -> Sight:
        """Which positions see which in a block."""
        return Sight(self.mask, 0 if block in self.full_blocks else self.window)

    @property
    def keeps_past(self) -> bool:
        """Do earlier positions stay as they are when tokens follow? Only then may their keys and values be kept."""
        return self.mask != "none" and not self.late_mask


_QK_NORM: dict[str, Any] = {"when": lambda c: c.qk_norm, "goes_with": "qk_norm = true"}


@dataclass(frozen=True, kw_only=True, repr=False)
class AttentionWeights(Part):
    W_Q: Array = along(HEAD, DIMENSION, HEAD_DIMENSION)
    W_K: Array = along(KEY_HEAD, DIMENSION, HEAD_DIMENSION)
    W_V: Array = along(KEY_HEAD, DIMENSION, HEAD_DIMENSION)
    W_O: Array = along(HEAD, HEAD_DIMENSION, DIMENSION, usual=lambda c: _side_by_side(c))
    b_Q: Array | None = along(HEAD, HEAD_DIMENSION, optional=True)
    b_K: Array | None = along(KEY_HEAD, HEAD_DIMENSION, optional=True)
    b_V: Array | None = along(KEY_HEAD, HEAD_DIMENSION, optional=True)
    b_O: Array | None = along(DIMENSION, optional=True)
    q_norm: HeadNormWeights | None = group(HeadNormWeights, **_QK_NORM)
    k_norm: HeadNormWeights | None = group(HeadNormWeights, **_QK_NORM)


def _side_by_side(config: Config) -> Array:
    """Without W_O, the results of the heads stand side by side in the residual stream."""
    if config.heads * config.head_dim != config.dim:
        raise ConfigError("W_O", f"is missing: {config.heads} heads of {config.head_dim} do not fill {config.dim} dimensions")
    identity = array([[int(i == j) for j in range(config.dim)] for i in range(config.dim)])
    return identity.reshape(config.heads, config.head_dim, config.dim)


def attention(p: Recorder, x: Handle, weights: AttentionWeights, block: int, name: str) -> Handle:
    """softmax(x W_Q (x W_K)ᵀ · scale) x W_V W_O, head by head, biases added where there are any."""
    p = p.within(name, "attention")
    config, factor = p.config, p.config.scale_at(block)
    if isinstance(p.ops, FusedLayers):
        p = p.given(p.ops.attention(x.value, weights, config, block, p.layer, p.cache))
    q, k, v = (
        p.do(letter.lower(), PROJECT, x, *(p.weight(f"{kind}_{letter}", getattr(weights, f"{kind}_{letter}")) for kind in "Wb"))
        for letter in "QKV"
    )  # [heads, T, head_dim], [kv_heads, T, head_dim] twice
    if weights.q_norm is not None and weights.k_norm is not None:
        q, k = head_norm(p, q, weights.q_norm, "q_norm"), head_norm(p, k, weights.k_norm, "k_norm")
    rotary = config.rotary_at(block)
    if rotary is not None and not config.late_rotary:
        q, k = (_turned(p, x, rotary, f"rot_{letter}") for letter, x in (("q", q), ("k", k)))
    k, v = p.kept(k, v)
    if config.kv_heads:
        share = Share(config.heads // config.kv_heads, config.mixed_sharing)
        k, v = p.do("shared_k", share, k), p.do("shared_v", share, v)  # [heads, T, head_dim]
    steps = ["qk"] * (factor != 1) + ["uncapped"] * (config.score_cap is not None)
    names = iter([*steps, "scores"])
    scores = p.do(next(names), SCORES, q, k)  # [heads, T, T]
    if factor != 1:
        scores = p.do(next(names), Scale(factor), scores)
    if config.score_cap is not None:
        scores = p.do(next(names), Cap(config.score_cap), scores)
    z = p.do("z", MIX, _pattern(p, scores, config.sight_at(block)), v)  # [heads, T, head_dim]
    if rotary is not None and config.late_rotary:
        z = _turned(p, z, rotary, "rot_z")
    return p.do("out", MERGE, z, p.weight("W_O", weights.W_O), p.weight("b_O", weights.b_O))  # [T, dim]


def _turned(p: Recorder, x: Handle, rotary: Rotary, name: str) -> Handle:
    """Turned by the position. That keeps lengths: where cos² + sin² = 1 is proved, it is said."""
    kept = p.ops.numbers == "exact" and rotary.keeps_lengths(p.positions)
    remarks = tuple((i, "proved: cos² + sin² = 1, so no length has changed") for i, at in enumerate(p.positions) if kept and at)
    return p.do(name, Rotate(rotary, p.positions), x, remarks=remarks)


def _pattern(p: Recorder, scores: Handle, sight: Sight) -> Handle:
    """Mask, then softmax; with the largest score of a row subtracted first, or the mask put last, where that is asked for."""
    config = p.config
    remarks = tuple((i, f"position {i} may look nowhere: its weights are zeros") for i in sight.blind(p.positions))
    if config.late_mask:
        return p.do("pattern", Erase(sight), p.do("unmasked", SOFTMAX, scores), remarks=remarks)
    rows = masked = p.do("masked", Hide(sight), scores)
    if config.stable:
        rows = p.do("shifted", SHIFT, masked)
    if config.hard:
        return p.do("pattern", HARDMAX, rows, remarks=remarks)
    if config.stable and p.agree(SOFTMAX, rows, masked):
        remarks += tuple((i, "proved: the same weights as without the shift") for i in range(len(p.positions)))
    return p.do("pattern", SOFTMAX, rows, remarks=remarks)
