"""How much of a head's weight goes where it should not: exactly, and at most over all inputs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from exactformer.numbers import Exact, Number, argmax, exact, exp
from exactformer.programs.compiling import Compiler
from exactformer.programs.operators import Memo, Tokens
from exactformer.programs.selectors import Attending


@dataclass(frozen=True)
class Leak:
    """The largest leak of a head, and an input in which it comes."""

    head: str
    operation: str
    weight: Number  # a closed form
    tolerated: Fraction | None  # up to which the operation is read exactly; None: any
    tokens: Tokens  # with BOS before them
    position: int
    exactly: bool  # proved: in no input it leaks more, as the codes that it reads are exact

    @property
    def harmless(self) -> bool:
        return self.exactly and (self.tolerated is None or bool(self.weight <= exact(self.tolerated)))

    def __str__(self) -> str:
        most = "any" if self.tolerated is None else str(self.tolerated)
        known = "at most" if self.exactly else "where codes are exact, at most"
        where = f"at position {self.position} of {' '.join(self.tokens)}"
        return f"{self.head} ({self.operation}) leaks {known} {self.weight}, {where}; {most} is tolerated"


def weight(chosen: int, others: int, score: Fraction, strength: Exact) -> Number:
    """What goes elsewhere: chosen positions score the strength, BOS its part of it, all others 0 (docs/programs.md, Lemma 2).

    >>> weight(1, 4, Fraction(0), exact(7)), weight(0, 3, Fraction(1, 2), exact(8))
    (<5/(5+e^7)>, <3/(3+e^4)>)
    """
    bos, meant = exp(strength * exact(score)), chosen * exp(strength)
    if score == 1 or not chosen:
        return others / (others + meant + bos)
    return (others + bos) / (others + bos + meant)


def leaks(compiler: Compiler, inputs: list[Tokens], strength: Exact) -> list[Leak]:
    """The largest leak of every head. How many positions a head should look at is what the program says, input by input."""
    places: dict[int, dict[tuple[int, int], tuple[Tokens, int]]] = {key: {} for key in compiler.mixings}
    for tokens in inputs:
        memo: Memo = {}
        compiler.output.run(tokens[1:], memo)
        for nodes in compiler.heads.values():
            for node in nodes:
                for i, chosen in enumerate(node.selector.chosen(tokens[1:], memo)):
                    places[id(node)].setdefault((len(chosen), len(tokens) - 1 - len(chosen)), (tokens, i + 1))
    found: dict[int, Leak] = {}
    exact_codes: dict[int, bool] = {}
    for each in compiler.nodes:
        exact_codes[id(each)] = all(exact_codes[id(part)] for part in each.parts)
        if isinstance(each, Attending):
            found[id(each)] = _largest(compiler, each, places[id(each)], strength, exact_codes[id(each)])
            exact_codes[id(each)] = found[id(each)].harmless
    return [found[id(node)] for nodes in compiler.heads.values() for node in nodes]


def _largest(
    compiler: Compiler, node: Attending, places: dict[tuple[int, int], tuple[Tokens, int]], strength: Exact, exactly: bool
) -> Leak:
    mixed = compiler.mixings[id(node)]
    weights = [weight(*pair, mixed.score, strength) for pair in places]
    most = argmax(weights)
    tokens, position = list(places.values())[most]
    number = next(n for n, each in enumerate(compiler.heads[node.level]) if each is node)
    head = f"blocks.{node.level - 1}, head {number}"
    return Leak(head, type(node).__name__.lower(), weights[most], mixed.tolerance, tokens, position, exactly)
