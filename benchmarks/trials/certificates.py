"""Certificates changed at random: half of them as files come to harm, half with their checksums renewed as a forger would.

Whatever is confirmed is compared with the independent arithmetic `arb`: each claim must be true of the model, whether it was there
before or came about by the change. A weaker claim is true, and so is that of another prompt whose token happens to be the same.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

import exactformer as xf
from benchmarks.result import Progress, Result
from benchmarks.trials.bounds import Tried, all_tried, report, tried
from exactformer.certificates import Prepared
from exactformer.certificates.certificate import Certificate, CertificateError, certify
from exactformer.certificates.file import document, dump, read
from exactformer.certificates.hash import model_hash
from exactformer.certificates.verifying import verify
from exactformer.hashing import checksum
from exactformer.model import Config, Model, Weights, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers.enclosure import precision

NUMBER = 1000
_LONGEST = 1000  # characters of a refusal
_BITS = 1200  # of the balls that claims are compared with: more than any limbs have


@dataclass
class Subject:
    """A model with a certificate of it, and its logits in balls for every prompt that was asked about so far."""

    name: str
    model: Model
    certificate: Certificate
    prepared: Prepared
    logits: dict[tuple[int, ...], Any] = field(default_factory=dict)

    def row(self, ids: tuple[int, ...]) -> Any:
        if ids not in self.logits:
            self.logits[ids] = forward(self.model, list(ids), ArbArithmetic(_BITS), _quiet)[-1]
        return self.logits[ids]


def _quiet(step: Any) -> Any:
    return step.values


@cache
def subjects() -> list[Subject]:
    induction = xf.load("induction")
    tied = _logits([[1, 3, 2, 3, 0], [2, 0, 1, 0, 4], [0, 5, 0, 5, 1], [1, 1, 1, 1, 1], [-1, -2, -3, -2, 0]])
    return [
        _subject("capstone, one token", xf.load("capstone").model, [0, 1], 1),
        _subject("induction, three tokens", induction.model, induction.model.ids(induction.tokens)[:3], 3),
        _subject("equal columns: a tie", tied, [0, 2], 2),
        _subject("one token alone", _logits([[1]]), [0], 1),
        _subject("undecided, with logits all the same", _alike(), [0], 1),
    ]


def _logits(table: list[list[int]]) -> Model:
    size = len(table)
    names = tuple(f"t{n}" for n in range(size))
    config = Config(vocabulary=names, dim=size, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    return Model(config, Weights(W_E=np.eye(size), W_U=xf.array(table)))


def _alike() -> Model:
    """Two logits that are equal, which no number of limbs can tell: 1 · 1 + 1 · 0 and 1 · 0 + 1 · 1."""
    config = Config(vocabulary=("a", "b"), dim=2, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    return Model(config, Weights(W_E=np.ones((2, 2)), W_U=np.eye(2)))


def _subject(name: str, model: Model, ids: list[int], tokens: int) -> Subject:
    prepared = Prepared(model)
    return Subject(name, model, certify(model, ids, tokens, prepared=prepared), prepared)


# -- as files come to harm
def damaged(rng: random.Random, text: str) -> bytes:
    data = text.encode()
    at, to = sorted(rng.sample(range(len(data)), 2))
    kind = rng.randrange(7)
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + data[to:]
    if kind == 2:
        return data[:at] + rng.randbytes(rng.randint(1, 40)) + data[at:]
    if kind == 3:
        return data[:at]
    if kind == 4:
        return data[:at] + data[at:to] * 2 + data[to:]
    if kind == 5:
        return data[:at] + rng.choice('0123456789abcdef-.", {}[]\n').encode() + data[at + 1 :]
    lines = data.splitlines(keepends=True)
    rng.shuffle(lines)
    return b"".join(lines)


# -- as a forger renews them
def forged(rng: random.Random, subject: Subject, other: Subject) -> bytes:
    said: dict[str, Any] = json.loads(json.dumps(document(subject.certificate)))
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(5)
        if kind == 0:
            _change(rng, said, subject)
        elif kind == 1:
            said["tokens"] = json.loads(json.dumps(document(other.certificate)))["tokens"]
        elif kind == 2 and isinstance(said.get("tokens"), list) and said["tokens"]:
            rng.shuffle(said["tokens"])
            said["tokens"] = said["tokens"] * rng.randint(0, 2) + said["tokens"][: rng.randint(0, 2)]
        else:
            _claim_more(rng, said, subject)
    return json.dumps(said | {"sha256": checksum(said)}).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place inside of a JSON value: what holds it, and under which key."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _change(rng: random.Random, said: dict[str, Any], subject: Subject) -> None:
    """One place, changed into something else."""
    inside, key = rng.choice(list(_places(said)))
    odd: list[Any] = [
        None, True, False, 0, -1, 1, 3, 4, 15, 16, 1.5, 10**30, "", "0", "-7", "nan", "inf", "1e99", "1/0", "9" * 80,
        "0." + "9" * 160, "x" * 1000, "\x1b[2J\n", [], {}, [[]], ["0", "1"], ["1", "0"], [0, 0],
        [15] * len(subject.certificate.tokens[0].schedule),
    ]  # fmt: skip
    kind = rng.randrange(4)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, list):
        inside.insert(key, inside[key])
    elif kind == 2 and isinstance(inside, dict):
        inside[rng.choice(["token", "ties", "margin", "schedule", "ids", "cap"])] = inside[key]
    else:
        inside[key] = rng.choice(odd)


def _claim_more(rng: random.Random, said: dict[str, Any], subject: Subject) -> None:
    """A claim that could be made: other tokens, sharper or moved ends, fewer limbs."""
    size = len(subject.model.config.vocabulary)
    claims = said.get("tokens")
    if not isinstance(claims, list) or not claims or not isinstance(claim := rng.choice(claims), dict):
        return
    kind = rng.randrange(8)
    margin, top = ([] if not isinstance(claim.get(name), list) else claim[name] for name in ("margin", "top"))
    if kind == 0:
        claim["token"] = rng.randrange(size)
    elif kind == 1:
        claim["ties"] = sorted(rng.sample(range(size), rng.randint(0, min(2, size))))
    elif kind == 2:
        claim["runner_up"] = rng.choice([None, rng.randrange(size)])
    elif kind == 3 and margin:
        claim["margin"] = [_moved(rng, end) for end in margin]
    elif kind == 4 and top and isinstance(bound := rng.choice(top), dict):
        bound[rng.choice(["low", "high"])] = _moved(rng, bound.get("low"))
    elif kind == 5:
        claim["schedule"] = [rng.choice([0, 4, 5, 8, 15]) for _ in subject.certificate.tokens[0].schedule]
    elif kind == 6:
        said["ids"] = [rng.randrange(size) for _ in range(rng.randint(1, 4))]
    elif kind == 7 and top:
        claim["top"] = top[: rng.randint(0, len(top))]


def _moved(rng: random.Random, end: Any) -> Any:
    """A decimal moved by a unit of one of its places."""
    if not isinstance(end, str) or not end.lstrip("-").replace(".", "", 1).isdigit():
        return end
    places = len(end.partition(".")[2])
    at = rng.randint(0, places)
    units = round((Fraction(end) + Fraction(rng.choice([-1, 1]), 10**at)) * 10**places)
    digits = str(abs(units)).rjust(places + 1, "0")
    return ("-" if units < 0 else "") + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


# -- what must not be confirmed
def untrue(certificate: Certificate, subject: Subject) -> str:
    """The first claim that is false of the model, or ""."""
    if certificate.model != model_hash(subject.model):
        return "another model"
    prefix = certificate.ids
    for n, claim in enumerate(certificate.tokens):
        row = subject.row(prefix)
        with precision(_BITS):
            for bound in claim.top:
                if not _between(bound.low, bound.high).overlaps(row[bound.token]):
                    return f"tokens[{n}].top: the logit of {bound.token}"
            if claim.token is None:
                return ""
            mine = row[claim.token]
            if any(not mine > other for i, other in enumerate(row) if i not in (claim.token, *claim.ties)):
                return f"tokens[{n}].token: {claim.token} does not lead"
            if any(not mine.overlaps(row[i]) for i in claim.ties):
                return f"tokens[{n}].ties"
            if claim.margin is not None:
                low, high = claim.margin
                if claim.runner_up is None or not _between(low, high).overlaps(mine - row[claim.runner_up]):
                    return f"tokens[{n}].margin"
                if any(bool(mine - row[i] < _exact(low)) for i in range(len(row)) if i not in (claim.token, *claim.ties)):
                    return f"tokens[{n}].margin: another is nearer"
        prefix = (*prefix, claim.token)
    return ""


def _exact(end: str) -> arb:
    return arb(fmpq(*Fraction(end).as_integer_ratio()))


def _between(low: str, high: str) -> arb:
    return _exact(low).union(_exact(high))


def judged(subject: Subject, data: bytes) -> str:
    """What becomes of a file: unreadable, refused or confirmed. What is said of it is a line, and what is confirmed is true."""
    place = Path(tempfile.mkdtemp())
    try:
        path = place / "certificate.json"
        path.write_bytes(data)
        written = read(path)
        verdict = verify(written.certificate, subject.model, subject.prepared, intact=written.intact)
    except CertificateError as error:
        _check_line(str(error))
        return "unreadable"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for problem in verdict.problems:
        _check_line(str(problem))
    if not verdict.confirmed:
        return "refused"
    wrong = untrue(written.certificate, subject)
    assert not wrong, f"confirmed though it is false: {wrong}"
    return "confirmed"


def _check_line(line: str) -> None:
    assert len(line) <= _LONGEST, f"a refusal of {len(line):,} characters"
    assert line.isprintable(), f"a refusal of several lines, or worse: {line[:100]!r}"


KINDS = ("damaged", "checksum renewed")


def outcome(seed: int, n: int) -> str:
    """Change the n-th certificate and verify it."""
    rng = random.Random(f"certificates {seed} {n}")
    subject, other = rng.choice(subjects()), rng.choice(subjects())
    return judged(subject, forged(rng, subject, other) if n % 2 else damaged(rng, dump(subject.certificate)))


def sample(number: int, seed: int) -> list[Tried]:
    """Some in this very process, for the tests."""
    return [tried(partial(outcome, seed), n) for n in range(number)]


_TOLD = (
    f"{NUMBER:,} certificates of five models, changed at random; half as a fault of a disk would, half with one to three places "
    "changed and the checksum renewed. Each is then verified with its model. What is confirmed is compared with balls of "
    f"{_BITS:,} bits: every claim of it must be true, whether it was there before or came about by the change."
)


def run(progress: Progress) -> Result:
    counts = {kind: Counter[str]() for kind in KINDS}
    failed: list[str] = []
    results: list[Tried] = []
    for n, result in enumerate(all_tried(partial(outcome, 0), NUMBER)):
        counts[KINDS[n % 2]][result.outcome] += 1
        results.append(result)
        if result.failed:
            failed.append(f"certificate {n}: {result.failed}")
            progress(failed[-1])
        if (n + 1) % 100 == 0:
            progress(f"{n + 1:,} of {NUMBER:,} certificates, {len(failed)} failed")
    return report("certificates", "certificates", _TOLD, counts, results, failed)
