"""What an arithmetic supplies, by role.

The arrays are the arithmetic's own: object arrays of numbers, float arrays, arrays with a proved radius. `Values` is what each has
to show and to decide; `Primitives` are the operations that the wiring applies one by one; `Adjoints` what the backward pass needs
besides. `FusedLayers` computes a layer as a whole where a joint bound is sharper than a chain: the wiring then only takes it down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from exactformer.model import machine
from exactformer.model.fields import ConfigError
from exactformer.numbers import Number

if TYPE_CHECKING:
    from exactformer.model.cache import Cache
    from exactformer.model.config import Config
    from exactformer.model.layers.attention import AttentionWeights
    from exactformer.model.layers.mlp import MlpWeights
    from exactformer.model.layers.norm import NormWeights
    from exactformer.model.recorder import Note
    from exactformer.model.rotary import Rotary
    from exactformer.model.sight import Sight
    from exactformer.model.step import Step

Activation = Literal["relu", "identity", "gelu", "gelu_tanh", "silu"]


@dataclass(frozen=True)
class Choice:
    """The largest of a row of logits: `index` is the winner, or None with `why` where there is none."""

    index: int | None
    proved: bool
    ties: tuple[int, ...] = ()  # others that are proved equal to the winner
    runner_up: int | None = None
    margin: Any = None  # winner minus runner-up
    why: str = ""


class Values(ABC):
    """What every arithmetic is. Shapes: x [T, dim]; q, k, v, z [heads, T, head_dim]; scores, pattern [heads, T, T]."""

    name: str
    numbers: ClassVar[Literal["exact", "balls", "floats", "none"]] = "none"  # exact or named; enclosed; rounded; only counted
    proves: ClassVar[bool] = False  # are its decisions proofs?
    stepwise: ClassVar[bool] = False  # is a pass made of single operations?
    many: ClassVar[bool] = False  # is a pass over many sequences of one length, whose rows follow one another?
    differentiates: ClassVar[bool] = False  # has it a backward pass?
    without: ClassVar[Mapping[str, str]] = {}  # fields of a configuration that it cannot do, and why

    def begin(self) -> None:
        """Asked before every pass: a machine on which nothing would be proved is refused."""
        machine.check()

    def watched(self, note: Note) -> Note:
        """The same note, whose code is anybody's: after each call it is looked whether floats are still what they were."""

        def heard(step: Step) -> Any:
            value = note(step)
            machine.glance()
            return value

        return heard

    @classmethod
    def takes(cls, config: Config) -> bool:
        """Can passes of such a model be computed?"""
        return not any(getattr(config, field) for field in cls.without)

    def check(self, config: Config) -> None:
        """Refuse a model that this arithmetic cannot compute."""
        for field, why in self.without.items():
            if getattr(config, field):
                raise ConfigError(field, why)

    @abstractmethod
    def load(self, weights: Any) -> Any:
        """Weights (exact numbers, or the floats of a checkpoint) as an array of this arithmetic."""

    @abstractmethod
    def embed(self, table: Any, rows: list[int]) -> Any: ...

    @abstractmethod
    def add(self, x: Any, y: Any) -> Any: ...

    @abstractmethod
    def constant(self, number: Number) -> Any: ...

    @abstractmethod
    def scale(self, x: Any, factor: Any) -> Any:
        """All entries times one constant."""

    @abstractmethod
    def cap(self, x: Any, limit: Number) -> Any:
        """c · tanh(x/c), entry by entry."""

    @abstractmethod
    def linear(self, x: Any, weight: Any, bias: Any | None) -> Any:
        """x W + b"""

    @abstractmethod
    def softmax(self, rows: Any) -> Any:
        """Over the last axis. One entry that is not −∞ gives exactly 1, none gives zeros."""

    @abstractmethod
    def choose(self, logits: Any) -> list[Choice]:
        """The argmax of every row."""

    def shown(self, x: Any) -> Any:
        """The values as an array of numbers, balls or floats, for whoever looks at them."""
        return x

    def for_logits(self) -> Values:
        """The arithmetic for passes of which nobody looks at more than the logits, where that is not this one."""
        return self


class FusedLayers(Values):
    """Whole layers at once. Each gives the values of its steps by their names; lines between may be missing."""

    @abstractmethod
    def layer_norm(self, x: Any, weights: NormWeights, config: Config, name: str) -> dict[str, Any]: ...

    @abstractmethod
    def attention(
        self, x: Any, weights: AttentionWeights, config: Config, block: int, name: str, cache: Cache | None
    ) -> dict[str, Any]: ...

    @abstractmethod
    def mlp(self, x: Any, weights: MlpWeights, config: Config, name: str) -> dict[str, Any]: ...


