"""What a model is, apart from its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from exactformer.messages import quoted
from exactformer.numbers import Exact, Number, exact, sqrt

Norm = Literal["none", "pre", "post"]
Positions = Literal["table", "sinusoidal", "none"]
Mask = Literal["causal", "strict", "none"]
Activation = Literal["relu", "identity", "gelu", "gelu_tanh"]
Unembedding = Literal["tied", "own", "none"]


class ConfigError(ValueError):
    """A field of a configuration, or a weight, that does not fit. `field` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field, self.problem = field, problem


@dataclass(frozen=True, kw_only=True)
class Config:
    """A validated configuration.

    >>> Config(vocabulary=("a", "b"), dim=2, blocks=1, norm="none", mask="causal", scale="sqrt").scale_factor
    <1/√2>
    >>> Config(vocabulary=("a", "a"), dim=2, blocks=1, norm="none", mask="causal", scale="sqrt")
    Traceback (most recent call last):
    exactformer.model.config.ConfigError: vocabulary: has the token 'a' twice
    """

    vocabulary: tuple[str, ...]
    dim: int
    blocks: int
    norm: Norm  # none; pre: before attention and MLP; post: after each residual add
    mask: Mask  # causal: j ≤ i; strict: j < i; none
    scale: Exact | Literal["none", "sqrt"]  # scores are multiplied by 1, by 1/√head_dim, or by a number
    scale_by_block: bool = False  # are the scores of block n divided by n + 1 besides?
    heads: int = 1
    head_dim: int = 0  # 0: dim / heads
    epsilon: Exact | None = None  # of every LayerNorm; 0 is allowed
    final_norm: bool = False
    positions: Positions = "none"
    length: int | None = None  # the longest input; None: no limit
    mlp: int = 0  # width; 0: attention only
    activation: Activation | None = None
    unembedding: Unembedding = "tied"  # tied: the transposed embedding; own: W_U; none: the pass ends with the residual stream
    residual: bool = True  # is what a sub-layer computes added to the stream, or put in its place?
    late_mask: bool = False  # a mistake: is the mask applied after the softmax, so that rows no longer sum to 1?
    hard: bool = False  # do heads look at the largest scores alone, equally at equal ones: the limit of infinite strength?
    stable: bool = False  # is the largest score of each row subtracted before the softmax?

    def __post_init__(self) -> None:
        if not self.vocabulary:
            raise ConfigError("vocabulary", "is empty")
        if not isinstance(self.vocabulary, tuple):
            raise ConfigError("vocabulary", "is not a tuple of texts")
        seen: set[str] = set()
        for token in self.vocabulary:
            if not isinstance(token, str) or not token:
                raise ConfigError("vocabulary", f"{quoted(token)} is not a token: tokens are texts that are not empty")
            if token in seen:
                raise ConfigError("vocabulary", f"has the token {quoted(token)} twice")
            seen.add(token)
        for name, least in (("dim", 1), ("blocks", 0), ("heads", 1), ("head_dim", 0), ("mlp", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ConfigError(name, f"{quoted(value)} is not a whole number of at least {least}")
        if self.length is not None and (type(self.length) is not int or self.length < 0):
            raise ConfigError("length", f"{quoted(self.length)} is not a whole number of at least 0")
        for name, allowed in (("norm", Norm), ("positions", Positions), ("mask", Mask), ("unembedding", Unembedding)):
            _one_of(name, getattr(self, name), get_args(allowed))
        if self.head_dim == 0:
            if self.dim % self.heads:
                raise ConfigError("heads", f"{self.heads} heads do not divide the dimension {self.dim}: give head_dim as well")
            object.__setattr__(self, "head_dim", self.dim // self.heads)
        if not isinstance(self.scale, Exact):
            _one_of("scale", self.scale, ("none", "sqrt"))
        if self.mlp:
            _one_of("activation", self.activation, get_args(Activation))
        if self.norm == "none" and not self.final_norm:
            if self.epsilon is not None:
                raise ConfigError("epsilon", "is given, but the model has no LayerNorm")
        elif self.epsilon is None:
            raise ConfigError("epsilon", "is missing: every LayerNorm needs one (0 is allowed)")
        elif not isinstance(self.epsilon, Exact):
            raise ConfigError("epsilon", f'{self.epsilon!r} is not an exact number: write exact("1e-5")')
        elif self.epsilon < 0:
            raise ConfigError("epsilon", f"{self.epsilon} is negative")

    @property
    def scale_factor(self) -> Number:
        """The exact number that scores are multiplied by, in block 0 where that depends on the block."""
        if isinstance(self.scale, Exact):
            return self.scale
        return exact(1) if self.scale == "none" else 1 / sqrt(self.head_dim)

    def scale_at(self, step: str) -> Number:
        """The same in the block of a step, such as `blocks.2.attn.scores`.

        >>> fields = {"vocabulary": ("a",), "dim": 4, "blocks": 3, "norm": "none", "mask": "causal", "scale": "sqrt"}
        >>> Config(**fields, scale_by_block=True).scale_at("blocks.2.attn.scores")
        exact('1/6')
        """
        return self.scale_factor / (int(step.split(".")[1]) + 1) if self.scale_by_block else self.scale_factor

    @property
    def keeps_past(self) -> bool:
        """Do earlier positions stay as they are when tokens follow? Only then may their keys and values be kept."""
        return self.mask != "none" and not self.late_mask

    def sees(self, i: int, j: int) -> bool:
        """May position i attend to position j?"""
        return self.mask == "none" or j < i or (j == i and self.mask == "causal")


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(name, f"{quoted(value)} is not one of {', '.join(allowed)}")
