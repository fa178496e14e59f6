"""Where a certificate whose checksum does not fit is likely to have been changed: what a new run would write otherwise.

None of it refutes a claim. Intact files differ from new runs in last digits, too, which depend on the way a pass was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from exactformer.certificates.certificate import Certificate, Claim
from exactformer.certificates.checkable import check_of
from exactformer.model import Model

if TYPE_CHECKING:
    from exactformer.checkpoints import Origin

_RECORDS = ("].layers[", "].attempts", "].why")  # what a certificate tells of its passes, and claims nothing by
_LAST_DIGITS = Fraction(1, 1000)  # of a margin, by which those of the checker are below their own
_ROUNDED = 16  # bits, which versions foresee a little differently
_ENDS = ((".margin[0]", ".margin[1]"), (".margin[1]", ".margin[0]"), (".low", ".high"), (".high", ".low"))
_FACTOR = 4
_FEW = 10


def differences(certificate: Certificate, model: Model, origin: Origin | None, found: Sequence[Claim]) -> list[tuple[str, str]]:
    """Places where an intact file would not differ, with what stands there and in a new run. Where there are none, those where it
    might, if they are few: what was changed may be small."""
    ours, theirs = _places(certificate.tokens), _places(found)
    other = [at for at in ours | theirs if ours.get(at) != theirs.get(at)]
    of_check = _of_check(certificate, model, origin, found)
    unusual = [at for at in other if _unusual(at, ours, theirs)]
    places = unusual if unusual or of_check or len(other) > _FEW else other
    said = [(at, _told(ours.get(at), theirs.get(at)) + " (no claim)" * _is_record(at)) for at in sorted(places, key=_is_record)]
    return of_check + said


def _of_check(certificate: Certificate, model: Model, origin: Origin | None, found: Sequence[Claim]) -> list[tuple[str, str]]:
    check, new = certificate.check, check_of(model, origin, certificate.ids, found)
    if check is None or new is None:
        return []
    margins = [
        (f"check.claims[{n}].margin", _told(said.margin, lead.margin))
        for n, (said, lead) in enumerate(zip(check.claims, new.claims, strict=False))
        if abs(Fraction(said.margin) - Fraction(lead.margin)) > _LAST_DIGITS * Fraction(lead.margin)
    ]
    if margins or abs(check.bits - new.bits) <= _ROUNDED:
        return margins
    return [("check.bits", f"{_told(check.bits, new.bits)} (no claim)")]


def _places(claims: Sequence[Claim]) -> dict[str, Any]:
    return {at: value for n, claim in enumerate(claims) for at, value in _flat(asdict(claim), f"tokens[{n}]").items()}


def _is_record(place: str) -> bool:
    return any(name in place for name in _RECORDS)


def _told(said: Any, found: Any) -> str:
    return f"says {said}, a new run {found}"


def _unusual(at: str, ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Would an intact file not differ there? Its ends, which widths may move, are about as far from the middle, both of them."""
    if at.endswith((".radius", ".attempts")):
        return False
    for end, opposite in _ENDS:
        if at.endswith(end) and at in ours and at in theirs:
            beside = at.removesuffix(end) + opposite
            middle = (Fraction(theirs[at]) + Fraction(theirs[beside])) / 2
            return abs(Fraction(ours[at]) - middle) > _FACTOR * abs(Fraction(ours[beside]) - middle)
    return True


def _flat(value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return {at: v for key, inner in value.items() for at, v in _flat(inner, f"{place}.{key}").items()}
    if isinstance(value, list | tuple):
        return {at: v for n, inner in enumerate(value) for at, v in _flat(inner, f"{place}[{n}]").items()}
    return {place: value}
