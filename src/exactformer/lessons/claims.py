"""Claims about a pass: `probs[0, 1] = 1/2`, `sum blocks.0.attn.pattern[0, 1] = 1`, `token = a`, `embed is exact`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from flint import arb

from exactformer.checking.verdicts import Verdict
from exactformer.lessons.directives import DirectiveError, reference
from exactformer.lessons.lesson import Reference
from exactformer.lessons.numerals import plain
from exactformer.lessons.passes import PassError, Source, entry, gradient_of, step_at, trace_of
from exactformer.messages import quoted, short
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.operations.attention import ARGMAX
from exactformer.numbers import Exact, Named, Undecided, Undefined, closed_form, compare, recover, total
from exactformer.render.values import show

_COMPARED = re.compile(r"(.+?)\s*(<=|>=|!=|≤|≥|≠|=|<|>)\s*(.+)")
_IS = re.compile(r"(.+?)\s+is\s+(?:an?\s+)?(\w+)")
_REFERENCE = re.compile(r"(sum\s+)?([A-Za-z_][\w.]*)\s*(\[[^\]]*\])?")
_HOLDS: dict[str, Callable[[int], bool]] = {
    "=": lambda side: side == 0, "≠": lambda side: side != 0, "<": lambda side: side < 0, ">": lambda side: side > 0,
    "≤": lambda side: side <= 0, "≥": lambda side: side >= 0,
}  # fmt: skip
_SAME = {"<=": "≤", ">=": "≥", "!=": "≠"}
_NAMES = ("e", "pi", "π")


class Judged(NamedTuple):
    verdict: Verdict
    why: str  # what is true instead, or what is undecided


def judged(claim: str, source: Source) -> Judged:
    """
    >>> print(*judged("sum blocks.0.attn.pattern[0, 1] = 1", Source("capstone")))
    right 1 = 1
    >>> judged("token = c", Source("capstone")).why
    'the token at position 1 is a'
    >>> judged("blocks.0.attn.pattern[0, 1] is exact", Source("capstone")).verdict.value
    'wrong'
    """
    if (match := _IS.fullmatch(claim)) is not None:
        return _kind(match[1], match[2], source)
    match = _COMPARED.fullmatch(claim)
    if match is None:
        raise PassError(
            f"claim: {quoted(claim)} is not understood: write STEP[i] = 1/2, STEP[i] < STEP[j], token = a, or STEP is exact"
        )
    left, sign, right = match.groups()
    sign = _SAME.get(sign, sign)
    found = _token(left, sign, right, source)
    if found is not None:
        return found
    a, b = (_value(side, source) for side in (left, right))
    if a is MASKED or b is MASKED:
        holds = sign in "≠" if (a is MASKED) != (b is MASKED) else sign == "="
        return Judged(Verdict.RIGHT if holds else Verdict.WRONG, f"{_shown(a)} and {_shown(b)}")
    try:
        side = _compared(a, b)
    except Undecided as undecided:
        return Judged(Verdict.UNDECIDED, str(undecided))
    if side is None:
        return Judged(Verdict.UNDECIDED, "the two are too near to each other to be told apart")
    true = "=" if side == 0 else "<" if side < 0 else ">"
    return Judged(Verdict.RIGHT if _HOLDS[sign](side) else Verdict.WRONG, f"{_shown(a)} {true} {_shown(b)}")


def _compared(a: Any, b: Any) -> int | None:
    """Of balls, what holds for all numbers in them."""
    ends = [[Exact(x.lower().fmpq()), Exact(x.upper().fmpq())] if isinstance(x, arb) else [x, x] for x in (a, b)]
    sides = {compare(x, y) for x in ends[0] for y in ends[1]}
    return sides.pop() if len(sides) == 1 else None


def _token(left: str, sign: str, right: str, source: Source) -> Judged | None:
    match = _REFERENCE.fullmatch(left)
    if match is None or match[2] != "token":
        return None
    trace = trace_of(source._replace(backward=False, target=""))
    if sign not in "=≠":
        raise PassError("claim: tokens are the same or not: write = or ≠")
    if not trace.output:
        raise PassError("claim: the model has no logits, and so no token")
    index = _reference(left).index
    position = index[0] if index else len(trace.output) - 1
    if position >= len(trace.output):
        raise PassError(f"claim: there is no position {position}")
    out = trace.output[position]
    said = right.strip().strip("\"`'")
    why = f"the token at position {position} is {out.token if out.token is not None else out.why}"
    if out.token is not None and not out.proved:
        return Judged(Verdict.UNDECIDED, why)
    return Judged(Verdict.RIGHT if (out.token == said) == (sign == "=") else Verdict.WRONG, why)


def _kind(left: str, word: str, source: Source) -> Judged:
    step = step_at(source, _reference(left).step)
    part = entry(step.values, _reference(left), whole=False)
    values = list(part.flat)
    kinds = {_one(x) for x in values}
    tests: dict[str, bool] = {
        "exact": kinds <= {"exact", "recovered", "masked"},
        "named": "named" in kinds,
        "formula": "named" in kinds,
        "recovered": kinds <= {"exact", "recovered"} and "recovered" in kinds,
        "masked": kinds == {"masked"},
        "undefined": "undefined" in kinds,
    }
    if word not in tests:
        raise PassError(f"claim: {quoted(word)} is not known: a number is {', '.join(tests)}")
    said = sorted(kind for kind in kinds)
    why = f"it is {' and '.join(said)}" + (f": {_shown(values[0])}" if len(values) == 1 else "")
    return Judged(Verdict.RIGHT if tests[word] else Verdict.WRONG, why)


def _one(x: Any) -> str:
    if isinstance(x, Exact):
        return "recovered" if x.recovered else "exact"
    if isinstance(x, Named):
        return "named"
    return "masked" if x is MASKED else "undefined" if isinstance(x, Undefined) else "ball" if isinstance(x, arb) else "token"


def _value(text: str, source: Source) -> Any:
    match = _REFERENCE.fullmatch(text.strip())
    if match is None or match[2] in _NAMES:
        try:
            return closed_form(plain(text))
        except ValueError as error:
            raise PassError(f"claim: {error}") from None
    if match[2] == "loss" and source.backward:
        return gradient_of(source).loss
    to = _reference(text)
    step = step_at(source, to.step)
    if step.operation is ARGMAX:
        raise PassError("claim: a token stands on the left, as in token = a")
    if match[1]:
        part = list(entry(step.values, to, whole=False).flat)
        return recover(total(_numbers([x for x in part if x is not MASKED], to)))
    return _numbers([entry(step.values, to)], to)[0] if entry(step.values, to) is not MASKED else MASKED


def _numbers(values: list[Any], to: Reference) -> list[Any]:
    for x in values:
        if isinstance(x, Undefined):
            raise PassError(f"claim: {to} is undefined: {x.why}")
    return values


def _reference(text: str) -> Reference:
    try:
        return reference(text.strip().removeprefix("sum "))
    except DirectiveError as error:
        raise PassError(f"claim: {error}") from None


def _shown(x: Any) -> str:
    return short(show(x, 6).text, 40)
