"""Theorems about a model: for every input of a domain, the next token is what a rule demands."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from exactformer.model import Model, arithmetic
from exactformer.proofs.cases import Case
from exactformer.proofs.chunks import RunError
from exactformer.proofs.domain import Classes, Sequences, Tokens, renamings, representatives
from exactformer.proofs.rules import Demand, Rule, demand, statement
from exactformer.proofs.runner import run

PROVED, REFUTED, UNDECIDED = "proved", "refuted", "undecided"
_MOST_TOLD = 10  # counterexamples and undecided cases that a report keeps


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
class Report:
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
        if self.counts[REFUTED]:
            return REFUTED
        return UNDECIDED if self.counts[UNDECIDED] else PROVED

    def __str__(self) -> str:
        from exactformer.render.theorems import text

        return text(self)


def prove(
    model: Model,
    domain: Sequences | Sequence[Tokens],
    rule: Rule,
    *,
    classes: Classes | None = None,
    steps: int = 1,
    arithmetic_name: str = "exact",
    journal: Path | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    stop_at_failure: bool = False,
) -> Report:
    """Prove, for every sequence of the domain, that the next token (or each of the next `steps`) is what the rule demands.

    `classes` are tokens proved to be interchangeable (`circuits.interchangeable`): of sequences that differ by a renaming within
    them, one is computed. The rule is asked about every single sequence, so nothing is assumed of it.

    >>> from exactformer import load
    >>> model = load("capstone").model
    >>> def says_a(tokens): return "a"
    >>> report = prove(model, Sequences(("a", "b"), 2), says_a, workers=1)
    >>> report.verdict, report.counts["refuted"], report.failures[0].tokens, report.failures[0].token
    ('refuted', 2, ('b',), 'b')
    """
    if model.config.unembedding == "none":
        raise ValueError("the model has no unembedding: it predicts no token")
    # Renamings may lie outside a list; and of tokens that tie the lowest index is fed back, which renaming does not keep.
    _check(model, domain, steps)
    if classes is None or not isinstance(domain, Sequences) or steps > 1:
        classes = tuple((token,) for token in model.config.vocabulary)
    else:
        classes = domain.within(classes)
    cases = representatives(domain, classes)
    told = f"for {domain if isinstance(domain, Sequences) else f'each of {len(cases):,} inputs'}, the model's next "
    told += f"token is {statement(rule)}" if steps == 1 else f"{steps} tokens, each fed back, are {statement(rule)}"
    report = Report(told, arithmetic_name, classes, len(cases), len(domain), steps, model.config.hard)
    start = time.monotonic()
    kept: list[int] = []

    def heard(done: int, total: int) -> None:
        kept.append(done)
        progress(done, total)

    case = Case(model, arithmetic_name, steps)
    results = run(
        case, cases, fingerprint=_fingerprint(model, cases, steps, arithmetic_name), journal=journal, workers=workers,
        cluster=cluster, progress=heard,
    )  # fmt: skip
    for index, answers in results:
        _judge(report, rule, cases[index], answers, model.config.vocabulary)
        if stop_at_failure and report.verdict != PROVED:
            results.close()
            break
    if not stop_at_failure and sum(report.counts.values()) != report.sequences:
        raise AssertionError(f"{sum(report.counts.values())} sequences were judged, of {report.sequences}")
    report.seconds, report.resumed = time.monotonic() - start, kept[0] if kept else 0
    _keep_the_first(report)
    report.kinds = dict(sorted(report.kinds.items()))
    return report


def _keep_the_first(report: Report) -> None:
    """The shortest failures, whatever the order in which cases finish."""
    report.failures.sort(key=lambda f: (f.verdict != REFUTED, len(f.tokens), f.tokens))
    del report.failures[_MOST_TOLD:]


def _check(model: Model, domain: Sequences | Sequence[Tokens], steps: int) -> None:
    """Refuse before any work what could not be proved of this model."""
    config = model.config
    longest = domain.longest if isinstance(domain, Sequences) else max(map(len, domain), default=0)
    if longest == 0:
        raise RunError("the domain is empty: there is nothing to prove")
    if isinstance(domain, Sequences) and (strange := [token for token in domain.vocabulary if token not in config.vocabulary]):
        raise RunError(f"the domain has the token {strange[0]!r}, which the model has not ({' '.join(config.vocabulary[:8])})")
    if config.length is not None and longest + steps - 1 > config.length:
        raise RunError(f"{longest + steps - 1} positions are needed, the model has {config.length}")


def _judge(report: Report, rule: Rule, tokens: Tokens, answers: list[dict[str, Any]], vocabulary: Tokens) -> None:
    """Compare what the model says with what the rule demands, for a sequence and all its renamings."""
    for renaming in renamings(tokens, report.classes):
        # Tokens that the sequence does not have may be renamed too, where the answer names them: every renaming of them is alike.
        full = renaming | _rest(renaming, report.classes)
        verdict, failure, kind, margin, renamed = PROVED, None, "", None, tuple(full[t] for t in tokens)
        sequence = renamed
        for answer in answers:
            wanted = demand(rule, sequence)
            given = _renamed(answer, full, vocabulary)
            verdict = _verdict(given, wanted, len(vocabulary), report.exact_ties)
            kind = kind or wanted.kind
            if verdict != PROVED:
                failure = Failure(
                    sequence,
                    tuple(sorted(wanted.right)),
                    given["token"],
                    tuple(given.get("ties", ())),
                    verdict,
                    given.get("why", ""),
                )
                break
            lead = _lead(given, wanted)
            margin = lead if margin is None else margin if lead is None else min(margin, lead)
            sequence = (*sequence, given["token"])
        report.counts[verdict] += 1
        report.kinds.setdefault(kind, Kind()).count(renamed, 1, margin)
        if failure is not None:
            report.failures.append(failure)
            if len(report.failures) > 10 * _MOST_TOLD:
                _keep_the_first(report)


def _rest(renaming: dict[str, str], classes: Classes) -> dict[str, str]:
    """A renaming of the tokens that are left, within their classes."""
    rest: dict[str, str] = {}
    for members in classes:
        old = [t for t in members if t not in renaming]
        new = [t for t in members if t not in {renaming.get(m) for m in members}]
        rest |= dict(zip(old, new, strict=True))
    return rest


def _renamed(answer: dict[str, Any], names: dict[str, str], vocabulary: Tokens) -> dict[str, Any]:
    """The answer to a renamed sequence: of tokens that tie, the winner is again the first of the vocabulary."""
    if answer["token"] is None:
        return answer
    token, *ties = sorted((names[t] for t in (answer["token"], *answer["ties"])), key=vocabulary.index)
    logits = {names[token]: bounds for token, bounds in answer["logits"].items()}
    return answer | {"token": token, "ties": ties, "logits": logits}


def _verdict(answer: dict[str, Any], wanted: Demand, vocabulary: int, exactly: bool) -> str:
    """Proved where the winner, and all that ties with it, are right: `exactly` these. Nothing demanded is met by a tie of all."""
    if not answer["proved"]:
        return UNDECIDED
    if answer["token"] is None:
        return REFUTED
    winners = {answer["token"], *answer["ties"]}
    if not wanted.right:
        return PROVED if len(winners) == vocabulary else REFUTED
    return PROVED if (winners == wanted.right if exactly else winners <= wanted.right) else REFUTED


def _lead(answer: dict[str, Any], wanted: Demand) -> Fraction | None:
    """How far the winner is ahead of every token that is not right, at least."""
    others = [bounds for token, bounds in answer["logits"].items() if token not in wanted.right]
    winner = answer["logits"][answer["token"]]
    if winner is None or not others or not wanted.right or any(bounds is None for bounds in others):
        return None
    return Fraction(winner[0]) - max(Fraction(bounds[1]) for bounds in others)


def case_fingerprint(model: Model, domain: Sequences | Sequence[Tokens], classes: Classes, steps: int, arithmetic_name: str) -> str:
    """What tells this computation apart from every other: configuration, weights, inputs, arithmetic and version."""
    inside = domain.within(classes) if isinstance(domain, Sequences) else classes
    return _fingerprint(model, representatives(domain, inside), steps, arithmetic_name)


def _fingerprint(model: Model, cases: Iterable[Tokens], steps: int, arithmetic_name: str) -> str:
    from exactformer import __version__

    digest = hashlib.sha256(f"{__version__} {arithmetic_name} {steps} {model.config!r}".encode())
    for name, weights in model.weights.named():
        digest.update(f"{name} {weights.shape} {weights.dtype}".encode())
        digest.update(b" ".join(_words(weights)))
    for tokens in cases:
        digest.update("\0".join(tokens).encode() + b"\n")
    return digest.hexdigest()


def _words(weights: Any) -> Iterator[bytes]:
    if weights.dtype != object:
        yield weights.tobytes()
        return
    for value in arithmetic("exact").load(weights).flat:
        yield str(value.value).encode()
