"""What a model says, held against what a rule demands: one sequence, and all that differ from it by a renaming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from exactformer.proofs.answers import Answer
from exactformer.proofs.domain import Classes, Tokens, renamings
from exactformer.proofs.report import PROVED, REFUTED, UNDECIDED, Failure, Kind, Report
from exactformer.proofs.rules import Demand

Demands = Callable[[int, Tokens], Demand]  # of the number of an answer, and of the sequence so far


def judge(
    report: Report, demands: Demands, tokens: Tokens, answers: list[Answer], outputs: Tokens,
    read_at: tuple[int, ...] | None = None,
) -> list[Failure]:  # fmt: skip
    """Compare what the model says with what is demanded, for a sequence and all its renamings; the failures among them.

    Answers follow the sequence, each fed back, or were read at these positions of it.
    """
    failures = []
    for renaming in renamings(tokens, report.classes):
        # Tokens that the sequence does not have may be renamed too, where the answer names them: every renaming of them is alike.
        full = renaming | _rest(renaming, report.classes)
        verdict, kind, margin, renamed = UNDECIDED, "", None, tuple(full[t] for t in tokens)
        sequence = renamed
        for number, answer in enumerate(answers):
            wanted = demands(number, sequence)
            given = _renamed(answer, full, outputs)
            verdict = _verdict(given, wanted, len(outputs), report.exact_ties)
            kind = kind or wanted.kind
            if verdict != PROVED:
                place, own = (None, number) if read_at is None else (read_at[number], 0)
                right = tuple(sorted(wanted.right))
                failures.append(Failure(sequence, right, given.token, given.ties, verdict, given.why, place, own))
                report.failed(failures[-1])
                break
            assert given.token is not None
            lead = _lead(given, wanted)
            margin = lead if margin is None else margin if lead is None else min(margin, lead)
            sequence = (*sequence, given.token) if read_at is None else sequence
        report.counts[verdict] += 1
        report.kinds.setdefault(kind, Kind()).count(renamed, 1, margin)
    return failures


def _rest(renaming: dict[str, str], classes: Classes) -> dict[str, str]:
    """A renaming of the tokens that are left, within their classes."""
    rest: dict[str, str] = {}
    for members in classes:
        old = [t for t in members if t not in renaming]
        new = [t for t in members if t not in {renaming.get(m) for m in members}]
        rest |= dict(zip(old, new, strict=True))
    return rest


def _renamed(answer: Answer, names: dict[str, str], outputs: Tokens) -> Answer:
    """The answer to a renamed sequence: of tokens that tie, the winner is again the first of the outputs."""
    if answer.token is None:
        return answer
    token, *ties = sorted((names[t] for t in (answer.token, *answer.ties)), key=outputs.index)
    logits = None if answer.logits is None else {names[name]: bounds for name, bounds in answer.logits.items()}
    return replace(answer, token=token, ties=tuple(ties), logits=logits)


def _verdict(answer: Answer, wanted: Demand, outputs: int, exactly: bool) -> str:
    """Proved where the winner, and all that ties with it, are right: `exactly` these. Nothing demanded is met by a tie of all."""
    if not answer.proved:
        return UNDECIDED
    if answer.token is None:
        return REFUTED
    winners = {answer.token, *answer.ties}
    if not wanted.right:
        return PROVED if len(winners) == outputs else REFUTED
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
