"""How much many bounded parts of one budget can weigh (Lemma 25)."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.certified import bounds


def knapsack(weights: Any, caps: Any, budget: Any, order: Any = None) -> Any:
    """At least max Σ w_i t_i over 0 ≤ t_i ≤ caps_i with Σ t_i ≤ budget, along the last axis.

    `order` is that of falling weights, where it is known; nobody needs to believe in it.

    >>> float(knapsack(np.array([3.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0]), np.array(1.5)))  # 3 · 1 + 2 · 1/2
    4.000000000116415
    """
    weights, caps = np.broadcast_arrays(weights * bounds.UP, caps)  # outwards, before anything is taken off
    order = np.argsort(-weights, axis=-1) if order is None else order
    filled = np.cumsum(np.take_along_axis(caps, order, axis=-1), axis=-1)
    # the weight at which the budget is used up; 0 where all have room: any price whatever gives a bound
    place = (filled < np.asarray(budget)[..., None]).sum(axis=-1, keepdims=True)
    last = weights.shape[-1] - 1
    price = np.take_along_axis(weights, np.take_along_axis(order, np.minimum(place, last), axis=-1), axis=-1)
    price = np.where(place > last, 0.0, price)
    return (price[..., 0] * budget + (np.maximum(weights - price, 0.0) * caps).sum(axis=-1)) * bounds.UP
