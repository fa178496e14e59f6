"""The audit: honest claims agree with balls, false ones are contradicted, and which is said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from certify_tools import run, small_model, write_model

from exactformer.certificates import Prepared
from exactformer.certificates.audit import audit, check_size
from exactformer.certificates.certificate import Certificate, Claim, certify
from exactformer.certified import Ball, CertifiedArithmetic
from exactformer.model import InputError, Model
from exactformer.worksheets import load

IDS = [3, 4, 5]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return small_model(tmp_path_factory.mktemp("model") / "m")


@pytest.fixture(scope="module")
def certificate(model: Model) -> Certificate:
    return certify(model, IDS, 3)


def test_every_logit_of_every_position_is_compared(model: Model, certificate: Certificate) -> None:
    found = audit(model, IDS, certificate.tokens, prepared=Prepared(model))
    assert found.agrees
    assert found.logits == 5 * 40


@pytest.mark.parametrize("name", ["capstone", "induction", "similar", "skip"])
def test_built_in_examples_agree(name: str) -> None:
    sheet = load(name)
    ids = sheet.model.ids(sheet.tokens)
    assert audit(sheet.model, ids, certify(sheet.model, ids).tokens).agrees


def _shifted(claim: Claim, **changes: Any) -> Claim:
    return replace(claim, **changes)


def test_false_claims_are_contradicted(model: Model, certificate: Certificate) -> None:
    first, second, third = certificate.tokens
    bound = second.top[1]
    beyond = str(Fraction(bound.high) + Fraction(1, 10**6))
    high = replace(bound, low=f"{float(Fraction(beyond)):.9f}", high=f"{float(Fraction(beyond)) + 1e-3:.9f}")
    for claims, said in (
        ((replace(first, token=first.runner_up), second, third), "position 2: the token is claimed to be"),
        ((first, replace(second, top=(second.top[0], high)), third), f"position 3, token {bound.token}: claimed"),
        ((first, second, replace(third, margin=("5", "6"))), "position 4: the margin is claimed to be 5 to 6"),
    ):
        found = audit(model, IDS, claims)
        assert not found.agrees
        assert any(said in line for line in found.contradictions), found.contradictions


def test_a_wrong_certified_pass_is_contradicted_logit_by_logit(model: Model, certificate: Certificate) -> None:
    """A bound that is too small in one place: the audit says in which."""
    honest = CertifiedArithmetic.linear

    def wrong(self: Any, x: Ball, weight: Any, bias: Any) -> Ball:
        result = honest(self, x, weight, bias)
        if result.shape[-1] == 40:
            radius = np.array(result.radius)
            radius[1, 7] = 2.0**-400
            return Ball(result.mid, result.n, radius)
        return result

    with patch.object(CertifiedArithmetic, "linear", wrong):
        found = audit(model, IDS, certificate.tokens)
    assert [line.partition(":")[0] for line in found.contradictions] == ["position 1, token 7"]


def test_a_contradiction_is_status_1(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    honest = run(str(folder), "--ids", "3 4", "--audit")
    assert (honest.returncode, honest.stderr) == (0, "")
    assert "audit: 80 logits computed again with balls of" in honest.stdout
    with patch("exactformer.certificates.certificate.ends", lambda low, high: ("50", "51")):
        done = run(str(folder), "--ids", "3 4", "--audit")
    assert done.returncode == 1
    assert "CONTRADICTED" in done.stdout
    assert done.stderr.startswith("exactformer: the audit contradicts it: position 1, token ")
    assert done.stderr.count("\n") == 1


def test_sizes_beyond_balls_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactformer.certificates.audit.MOST_WEIGHTS", 1000)
    with pytest.raises(InputError, match=r"m: has 2,208 weights; --audit computes with balls, which takes up to 1,000"):
        check_size(small_model(tmp_path / "m"), "m")
    done = run(str(tmp_path / "m"), "--ids", "3", "--audit")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
