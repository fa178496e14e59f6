"""The operations, each written once, over any of three kinds of numbers: balls in one float, in two, and of Arb.

`kind` is one of these; arrays are floats that mean themselves. Rows are the first axis. Constants that are no floats are balls of
Arb in the precision that the kind asks for.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from exactformer.numbers.enclosure import precision
from exactformer.oracle.taking import ball

Kind = Any  # Single, Double or Arbs: a class
Numbers = Any  # an instance of it


def constant(kind: Kind, value: Fraction | Callable[[], arb]) -> Numbers:
    """A rational, or what makes a ball."""
    with precision(kind.bits()):
        return kind.of(np.array(ball(value) if isinstance(value, Fraction) else value(), dtype=object))


def _peak(x: Numbers, seen: Any) -> Any:
    """Floats next to the largest that is seen of every row: any float will do, as it cancels."""
    largest = np.max(x.near, axis=-1, keepdims=True, initial=-np.inf, where=seen)
    return np.where(np.isfinite(largest), largest, 0.0)


def softmax(kind: Kind, x: Any, seen: Any) -> Numbers:
    x = kind.load(x)
    powers = (x - kind.load(_peak(x, seen))).exp(kind.lift)
    powers = powers if seen is True else powers.where(seen)
    return powers / powers.sum().scaled(-kind.lift) if kind.lift else powers / powers.sum()


def log_softmax(kind: Kind, x: Any, seen: Any) -> Numbers:
    """(x − m) − log(1 + Σ e^(x − m) over all but the largest, m)."""
    below, rest = _below(kind, x, seen)
    return below - rest


def _below(kind: Kind, x: Any, seen: Any) -> tuple[Numbers, Numbers]:
    """x − m, and log(Σ e^(x − m)) from the sum without one m, which is 1."""
    numbers = kind.load(x)
    below = numbers - kind.load(_peak(numbers, seen))
    first = np.argmax(np.where(seen, x, -np.inf), axis=-1)[..., None]
    others = seen & (np.arange(x.shape[-1]) != first)
    return below, below.exp().where(others).sum().log1p()


def cross_entropy(kind: Kind, x: Any, seen: Any, targets: Any, divisor: Any) -> Numbers:
    """Of every row, or the sum of all over a divisor."""
    below, rest = _below(kind, x, seen)
    losses = rest - below[np.arange(len(x))[:, None], targets.astype(np.int64)]  # [rows, 1]
    if divisor is None:
        return losses
    total = losses[:, 0][None].sum()
    return total / constant(kind, Fraction(int(divisor)))


def layer_norm(kind: Kind, x: Any, gain: Any, shift: Any, eps: Fraction) -> Numbers:
    """c/√(Σc²/n + n²ε) with c = n x − Σx, which is (x − μ)/√(σ² + ε) without the division by n that is not exact."""
    n = x.shape[-1]
    x = kind.load(x)
    centred = x * kind.load(float(n)) - x.sum()
    return _over_root(kind, centred, constant(kind, Fraction(1, n)), constant(kind, n * n * eps), gain, shift)


def rms_norm(kind: Kind, x: Any, gain: Any, shift: Any, eps: Fraction) -> Numbers:
    return _over_root(kind, kind.load(x), constant(kind, Fraction(1, x.shape[-1])), constant(kind, eps), gain, shift)


def _over_root(kind: Kind, x: Numbers, inverse: Numbers, eps: Numbers, gain: Any, shift: Any) -> Numbers:
    z = x / ((x * x).sum() * inverse + eps).sqrt()
    z = z if gain is None else z * kind.load(gain)
    return z if shift is None else z + kind.load(shift)


def silu(kind: Kind, x: Any) -> Numbers:
    x = kind.load(x)
    return x * x.logistic()


def swiglu(kind: Kind, x: Any, y: Any) -> Numbers:
    return silu(kind, x) * kind.load(y)


def gelu(kind: Kind, x: Any) -> Numbers:
    x = kind.load(x)
    return x * x.normal()


def gelu_tanh(kind: Kind, x: Any) -> Numbers:
    """x (1 + tanh y)/2 = x/(1 + e^−2y) with y = √(2/π) (x + 0.044715 x³)."""
    x = kind.load(x)
    cubic = x + x * x * x * constant(kind, Fraction("0.044715"))
    return x * (cubic * constant(kind, lambda: (8 / arb.pi()).sqrt())).logistic()


def matmul(kind: Kind, x: Any, w: Any, bias: Any, alpha: Fraction, beta: Fraction) -> Numbers:
    """α x W + β b."""
    result = kind.load(x) @ kind.load(w)
    result = result if alpha == 1 else result * constant(kind, alpha)
    if bias is None:
        return result
    return result + (kind.load(bias) if beta == 1 else kind.load(bias) * constant(kind, beta))


def rotation(kind: Kind, x: Any, partner: Any, cos: Any, sin: Any) -> Numbers:
    """x cos + y sin, with y = −x₂ for x₁ and x₁ for x₂."""
    return kind.load(x) * kind.load(cos) + kind.load(partner) * kind.load(sin)


def turned(kind: Kind, x: Any, partner: Any, position: Any, pair: Any, width: int, base: Fraction) -> Numbers:
    """The same by the angles position · base^(−2 pair/width)."""
    cos, sin = turns(kind, position, pair, width, base)
    return kind.load(x) * cos + kind.load(partner) * sin


def turns(kind: Kind, position: Any, pair: Any, width: int, base: Fraction) -> tuple[Numbers, Numbers]:
    places, where = np.unique(np.stack([position.ravel(), pair.ravel()]), axis=1, return_inverse=True)
    cos, sin = np.empty(places.shape[1], dtype=object), np.empty(places.shape[1], dtype=object)
    with precision(kind.bits() + 64):  # positions below 2^63 take that much off
        speeds: dict[int, arb] = {int(i): (ball(base).log() * (-2 * int(i)) / width).exp() for i in set(places[1].tolist())}
        for n, (p, i) in enumerate(places.T.tolist()):
            sin[n], cos[n] = (speeds[int(i)] * int(p)).sin_cos()
    where = where.reshape(position.shape)
    return kind.of(cos)[where], kind.of(sin)[where]


def copied(kind: Kind, x: Any) -> Numbers:
    return kind.load(x)


def mean(kind: Kind, x: Any) -> Numbers:
    return kind.load(x).sum() * constant(kind, Fraction(1, x.shape[-1]))


def inverse_deviation(kind: Kind, x: Any, eps: Fraction) -> Numbers:
    """1/√(σ² + ε) = n/√(Σc²/n + n²ε) with c = n x − Σx."""
    n = x.shape[-1]
    x = kind.load(x)
    c = x * kind.load(float(n)) - x.sum()
    return (
        kind.load(np.full((1, 1), float(n))) / ((c * c).sum() * constant(kind, Fraction(1, n)) + constant(kind, n * n * eps)).sqrt()
    )


Scale = Fraction | Callable[[], arb]


def scores(kind: Kind, q: Any, k: Any, added: Any, scale: Scale, softcap: Fraction | None) -> Numbers:
    """cap(scale q·k) + added: [rows, keys]; k is [entries, keys]."""
    found = (kind.load(q) @ kind.load(k)) * constant(kind, scale)
    if softcap is not None:
        found = (found * constant(kind, 1 / softcap)).tanh() * constant(kind, softcap)
    return found if added is None else found + kind.load(added)


def weights(kind: Kind, q: Any, k: Any, seen: Any, added: Any, scale: Scale, softcap: Fraction | None) -> Numbers:
    """e^s/Σ e^s over the keys that are seen."""
    powers = _powers(kind, scores(kind, q, k, added, scale, softcap), seen)
    return powers / powers.sum()


def attention(kind: Kind, q: Any, k: Any, v: Any, seen: Any, added: Any, scale: Scale, softcap: Fraction | None) -> Numbers:
    """Σ e^s v/Σ e^s over the keys that are seen."""
    powers = _powers(kind, scores(kind, q, k, added, scale, softcap), seen)
    return (powers @ kind.load(v)) / powers.sum()


def _powers(kind: Kind, s: Numbers, seen: Any) -> Numbers:
    return (s - kind.load(_peak(s, seen))).exp().where(seen)
