"""Theorems about a model: for every input of a domain, the next token is what a rule demands."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exactformer.arithmetics import ARITHMETICS, kind
from exactformer.circuits.circuit import Circuit
from exactformer.circuits.symmetry import interchangeable
from exactformer.messages import Refused
from exactformer.model import Model
from exactformer.proofs.answers import Answer, read
from exactformer.proofs.batches import Batches, Inputs, asking, check_number, demands_at
from exactformer.proofs.cases import Case
from exactformer.proofs.chunks import RunError
from exactformer.proofs.deciding import Deciding
from exactformer.proofs.domain import Classes, From, Places, Product, Sequences, Tokens, places_of
from exactformer.proofs.fingerprint import batches_fingerprint, fingerprint, model_fingerprint, survey_fingerprint
from exactformer.proofs.judging import judge
from exactformer.proofs.report import MOST_LISTED, Report
from exactformer.proofs.rules import Demand, Rule, demand, statement
from exactformer.proofs.runner import run
from exactformer.proofs.surveying import Survey, Surveying
from exactformer.proofs.tally import Tally, Wrong

Journal = Path | Callable[[str], Path | None] | None
Domain = Sequences | Product | Sequence[Tokens]


def prove(
    model: Model,
    domain: Domain,
    rule: Rule,
    *,
    circuit: Circuit | None = None,
    steps: int = 1,
    positions: Sequence[int] | From | None = None,
    arithmetic_name: str = "exact",
    journal: Journal = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    stop_at_failure: bool = False,
    loss: bool = False,
    wrong: Callable[[Wrong], None] | None = None,
    last: str | None = None,
    sets: int | None = None,
) -> Report:
    """Prove, for every sequence of the domain, that the next token (or each of the next `steps`) is what the rule demands.

    With the `circuit` of a model it is found out which tokens are interchangeable, and proved (`circuits.interchangeable`): of
    sequences that differ by a renaming of these, one is computed. The rule is asked about every single sequence, so nothing is
    assumed of it. `journal` is a file that keeps finished cases, or a function that names it, given the fingerprint of the proof.
    Answers may be asked for at other `positions` of the input, or at all `From` one on: the rule then names one for each.

    In the arithmetic `certified`, inputs are computed many at a time, and the domain may be of any size. There, with `loss`, the
    mean cross-entropy of what is demanded is enclosed; `wrong` is given every input that is not proved right, in the order of the
    domain; what limbs leave undecided, such as ties, the arithmetic `last` is asked about.

    With `sets`, whole sets of inputs are proved at once, up to so many of them: of a network of one attention layer and nothing
    else, for the rules max, min, first and last. What is undecided then was not reached; `wrong` is given what is proved wrong.

    >>> from exactformer import load
    >>> model = load("capstone").model
    >>> def says_a(tokens): return "a"
    >>> report = prove(model, Sequences(("a", "b"), 2), says_a, workers=1)
    >>> report.verdict, report.counts["refuted"], report.failures[0].tokens, report.failures[0].token
    ('refuted', 2, ('b',), 'b')
    """
    inputs = _inputs(domain)
    places = positions if positions is None or isinstance(positions, From) else tuple(positions)
    _check(model, inputs, steps, arithmetic_name, places)
    many = not kind(arithmetic_name).stepwise
    _check_batches(many, arithmetic_name, loss, wrong is not None, isinstance(inputs, Product), sets)
    start, before, kept = time.monotonic(), model_fingerprint(model), list[int]()

    def heard(done: int, total: int) -> None:
        kept.append(done)
        progress(done, total)

    proof = _Proof(model, before, inputs, rule, steps, places, arithmetic_name, journal, workers, cluster, heard, stop_at_failure)
    if sets is not None:
        report = proof.by_sets(sets, last, wrong)
    else:
        report = proof.by_batches(loss, wrong, last) if many else proof.by_cases(circuit)
    if model_fingerprint(model) != before:
        raise RunError("the weights of the model were changed while it was being proved: nothing is proved of either model")
    judged = sum(report.counts.values())
    if judged != report.sequences and not (stop_at_failure and report.failures):
        raise AssertionError(f"{judged} sequences were judged, of {report.sequences}")
    report.seconds, report.resumed = time.monotonic() - start, kept[0] if kept else 0
    report.keep_the_first()
    report.kinds = dict(sorted(report.kinds.items()))
    return report


@dataclass(frozen=True)
class _Proof:
    """What is asked, and how it is to be computed."""

    model: Model
    fingerprint: str
    inputs: Inputs
    rule: Rule
    steps: int
    places: Places | None
    arithmetic: str
    journal: Journal
    workers: int | None
    cluster: str | None
    progress: Callable[[int, int], None]
    stop_at_failure: bool

    def by_cases(self, circuit: Circuit | None) -> Report:
        """One case after the other: what a model says after it knows no rule."""
        inputs, outputs = self.inputs, self.model.config.spoken
        classes = self._alone
        if isinstance(inputs, Sequences):
            # Only for one token: of tokens that tie the lowest index is fed back, which renaming does not keep.
            classes = inputs.within(interchangeable(self.model, circuit) if self.steps == 1 else classes)
        cases = inputs.representatives(classes) if isinstance(inputs, Sequences) else list(inputs)
        report = self._report(classes, len(cases))

        def answers(said: Any, read_at: tuple[int, ...] | None) -> list[Answer]:
            return read(said, self.steps, outputs, self.arithmetic, read_at)

        def possible(said: Any) -> None:
            """Whether it is of as many positions as its case has is seen when it is judged."""
            answers(said, tuple(range(len(said))) if self.places is not None and isinstance(said, list) else None)

        def add(index: int, said: object) -> None:
            read_at = self._read_at(len(cases[index]))
            judge(report, self._demand, cases[index], answers(said, read_at), outputs, read_at)

        key = ""
        if self.journal is not None:
            key = fingerprint(self.fingerprint, cases, self.steps, self.arithmetic, self.places)
        case = Case(self.model, self.arithmetic, self.steps, self.places)
        self._run(report, case, cases, key, possible, add, self.workers, self.progress)
        return report

    def by_batches(self, loss: bool, wrong: Callable[[Wrong], None] | None, last: str | None) -> Report:
        """Many inputs at a time. What is demanded of them goes with them; the rule is asked here, about each."""
        steps, places, config = self.steps, self.places, self.model.config
        longest = _longest(self.inputs) + steps - 1
        check_number(_size(self.inputs), config, longest, self._instead)
        batches = Batches(self.inputs, config, longest, asking(self.rule, config, steps, places))
        report = self._report(self._alone, batches.inputs)
        tally = Tally(report, batches, config, steps, places, self._demand, wrong)
        key = ""
        if self.journal is not None:
            key = batches_fingerprint(self.fingerprint, batches, steps, places, loss, last)
        each = batches.inputs / len(batches)

        def advanced(done: int, total: int) -> None:
            self.progress(round(done * each), batches.inputs)

        def add(_: int, said: object) -> None:
            tally.add(said)

        workers = 1 if self.workers is None and len(batches) == 1 else self.workers
        self._run(report, Deciding(self.model, steps, places, loss, last), batches, key, tally.read, add, workers, advanced)
        if loss and tally.loss is not None:
            number = sum(part.size * len(self._read_at(part.length) or range(steps)) for part in batches.parts)
            report.loss = tally.loss[0] / number, tally.loss[1] / number
        return report

    def _instead(self) -> str:
        """What a domain is asked by that is too large for batches, where sets take it."""
        try:
            if self.steps == 1 and self.places is None:
                Survey(self.model, self.inputs, self.rule, 1)
                return "; --count --sets proves whole sets of them at once"
        except Refused:
            pass
        return ""

    def _one_by_one(self) -> str:
        """What else there is where sets are refused, unless the domain is too large for it."""
        try:
            check_number(_size(self.inputs), self.model.config, _longest(self.inputs) + self.steps - 1)
        except Refused:
            return ""
        return "; without --sets, inputs are counted one by one"

    def by_sets(self, budget: int, last: str | None, wrong: Callable[[Wrong], None] | None) -> Report:
        """Sets of inputs at a time: the domain may be larger than anybody could go through."""
        try:
            if self.places is not None:
                raise RunError("sets of inputs are for the token after an input, and not for answers at positions of it")
            if self.steps != 1:
                raise RunError(f"sets of inputs are for rules that demand one token after an input: this one demands {self.steps}")
            survey = Survey(self.model, self.inputs, self.rule, budget, 0 if wrong is None else MOST_LISTED)
        except Refused as error:
            raise type(error)(f"{error}{self._one_by_one()}") from None
        report = self._report(self._alone, len(survey))
        key = survey_fingerprint(self.fingerprint, survey, last) if self.journal is not None else ""

        def add(number: int, said: object) -> None:
            if survey.read(said) is not survey[number]:
                raise RunError(f"case {number} of the journal is of another set of inputs")
            survey.add(report, said)

        surveying = Surveying(self.model, last, survey.listed)
        self._run(report, surveying, survey, key, survey.read, add, self.workers, self.progress)
        for failure in surveying.failures(survey.wrong()):
            report.failed(failure)
            if wrong is not None:
                wrong((failure, None))
        return report

    @property
    def _alone(self) -> Classes:
        """No two tokens are interchangeable."""
        return interchangeable(self.model, None)

    def _demand(self, answer: int, sequence: Tokens) -> Demand:
        read_at = self._read_at(len(sequence))
        return demand(self.rule, sequence) if read_at is None else demands_at(self.rule, sequence, len(read_at))[answer]

    def _read_at(self, length: int) -> tuple[int, ...] | None:
        """The positions at which inputs of that length are answered; None where answers follow them."""
        return None if self.places is None else places_of(self.places, length)

    def _report(self, classes: Classes, cases: int) -> Report:
        claim = _claim(self.inputs, self.rule, self.steps, self.places)
        return Report(claim, self.arithmetic, classes, cases, _size(self.inputs), self.steps, self.model.config.hard)

    def _run(
        self, report: Report, function: Callable[[Any], Any], cases: Sequence[Any], key: str, check: Callable[[Any], object],
        add: Callable[[int, Any], None], workers: int | None, progress: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        journal = self.journal(key) if callable(self.journal) else self.journal
        results = run(
            function, cases, fingerprint=key, journal=journal, check=check, workers=workers, cluster=self.cluster, progress=progress
        )
        for index, said in results:
            add(index, said)
            if self.stop_at_failure and report.failures:
                results.close()
                return


def _size(inputs: Inputs) -> int:
    return len(inputs) if isinstance(inputs, list) else inputs.size


def _longest(inputs: Inputs) -> int:
    if isinstance(inputs, Product):
        return len(inputs.choices)
    return inputs.longest if isinstance(inputs, Sequences) else max(map(len, inputs))


def _each(inputs: int) -> str:
    return "for the one input" if inputs == 1 else f"for each of {inputs:,} inputs"


def _claim(inputs: Inputs, rule: Rule, steps: int, places: Places | None) -> str:
    over = _each(len(inputs)) if isinstance(inputs, list) else f"for {inputs}"
    if isinstance(places, From):
        return f"{over}, the model's answers {places} are {statement(rule)}"
    if places is not None:
        named = (
            f"answers at positions {', '.join(map(str, places))} are" if len(places) > 1 else f"answer at position {places[0]} is"
        )
        return f"{over}, the model's {named} {statement(rule)}"
    return f"{over}, the model's next " + (
        f"token is {statement(rule)}" if steps == 1 else f"{steps} tokens, each fed back, are {statement(rule)}"
    )


def _inputs(domain: Domain) -> Inputs:
    """The domain as data of its own, which says the same whenever it is asked: no subclass, no list that changes later."""
    if type(domain) is Sequences or type(domain) is Product:
        return domain
    if isinstance(domain, Sequences | Product) or not isinstance(domain, list | tuple):
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


def _check_batches(many: bool, arithmetic_name: str, loss: bool, listed: bool, product: bool, sets: int | None) -> None:
    """Refuse, by its name, what goes with the arithmetic that takes many inputs at a time."""
    asked = {
        "a proof by sets of inputs": sets is not None,
        "the mean cross-entropy": loss,
        "a list of the wrong inputs": listed,
        "a domain that is a product": product,
    }
    for what in (name for name, wanted in asked.items() if wanted and not many):
        raise RunError(f"arithmetic {arithmetic_name}: {what} goes with the arithmetic certified")
    if sets is not None and loss:
        raise RunError("sets of inputs have no mean cross-entropy: ask for it without sets")
    if sets is not None and sets < 1:
        raise RunError(f"{sets} sets of inputs: at least 1 must be looked at")


def _check(model: Model, inputs: Inputs, steps: int, arithmetic_name: str, places: Places | None) -> None:
    """Refuse before any work what could not be proved of this model."""
    config = model.config
    if config.unembedding == "none":
        raise RunError("the model has no unembedding: it predicts no token")
    if type(steps) is not int or steps < 1:
        raise RunError(f"{steps!r} steps: at least 1 token must be demanded")
    if arithmetic_name not in ARITHMETICS:
        raise RunError(f"{arithmetic_name!r} is not an arithmetic: there are {', '.join(ARITHMETICS)}")
    if steps > 1:
        model.check_fed_back()
    known = set(config.vocabulary)
    listed = [inputs.vocabulary] if isinstance(inputs, Sequences) else inputs.choices if isinstance(inputs, Product) else inputs
    if not listed:
        raise RunError("the domain is empty: there is nothing to prove")
    for tokens in listed:
        if not tokens:
            raise RunError("the domain has an empty input: after nothing, no token is predicted")
        if strange := [token for token in tokens if token not in known]:
            raise RunError(f"the domain has the token {strange[0]!r}, which is not in the vocabulary of the model")
    longest = _longest(inputs)
    if config.length is not None and longest + steps - 1 > config.length:
        raise RunError(f"{longest + steps - 1} positions are needed, the model has {config.length}")
    if places is not None:
        _check_places(inputs, steps, places)


def _check_places(inputs: Inputs, steps: int, places: Places) -> None:
    shortest = inputs.shortest if isinstance(inputs, Sequences) else len(inputs.choices) if isinstance(inputs, Product) else 0
    shortest = min(map(len, inputs)) if isinstance(inputs, list) else shortest
    if steps != 1:
        raise RunError("positions: tokens that are fed back follow the last one")
    if isinstance(places, From):
        if type(places.first) is not int or not 0 <= places.first < shortest:
            raise RunError(f"{places!r}: give a position of every input, from 0 to {shortest - 1}")
    elif not places or any(type(p) is not int or not 0 <= p < shortest for p in places) or list(places) != sorted(set(places)):
        raise RunError(f"positions {places!r}: give some of the positions of every input, from 0 to {shortest - 1}, in order")
