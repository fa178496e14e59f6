"""Functions of balls, at whatever precision is set: those of a transformer that Arb does not have by name.

A ball that comes out infinite or NaN says that the precision was too low. Whoever calls looks for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from exactformer.model.arithmetics.roles import Activation

ZERO, ONE = arb(0), arb(1)


def softmax(scores: list[arb]) -> list[arb]:
    """e^s_j / Σ e^s; of one score, exactly 1. Any number may be taken off all scores: the largest midpoint keeps powers small."""
    if len(scores) == 1:
        return [ONE]
    highest = _highest_midpoint(scores)
    powers = [(score - highest).exp() for score in scores]
    normaliser = sum(powers, ZERO)
    return [power / normaliser for power in powers]


def log_sum_exp(scores: list[arb]) -> arb:
    highest = _highest_midpoint(scores)
    return sum(((score - highest).exp() for score in scores), ZERO).log() + highest


def _highest_midpoint(scores: list[arb]) -> arb:
    return max(score.mid() for score in scores)  # midpoints have radius 0: they always compare


def shift(scores: list[arb]) -> list[arb]:
    """Each score minus the largest, whichever that is."""
    highest = scores[0]
    for score in scores[1:]:
        highest = highest.max(score)
    return [score - highest for score in scores]


def mean(row: list[arb]) -> arb:
    return sum(row, ZERO) / len(row)


def mean_square(row: list[arb]) -> arb:
    """Not negative, though the ball of a square that may be 0 reaches below."""
    return mean([x * x for x in row]).nonnegative_part()


def activation(kind: Activation) -> Callable[[arb], Any]:
    match kind:
        case "relu":
            return lambda x: x.max(ZERO)
        case "identity":
            return lambda x: x
        case "gelu":
            root = arb(2).sqrt()
            return lambda x: x / 2 * (-x / root).erfc()  # no cancellation where x is very negative
        case "gelu_tanh":
            inner = _tanh_argument()
            return lambda x: x * _logistic(2 * inner(x))
        case "silu":
            return lambda x: x * _logistic(x)


def slope(kind: Activation, undecided: Any) -> Callable[[arb], Any]:
    """The derivative of an activation; `undecided` where a ball does not tell on which side of ReLU's kink it lies."""
    match kind:
        case "relu":
            return lambda x: ONE if x > 0 else ZERO if x <= 0 else undecided
        case "identity":
            return lambda x: ONE
        case "gelu":
            root, density = arb(2).sqrt(), 1 / (2 * arb.pi()).sqrt()
            return lambda x: (-x / root).erfc() / 2 + x * density * (-x * x / 2).exp()  # Φ(x) + x·φ(x)
        case "gelu_tanh":
            inner, factor, cubic = _tanh_argument(), (2 / arb.pi()).sqrt(), 3 * _cubic()

            def gelu_tanh(x: arb) -> arb:
                y = 2 * inner(x)
                s = _logistic(y)
                return s + x * s * _logistic(-y) * 2 * factor * (1 + cubic * x * x)  # s + x·s·(1 − s)·2y′

            return gelu_tanh
        case "silu":
            return lambda x: _logistic(x) * (1 + x * _logistic(-x))  # s + x·s·(1 − s)


def _tanh_argument() -> Callable[[arb], arb]:
    """√(2/π)·(x + 0.044715·x³)"""
    factor, cubic = (2 / arb.pi()).sqrt(), _cubic()
    return lambda x: factor * (x + cubic * x * x * x)


def _cubic() -> arb:
    return arb(44715) / 10**6


def _logistic(y: arb) -> arb:
    """1/(1 + e^−y), in the form whose exponential does not grow: (1 + tanh(y/2))/2 without its cancellation."""
    if y.mid() > 0:
        return 1 / (1 + (-y).exp())
    power = y.exp()
    return power / (1 + power)
