"""What certified passes show: as text, token by token, and as JSON. Digits that are shown are proved."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from exactformer.certificates.audit import Audit
from exactformer.certificates.certificate import Certificate, Claim
from exactformer.certificates.comparison import FloatErrors, StepErrors
from exactformer.certificates.ends import ends, proved_digits, upwards
from exactformer.certificates.expected import SHARES, Expected
from exactformer.certificates.file import document
from exactformer.certified.bounds import FLOOR
from exactformer.painting import Paint, judged, plain
from exactformer.render.tables import grid

Name = Callable[[int], str]  # what a token is called
_BARS = "▁▂▃▄▅▆▇█"
_SHOWN = 10  # contradictions
_REPORT = "exactformer certified report 1"
# How far a run in 16 bits may be off, as a share of the largest logit: several times more than library runs of 24 blocks were
_SIXTEEN = {"F16": ("float16", SHARES["float16"]), "BF16": ("bfloat16", Fraction(1, 20))}


def heading(title: str, ids: Sequence[int], name: Name) -> str:
    given = " ".join(name(i) for i in ids[-20:])
    return f"{title}: what follows {'… ' if len(ids) > 20 else ''}{given} ({len(ids)} token{'s' * (len(ids) != 1)})\n"


def claim_text(claim: Claim, number: int, name: Name, paint: Paint = plain) -> str:
    """One token: the margin, the largest logits, bits and radius by layer."""
    lines = ["", judged(f"token {number}: {verdict(claim, name)}", None if claim.token is None else True, paint)]
    rows = [("margin", margin(claim, name))] if claim.margin is not None else []
    logits = [(name(b.token), proved_digits(Fraction(b.low), Fraction(b.high))) for b in claim.top]
    width = max((len(token) for token, _ in logits), default=0)
    rows += [("" if n else "logits", f"{token:<{width}}  {digits}") for n, (token, digits) in enumerate(logits)]
    rows += [("bits", _bits(claim)), ("radius", _radii(claim))] if claim.layers else []
    rows += [("passes", str(claim.attempts))] if claim.attempts > 1 else []
    return "\n".join([*lines, *(f"  {label:<8}{text}".rstrip() for label, text in rows)]) + "\n"


def text(certificate: Certificate, name: Name) -> str:
    """What is claimed, token by token."""
    claims = (claim_text(claim, n, name) for n, claim in enumerate(certificate.tokens, start=1))
    return heading(f"model {certificate.model[:12]}", certificate.ids, name) + "".join(claims)


def verdict(claim: Claim, name: Name) -> str:
    if claim.token is None:
        return claim.why if claim.why.startswith("undecided") else f"undecided: {claim.why}"
    if claim.ties:
        return f"{name(claim.token)}, proved to tie with {', '.join(map(name, claim.ties))}"
    return f"{name(claim.token)}, proved"


def margin(claim: Claim, name: Name) -> str:
    assert claim.margin is not None
    if claim.ties:
        return "0: the logits are the same number"
    over = "" if claim.runner_up is None else f" over {name(claim.runner_up)}"
    return f"{proved_digits(Fraction(claim.margin[0]), Fraction(claim.margin[1]))}{over}"


def _bits(claim: Claim) -> str:
    """Runs of layers with the same number of bits."""
    runs: list[list[int]] = []
    for layer in claim.layers:
        if runs and runs[-1][0] == layer.bits:
            runs[-1][1] += 1
        else:
            runs.append([layer.bits, 1])
    return ", ".join(f"{bits}{f' × {times}' if times > 1 else ''}" for bits, times in runs)


def _radii(claim: Claim) -> str:
    radii = sorted((layer.radius for layer in claim.layers), key=float)
    return f"{sparkline([log2(layer.radius) for layer in claim.layers])}  {radii[0]} to {radii[-1]}"


def log2(radius: str) -> float:
    """Of a decimal; −∞ for 0, and for the smallest radius that there is, which stands for an exact value.

    >>> log2("0.25"), log2("2.99e-154"), log2("inf")
    (-2.0, -inf, inf)
    """
    value = float(radius)
    return math.log2(value) if value > 2 * FLOOR else -math.inf


def sparkline(values: Sequence[float]) -> str:
    """Bars between the smallest and the largest finite value.

    >>> sparkline([0, 7, 3.5, math.inf])
    '▁█▅×'
    """
    finite = [v for v in values if math.isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join("×" if v == math.inf else _BARS[0 if v == -math.inf else round((v - low) * scale + 1e-9)] for v in values)


def audit_text(audit: Audit) -> str:
    if audit.agrees:
        return f"\naudit: {audit.logits:,} logits computed again with balls of {audit.bits} bits; all enclosures intersect\n"
    shown = "\n".join(f"  {line}" for line in audit.contradictions[:_SHOWN])
    return f"\naudit: CONTRADICTED {len(audit.contradictions):,} times, by balls of {audit.bits} bits\n{shown}\n"


def expected_text(expected: Expected, name: Name, stored: str = "") -> str:
    """Whether the logits of a file are those of the network, with what is proved of it.

    `stored` is the kind of number of the weights (`BF16`), given where the tolerance is that of the kind of the logits.
    """
    allowed = f"up to {float(expected.tolerance):.3g} is allowed"
    if expected.agrees:
        return f"{expected.name}: the logits agree within {upwards(expected.high)} (proved; {allowed})"
    if expected.proved is None:
        return f"{expected.name}: undecided: the pass proves nothing of these logits"
    where = f"logit {name(expected.token)} after position {expected.position} is {expected.saved:.6g}"
    proved = f"the proved value is {proved_digits(*expected.proved, 6)}"
    if expected.agrees is None:
        return f"{expected.name}: undecided: {where}, {proved} ({allowed})"
    if short := _short_run(expected, stored):
        return f"{expected.name}: {where}, {proved}: too far off for a run in {expected.kind} ({allowed}); {short}"
    return f"{expected.name}: {where}, {proved}: this is not the network that wrote it ({allowed})"


def _short_run(expected: Expected, stored: str) -> str:
    """What is to be done where a run in the 16 bits of the weights would explain the difference; else nothing."""
    if stored not in _SIXTEEN or not math.isfinite(expected.high):
        return ""
    kind, share = _SIXTEEN[stored]
    usual = expected.tolerance / SHARES[expected.kind] * share
    if Fraction(expected.high) > usual:
        return ""
    run = f"the weights are {kind}, and a run in {kind} may be as far off"
    return f"{run}: if yours was, give --tolerance {upwards(float(usual))}, or run it in float32"


def floats_text(errors: FloatErrors, name: Name) -> str:
    """The proved errors of a pass in floats."""
    columns = ["largest error", "of the largest entry", "at", "most units of the last place", "at"]
    cells = [
        [error(*step.largest), _short(step.relative), str(list(step.at)), _short(step.ulps), str(list(step.ulps_at))]
        for step in errors.steps
    ]
    lines = ["", f"{errors.name} beside a certified pass of {errors.limbs} limbs; the error of every number is proved", ""]
    lines += ["  " + line.rstrip() for line in grid([step.name for step in errors.steps], columns, cells)]
    lines += ["", *(f"  {line}" for line in conclusions(errors, name))]
    return "\n".join(lines) + "\n"


def conclusions(errors: FloatErrors, name: Name) -> list[str]:
    worst, growth = errors.worst, errors.growth
    lines = [f"most units of the last place: {_short(worst.ulps)}, in {worst.name} at {list(worst.ulps_at)}"]
    if growth is None:
        lines.append("the error grows nowhere along the stream")
    else:
        lines.append(f"grows most from {growth[0]} to {growth[1]}: × {_short(growth[2])}, as a share of the largest entry")
    for position, found, true in errors.tokens:
        said = "no token" if found is None else name(found)
        if true is None:
            lines.append(f"token after position {position}: {said}; the true one is undecided")
        else:
            lines.append(
                f"token after position {position}: {said}, {'the true one' if found == true else f'WRONG: it is {name(true)}'}"
            )
    return lines


def error(low: float, high: float) -> str:
    """Two bounds of an error, to at most four digits."""
    if high == 0:
        return "0"
    if not math.isfinite(high):
        return "not a number"
    if low == 0 or high > 2 * low:
        return f"at most {high:.2g}" if low == 0 else f"{low:.2g} to {high:.2g}"
    return proved_digits(Fraction(low), Fraction(high), 4)


def _short(x: float) -> str:
    return "0" if x == 0 else f"{x:.3g}"


def as_json(certificate: Certificate, audit: Audit | None, floats: Sequence[FloatErrors], expected: Expected | None = None) -> str:
    """The certificate itself; or, where it was audited or compared, a report that holds it."""
    if audit is None and not floats and expected is None:
        return certificate.text()
    report: dict[str, Any] = {"format": _REPORT, "certificate": document(certificate)}
    if audit is not None:
        report["audit"] = {
            "agrees": audit.agrees,
            "logits": audit.logits,
            "bits": audit.bits,
            "contradictions": audit.contradictions,
        }
    if expected is not None:
        report["expected"] = {
            "file": expected.name,
            "type": expected.kind,
            "logits": expected.logits,
            "agrees": expected.agrees,
            "tolerance": str(expected.tolerance),
            "largest_difference": _ends(expected.low, expected.high),
            "position": expected.position,
            "token": expected.token,
            "saved": expected.saved,
            "proved": None if expected.proved is None else list(ends(*expected.proved)),
        }
    report["floats"] = [_float_json(errors, certificate) for errors in floats]
    return json.dumps(report, ensure_ascii=False, indent=1) + "\n"


def _float_json(errors: FloatErrors, certificate: Certificate) -> dict[str, Any]:
    logits = errors.steps[-1]
    listed = [bound.token for bound in certificate.tokens[-1].top]
    return {
        "arithmetic": errors.name,
        "limbs": errors.limbs,
        "steps": [_step_json(step) for step in errors.steps],
        "logits": [{"token": i, "error": _ends(logits.low[-1, i], logits.high[-1, i])} for i in listed],
        "growth": None if errors.growth is None else {"from": errors.growth[0], "to": errors.growth[1], "factor": errors.growth[2]},
        "tokens": [{"position": p, "token": found, "proved": true} for p, found, true in errors.tokens],
        "right": errors.right,
    }


def _step_json(step: StepErrors) -> dict[str, Any]:
    return {
        "name": step.name,
        "largest_error": _ends(*step.largest),
        "at": list(step.at),
        "units_of_the_last_place": _number(step.ulps),
        "units_at": list(step.ulps_at),
        "relative": _number(step.relative),
    }


def _ends(low: float, high: float) -> list[str | None]:
    """Shortest decimals that are read as these floats, one step outwards; None for no bound."""
    down = math.nextafter(float(low), 0.0)
    return [repr(down), repr(math.nextafter(float(high), math.inf)) if math.isfinite(high) else None]


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None
