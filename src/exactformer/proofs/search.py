"""How strong heads must be: the smallest integer strength at which a theorem holds, length by length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from exactformer.circuits.circuit import Circuit
from exactformer.proofs.domain import Sequences, Tokens
from exactformer.proofs.report import PROVED, REFUTED, Failure, Report
from exactformer.proofs.rules import Rule
from exactformer.proofs.theorem import prove

CAP = 300


@dataclass(frozen=True)
class Strength:
    """For sequences up to `length`: the smallest strength that will do, and what goes wrong with one less."""

    length: int
    strength: int | None  # None: none up to the cap, or one that is undecided
    report: Report | None
    below: Failure | None


def smallest_strengths(
    circuit: Circuit,
    rule: Rule,
    longest: int,
    arithmetic_name: str = "exact",
    workers: int | None = None,
    cluster: str | None = None,
    journal: Callable[[int, int], Path | None] | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Iterator[Strength]:
    """The smallest strength of all heads of a circuit, for every length up to `longest`."""
    circuit = replace(circuit, length=max(longest, circuit.length))

    def attempt(strength: int, asked: int | list[Tokens], kept: Path | None) -> Report:
        domain, processes = (asked, 1) if isinstance(asked, list) else (Sequences(circuit.vocabulary, asked), workers)
        return prove(
            circuit.stronger(strength).build(), domain, rule, circuit=circuit, arithmetic_name=arithmetic_name, journal=kept,
            workers=processes, cluster=cluster if processes is None else None, stop_at_failure=True,
        )  # fmt: skip

    return climbed(longest, attempt, journal, progress)


def climbed(
    longest: int,
    attempt: Callable[[int, int | list[Tokens], Path | None], Report],
    journal: Callable[[int, int], Path | None] | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> Iterator[Strength]:
    """The smallest strength for every length up to `longest`, where `attempt` proves it of a length, or of some inputs.

    A strength that fails for some length fails for longer ones too, which include it: so each search starts where the last ended.
    `journal` names the file that keeps the finished cases of a length and a strength: the same search again goes on from there.
    """
    strength, below = 0, None
    for length in range(1, longest + 1):
        while strength <= CAP:
            progress(f"length {length}, strength {strength}")
            if below is not None and (failed := _failed(attempt(strength, [below.tokens], None))):
                below, strength = failed, strength + 1
                continue
            report = attempt(strength, length, journal and journal(length, strength))
            if report.verdict == PROVED:
                yield Strength(length, strength, report, below)
                break
            if report.verdict != REFUTED:
                yield Strength(length, None, report, below)
                return
            below, strength = _failed(report), strength + 1
        else:
            yield Strength(length, None, None, below)
            return


def _failed(report: Report) -> Failure | None:
    return report.failures[0] if report.verdict == REFUTED else None
