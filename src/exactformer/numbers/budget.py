"""How far a question is followed before the answer is *undecided*."""

from __future__ import annotations

from dataclasses import dataclass, fields

WORKING_BITS = 256  # the first look at a value: enough for 50 decimals of most results, and hardly slower than 64 bits


@dataclass(frozen=True)
class Budget:
    """Limits of one query. They are passed along, never held globally.

    >>> Budget(bits=900).ladder
    (256, 512)
    """

    bits: int = 2048  # the largest working precision of an enclosure
    nodes: int = 1500  # nodes of the graph that a proof may expand
    terms: int = 2000  # terms of one polynomial in a proof
    generators: int = 40  # independent quantities in a proof
    work: int = 800_000  # term products in one attempt at a proof: a few tenths of a second
    cuts: int = 5  # kinds of proof that are tried, the cheapest first
    failures: int = 3  # proofs that may fail among the values of one array before the rest are left as they are

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"a budget of {value!r} {field.name}: give a whole number of at least 1")

    @property
    def ladder(self) -> tuple[int, ...]:
        rungs, bits = [], WORKING_BITS
        while bits <= self.bits:
            rungs.append(bits)
            bits *= 2
        return tuple(rungs) or (self.bits,)


DEFAULT = Budget()
