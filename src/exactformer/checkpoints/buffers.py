"""Tables that older versions of libraries saved with the weights: masks and rotary frequencies. They follow from config.json, so
they are not computed with; but one that differs is refused, as some programs would compute with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactformer.checkpoints.safetensors import Tensor
from exactformer.model.sight import Sight
from exactformer.numbers import Number

_HIDES = -1e4  # what older versions put in the place of a score that is masked, or less
_NEAR = {"F64": 1e-5, "F32": 1e-5, "BF16": 2**-7, "F16": 2**-9}  # of a frequency, with the rounding of its type
_SMALLEST = 2.0**-24  # of float16


def is_mask(tensor: Tensor, length: int, window: int = 0) -> bool:
    """Is it 1 where a position looks and 0 elsewhere?"""
    if tensor.shape not in ((length, length), (1, 1, length, length)):
        return False
    rows = tensor.array(mask=True).reshape(length, length)
    sight = Sight("causal", window)
    return all((row[: n + 1] == sight.seen(1, n + 1)[0]).all() and not row[n + 1 :].any() for n, row in enumerate(rows))


def hides(tensor: Tensor) -> bool:
    """Is it one number so low that nothing is left of a score in its place?"""
    return tensor.shape in ((), (1,)) and bool((tensor.array() <= _HIDES).all())


def are_frequencies(tensor: Tensor, frequencies: Sequence[Number]) -> bool:
    """Are they those that the model turns with, but for rounding?"""
    if tensor.shape != (len(frequencies),) or tensor.dtype not in _NEAR:
        return False
    expected = np.array([frequency.to_float() for frequency in frequencies])
    slack = np.abs(expected) * _NEAR[tensor.dtype] + (_SMALLEST if tensor.dtype == "F16" else 0)
    return bool((np.abs(tensor.array().astype(np.float64) - expected) <= slack).all())
