"""A certificate that was changed is refused, with the line; one that was forged with care is refuted by new passes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certify_tools import small_model

from exactformer.certificates import Prepared, prove_token
from exactformer.certificates.certificate import Bound, Certificate, CertificateError, Claim, certify
from exactformer.certificates.file import document, dump, read
from exactformer.certificates.verifying import verify
from exactformer.model import Model

IDS = [3, 4, 5]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return small_model(tmp_path_factory.mktemp("model") / "m")


@pytest.fixture(scope="module")
def prepared(model: Model) -> Prepared:
    return Prepared(model)


@pytest.fixture(scope="module")
def certificate(model: Model) -> Certificate:
    return certify(model, IDS, 3)


def test_a_certificate_is_confirmed(certificate: Certificate, model: Model) -> None:
    verdict = certificate.verify(model)
    assert verdict.confirmed
    assert verdict.problems == verdict.remarks == ()


def test_every_single_change_is_refused(certificate: Certificate, model: Model, prepared: Prepared, tmp_path: Path) -> None:
    """Hundreds of changes of one character: not a certificate any more, or refused, or the same certificate in other blanks."""
    text = dump(certificate)
    rng = random.Random(17)
    path = tmp_path / "c.json"
    outcomes = {"unreadable": 0, "refused": 0, "harmless": 0}
    said: list[str] = []
    for _ in range(400):
        place = rng.randrange(len(text))
        new = rng.choice('0123456789abcdef-.", {}[]\n')
        changed = text[:place] + new + text[place + 1 :] if rng.random() < 0.7 else text[:place] + new + text[place:]
        path.write_text(changed, encoding="utf-8")
        try:
            written = read(path)
        except CertificateError as error:
            said.append(str(error))
            outcomes["unreadable"] += 1
            continue
        if json.loads(changed) == json.loads(text):
            assert written.certificate == certificate
            assert written.intact
            outcomes["harmless"] += 1
            continue
        assert not written.intact, (place, new)
        outcomes["refused"] += 1
        if outcomes["refused"] <= 25:  # the passes themselves are slow
            verdict = verify(written.certificate, model, prepared, intact=False)
            assert not verdict.confirmed, (place, new)
            told = {written.line(problem.place) for problem in (*verdict.problems, *verdict.notes)}
            where = text.count("\n", 0, place) + 1
            recorded = '"versions"' in text[:place] or '"cap"' in changed.splitlines()[where - 1]
            assert told & {where, where + (new == "\n")} or recorded, (place, new, told, where)
    assert not any("\n" in line for line in said)
    assert min(outcomes["unreadable"], outcomes["refused"]) > 50, outcomes
    assert outcomes["harmless"] > 5, outcomes


def _claim(certificate: Certificate, **changes: Any) -> Certificate:
    return replace(certificate, tokens=(replace(certificate.tokens[0], **changes), *certificate.tokens[1:]))


def _top(certificate: Certificate, n: int, bound: Bound) -> Certificate:
    top = certificate.tokens[0].top
    return _claim(certificate, top=(*top[:n], bound, *top[n + 1 :]))


def _moved(bound: Bound, by: Fraction) -> Bound:
    return Bound(bound.token, *(f"{float(Fraction(end) + by):.12f}" for end in (bound.low, bound.high)))


FORGERIES: dict[str, tuple[str, Callable[[Certificate], Certificate]]] = {
    "token": ("tokens[0].token", lambda c: _claim(c, token=c.tokens[0].runner_up)),
    "ties": ("tokens[0].ties", lambda c: _claim(c, ties=(c.tokens[0].runner_up,))),
    "runner-up": ("tokens[0].runner_up", lambda c: _claim(c, runner_up=c.tokens[0].top[2].token)),
    "margin": ("tokens[0].margin", lambda c: _claim(c, margin=("2.5", "2.6"))),
    "margin gone": ("tokens[0].margin", lambda c: _claim(c, margin=None)),
    "narrow margin": ("tokens[0].margin", lambda c: _claim(c, margin=(c.tokens[0].margin[1], c.tokens[0].margin[1]))),
    "backwards": ("tokens[0].top[0]", lambda c: _claim(c, top=(replace(c.tokens[0].top[0], low="9", high="3"),))),
    "logit": ("tokens[0].top[0]", lambda c: _top(c, 0, _moved(c.tokens[0].top[0], Fraction(1, 1000)))),
    "last logit": ("tokens[0].top[4]", lambda c: _top(c, 4, _moved(c.tokens[0].top[4], Fraction(-1, 10**7)))),
    "token of a logit": ("tokens[0].top[1]", lambda c: _top(c, 1, replace(c.tokens[0].top[1], token=0))),
    "twice": ("tokens[0].top", lambda c: _claim(c, top=(c.tokens[0].top[0], c.tokens[0].top[0]))),
    "too many": ("tokens[0].top", lambda c: _claim(c, top=c.tokens[0].top * 20)),
    "schedule": ("tokens[0].schedule", lambda c: _claim(c, schedule=(4, 4))),
    "limbs": ("tokens[0].schedule", lambda c: _claim(c, schedule=(4, 4, 4, 4, 3))),
    "cap": ("cap", lambda c: replace(c, cap=1000)),
    "model": ("model.sha256", lambda c: replace(c, model="0" * 64)),
    "ids": ("tokens[0]", lambda c: replace(c, ids=(3, 4, 6))),
    "unknown id": ("tokens[0]", lambda c: replace(c, ids=(3, 4, 400))),
    "no ids": ("tokens[0]", lambda c: replace(c, ids=())),
    "too long": ("tokens[0]", lambda c: replace(c, ids=(3,) * 17)),
    "nothing": ("tokens", lambda c: replace(c, tokens=())),
    "order": ("tokens[0]", lambda c: replace(c, tokens=(c.tokens[1], c.tokens[0]))),
    "undecided, yet followed": ("tokens[0].token", lambda c: _claim(c, token=None)),
    "undecided, yet a margin": ("tokens[0].token", lambda c: replace(c, tokens=(replace(c.tokens[0], token=None),))),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_with_a_checksum_that_fits_are_refuted(
    name: str, certificate: Certificate, model: Model, prepared: Prepared, tmp_path: Path
) -> None:
    place, forge = FORGERIES[name]
    forge(certificate).save(tmp_path / "c.json")
    written = read(tmp_path / "c.json")
    assert written.intact
    verdict = verify(written.certificate, model, prepared)
    assert not verdict.confirmed
    assert any(problem.place.startswith(place) for problem in verdict.problems), verdict.problems


def test_a_weaker_claim_is_still_true(certificate: Certificate, model: Model, prepared: Prepared) -> None:
    bound = certificate.tokens[0].top[0]
    wide = replace(bound, low=str(int(float(bound.low)) - 1), high=str(int(float(bound.high)) + 2))
    weaker = _claim(certificate, top=(wide, *certificate.tokens[0].top[1:]), schedule=(6,) * 5)
    assert weaker.verify(model, prepared).confirmed


def test_a_sharper_claim_is_confirmed_with_more_limbs(certificate: Certificate, model: Model, prepared: Prepared) -> None:
    """Claims of a finer pass under the name of a coarse schedule: the new pass is too wide at first."""
    fine = certify(model, IDS, 1).tokens[0]
    sharp = Claim.of(prove_token(model, IDS, schedule=(7,) * 5, prepared=prepared))
    assert Fraction(sharp.top[0].high) - Fraction(sharp.top[0].low) < Fraction(fine.top[0].high) - Fraction(fine.top[0].low)
    mixed = replace(certificate, tokens=(replace(sharp, schedule=(6,) * 5),))
    assert mixed.verify(model, prepared).confirmed


def test_other_versions_are_told_and_not_refused(certificate: Certificate, model: Model, prepared: Prepared) -> None:
    other = replace(certificate, versions=certificate.versions | {"NumPy": "0.9"}, tables="0" * 64)
    verdict = verify(other, model, prepared)
    assert verdict.confirmed
    assert any("NumPy was 0.9" in remark for remark in verdict.remarks)
    assert any("tables" in remark for remark in verdict.remarks)


def _torn(certificate: Certificate, model: Model, prepared: Prepared) -> list[str]:
    """What is noted of a file whose checksum does not fit."""
    verdict = verify(certificate, model, prepared, intact=False)
    assert [problem.place for problem in verdict.problems] == ["sha256"]
    return [note.place for note in verdict.notes]


def test_what_runs_of_an_intact_file_differ_in_is_no_lead(certificate: Certificate, model: Model, prepared: Prepared) -> None:
    """Radii and last digits are named only where nothing else is found, and where they are few."""
    layers = certificate.tokens[0].layers
    noisy = _claim(certificate, layers=(replace(layers[0], radius="9e9"), *layers[1:]))
    assert "tokens[0].layers[0].radius" in _torn(noisy, model, prepared)
    assert all(".radius" in place for place in _torn(noisy, model, prepared))
    bound = noisy.tokens[0].top[0]
    assert _torn(_top(noisy, 0, replace(bound, low="0")), model, prepared) == ["tokens[0].top[0].low"]
    assert "tokens[0].top[0].high" in _torn(_top(certificate, 0, replace(bound, high=f"{bound.high}9")), model, prepared)
    assert _torn(_claim(noisy, why="so"), model, prepared) == ["tokens[0].why"]
    many = tuple(
        replace(claim, attempts=2, layers=tuple(replace(layer, radius="9e9") for layer in claim.layers))
        for claim in certificate.tokens
    )
    assert _torn(replace(certificate, tokens=many), model, prepared) == []


def test_one_changed_weight_is_noticed(certificate: Certificate, tmp_path: Path) -> None:
    changed = np.zeros(8, dtype=np.float32)
    verdict = certificate.verify(small_model(tmp_path / "m", tensors={"ln_f.bias": changed}))
    assert [problem.place for problem in verdict.problems] == ["model.sha256"]


def test_ties_are_certified_and_confirmed(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((40, 8)).astype(np.float32)
    model = small_model(tmp_path / "m", tensors={"wte.weight": rows})
    winner = certify(model, IDS).tokens[0].token
    assert winner is not None
    rows[0 if winner else 1] = rows[winner]
    model = small_model(tmp_path / "tied", tensors={"wte.weight": rows})
    certificate = certify(model, IDS)
    claim = certificate.tokens[0]
    assert sorted([claim.token, *claim.ties]) == sorted([winner, 0 if winner else 1])  # type: ignore[type-var, list-item]
    assert claim.margin == ("0", "0")
    assert certificate.verify(model).confirmed
    assert document(certificate)["tokens"][0]["ties"] == list(claim.ties)
