"""A program: its meaning in plain Python, the model that it compiles to, and the theorem that the model computes the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from exactformer.messages import quoted
from exactformer.model import Model, forward
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.numbers import Exact, exact, exp
from exactformer.programs.compiling import BOS, Compiler, answer
from exactformer.programs.operators import ProgramError, SOp, Tokens
from exactformer.proofs import From, Report, prove
from exactformer.proofs.search import CAP, Strength, climbed

if TYPE_CHECKING:
    from exactformer.programs.leaks import Leak
    from exactformer.programs.sheet import ProgramSheet

_LONGEST = 64
_CLOSE = 1e-9  # a lead that floats do not see
_MOST_INPUTS = 1_000_000


@dataclass(frozen=True, eq=False)
class Program:
    """An operation on sequences of tokens, which says something at every position.

    >>> from exactformer.programs import indices, select, aggregate, tokens
    >>> previous = Program(aggregate(select(indices, indices + 1, lambda key, query: key + 2 == query), tokens, default="a"), "ab")
    >>> previous("bab")
    ['a', 'b', 'a']
    >>> previous.prove(length=2, workers=1).verdict
    'proved'
    """

    output: SOp
    vocabulary: Tokens
    name: str = "program"
    about: str = ""
    where: Callable[[Tokens], bool] | None = None  # which inputs are meant; None: all
    answered: ClassVar[From] = From(1)  # positions: every one after BOS

    def __post_init__(self) -> None:
        object.__setattr__(self, "vocabulary", tuple(self.vocabulary))
        if not isinstance(self.output, SOp):
            raise ProgramError(f"{self.name}: the output is {quoted(self.output)}, not a value at every position")
        if not self.vocabulary or len(set(self.vocabulary)) < len(self.vocabulary) or BOS in self.vocabulary:
            raise ProgramError(
                f"{self.name}: the vocabulary is empty, has a token twice, or has {BOS}, with which every input begins"
            )
        for token in self.vocabulary:
            if not isinstance(token, str) or not token:
                raise ProgramError(f"{self.name}: vocabulary: {quoted(token)} is not a token: tokens are texts that are not empty")

    def __call__(self, tokens: Iterable[str]) -> list[Any]:
        """What the program says at every position: the specification, which knows nothing of models."""
        given = tuple(tokens)
        for token in given:
            if token not in self.vocabulary:
                raise ProgramError(f"{self.name}: {quoted(token)} is not in its vocabulary ({' '.join(self.vocabulary)})")
        return self.output.run(given, {})

    # -- the model
    def compiled(self, length: int) -> Compiler:
        if type(length) is not int or not 1 <= length <= _LONGEST:
            raise ProgramError(f"{self.name}: length: {quoted(length)} is not a whole number from 1 to {_LONGEST}")
        if length not in self._compiled:
            self._compiled[length] = Compiler(self.output, self.vocabulary, length)
        return self._compiled[length]

    @cached_property
    def _compiled(self) -> dict[int, Compiler]:
        return {}

    def model(self, length: int, strength: Any = None, hard: bool = False) -> Model:
        """The model for inputs of up to `length` tokens after BOS. Without a strength, one that is enough by the lemma."""
        strong = self.enough(length) if strength is None else strength
        return self.compiled(length).model(strong if isinstance(strong, Exact) else exact(strong), hard)

    def enough(self, length: int) -> int:
        """A strength at which no head leaks more than is tolerated, by Lemma 2 of docs/programs.md: whatever the input."""
        needed = [(mixed.score, mixed.tolerance) for mixed in self.compiled(length).mixings.values()]
        for strength in range(1, CAP + 1):
            bounds = ((length / (length + exp(strength * (exact("1/2") if 0 < score < 1 else 1))), most) for score, most in needed)
            if all(most is None or leak <= exact(most) for leak, most in bounds):
                return strength
        raise ProgramError(f"{self.name}: no strength up to {CAP} is enough for {length} tokens by the lemma; give one")

    def worksheet(self, length: int, strength: Any = None, hard: bool = False) -> ProgramSheet:
        """The model with an input, to be traced; its `text` is a file that every command reads."""
        from exactformer.programs.sheet import sheet

        return sheet(self, length, strength, hard)

    def leaks(self, length: int, strength: Any = None) -> list[Leak]:
        """The largest leak of every head over all inputs up to `length`, exactly, and where it comes."""
        return self.worksheet(length, strength).leaks()

    # -- the theorem
    def inputs(self, length: int) -> list[Tokens]:
        """Every input that is meant, of 1 to `length` tokens, with BOS before it."""
        total = sum(len(self.vocabulary) ** n for n in range(1, length + 1))
        if total > _MOST_INPUTS:
            raise ProgramError(
                f"{self.name}: there are {total:,} sequences of up to {length} tokens; up to {_MOST_INPUTS:,} are proved"
            )
        every = (given for n in range(1, length + 1) for given in product(self.vocabulary, repeat=n))
        return [(BOS, *given) for given in every if self.where is None or self.where(given)]

    def rule(self, length: int) -> Rule:
        return Rule(self, length)

    def prove(
        self, length: int, *, strength: Any = None, hard: bool = False, model: Model | None = None, arithmetic: str | None = None,
        workers: int | None = 1, journal: Any = None, cluster: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Report:  # fmt: skip
        """The theorem: for every input up to `length`, the model (or that `model`) says at every position what the program says."""
        model = self.model(length, strength, hard) if model is None else model
        return prove(
            model, self.inputs(length), self.rule(length), positions=self.answered, last="exact", workers=workers, journal=journal,
            arithmetic_name=arithmetic or usual_arithmetic(model), cluster=cluster, progress=progress,
        )  # fmt: skip

    def strengths(
        self, length: int, *, workers: int | None = 1, cluster: str | None = None,
        journal: Callable[[int, int], Path | None] | None = None, progress: Callable[[str], None] = lambda what: None,
    ) -> Iterator[Strength]:  # fmt: skip
        """For every length up to `length`, the smallest whole strength of the model for `length` at which the theorem holds."""
        models: dict[int, Model] = {}

        def attempt(strength: int, asked: int | list[Tokens], kept: Path | None) -> Report:
            if strength not in models:
                models.clear()
                models[strength] = self.model(length, strength)
            model, rule = models[strength], self.rule(length)

            def proved(domain: list[Tokens], processes: int | None, kept: Path | None) -> Report:
                return prove(
                    model, domain, rule, positions=self.answered, arithmetic_name="certified", last="exact", workers=processes,
                    cluster=cluster if processes is None else None, journal=kept, stop_at_failure=True,
                )  # fmt: skip

            if isinstance(asked, list):
                return proved(asked, 1, None)
            domain = self.inputs(asked)
            suspect = suspected(model, rule, domain)
            refuted = proved([suspect], 1, None) if suspect is not None else None
            return refuted if refuted is not None and refuted.failures else proved(domain, workers, kept)

        return climbed(length, attempt, journal, progress)

    def smallest_strength(self, length: int, **how: Any) -> Strength:
        """The smallest whole strength at which the theorem holds up to `length`, with its report; and what one less gets wrong.

        Every smaller one was tried and refuted, as more strength is not taken for better: each has an input that it gets wrong.
        """
        return list(self.strengths(length, **how))[-1]


@dataclass(frozen=True, eq=False)
class Rule:
    """What a program demands of inputs with BOS before them: an answer for every position after it."""

    program: Program
    length: int

    @property
    def statement(self) -> str:
        program = self.program
        meant = "" if program.where is None else f", {(program.where.__doc__ or 'of those that are meant').strip().splitlines()[0]}"
        domain = f"{BOS}, then 1 to {self.length} tokens over {' '.join(program.vocabulary)}{meant}"
        return f"those of the program {program.name} ({domain})"

    def __call__(self, tokens: Tokens) -> list[str]:
        if tokens not in self._known:
            self._known[tokens] = list(map(answer, self.program(tokens[1:])))
        return self._known[tokens]

    @cached_property
    def _known(self) -> dict[Tokens, list[str]]:
        return {}


def suspected(model: Model, rule: Rule, inputs: list[Tokens]) -> Tokens | None:
    """An input that floats get wrong, the first of the shortest: where to look for a counterexample, which is then proved."""
    floats, names = FloatArithmetic("float64"), model.config.vocabulary
    for tokens in inputs:
        logits = forward(model, model.ids(tokens), floats)[1:]
        right = [names.index(token) for token in rule(tokens)]
        others = logits.copy()
        others[range(len(right)), right] = -np.inf
        if (logits[range(len(right)), right] - others.max(axis=1) < _CLOSE).any():
            return tokens
    return None


def usual_arithmetic(model: Model) -> str:
    """Certified arrays, many inputs at a time; with hard attention, of which they know nothing, exact numbers."""
    return "exact" if model.config.hard else "certified"


def program(output: SOp, vocabulary: Iterable[str], **said: Any) -> Program:
    """A program over a vocabulary: `program(count(select(tokens, tokens, "==")), "abc", name="histogram")`."""
    return Program(output, tuple(vocabulary), **said)
