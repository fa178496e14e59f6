"""Products with matrices of weights: x W + b."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exactformer.model.invariance import shift_free
from exactformer.model.operations.operation import Operation, Part, Written, filled

if TYPE_CHECKING:
    from exactformer.model.arithmetics.roles import Primitives, Values
    from exactformer.model.backward import Tape
    from exactformer.model.step import Step

PRODUCT = Written("{0} · {1}", r"{0}\cdot {1}")
TIMES_TRANSPOSED = Written("{0} · {1}ᵀ", r"{0}\cdot {1}^{{\mathsf T}}")
TRANSPOSED_TIMES = Written("{0}ᵀ · {1}", r"{0}^{{\mathsf T}}\cdot {1}")
SUMMED = Written("{0}, summed over positions", r"\textstyle\sum_t {0}")
_IGNORED = Written("0: a softmax ignores what is added to a whole row", "0")
DOT = "{0·1}"  # Σ_k of entries, plus a bias


def transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


class _Product(Operation):
    formula, sign, entry, equation, multilinear, added = PRODUCT, "·", DOT, True, True, 2

    def written(self, reads: Sequence[str]) -> Written:
        biased = Written(f"{self.formula.text} + {{2}}", f"{self.formula.latex}+{{2}}")
        return filled(biased if len(reads) > 2 else self.formula, reads, self.known)

    def shift(self, moves: Sequence[str]) -> str | None:
        return "row" if moves[2:] == ["row"] and not any(moves[:2]) else None


def _bias(tape: Tape, step: Step, gradient: Any, axis: int) -> Iterator[Part]:
    """A bias is added at every position, which are along `axis`."""
    for b in step.reads[2:]:
        if shift_free(b, tape.steps):
            yield Part(b, _IGNORED, tape.ops.zeros_like(tape[b]), (step.gradient,))
        else:
            yield Part(b, SUMMED, tape.ops.total(gradient, axis), (step.gradient,))


class _Linear(_Product):
    """y = x W + b"""

    name, title = "linear", "multiply by a matrix"
    about = "Every number of the result is a weighted sum of a row: one dot product with each column of the matrix."
    letters = ("ij", "ik", "kj", "j")

    def apply(self, ops: Values, x: Any, w: Any, b: Any = None) -> Any:
        return ops.linear(x, w, b)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        x, w = step.reads[:2]
        yield Part(x, TIMES_TRANSPOSED, tape.ops.product(gradient, transposed(tape[w])), (step.gradient, w))
        yield Part(w, TRANSPOSED_TIMES, tape.ops.product(transposed(tape[x]), gradient), (x, step.gradient))
        yield from _bias(tape, step, gradient, 0)

    def power(self, powers: Sequence[int]) -> int | None:
        return 1 if list(powers) == [1, 0] else None


class _Unembed(_Product):
    """y = x Wᵀ + b, where W is the table of embeddings"""

    name, title = "unembed", "multiply by the transposed embedding"
    about = "Each position is held against the vector of every token: the better they fit, the larger the logit of that token."
    formula, letters = TIMES_TRANSPOSED, ("ij", "ik", "jk", "j")

    def apply(self, ops: Values, x: Any, w: Any, b: Any = None) -> Any:
        return ops.linear(x, np.transpose(w), b)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        x, w = step.reads[:2]
        yield Part(x, PRODUCT, tape.ops.product(gradient, tape[w]), (step.gradient, w))
        yield Part(w, TRANSPOSED_TIMES, tape.ops.product(transposed(gradient), tape[x]), (step.gradient, x))
        yield from _bias(tape, step, gradient, 0)


class _Project(_Product):
    """y_h = x W_h + b_h for every head h"""

    name, title = "project", "queries, keys or values: x·W for each head"
    about = (
        "Each head looks at the stream in its own way: a query asks, a key answers to questions, a value is what is handed over."
    )
    letters = ("hij", "ik", "hkj", "hj")

    def apply(self, ops: Primitives, x: Any, w: Any, b: Any = None) -> Any:
        return ops.project(x, w, b)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        x, w = step.reads[:2]
        back = tape.ops.total(tape.ops.product(gradient, transposed(tape[w])), 0)
        yield Part(x, TIMES_TRANSPOSED, back, (step.gradient, w))
        yield Part(w, TRANSPOSED_TIMES, tape.ops.product(transposed(tape[x])[None], gradient), (x, step.gradient))
        yield from _bias(tape, step, gradient, 1)


class _Merge(_Product):
    """y = Σ_h z_h W_h + b"""

    name, title = "merge", "join the heads, multiply by W_O"
    about = "What the heads found is brought together and turned into a vector of the stream, to which it will be added."
    letters = ("ij", "hik", "hkj", "j")

    def apply(self, ops: Primitives, z: Any, w: Any, b: Any = None) -> Any:
        return ops.merge(z, w, b)

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        z, w = step.reads[:2]
        yield Part(z, TIMES_TRANSPOSED, tape.ops.product(gradient[None], transposed(tape[w])), (step.gradient, w))
        yield Part(w, TRANSPOSED_TIMES, tape.ops.product(transposed(tape[z]), gradient[None]), (z, step.gradient))
        yield from _bias(tape, step, gradient, 0)


LINEAR, UNEMBED, PROJECT, MERGE = _Linear(), _Unembed(), _Project(), _Merge()
