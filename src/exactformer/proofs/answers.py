"""What a model says after a sequence: written as plain data, and read strictly, because a file may have held it in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from exactformer.arithmetics import kind
from exactformer.proofs.chunks import RunError

Tokens = tuple[str, ...]
Bounds = tuple[Fraction, Fraction]

MOST_LOGITS = 64  # beyond this, an answer keeps the lead of the winner alone
_LONGEST = 500  # characters of a reason
_DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,30})?(e-?[0-9]{1,6})?")  # six digits of an exponent: a larger number takes too long


class AnswerError(RunError):
    """Why something is no answer, in a few words."""


@dataclass(frozen=True)
class Answer:
    """The winner and what ties with it, lowest index first; or None and why there is no winner.

    Where the outputs are few, all logits, enclosed where that is known; else by how much the winner leads all others at least.
    """

    token: str | None
    proved: bool
    ties: Tokens = ()
    logits: dict[str, Bounds | None] | None = None
    lead: Fraction | None = None
    why: str = ""


def reason(why: str) -> str:
    """In one line that every terminal can show.

    >>> reason("two\\nlines \\x1b")
    'two lines ?'
    """
    line = "".join(character if character.isprintable() else "?" for character in " ".join(why.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def bounds(low: str, high: str) -> list[str] | None:
    """Two decimals around a logit; None where they are too long to be of use."""
    return [low, high] if _DECIMAL.fullmatch(low) and _DECIMAL.fullmatch(high) else None


def read(said: Any, steps: int, outputs: Tokens, arithmetic_name: str, read_at: tuple[int, ...] | None = None) -> list[Answer]:
    """The answers to one case: up to `steps` that follow, or one at each of some positions. All that can be known of them
    without computing is checked: a journal is believed in the rest.

    >>> ok = {"token": "b", "proved": True, "ties": [], "logits": {"a": ["1", "1"], "b": ["2.5", "2.6"]}}
    >>> read([ok], 1, ("a", "b"), "exact")[0].token
    'b'
    >>> read([ok | {"token": "a"}], 1, ("a", "b"), "exact")
    Traceback (most recent call last):
    exactformer.proofs.answers.AnswerError: answer 0: 'b' is larger than the winner 'a'
    >>> read([], 1, ("a", "b"), "exact")
    Traceback (most recent call last):
    exactformer.proofs.answers.AnswerError: is not a list of 1 answer
    """
    if read_at is not None:
        if not isinstance(said, list) or len(said) != len(read_at):
            raise AnswerError(f"is not a list of {len(read_at)} answers")
        return [answer for one in said for answer in read([one], 1, outputs, arithmetic_name)]
    if not isinstance(said, list) or not 1 <= len(said) <= steps:
        raise AnswerError(f"is not a list of {steps} answer{'s' * (steps > 1)}")
    index = {token: n for n, token in enumerate(outputs)}
    answers = []
    for n, each in enumerate(said):
        try:
            answers.append(_answer(each, index, kind(arithmetic_name).proves))
        except AnswerError as error:
            raise AnswerError(f"answer {n}: {error}") from None
        if (answers[-1].token is None or n == steps - 1) != (n == len(said) - 1):
            raise AnswerError(f"has {len(said)} answers of {steps}, of which the last, and no other, may name no token")
    return answers


def _answer(said: Any, index: dict[str, int], proving: bool) -> Answer:
    if not isinstance(said, dict) or not isinstance(said.get("proved"), bool):
        raise AnswerError("does not say whether it is proved")
    proved = said["proved"]
    insist(proving or not proved, "is proved, in an arithmetic that proves nothing")
    if "token" in said and said["token"] is None:
        insist(set(said) == {"token", "proved", "why"}, "names no token, and not just why")
        insist(isinstance(said["why"], str) and said["why"] == reason(said["why"]), "has a reason that is not one line of text")
        return Answer(None, proved, why=said["why"])
    kept = "logits" if len(index) <= MOST_LOGITS else "lead"
    insist(set(said) == {"token", "proved", "ties", kept}, f"has other fields than token, proved, ties and {kept}")
    insist(proved or not proving, "names a token that is not proved")
    token, ties = _token(said["token"], index), said["ties"]
    insist(isinstance(ties, list), "has ties that are not a list")
    places = [index[token], *(index[_token(tie, index)] for tie in ties)]
    insist(all(a < b for a, b in pairwise(places)), "has ties that are not in the order of the outputs")
    if kept == "lead":
        return Answer(token, proved, tuple(ties), lead=_lead(said["lead"], proving and not ties))
    logits = said["logits"]
    insist(isinstance(logits, dict) and set(logits) == set(index), "has not the logits of all tokens")
    answer = Answer(
        token, proved, tuple(ties), {name: None if ends is None else enclosed(ends, "logit") for name, ends in logits.items()}
    )
    if proving:
        for problem in _contradictions(answer):
            raise AnswerError(problem)
    return answer


def _contradictions(answer: Answer) -> Iterator[str]:
    """Logits that cannot be what they are said to be, if the winner is the largest and what ties with it is as large."""
    assert answer.logits is not None
    winner = answer.logits.get(answer.token or "")
    for token, other in answer.logits.items():
        if winner is None or other is None:
            continue
        if token in answer.ties and not (other[0] <= winner[1] and winner[0] <= other[1]):
            yield f"{token!r} cannot tie with the winner {answer.token!r}"
        elif token not in answer.ties and token != answer.token and other[0] > winner[1]:
            yield f"{token!r} is larger than the winner {answer.token!r}"


def _token(said: Any, index: dict[str, int]) -> str:
    insist(isinstance(said, str) and said in index, "names a token that is not among the outputs")
    return str(said)


def _lead(said: Any, proving: bool) -> Fraction | None:
    if said is None:
        return None
    insist(proving and isinstance(said, str) and bool(_DECIMAL.fullmatch(said)), "has a lead that is not a decimal")
    return Fraction(said)


def enclosed(said: Any, what: str) -> Bounds:
    """Two decimals around a number."""
    pair = isinstance(said, list) and len(said) == 2 and all(isinstance(end, str) and _DECIMAL.fullmatch(end) for end in said)
    insist(pair, f"has a {what} that is not between two decimals")
    low, high = map(Fraction, said)
    insist(low <= high, f"has a {what} whose ends are the wrong way round")
    return low, high


def insist(holds: bool, problem: str) -> None:
    """What was read from a file must be so, or it is refused in a few words."""
    if not holds:
        raise AnswerError(problem)


def is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
