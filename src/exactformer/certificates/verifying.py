"""A certificate checked again: every pass is run anew, and every claim must follow from what it proves.

Each position is computed as a whole, so nothing that the first run kept from token to token is relied on. An enclosure is confirmed
where the new one lies inside it; where the two only overlap, the pass is run with one limb more, up to twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from exactformer.certificates.certificate import Certificate, Claim, reading_of, versions
from exactformer.certificates.ends import proved_digits
from exactformer.certificates.file import malformed
from exactformer.certificates.first_hash import first_model_hash
from exactformer.certificates.hash import model_hash
from exactformer.certificates.preparation import Prepared
from exactformer.certificates.proving import Certified, prove_token, token_by_token
from exactformer.certificates.torn import differences
from exactformer.certified.limbs import FEWEST, MOST
from exactformer.certified.scheduling import schedule_length
from exactformer.certified.tables import tables_digest
from exactformer.model import InputError, Model
from exactformer.showing import Shown

if TYPE_CHECKING:
    from exactformer.checkpoints import Origin

_TRIES = 3
TORN = "the checksum does not fit: the file was changed after it was written"


@dataclass(frozen=True)
class Problem:
    """What is wrong: the place in the certificate, what it says, and what is the case."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@dataclass(frozen=True)
class Verification(Shown):
    """No problems: every claim is confirmed. Remarks are no claims: other versions, tables of another size.

    Notes are no claims either: where a file whose checksum does not fit, but of which no claim is refuted, may have been changed.
    """

    problems: tuple[Problem, ...]
    remarks: tuple[str, ...] = ()
    notes: tuple[Problem, ...] = ()

    def __repr__(self) -> str:
        return "<every claim is confirmed>" if self.confirmed else f"<{len(self.problems)} claims are not confirmed>"

    @property
    def confirmed(self) -> bool:
        return not self.problems


