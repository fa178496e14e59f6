"""What an arithmetic must supply for the wiring to run on it.

The arrays are the arithmetic's own: object arrays of numbers, float arrays, arrays with a proved radius. The composites below
are chains of the small operations; an arithmetic overrides one where a joint bound is sharper than the chain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from exactformer.model import machine
from exactformer.model.cache import Cache
from exactformer.model.config import Activation, Config, ConfigError
from exactformer.model.weights import AttentionWeights, MlpWeights, NormWeights
from exactformer.numbers import Number


class Note(Protocol):
    """Takes down one step of a pass (its name, its operation, its value, what it reads) and hands the value back.

    A remark is said of a position.
    """

    def __call__(self, name: str, op: str, value: Any, *reads: str, remarks: tuple[tuple[int, str], ...] = ()) -> Any: ...


@dataclass(frozen=True)
class Choice:
    """The largest of a row of logits: `index` is the winner, or None with `why` where there is none."""

    index: int | None
    proved: bool
    ties: tuple[int, ...] = ()  # others that are proved equal to the winner
    runner_up: int | None = None
    margin: Any = None  # winner minus runner-up
    why: str = ""


class Arithmetic(ABC):
    """The operations of a pass. Shapes: x [T, dim]; q, k, v, z [heads, T, head_dim]; scores, pattern [heads, T, T]."""

    name: str

    def begin(self) -> None:
        """Asked before every pass: a machine on which nothing would be proved is refused."""
        machine.check()

    def watched(self, note: Note) -> Note:
        """The same note, whose code is anybody's: after each call it is looked whether floats are still what they were."""

        def heard(*told: Any, **remarks: Any) -> Any:
            value = note(*told, **remarks)
            machine.glance()
            return value

        return heard

    # -- what every arithmetic supplies
    @abstractmethod
    def load(self, weights: Any) -> Any:
        """Weights (exact numbers, or the floats of a checkpoint) as an array of this arithmetic."""

    @abstractmethod
    def constant(self, number: Number) -> Any: ...

    @abstractmethod
    def embed(self, table: Any, rows: list[int]) -> Any: ...

    @abstractmethod
    def add(self, x: Any, y: Any) -> Any: ...

    @abstractmethod
    def linear(self, x: Any, weight: Any, bias: Any | None) -> Any:
        """x W + b"""

    @abstractmethod
    def project(self, x: Any, weight: Any, bias: Any | None) -> Any:
        """x W_h + b_h for every head h."""

    @abstractmethod
    def scores(self, q: Any, k: Any) -> Any:
        """q kᵀ for every head."""

    @abstractmethod
    def scale(self, scores: Any, factor: Any) -> Any: ...

    @abstractmethod
    def mask(self, scores: Any, config: Config) -> Any:
        """Scores with −∞ where a position may not look."""

    @abstractmethod
    def erase(self, weights: Any, config: Config) -> Any:
        """Weights with 0 where a position may not look."""

    @abstractmethod
    def shift(self, rows: Any) -> Any:
        """Each row minus its largest entry."""

    @abstractmethod
    def softmax(self, rows: Any) -> Any:
        """Over the last axis. One entry that is not −∞ gives exactly 1, none gives zeros."""

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
    def normalise(self, centered: Any, deviation: Any, w: Any, b: Any, name: str) -> Any:
        """w · centered / deviation + b; undefined, not divided, where the deviation is 0."""

    @abstractmethod
    def activate(self, x: Any, kind: Activation) -> Any: ...

    @abstractmethod
    def choose(self, logits: Any) -> list[Choice]:
        """The argmax of every row."""

    # -- what the backward pass needs besides; arrays broadcast as NumPy's do
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
    def times(self, x: Any, y: Any) -> Any:
        """Entry by entry."""

    @abstractmethod
    def over(self, x: Any, y: Any) -> Any:
        """Entry by entry."""

    @abstractmethod
    def subtract(self, x: Any, y: Any) -> Any: ...

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

    def for_gradients(self) -> Arithmetic:
        """The arithmetic for the backward pass, where that is not this one."""
        return self

    def settle(self, x: Any) -> Any:
        """The same values, simpler where that is known: done with once a gradient is complete."""
        return x

    def mark(self, x: Any) -> Any:
        """The same values, which go into a LayerNorm or come back to it: proofs about what follows look this far first."""
        return x

    def shown(self, x: Any) -> Any:
        """The values as an array of numbers, balls or floats, for whoever looks at them."""
        return x

    def agree(self, x: Any, y: Any) -> bool:
        """Are all entries proved equal? An arithmetic that proves nothing says no."""
        return False

    # -- composites
    def layer_norm(self, x: Any, weights: NormWeights, config: Config, name: str, reads: str, note: Note) -> Any:
        assert config.epsilon is not None
        mean = note(f"{name}.mean", "mean", self.mean(x), reads)  # [T, 1]
        centered = note(f"{name}.centered", "center", self.center(x, mean), reads, f"{name}.mean")  # [T, dim]
        variance = note(f"{name}.var", "variance", self.variance(centered), f"{name}.centered")  # [T, 1]
        deviation = note(f"{name}.std", "deviation", self.deviation(variance, self.constant(config.epsilon)), f"{name}.var")
        out = self.normalise(centered, deviation, self.load(weights.w), self.load(weights.b), name)  # [T, dim]
        return note(f"{name}.out", "normalise", out, f"{name}.centered", f"{name}.std", f"{name}.w", f"{name}.b")

    def attend(
        self, x: Any, weights: AttentionWeights, config: Config, name: str, reads: str, note: Note, cache: Cache | None = None
    ) -> Any:
        q, k, v = (
            note(
                f"{name}.{letter.lower()}",
                "project",
                self.project(x, self.load(getattr(weights, f"W_{letter}")), self._bias(getattr(weights, f"b_{letter}"))),
                reads,
                f"{name}.W_{letter}",
                *_present(f"{name}.b_{letter}", getattr(weights, f"b_{letter}")),
            )
            for letter in "QKV"
        )  # [heads, T, head_dim]
        if cache is not None:
            k, v = cache.extended(name, k, v)
        factor = config.scale_at(name)
        if factor == 1:
            scores = note(f"{name}.scores", "scores", self.scores(q, k), f"{name}.q", f"{name}.k")  # [heads, T, T]
        else:
            dots = note(f"{name}.qk", "scores", self.scores(q, k), f"{name}.q", f"{name}.k")
            scores = note(f"{name}.scores", "scale", self.scale(dots, self.constant(factor)), f"{name}.qk")
        pattern = self._pattern(scores, config, name, note)  # [heads, T, T]
        z = note(f"{name}.z", "mix", self.mix(pattern, v), f"{name}.pattern", f"{name}.v")  # [heads, T, head_dim]
        out = self.merge(z, self.load(weights.W_O), self._bias(weights.b_O))  # [T, dim]
        return note(f"{name}.out", "merge", out, f"{name}.z", f"{name}.W_O", *_present(f"{name}.b_O", weights.b_O))

    def _pattern(self, scores: Any, config: Config, name: str, note: Note) -> Any:
        """Mask, then softmax; with the largest score of a row subtracted first, or the mask put last, where that is asked for."""
        rows, length = scores.shape[-2:]  # with a cache, the rows are the last ones
        blind = [i for i in range(rows) if not any(config.sees(length - rows + i, j) for j in range(length))]
        remarks = tuple((i, f"position {i} may look nowhere: its weights are zeros") for i in blind)
        if config.late_mask:
            weights = note(f"{name}.unmasked", "softmax", self.softmax(scores), f"{name}.scores")
            return note(f"{name}.pattern", "erase", self.erase(weights, config), f"{name}.unmasked", remarks=remarks)
        masked, source = note(f"{name}.masked", "mask", self.mask(scores, config), f"{name}.scores"), f"{name}.masked"
        if config.stable:
            masked, source = note(f"{name}.shifted", "shift", self.shift(masked), source), f"{name}.shifted"
        if config.hard:
            return note(f"{name}.pattern", "hardmax", self.hardmax(masked), source, remarks=remarks)
        pattern = self.softmax(masked)
        if config.stable and self.agree(pattern, self.softmax(self.mask(scores, config))):
            remarks += tuple((i, "proved: the same weights as without the shift") for i in range(rows))
        return note(f"{name}.pattern", "softmax", pattern, source, remarks=remarks)

    def mlp(self, x: Any, weights: MlpWeights, config: Config, name: str, reads: str, note: Note) -> Any:
        assert config.activation is not None
        pre = self.linear(x, self.load(weights.W_in), self._bias(weights.b_in))  # [T, mlp]
        note(f"{name}.pre", "linear", pre, reads, f"{name}.W_in", *_present(f"{name}.b_in", weights.b_in))
        post = note(f"{name}.post", config.activation, self.activate(pre, config.activation), f"{name}.pre")
        out = self.linear(post, self.load(weights.W_out), self._bias(weights.b_out))  # [T, dim]
        return note(f"{name}.out", "linear", out, f"{name}.post", f"{name}.W_out", *_present(f"{name}.b_out", weights.b_out))

    def _bias(self, bias: Any | None) -> Any | None:
        return None if bias is None else self.load(bias)


def _present(name: str, weight: Any | None) -> tuple[str, ...]:
    return () if weight is None else (name,)
