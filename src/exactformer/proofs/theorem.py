"""Theorems about a model: for every input of a domain, the next token is what a rule demands."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from exactformer.arithmetics import ARITHMETICS
from exactformer.circuits.circuit import Circuit
from exactformer.circuits.symmetry import interchangeable
from exactformer.model import Model
from exactformer.proofs.answers import Answer, read
from exactformer.proofs.cases import Case
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Classes, Sequences, Tokens, renamings
from exactformer.proofs.fingerprint import fingerprint, model_fingerprint
from exactformer.proofs.rules import Demand, Rule, demand, statement
from exactformer.proofs.runner import run
from exactformer.showing import Shown

PROVED, REFUTED, UNDECIDED = "proved", "refuted", "undecided"
_MOST_KEPT = 10  # counterexamples and undecided cases that a report keeps


@dataclass(frozen=True)
class Failure:
    """A case that is not proved: the input, what was demanded, and what came instead."""

    tokens: Tokens
    right: tuple[str, ...]
    token: str | None
    ties: tuple[str, ...]
    verdict: str
    why: str


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

    @property
    def verdict(self) -> str:
        """Proved where every single sequence is."""
        if self.counts[REFUTED]:
            return REFUTED
        return PROVED if self.counts[PROVED] == self.sequences > 0 else UNDECIDED


def prove(
    model: Model,
    domain: Sequences | Sequence[Tokens],
    rule: Rule,
    *,
    circuit: Circuit | None = None,
    steps: int = 1,
    arithmetic_name: str = "exact",
    journal: Path | Callable[[str], Path | None] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    stop_at_failure: bool = False,
) -> Report:
    """Prove, for every sequence of the domain, that the next token (or each of the next `steps`) is what the rule demands.

    With the `circuit` of a model it is found out which tokens are interchangeable, and proved (`circuits.interchangeable`): of
    sequences that differ by a renaming of these, one is computed. The rule is asked about every single sequence, so nothing is
    assumed of it. `journal` is a file that keeps finished cases, or a function that names it, given the fingerprint of the proof.

    >>> from exactformer import load
    >>> model = load("capstone").model
    >>> def says_a(tokens): return "a"
    >>> report = prove(model, Sequences(("a", "b"), 2), says_a, workers=1)
    >>> report.verdict, report.counts["refuted"], report.failures[0].tokens, report.failures[0].token
    ('refuted', 2, ('b',), 'b')
    """
    inputs = _inputs(domain)
    _check(model, inputs, steps, arithmetic_name)
    classes: Classes = tuple((token,) for token in model.config.vocabulary)
    if isinstance(inputs, Sequences):
        # Only for one token: of tokens that tie the lowest index is fed back, which renaming does not keep.
        classes = inputs.within(interchangeable(model, circuit) if steps == 1 else classes)
        cases = inputs.representatives(classes)
        claim, number = f"for {inputs}", inputs.size
    else:  # a list, out of which renamings may lead
        claim, number, cases = f"for each of {len(inputs):,} inputs", len(inputs), inputs
    claim += ", the model's next "
    claim += f"token is {statement(rule)}" if steps == 1 else f"{steps} tokens, each fed back, are {statement(rule)}"
    report = Report(claim, arithmetic_name, classes, len(cases), number, steps, model.config.hard)
    start, vocabulary, before = time.monotonic(), model.config.vocabulary, model_fingerprint(model)
    kept: list[int] = []

    def heard(done: int, total: int) -> None:
        kept.append(done)
        progress(done, total)

    def answers(said: object) -> list[Answer]:
        return read(said, steps, vocabulary, arithmetic_name)

    key = fingerprint(before, cases, steps, arithmetic_name) if journal is not None else ""
    results = run(
        Case(model, arithmetic_name, steps), cases, fingerprint=key, journal=journal(key) if callable(journal) else journal,
        check=answers, workers=workers, cluster=cluster, progress=heard,
    )  # fmt: skip
    for index, said in results:
        _judge(report, rule, cases[index], answers(said), vocabulary)
        if stop_at_failure and report.failures:
            results.close()
            break
    if model_fingerprint(model) != before:
        raise RunError("the weights of the model were changed while it was being proved: nothing is proved of either model")
    judged = sum(report.counts.values())
    if judged != number and not (stop_at_failure and report.failures):
        raise AssertionError(f"{judged} sequences were judged, of {number}")
    report.seconds, report.resumed = time.monotonic() - start, kept[0] if kept else 0
    _keep_the_first(report)
    report.kinds = dict(sorted(report.kinds.items()))
    return report


def _keep_the_first(report: Report) -> None:
    """The shortest failures, whatever the order in which cases finish."""
    report.failures.sort(key=lambda f: (f.verdict != REFUTED, len(f.tokens), f.tokens))
    del report.failures[_MOST_KEPT:]


def _inputs(domain: Sequences | Sequence[Tokens]) -> Sequences | list[Tokens]:
    """The domain as data of its own, which says the same whenever it is asked: no subclass, no list that changes later."""
    if type(domain) is Sequences:
        return domain
    if isinstance(domain, Sequences) or not isinstance(domain, list | tuple):
        raise RunError(f"the domain is of the type {type(domain).__name__}: give Sequences, or a list of inputs")
    inputs: list[Tokens] = []
    for n, tokens in enumerate(domain):
        if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
            raise RunError(f"input {n} of the domain is {tokens!r}: give a tuple of tokens")
        inputs.append(tuple(tokens))
    for tokens, number in Counter(inputs).items():
        if number > 1:
            raise RunError(f"the domain has the input {' '.join(tokens)} {number} times: it would be counted as often")
    return inputs


def _check(model: Model, inputs: Sequences | list[Tokens], steps: int, arithmetic_name: str) -> None:
    """Refuse before any work what could not be proved of this model."""
    config = model.config
    if config.unembedding == "none":
        raise RunError("the model has no unembedding: it predicts no token")
    if type(steps) is not int or steps < 1:
        raise RunError(f"{steps!r} steps: at least 1 token must be demanded")
    if arithmetic_name not in ARITHMETICS:
        raise RunError(f"{arithmetic_name!r} is not an arithmetic: there are {', '.join(ARITHMETICS)}")
    listed, known = [inputs.vocabulary] if isinstance(inputs, Sequences) else inputs, set(config.vocabulary)
    if not listed:
        raise RunError("the domain is empty: there is nothing to prove")
    for tokens in listed:
        if not tokens:
            raise RunError("the domain has an empty input: after nothing, no token is predicted")
        if strange := [token for token in tokens if token not in known]:
            raise RunError(f"the domain has the token {strange[0]!r}, which is not in the vocabulary of the model")
    longest = inputs.longest if isinstance(inputs, Sequences) else max(map(len, inputs))
    if config.length is not None and longest + steps - 1 > config.length:
        raise RunError(f"{longest + steps - 1} positions are needed, the model has {config.length}")


def _judge(report: Report, rule: Rule, tokens: Tokens, answers: list[Answer], vocabulary: Tokens) -> None:
    """Compare what the model says with what the rule demands, for a sequence and all its renamings."""
    for renaming in renamings(tokens, report.classes):
        # Tokens that the sequence does not have may be renamed too, where the answer names them: every renaming of them is alike.
        full = renaming | _rest(renaming, report.classes)
        verdict, failure, kind, margin, renamed = UNDECIDED, None, "", None, tuple(full[t] for t in tokens)
        sequence = renamed
        for answer in answers:
            wanted = demand(rule, sequence)
            given = _renamed(answer, full, vocabulary)
            verdict = _verdict(given, wanted, len(vocabulary), report.exact_ties)
            kind = kind or wanted.kind
            if verdict != PROVED:
                failure = Failure(sequence, tuple(sorted(wanted.right)), given.token, given.ties, verdict, given.why)
                break
            assert given.token is not None
            lead = _lead(given, wanted)
            margin = lead if margin is None else margin if lead is None else min(margin, lead)
            sequence = (*sequence, given.token)
        report.counts[verdict] += 1
        report.kinds.setdefault(kind, Kind()).count(renamed, 1, margin)
        if failure is not None:
            report.failures.append(failure)
            if len(report.failures) > 10 * _MOST_KEPT:
                _keep_the_first(report)


def _rest(renaming: dict[str, str], classes: Classes) -> dict[str, str]:
    """A renaming of the tokens that are left, within their classes."""
    rest: dict[str, str] = {}
    for members in classes:
        old = [t for t in members if t not in renaming]
        new = [t for t in members if t not in {renaming.get(m) for m in members}]
        rest |= dict(zip(old, new, strict=True))
    return rest


def _renamed(answer: Answer, names: dict[str, str], vocabulary: Tokens) -> Answer:
    """The answer to a renamed sequence: of tokens that tie, the winner is again the first of the vocabulary."""
    if answer.token is None:
        return answer
    token, *ties = sorted((names[t] for t in (answer.token, *answer.ties)), key=vocabulary.index)
    logits = None if answer.logits is None else {names[name]: bounds for name, bounds in answer.logits.items()}
    return replace(answer, token=token, ties=tuple(ties), logits=logits)


def _verdict(answer: Answer, wanted: Demand, vocabulary: int, exactly: bool) -> str:
    """Proved where the winner, and all that ties with it, are right: `exactly` these. Nothing demanded is met by a tie of all."""
    if not answer.proved:
        return UNDECIDED
    if answer.token is None:
        return REFUTED
    winners = {answer.token, *answer.ties}
    if not wanted.right:
        return PROVED if len(winners) == vocabulary else REFUTED
    return PROVED if (winners == wanted.right if exactly else winners <= wanted.right) else REFUTED


def _lead(answer: Answer, wanted: Demand) -> Fraction | None:
    """How far the winner is ahead of every token that is not right, at least."""
    if answer.logits is None or not wanted.right:
        return answer.lead
    others = [bounds for token, bounds in answer.logits.items() if token not in wanted.right]
    winner = answer.logits[answer.token or ""]
    if winner is None or not others or None in others:
        return None
    return winner[0] - max(bounds[1] for bounds in others if bounds is not None)
