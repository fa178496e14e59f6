"""What a proof has shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from exactformer.messages import short
from exactformer.proofs.domain import Classes, Tokens
from exactformer.showing import Shown

PROVED, REFUTED, UNDECIDED = "proved", "refuted", "undecided"
CLAIMS = {
    "everywhere": "the rule holds for every input",
    "fails": "the rule fails for some input",
    "nowhere": "the rule holds for no input",
}
MOST_LISTED = 100_000  # wrong inputs of sets that are listed, where all are asked for
MOST_KEPT = 10  # counterexamples and undecided cases that a report keeps


@dataclass(frozen=True)
class Failure:
    """A case that is not proved: the input, what was demanded, and what came instead."""

    tokens: Tokens
    right: tuple[str, ...]
    token: str | None
    ties: tuple[str, ...]
    verdict: str
    why: str
    position: int | None = None  # where the answer was read; None: after the tokens
    fed_back: int = 0  # how many of the tokens, at the end, are the model's own answers

    @property
    def given(self) -> Tokens:
        """The input itself."""
        return self.tokens[: len(self.tokens) - self.fed_back]

    @property
    def words(self) -> str:
        """All tokens, with a mark before those that the model said itself.

        >>> Failure(("a", "b", "c"), ("d",), "a", (), REFUTED, "", fed_back=1).words
        'a b, then its own c'
        """
        own = self.tokens[len(self.given) :]
        return " ".join(self.given) + (f", then its own {' '.join(own)}" if own else "")


@dataclass
class Kind:
    """The sequences of one kind: how many, and where a demanded token leads the others by least."""

    sequences: int = 0
    margin: Fraction | None = None  # proved: the lead is at least this
    at: Tokens = ()

    def count(self, tokens: Tokens, number: int, margin: Fraction | None) -> None:
        self.sequences += number
        # Of equal margins the first sequence, whatever the order in which cases finish.
        if margin is not None and (self.margin is None or (margin, len(tokens), tokens) < (self.margin, len(self.at), self.at)):
            self.margin, self.at = margin, tokens


@dataclass
class Leads:
    """How many inputs have a lead from 2^n up to 2^(n + 1), by n: of those that are right, and by how much others are wrong."""

    right: dict[int, int] = field(default_factory=dict)
    wrong: dict[int, int] = field(default_factory=dict)


@dataclass(repr=False)
class Report(Shown):
    """What was shown. Counts are of sequences; `cases` of them were computed, the others are renamings of these."""

    statement: str
    arithmetic: str
    classes: Classes
    cases: int
    sequences: int
    steps: int = 1
    exact_ties: bool = False  # must all tokens that are demanded tie? With hard attention they must
    counts: dict[str, int] = field(default_factory=lambda: {PROVED: 0, REFUTED: 0, UNDECIDED: 0})
    kinds: dict[str, Kind] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    resumed: int = 0  # cases that an earlier run had finished
    leads: Leads | None = None  # of batches
    sets: int | None = None  # sets of inputs that were looked at, where it was proved by sets
    loss: tuple[Fraction, Fraction] | None = None  # two ends around the mean cross-entropy, where it was asked for

    asked: str = "everywhere"  # which of the CLAIMS about the rule

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in self.counts.items() if count)
        return f"<theorem {self.verdict}: {short(self.statement, 100)}; sequences: {counts}>"

    @property
    def answer(self) -> str:
        """The verdict on the claim that was asked for."""
        right, wrong = self.counts[PROVED], self.counts[REFUTED]
        if self.asked == "everywhere":
            return self.verdict
        settled, refuted = (
            (wrong > 0, right == self.sequences) if self.asked == "fails" else (wrong == self.sequences > 0, right > 0)
        )
        return PROVED if settled else REFUTED if refuted else UNDECIDED

    @property
    def verdict(self) -> str:
        """Proved where every single sequence is."""
        if self.counts[REFUTED]:
            return REFUTED
        return PROVED if self.counts[PROVED] == self.sequences > 0 else UNDECIDED

    @property
    def accuracy(self) -> tuple[Fraction, Fraction]:
        """Two ends around the share of inputs for which the rule holds: they meet where nothing is undecided."""
        right, open_ = self.counts[PROVED], self.counts[UNDECIDED]
        return Fraction(right, self.sequences), Fraction(right + open_, self.sequences)

    def failed(self, failure: Failure) -> None:
        self.failures.append(failure)
        if len(self.failures) > 10 * MOST_KEPT:
            self.keep_the_first()

    def keep_the_first(self) -> None:
        """The shortest failures, whatever the order in which cases finish."""
        self.failures.sort(key=lambda f: (f.verdict != REFUTED, len(f.tokens), f.tokens))
        del self.failures[MOST_KEPT:]
