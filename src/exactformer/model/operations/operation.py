"""What an operation is: how it is applied, how it hands gradients back, what it is called and how it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from exactformer.model.axes import DIMENSION, NOTHING, POSITION, Axis

if TYPE_CHECKING:
    from exactformer.model.backward import Tape
    from exactformer.model.step import Remarks, Step


_ENTRYWISE = {0: "", 1: "j", 2: "ij", 3: "hij"}


class Written(NamedTuple):
    """A formula as text and as LaTeX. {0}, {1}, … stand for what is read, and names for what the operation knows."""

    text: str
    latex: str


class Part(NamedTuple):
    """What one reader hands back to `target`: `way` says how, `reads` from what."""

    target: str
    way: Written
    value: Any
    reads: tuple[str, ...]
    known: Mapping[str, str] = {}
    remarks: Remarks = ()


class Operation:
    """A record. What depends on the place in a model (a factor, an ε) is a field of the operation's own.

    `letters` are in the manner of einsum: those of each axis of what it yields, then of each thing that it reads. `linear` is "ij"
    from "ik", "kj", "j": entry (i, j) of a product reads row i of the first, column j of the second, entry j of the bias. A digit
    stands for that very index; `t` is the row of the vocabulary that the token of position `i` has. Without letters, an operation
    goes entry by entry.

    `entry` is how one entry is written with its numbers put in; docs/architecture.md has the words of this little language.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]  # what it does and why, in a sentence that a student meets first
    formula: ClassVar[Written]
    letters: ClassVar[tuple[str, ...]] = ()
    sign: ClassVar[str] = ""  # between what it reads, where its matrices can be drawn as an equation
    entry: ClassVar[str] = ""
    equation: ClassVar[bool] = False  # is what it yields equal to what it reads, put together by its sign?
    multilinear: ClassVar[bool] = False  # is its gradient by one thing read the gradient times the others?
    weights: ClassVar[bool] = False  # are its rows weights of an average, which are drawn as heat?
    reduces: ClassVar[bool] = False  # is one number left of each row?
    added: ClassVar[int | None] = None  # which of what it reads, counted from 0, is added to all the rest: a bias

    def apply(self, ops: Any, *values: Any) -> Any:
        raise NotImplementedError(f"{self.name} is not computed from what it reads")

    def back(self, tape: Tape, step: Step, gradient: Any) -> Iterator[Part]:
        """What is handed back to each thing that was read; nothing where nothing depends on it smoothly."""
        return iter(())

    @property
    def known(self) -> dict[str, str]:
        """What else stands in its formulas."""
        return {}

    def written(self, reads: Sequence[str]) -> Written:
        """The formula of a step, with short names for what it reads.

        >>> from exactformer.model.operations.stream import ADD
        >>> ADD.written(("blocks.0.resid_pre", "blocks.0.attn.out")).text
        'resid_pre + attn.out'
        """
        return filled(self.formula, reads, self.known)

    def signature(self, rank: int, reads: int) -> tuple[str, ...]:
        """The letters of an array of so many axes, made of so many others.

        >>> from exactformer.model.operations.attention import SOFTMAX
        >>> SOFTMAX.signature(3, 1)
        ('hij', 'hik')
        """
        if not self.letters:
            return (_ENTRYWISE[rank],) * (1 + reads)
        return tuple(letters.replace("…", "h" if rank == 3 else "") for letters in self.letters)

    def axes(self, rank: int, reads: Sequence[tuple[Axis, ...]]) -> tuple[Axis, ...]:
        """What the axes of the result count, from those of what is read."""
        out, *letters = self.signature(rank, len(reads))
        if not reads:
            return (POSITION, DIMENSION)
        known = {letter: axis for read, axes in zip(letters, reads, strict=False) for letter, axis in zip(read, axes, strict=False)}
        found = [known[letter] if letter in known else reads[0][n] for n, letter in enumerate(out)]
        return (*found[:-1], NOTHING) if self.reduces else tuple(found)

    # -- what it does to a factor, and to what is added to all of a row (invariance.py)
    def power(self, powers: Sequence[int]) -> int | None:
        """Where what it reads is multiplied by c^power, c > 0, so is what it yields, by c to this; None where that is not known."""
        return None

    def shift(self, moves: Sequence[str]) -> str | None:
        """The same of sums: a move is "", "row" (one vector is added to all rows) or "constant" (a number to all of a row)."""
        return None


def filled(way: Written, reads: Sequence[str], known: Mapping[str, str]) -> Written:
    """A formula with names put in: those of gradients with a ∂."""
    texts = [("∂" if _is_gradient(read) else "") + short(read) for read in reads]
    latexes = [(r"\partial " if _is_gradient(read) else "") + _typeset(short(read)) for read in reads]
    return Written(way.text.format(*texts, **known), way.latex.format(*latexes, **known))


def short(name: str) -> str:
    """The name of a step or of its gradient, without its block.

    >>> short("blocks.0.attn.q"), short("grad.blocks.0.attn.q")
    ('attn.q', 'attn.q')
    """
    parts = name.removeprefix("grad.").split(".")
    return ".".join(parts[2:]) if parts[0] == "blocks" else ".".join(parts)


def _is_gradient(name: str) -> bool:
    return name.startswith("grad.")


def _typeset(name: str) -> str:
    return rf"\mathtt{{{name}}}".replace("_", r"\_")