def verify(
    certificate: Certificate,
    model: Model,
    prepared: Prepared | None = None,
    *,
    intact: bool = True,
    origin: Origin | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Verification:
    """Compare all claims with new passes. A certificate whose checksum does not fit is refused, whatever they say.

    With the `origin` of the model, the files that are named for the independent checker are compared with those of the folder.
    """
    if problem := malformed(certificate):
        return Verification((Problem("certificate", problem),))
    ready = Prepared.of(model, prepared)
    doubt = doubted(certificate, model, origin, progress)
    if doubt is not None:
        return Verification((doubt,))
    ready.prepare(progress)
    torn = [] if intact else [Problem("sha256", TORN)]
    runs: list[Claim] = []

    def check(prefix: list[int]) -> _Check:
        n = len(prefix) - len(certificate.ids)
        return _Check(model, ready, tuple(prefix), certificate.tokens[n], certificate.cap, f"tokens[{n}]").run()

    for n, checked in enumerate(token_by_token(certificate.ids, len(certificate.tokens), check, model.fed_back), start=1):
        if checked.problems:
            return Verification((*torn, *checked.problems))
        runs += [] if checked.first is None else [Claim.of(checked.first)]
        progress(f"token {n:,}")
    wrong = check_problem(certificate) or other_files(certificate, origin)
    problems = (*torn, *([] if wrong is None else [wrong]))
    notes = differences(certificate, model, origin, runs) if torn else ()
    remarks = tuple(_remarks(certificate)) if torn or not problems else ()
    return Verification(problems, remarks, tuple(Problem(*note) for note in notes))


def doubted(
    certificate: Certificate, model: Model, origin: Origin | None, progress: Callable[[str], None] = lambda step: None
) -> Problem | None:
    """What is wrong with a certificate about this model, as far as it can be said without a pass."""
    check = certificate.check
    if check is not None and origin is not None and check.reading != origin.reading:
        here = f"is {check.reading!r}; the folder is read as {origin.reading!r}: give --reading {check.reading}"
        return Problem("check.reading", here)
    hashed = first_model_hash if certificate.version == 2 else model_hash
    return _first_look(certificate, model, hashed(model, progress))


def check_problem(certificate: Certificate) -> Problem | None:
    """Why what the checker reads does not follow from the tokens: the same ids, and for each that leads its margin or less."""
    check, given = certificate.check, len(certificate.ids)
    if check is None:
        return None
    whole = (*certificate.ids, *certificate.continuation)
    leading = {given - 1 + n: claim for n, claim in enumerate(certificate.tokens) if claim.token is not None and not claim.ties}
    claims = {lead.position: lead for lead in check.claims}
    follows = check.ids == whole[:-1] and len(claims) == len(check.claims) and set(claims) == set(leading)
    if not follows or not all(lead.token == leading[n].token and _weaker(lead.margin, leading[n]) for n, lead in claims.items()):
        return Problem("check", "does not follow from the rest of the certificate")
    return None


def other_files(certificate: Certificate, origin: Origin | None) -> Problem | None:
    """Which of the files that the checker is to read is not one of the model."""
    check = certificate.check
    if check is None or origin is None:
        return None
    here = origin.hashes
    for name in sorted({*check.files, *here}):
        if check.files.get(name) != here.get(name):
            why = "is not a file of this model" if name not in here else "is missing" if name not in check.files else ""
            return Problem("check.files", f"{name} {why or 'has another SHA-256 in the folder'}")
    return None


def _weaker(margin: str, claim: Claim) -> bool:
    return claim.margin is not None and not claim.ties and Fraction(margin) <= Fraction(claim.margin[0])


def _first_look(certificate: Certificate, model: Model, digest: str) -> Problem | None:
    """What can be said without a pass."""
    if digest != certificate.model:
        return Problem("model.sha256", f"is that of another model, {certificate.model[:16]}…; this one has {digest[:16]}…")
    if certificate.version > 2 and certificate.reading != reading_of(model.config):
        return Problem("model.reading", f"is {certificate.reading!r}; of this model it is {reading_of(model.config)!r}")
    if not FEWEST <= certificate.cap <= MOST:
        return Problem("cap", f"{certificate.cap} limbs: there are {FEWEST} to {MOST}")
    if not certificate.tokens:
        return Problem("tokens", "is empty: nothing is claimed")
    for n, claim in enumerate(certificate.tokens):
        if len(claim.schedule) != schedule_length(model.config) or any(s and not FEWEST <= s <= MOST for s in claim.schedule):
            return Problem(
                f"tokens[{n}].schedule", f"is not one of {schedule_length(model.config)} times 0 or {FEWEST} to {MOST} limbs"
            )
        if len(claim.top) > len(model.config.spoken):
            return Problem(f"tokens[{n}].top", f"has {len(claim.top):,} logits, the model {len(model.config.spoken):,}")
        if claim.token is None and n + 1 < len(certificate.tokens):
            return Problem(f"tokens[{n}].token", "is undecided, but more tokens follow it")
    if len(certificate.tokens) > 1:
        try:
            model.check_fed_back()
        except InputError as error:
            return Problem("tokens", str(error))
    return None


@dataclass
class _Check:
    """One claim."""

    model: Model
    prepared: Prepared
    ids: tuple[int, ...]
    claim: Claim
    cap: int
    place: str
    problems: list[Problem] = field(default_factory=list)
    first: Certified | None = None  # the pass with the schedule of the certificate

    @property
    def token(self) -> int | None:
        """That of the claim, after which the next one is asked."""
        return self.claim.token

    def run(self) -> _Check:
        """What cannot be asked of the model is a problem of the certificate."""
        try:
            self._run()
        except InputError as error:
            self.problems = [Problem(self.place, str(error))]
        return self

    def _run(self) -> None:
        schedule = self.claim.schedule
        for attempt in range(_TRIES):
            found = prove_token(
                self.model, list(self.ids), prepared=self.prepared, top=max(1, len(self.claim.top)), cap=max(self.cap, *schedule),
                schedule=schedule,
            )  # fmt: skip
            self.first = self.first or found
            still_open = self._compare(found)
            if self.problems or not still_open:
                return
            if attempt < _TRIES - 1:
                schedule = tuple(min(MOST, max(FEWEST, n + 1)) for n in found.schedule)
        self.problems = still_open

    def _compare(self, found: Certified) -> list[Problem]:
        """What is refuted goes to `problems`; what is left open is handed back."""
        claim = self.claim
        if claim.token is not None:
            for name in ("token", "ties", "runner_up"):
                said, shows = getattr(claim, name), getattr(found, name)
                if said != shows:
                    self._refute(name, f"says {_told(said)}, a new run proves {_told(shows)}")
        elif claim.ties or claim.runner_up is not None or claim.margin is not None:
            self._refute("token", "is undecided, but ties, a runner-up or a margin are claimed")
        waiting = []
        if claim.margin is not None or found.margin is not None:
            waiting += self._within("margin", claim.margin, found.margin) if claim.token is not None else []
        shown = {entry.token: (entry.low, entry.high) for entry in found.top}
        if len({bound.token for bound in claim.top}) < len(claim.top):
            self._refute("top", "has a token twice")
        for n, bound in enumerate(claim.top):
            if bound.token not in shown:
                self._refute(f"top[{n}].token", f"{bound.token} is not among the {len(claim.top)} largest logits of a new run")
            else:
                waiting += self._within(f"top[{n}]", (bound.low, bound.high), shown[bound.token])
        return waiting

    def _within(self, name: str, said: Any, found: Any) -> list[Problem]:
        if said is None or found is None:
            self._refute(name, f"says {_told(said)}, a new run {'has none' if found is None else proved_digits(*found)}")
            return []
        low, high = map(Fraction, said)
        if high < found[0] or found[1] < low:
            self._refute(name, f"says {said[0]} to {said[1]}, a new run proves {proved_digits(*found)}")
            return []
        if low <= found[0] and found[1] <= high:
            return []
        return [
            Problem(f"{self.place}.{name}", f"{said[0]} to {said[1]} is not confirmed: a new run proves {proved_digits(*found)}")
        ]

    def _refute(self, name: str, text: str) -> None:
        self.problems.append(Problem(f"{self.place}.{name}", text))


def _told(said: Any) -> str:
    if said is None:
        return "nothing"
    return ", ".join(map(str, said)) or "none" if isinstance(said, tuple) else str(said)


def _remarks(certificate: Certificate) -> list[str]:
    here = versions()
    names = sorted({*here, *certificate.versions})
    remarks = [
        f"{name} was {certificate.versions.get(name, 'not given')}, is {here.get(name, 'not given')}"
        for name in names
        if certificate.versions.get(name) != here.get(name)
    ]
    if remarks and tables_digest() != certificate.tables:  # the same versions make the same tables, of the limbs that are asked for
        remarks.append("the tables have another hash: they were made for other precisions, or by another version")
    return remarks
