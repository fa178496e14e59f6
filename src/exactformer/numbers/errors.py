"""The errors that a question about numbers ends in where there is no answer."""

from __future__ import annotations


class Undecided(ArithmeticError):
    """A question that was neither proved nor refuted within its budget.

    >>> raise Undecided("the sign of x", 192)
    Traceback (most recent call last):
    exactformer.numbers.errors.Undecided: undecided: the sign of x (looked to 192 bits)
    """

    def __init__(self, question: str, bits: int) -> None:
        super().__init__(f"undecided: {question}" + (f" (looked to {bits} bits)" if bits else ""))
        self.question = question
        self.bits = bits

    def __reduce__(self) -> tuple[type[Undecided], tuple[str] | tuple[str, int]]:
        return Undecided, (self.question, self.bits)


class UndefinedValue(ArithmeticError):
    """A question about a value that does not exist, such as an output of LayerNorm at variance 0."""
