"""How much many bounded parts of one budget can weigh (Lemma 25)."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.certified import bounds

_ALL = 128  # as many weights are sorted whole; of more, the largest alone


def knapsack(weights: Any, caps: Any, budget: Any, order: Any = None) -> Any:
    """At least max Σ w_i t_i over 0 ≤ t_i ≤ caps_i with Σ t_i ≤ budget, along the last axis.

    `order` has the largest weights, falling (`falling`), where it is known; nobody needs to believe in it.

    >>> float(knapsack(np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0]), np.array(1.5)))  # 3 · 1 + 2 · 1/2
    4.000000000116415
    """
    weights = np.asarray(weights * bounds.UP)  # outwards, before anything is taken off
    count = weights.shape[-1]
    order = falling(weights) if order is None else order
    caps_of = caps[order] if caps.ndim == 1 else np.take_along_axis(np.broadcast_to(caps, weights.shape), order, axis=-1)
    # the weight at which the budget is used up; 0 where all have room: any price whatever gives a bound
    place = (np.cumsum(caps_of, axis=-1) < np.asarray(budget)[..., None]).sum(axis=-1, keepdims=True)
    last = order.shape[-1] - 1
    beyond = place > last
    if last + 1 < count and beyond.any():
        return knapsack(weights, caps, budget, np.argsort(-weights, axis=-1))
    price = np.take_along_axis(weights, np.take_along_axis(order, np.minimum(place, last), axis=-1), axis=-1)
    price = np.where(beyond, 0.0, price)
    left = np.subtract(weights, price)
    np.maximum(left, 0.0, out=left)
    summed = left @ caps if caps.ndim == 1 else (left * caps).sum(axis=-1)
    return (price[..., 0] * budget + summed) * bounds.UP


def falling(weights: Any) -> Any:
    """The places of the largest weights along the last axis, in falling order: of many, some that should do."""
    count = weights.shape[-1]
    if count <= _ALL:
        return np.argsort(-weights, axis=-1)
    some = _ALL + count // 32
    places = np.argpartition(weights, count - some, axis=-1)[..., count - some :]
    order = np.argsort(-np.take_along_axis(weights, places, axis=-1), axis=-1)
    return np.take_along_axis(places, order, axis=-1)
