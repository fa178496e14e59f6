"""Logits that the author's own run saved, held against proved ones: is the model in the file the network that was meant?

A file of weights does not say what is done with them. A proof about another network than the author's is as good a proof, so it
takes numbers from outside to tell the two apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.certificates.comparison import step_errors
from exactformer.certificates.preparation import Prepared
from exactformer.certificates.proving import CAP
from exactformer.certified.arithmetic import CertifiedArithmetic, LimbSchedule
from exactformer.certified.limbs import FEWEST, OutOfRangeError
from exactformer.model import InputError, Model, following, forward
from exactformer.reading import saved_array, times

# How far a logit may be off, as a share of the largest one: far more than runs of real models are
SHARES = {"float16": Fraction(1, 50), "float32": Fraction(1, 1000), "float64": Fraction(1, 10**9)}
_SMALLEST = Fraction(1, 2**100)  # stands for the largest logit where all are 0


@dataclass(frozen=True)
class Saved:
    """The logits of a file, after the last tokens of the input: [positions, outputs] in float64."""

    name: str
    values: Any
    kind: str  # float16, float32, float64: what they were computed in


@dataclass(frozen=True)
class Expected:
    """How far saved logits are from proved ones: low ≤ the largest difference ≤ high, proved."""

    name: str
    kind: str
    logits: int
    tolerance: Fraction
    low: float
    high: float
    position: int  # where the upper bound is largest
    token: int
    saved: float
    proved: tuple[Fraction, Fraction] | None  # the logit there; None: the pass proves nothing of it

    @property
    def agrees(self) -> bool | None:
        """Are all within the tolerance, proved? False: one is proved not to be. None: undecided."""
        if math.isfinite(self.high) and Fraction(self.high) <= self.tolerance:
            return True
        return False if Fraction(self.low) > self.tolerance else None

    @property
    def sharp(self) -> bool:
        """Is it decided, and is the difference well known, or nothing next to the tolerance?"""
        if self.agrees is None or self.high == math.inf:
            return self.agrees is not None
        return self.high <= 2 * self.low or Fraction(self.high) * 1000 <= self.tolerance


def read_logits(path: Path, length: int, outputs: int) -> Saved:
    """Logits after the last of `length` tokens, [outputs], or after each, [length, outputs], from a .npy file.

    The header is believed in nothing: its shape must be one of these two, and the size of the file must be what they take.
    """
    saved = saved_array(path, InputError)
    kind = saved.dtype.newbyteorder("=").name
    _refuse(kind not in SHARES, f"{path}: holds {kind}; logits are {', '.join(SHARES)}")
    _refuse(
        saved.shape not in ((outputs,), (length, outputs)),
        f"{path}: has the shape {times(saved.shape)}, where the logits are {outputs:,} (after the last token) or "
        f"{times((length, outputs))} (after each)",
    )
    values = saved.array()
    floats = np.atleast_2d(values.astype(np.float64))
    wrong = np.argwhere(~np.isfinite(floats))
    if len(wrong):
        place = ", ".join(map(str, wrong[0][-values.ndim :]))
        raise InputError(f"{path}: entry [{place}] is {floats[tuple(wrong[0])]}, which is not a logit")
    if kind == "float64" and bool((values.astype(np.float32) == values).all()):
        kind = "float32"  # a list of numbers of a float32 run becomes float64 on its way to the file
    return Saved(str(path), floats, kind)


def expect(
    model: Model,
    ids: Sequence[int],
    saved: Saved,
    tolerance: Fraction | None = None,
    *,
    schedule: LimbSchedule = (FEWEST,),
    cap: int = CAP,
    prepared: Prepared | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Expected:
    """Compare saved logits with proved ones, with more limbs each time, up to `cap`, until it is known well how far they are apart.

    >>> from exactformer.worksheets import load
    >>> found = expect(load("capstone").model, [0, 1], Saved("mine.npy", np.array([[1.0, -1.0, 0.25]]), "float32"))
    >>> found.agrees, found.token, found.saved
    (False, 2, 0.25)
    """
    store = Prepared.of(model, prepared).store
    rows = len(saved.values)

    while True:
        ops = CertifiedArithmetic(store, schedule, last_only=rows == 1)
        ops.store.trim(ops.limbs_at)
        try:
            with np.errstate(all="ignore"):
                found = _compared(forward(model, list(ids), ops, following(progress))[-rows:], saved, tolerance, len(ids))
        except OutOfRangeError:
            found = Expected(saved.name, saved.kind, saved.values.size, tolerance or _SMALLEST, 0.0, math.inf, 0, 0, 0.0, None)
        if found.sharp or min(schedule) >= cap:
            return found
        schedule = tuple(min(cap, max(FEWEST, n + 2)) for n in schedule)


def _compared(logits: Any, saved: Saved, tolerance: Fraction | None, length: int) -> Expected:
    errors = step_errors("logits", saved.values, logits, saved.kind)
    high = np.where(np.isnan(errors.high), np.inf, errors.high)
    row, token = map(int, np.unravel_index(int(np.argmax(high)), high.shape))
    if tolerance is None:
        size = Fraction(errors.size) if math.isfinite(errors.size) else Fraction(0)
        tolerance = SHARES[saved.kind] * max(size, _SMALLEST)
    largest = float(high[row, token])
    return Expected(
        saved.name, saved.kind, saved.values.size, tolerance, float(np.nan_to_num(errors.low).max()), largest,
        length - len(saved.values) + row, token, float(saved.values[row, token]),
        logits.enclosure((row, token)) if math.isfinite(largest) else None,
    )  # fmt: skip


def _refuse(wrong: bool, problem: str) -> None:
    if wrong:
        raise InputError(problem)
