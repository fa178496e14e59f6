"""Claims about a pass: `probs[0, 1] = 1/2`, `sum blocks.0.attn.pattern[0, 1] = 1`, `token = a`, `embed is exact`, `a / b = e`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flint import arb

from exactformer.checking.printed import plain
from exactformer.checking.verdicts import Verdict
from exactformer.lessons.directives import DirectiveError, reference
from exactformer.lessons.lesson import Reference
from exactformer.lessons.passes import PassError, Source, entry, gradient_of, named_pass, step_at, trace_of
from exactformer.messages import quoted, short
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.operations.attention import ARGMAX
from exactformer.numbers import Exact, Named, Undecided, Undefined, closed_form, compare, recover, total
from exactformer.numbers.expression import NAMES
from exactformer.render.values import show

_COMPARED = re.compile(r"(.+?)\s*(<=|>=|!=|≤|≥|≠|=|<|>)\s*(.+)")
_IS = re.compile(r"(.+?)\s+is\s+(?:an?\s+)?(\w+)")
_REFERENCE = re.compile(r"(sum\s+)?((?:[A-Za-z][\w-]*\s*:\s*)?([A-Za-zπ_][\w.]*)\s*(\[[^\]]*\])?)")
_LETTERS = "abcdfghijkmnopqrstuvwxyz"  # names for references in a sum or a quotient
_HOLDS: dict[str, Callable[[int], bool]] = {
    "=": lambda side: side == 0, "≠": lambda side: side != 0, "<": lambda side: side < 0, ">": lambda side: side > 0,
    "≤": lambda side: side <= 0, "≥": lambda side: side >= 0,
}  # fmt: skip
_SAME = {"<=": "≤", ">=": "≥", "!=": "≠"}


class Judged(NamedTuple):
    verdict: Verdict
    why: str  # what is true instead, or what is undecided


def judged(claim: str, source: Source, named: Mapping[str, Source] | None = None) -> Judged:
    """Of a pass, and of those that have names.

    >>> judged("blocks.0.attn.pattern[0, 1, 1] / blocks.0.attn.pattern[0, 1, 0] = e", Source("capstone")).why
    'e = e'
    >>> print(*judged("sum blocks.0.attn.pattern[0, 1] = 1", Source("capstone")))
    right 1 = 1
    >>> judged("token = c", Source("capstone")).why
    'the token at position 1 is a'
    >>> judged("blocks.0.attn.pattern[0, 1] is exact", Source("capstone")).verdict.value
    'wrong'
    """
    known = _Known(source, named or {})
    if (match := _IS.fullmatch(claim)) is not None:
        return _kind(match[1], match[2], known)
    match = _COMPARED.fullmatch(claim)
    if match is None:
        raise PassError(
            f"claim: {quoted(claim)} is not understood: write STEP[i] = 1/2, STEP[i] < STEP[j], token = a, or STEP is exact"
        )
    left, sign, right = match.groups()
    sign = _SAME.get(sign, sign)
    found = _token(left, sign, right, known)
    if found is not None:
        return found
    try:
        a, b = (_value(side, known) for side in (left, right))
        if a is MASKED or b is MASKED:
            holds = sign in "≠" if (a is MASKED) != (b is MASKED) else sign == "="
            return Judged(Verdict.RIGHT if holds else Verdict.WRONG, f"{_shown(a)} and {_shown(b)}")
        side = _compared(a, b)
    except Undecided as undecided:
        return Judged(Verdict.UNDECIDED, str(undecided))
    if side is None:
        return Judged(Verdict.UNDECIDED, "the two are too near to each other to be told apart")
    true = "=" if side == 0 else "<" if side < 0 else ">"
    return Judged(Verdict.RIGHT if _HOLDS[sign](side) else Verdict.WRONG, f"{_shown(a)} {true} {_shown(b)}")


class _Known(NamedTuple):
    source: Source
    named: Mapping[str, Source]

    def of(self, to: Reference) -> Source:
        return named_pass(to.of, self.named) if to.of else self.source


def _compared(a: Any, b: Any) -> int | None:
    """Of balls, what holds for all numbers in them."""
    ends = [[Exact(x.lower().fmpq()), Exact(x.upper().fmpq())] if isinstance(x, arb) else [x, x] for x in (a, b)]
    sides = {compare(x, y) for x in ends[0] for y in ends[1]}
    return sides.pop() if len(sides) == 1 else None


def _token(left: str, sign: str, right: str, known: _Known) -> Judged | None:
    match = _REFERENCE.fullmatch(left)
    if match is None or match[3] != "token":
        return None
    trace = trace_of(known.of(_reference(left)).forward)
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


def _kind(left: str, word: str, known: _Known) -> Judged:
    to = _reference(left)
    part = entry(step_at(known.of(to), to.step).values, to, whole=False)
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


def _value(text: str, known: _Known) -> Any:
    """A number, an entry, or what is computed of them in the grammar of numbers: 2 * probs[0, 1] - 1/e."""
    bare = plain(text).strip()
    alone = _REFERENCE.fullmatch(bare)
    if alone is not None and alone[2] not in NAMES:
        return _referred(alone, known)
    letters = iter(_LETTERS)
    values: dict[str, Any] = {}

    def letter(match: re.Match[str]) -> str:
        if match[2] in NAMES:
            return match[0]
        value = _referred(match, known)
        if not isinstance(value, Exact | Named):
            raise PassError(f"claim: {short(match[0])} is no number to compute with: {_shown(value)}")
        name = next(letters, "")
        if not name:
            raise PassError(f"claim: has more than {len(_LETTERS)} entries on a side")
        values["x" + name] = value
        return f"x{name}"

    try:
        return closed_form(_REFERENCE.sub(letter, bare), values)
    except ValueError as error:
        raise PassError(f"claim: {error}") from None


def _referred(match: re.Match[str], known: _Known) -> Any:
    """An entry, or with `sum` those of a row added up."""
    to = _reference(match[2])
    source = known.of(to)
    if to.step == "loss" and source.backward:
        return gradient_of(source).loss
    step = step_at(source, to.step)
    if step.operation is ARGMAX:
        raise PassError("claim: a token stands on the left, as in token = a")
    if match[1]:
        part = list(entry(step.values, to, whole=False).flat)
        return recover(total(_numbers([x for x in part if x is not MASKED], to)))
    return _numbers([entry(step.values, to)], to)[0]


def _numbers(values: list[Any], to: Reference) -> list[Any]:
    for x in values:
        if isinstance(x, Undefined):
            raise PassError(f"claim: {to} is undefined: {x.why}")
    return values


def _reference(text: str) -> Reference:
    try:
        return reference(text.strip())
    except DirectiveError as error:
        raise PassError(f"claim: {error}") from None


def _shown(x: Any) -> str:
    return short(show(x, 6).text, 40)
