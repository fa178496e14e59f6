"""Results of batches, read strictly, because a file may have held them in between, and added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from exactformer.model import Config
from exactformer.proofs.answers import Answer, insist, is_count, read
from exactformer.proofs.batches import Batch, Batches, tokens_of
from exactformer.proofs.domain import Places, Tokens, places_of
from exactformer.proofs.judging import Demands, judge
from exactformer.proofs.report import PROVED, REFUTED, Failure, Kind, Leads, Report
from exactformer.proofs.rules import Demand

_FIELDS = {"first", "inputs", "demanded", "right", "wrong", "least", "leads", "loss", "open"}
Wrong = tuple[Failure, Fraction | None]  # with the lead of what was said over what was demanded, at least


class Tally:
    """Adds results to a report. `wrong` is given every input that is not proved right, in the order of the domain."""

    def __init__(
        self, report: Report, batches: Batches, config: Config, steps: int, positions: Places | None,
        demands: Demands, wrong: Callable[[Wrong], None] | None = None,
    ) -> None:  # fmt: skip
        self.report, self.batches, self.config, self.steps, self.positions = report, batches, config, steps, positions
        self.demands, self.wrong = demands, wrong
        self.loss: tuple[Fraction, Fraction] | None = (Fraction(0), Fraction(0))
        self._waiting: dict[int, list[Wrong]] = {}  # of batches that were finished before their turn
        self._turn = 0
        report.leads = Leads()

    def read(self, said: Any) -> tuple[int, Batch]:
        """The batch that a result is of, and its number, if it can be one."""
        insist(isinstance(said, dict) and set(said) == _FIELDS, "has not the fields of a batch")
        insist(type(said["first"]) is int and 0 <= said["first"] < self.batches.inputs, "is of inputs that there are not")
        number = self.batches.number_of(said["first"])
        batch: Batch = self.batches[number]
        insist(batch.first == said["first"] and said["inputs"] == len(batch), "is of other inputs than this batch has")
        insist(said["demanded"] == batch.digest, "was judged by another rule")
        places = [entry[0] for entry in self._wrong(said["wrong"], len(self._read_at(batch) or range(self.steps)))]
        insist(isinstance(said["open"], dict) and all(key.isascii() and key.isdigit() for key in said["open"]), "is damaged")
        places += map(int, said["open"])
        insist(len(set(places)) == len(places) and all(0 <= n < len(batch) for n in places), "names an input twice, or none")
        insist(is_count(said["right"]) and said["right"] + len(places) == len(batch), "has not a verdict for every input")
        counted = sum(self._least(said["least"], batch))
        insist(counted == said["right"] + len(said["wrong"]), "has kinds that do not add up")
        insist(isinstance(said["leads"], list) and len(said["leads"]) == 2, "is damaged")
        for leads, most in zip(said["leads"], (said["right"], len(said["wrong"])), strict=True):
            insist(isinstance(leads, dict) and all(map(is_count, leads.values())) and sum(leads.values()) <= most, "is damaged")
            insist(all(key.removeprefix("-").isdigit() and len(key) < 6 for key in leads), "is damaged")
        loss = said["loss"]
        insist(loss is None or (isinstance(loss, list) and len(loss) == 2 and all(map(_real, loss))), "is damaged")
        insist(loss is None or 0 <= loss[0] <= loss[1], "has a loss whose ends are the wrong way round")
        for answers in said["open"].values():
            self._answers(answers, batch)
        return number, batch

    def _read_at(self, batch: Batch) -> tuple[int, ...] | None:
        """The positions at which its inputs are answered; None where answers follow them."""
        return None if self.positions is None else places_of(self.positions, batch.ids.shape[1])

    def _wrong(self, said: Any, answers: int) -> Iterator[list[Any]]:
        insist(isinstance(said, list), "has no list of wrong inputs")
        for entry in said:
            insist(isinstance(entry, list) and len(entry) == 4 and all(map(is_count, entry[:3])), "has a wrong input that is none")
            insist(entry[1] < answers and entry[2] < len(self.config.spoken), "names an answer that there is not")
            insist(_real(entry[3]) and entry[3] >= 0, "has a lead that is not a number")
            yield entry

    def _least(self, said: Any, batch: Batch) -> Iterator[int]:
        insist(isinstance(said, dict) and set(said) == set(batch.names), "has other kinds of inputs")
        for entry in said.values():
            insist(isinstance(entry, list) and len(entry) == 3 and is_count(entry[0]) and type(entry[2]) is int, "is damaged")
            insist(entry[1] is None or (_real(entry[1]) and entry[1] > 0 and 0 <= entry[2] < len(batch)), "is damaged")
            yield entry[0]

    def _answers(self, said: Any, batch: Batch) -> list[Answer]:
        return read(said, self.steps, self.config.spoken, self.report.arithmetic, self._read_at(batch))

    def add(self, said: Any) -> None:
        """A result, which is checked once more."""
        number, batch = self.read(said)
        report = self.report
        report.counts[PROVED] += said["right"]
        report.counts[REFUTED] += len(said["wrong"])
        for name, (sequences, lead, place) in said["least"].items():
            if sequences:
                at, least = ((), None) if lead is None else (self._input(batch, place), Fraction(lead))
                report.kinds.setdefault(name, Kind()).count(at, sequences, least)
        assert report.leads is not None
        for held, new in zip((report.leads.right, report.leads.wrong), said["leads"], strict=True):
            for power, count in new.items():
                held[int(power)] = held.get(int(power), 0) + count
        if self.loss is not None:
            ends = said["loss"]
            self.loss = None if ends is None else (self.loss[0] + Fraction(ends[0]), self.loss[1] + Fraction(ends[1]))
        failed: list[tuple[int, Wrong]] = []
        for n, answer, winner, lead in said["wrong"]:
            failure = self._failure(batch, n, answer, self.config.spoken[winner])
            report.failed(failure)
            failed.append((n, (failure, Fraction(lead))))
        for key, answers in said["open"].items():
            n = int(key)
            demands = self.demands if self.positions is None else lambda a, _, n=n: self._demanded(batch, n, a)
            read_at = self._read_at(batch)
            judged = judge(report, demands, self._input(batch, n), self._answers(answers, batch), self.config.spoken, read_at)
            failed += [(n, (failure, None)) for failure in judged]
        if self.wrong is not None:
            self._in_turn(number, [wrong for _, wrong in sorted(failed, key=lambda entry: entry[0])])

    def _input(self, batch: Batch, n: int) -> Tokens:
        return next(tokens_of(batch.ids[n : n + 1], self.config.vocabulary))

    def _demanded(self, batch: Batch, n: int, answer: int) -> Demand:
        known = frozenset(self.config.spoken[i] for i in batch.right[n, answer].tolist() if i >= 0)
        return Demand(known, batch.names[int(batch.kinds[n])])

    def _failure(self, batch: Batch, n: int, answer: int, said: str) -> Failure:
        tokens, right, read_at = self._input(batch, n), batch.right[n], self._read_at(batch)
        wanted = tuple(sorted(self.config.spoken[i] for i in right[answer].tolist() if i >= 0))
        if read_at is not None:
            return Failure(tokens, wanted, said, (), REFUTED, "", read_at[answer])
        fed = tuple(self.config.spoken[i] for i in right[:answer, 0].tolist())
        return Failure((*tokens, *fed), wanted, said, (), REFUTED, "", fed_back=len(fed))

    def _in_turn(self, number: int, failed: list[Wrong]) -> None:
        assert self.wrong is not None
        self._waiting[number] = failed
        while self._turn in self._waiting:
            for each in self._waiting.pop(self._turn):
                self.wrong(each)
            self._turn += 1


def _real(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