class Primitives(Values):
    """The operations of a pass, one by one."""

    stepwise = True

    @abstractmethod
    def project(self, x: Any, weight: Any, bias: Any | None) -> Any:
        """x W_h + b_h for every head h."""

    @abstractmethod
    def scores(self, q: Any, k: Any) -> Any:
        """q kᵀ for every head."""

    @abstractmethod
    def mask(self, scores: Any, sight: Sight) -> Any:
        """Scores with −∞ where a position may not look."""

    @abstractmethod
    def erase(self, weights: Any, sight: Sight) -> Any:
        """Weights with 0 where a position may not look."""

    @abstractmethod
    def shift(self, rows: Any) -> Any:
        """Each row minus its largest entry."""

    def hardmax(self, rows: Any) -> Any:
        """softmax(c · row) for c → ∞: equal weights for the largest entries, exact 0 for the others."""
        raise ConfigError("hard", f"{self.name} arithmetic has no hard attention: it goes with exact, float64 and float32")

    @abstractmethod
    def mix(self, pattern: Any, v: Any) -> Any:
        """pattern v for every head; what has weight 0 is not looked at."""

    @abstractmethod
    def merge(self, z: Any, weight: Any, bias: Any | None) -> Any:
        """Σ over heads of z_h W_O,h, plus b."""

    @abstractmethod
    def mean(self, x: Any) -> Any: ...

    @abstractmethod
    def center(self, x: Any, mean: Any) -> Any: ...

    @abstractmethod
    def variance(self, centered: Any) -> Any: ...

    @abstractmethod
    def deviation(self, variance: Any, epsilon: Any) -> Any:
        """√(variance + ε)"""

    @abstractmethod
    def normalise(self, centered: Any, deviation: Any, w: Any, b: Any | None, name: str) -> Any:
        """w · centered / deviation + b; undefined, not divided, where the deviation is 0."""

    @abstractmethod
    def activate(self, x: Any, kind: Activation) -> Any: ...

    @abstractmethod
    def tanh(self, x: Any) -> Any: ...

    @abstractmethod
    def times(self, x: Any, y: Any) -> Any:
        """Entry by entry; arrays broadcast as NumPy's do."""

    @abstractmethod
    def subtract(self, x: Any, y: Any) -> Any: ...

    def cap(self, x: Any, limit: Number) -> Any:
        return self.scale(self.tanh(self.scale(x, self.constant(1 / limit))), self.constant(limit))

    def turns(self, rotary: Rotary, positions: range) -> tuple[Any, Any]:
        """What a dimension and its partner are multiplied by at these positions; converted once, as weights are."""
        own, others = (self.load(table)[positions.start : positions.stop] for table in rotary.whole(positions.stop))
        return own, others

    def settle(self, x: Any) -> Any:
        """The same values, simpler where that is known."""
        return x

    def mark(self, x: Any) -> Any:
        """The same values, which go into a norm or come back to it: proofs about what follows look this far first."""
        return x

    def agree(self, x: Any, y: Any) -> bool:
        """Are all entries proved equal? An arithmetic that proves nothing says no."""
        return False


class Adjoints(Primitives):
    """What the backward pass needs besides; arrays broadcast as NumPy's do."""

    differentiates = True

    @abstractmethod
    def cross_entropy(self, logits: Any, targets: list[int]) -> tuple[Any, Any]:
        """The mean over positions of −log softmax(logits)[target], and its gradient by the logits."""

    @abstractmethod
    def ratio(self, p: int, q: int) -> Any:
        """p/q"""

    @abstractmethod
    def zeros_like(self, x: Any) -> Any: ...

    @abstractmethod
    def product(self, x: Any, y: Any) -> Any:
        """x y over the last two axes."""

    @abstractmethod
    def over(self, x: Any, y: Any) -> Any:
        """Entry by entry."""

    @abstractmethod
    def total(self, x: Any, axis: int) -> Any: ...

    @abstractmethod
    def scatter(self, x: Any, rows: list[int], size: int) -> Any:
        """A table of `size` rows: row r is the sum of the x_i with rows[i] = r."""

    @abstractmethod
    def slope(self, x: Any, kind: Activation) -> Any:
        """The derivative of an activation; that of ReLU at 0 is 0 by convention."""

    @abstractmethod
    def zero_entries(self, x: Any) -> list[tuple[int, ...]]:
        """The places where x is 0."""

    def for_gradients(self) -> Adjoints:
        """The arithmetic for the backward pass, where that is not this one."""
        return self
