"""Operations in ulps: true values, correctly rounded, and the proved error of somebody's output.

>>> import numpy as np
>>> from exactformer import oracle
>>> x = np.float32([0.1, 0.2, 0.3])
>>> oracle.softmax(x).rounded()
array([0.30060962, 0.332225  , 0.36716542], dtype=float32)
"""

from exactformer.oracle.asserting import assert_ulps
from exactformer.oracle.attending import attention
from exactformer.oracle.formats import OracleError
from exactformer.oracle.operations import (
    cross_entropy,
    gelu,
    gelu_tanh,
    layer_norm,
    log_softmax,
    rms_norm,
    silu,
    softmax,
    swiglu,
)
from exactformer.oracle.products import matmul, rotary
from exactformer.oracle.truth import Truth
from exactformer.oracle.ulps import Ulps

__all__ = [
    "OracleError", "Truth", "Ulps", "assert_ulps", "attention", "cross_entropy", "gelu", "gelu_tanh", "layer_norm", "log_softmax",
    "matmul", "rms_norm", "rotary", "silu", "softmax", "swiglu",
]  # fmt: skip
