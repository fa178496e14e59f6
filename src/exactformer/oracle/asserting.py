"""For test suites: an output may be so many ulps off, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactformer.numbers import Undecided
from exactformer.oracle.formats import OracleError
from exactformer.oracle.taking import taken
from exactformer.oracle.truth import Truth


def assert_ulps(y: Any, truth: Truth, most: float) -> None:
    """Raise an AssertionError unless every entry of y is proved to be at most `most` ulps from the truth.

    >>> from exactformer import oracle
    >>> oracle.assert_ulps(np.float32([0.25, 0.75]), oracle.softmax(np.float32([0, 1])), most=2)
    Traceback (most recent call last):
    AssertionError: softmax[0]: given 0.25, true value 0.26894142136999512075, 635569 ulps of float32 off; ...
    """
    __tracebackhide__ = True  # pytest shows the message, not these lines
    if not isinstance(truth, Truth):
        raise OracleError(
            "truth", f"is of type {type(truth).__name__}: give what an operation of the oracle gives, as oracle.softmax(x)"
        )
    found = truth.ulps(y, limit=most)
    if found.most <= most:
        return
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(found.low)), found.low.shape))
    if not found.least > most:
        raise Undecided(f"{truth.operation.name}: are all errors at most {most} ulps? they are at most {found.most:.6g}", 0)
    at = f"[{', '.join(map(str, worst))}]" if worst else ""
    beyond = int((found.low > most).sum())
    raise AssertionError(
        f"{truth.operation.name}{at}: given {_shown(taken(y, 'y')[0][worst])}, true value {truth.digits(worst)}, "
        f"{found.high[worst]:.6g} ulps of {found.format} off; at most {most:g} allowed, {beyond:,} of {found.low.size:,} are beyond"
    )


def _shown(value: Any) -> str:
    return repr(float(value))
