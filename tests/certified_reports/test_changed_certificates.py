"""Certificates changed at random, some dozens of the thousand that `python -m benchmarks.trials certificates` tries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.trials import certificates

from exactformer.certified.certificate import Certificate, certify
from exactformer.certified.certificate_file import dump
from exactformer.worksheets import load


def test_changed_certificates_confirm_nothing_that_is_false() -> None:
    tried = list(certificates.trials(120, seed=1))
    assert [result.failed for _, result in tried if result.failed] == []
    outcomes = Counter((kind, result.outcome) for kind, result in tried)
    assert outcomes["damaged", "unreadable"] > 30
    assert outcomes["checksum renewed", "refused"] > 20
    assert outcomes["checksum renewed", "confirmed"] > 2


def test_a_traceback_and_a_false_claim_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial itself is tried."""
    subject = certificates.subjects()[0]
    claim = subject.certificate.tokens[0]
    text = dump(replace(subject.certificate, tokens=(replace(claim, token=claim.runner_up, runner_up=claim.token),)))
    assert certificates.tried(subject, text.encode(), tmp_path).outcome == "refused"
    monkeypatch.setattr(certificates, "verify", lambda *args, **options: type("", (), {"confirmed": True, "problems": ()}))
    assert "does not lead" in certificates.tried(subject, text.encode(), tmp_path).failed
    assert certificates.tried(subject, dump(subject.certificate).encode(), tmp_path).failed == ""
    wide = replace(claim, top=(replace(claim.top[0], low="7", high="8"),))
    assert "top" in certificates.tried(subject, dump(replace(subject.certificate, tokens=(wide,))).encode(), tmp_path).failed

    def broken(*args: Any, **options: Any) -> None:
        raise KeyError("token")

    monkeypatch.setattr(certificates, "verify", broken)
    assert certificates.tried(subject, text.encode(), tmp_path).outcome == "traceback"


@pytest.mark.parametrize(
    "changes",
    [
        {"ids": ("a",)}, {"ids": (True, 1)}, {"ids": 5}, {"cap": "14"}, {"cap": None}, {"tokens": (None,)}, {"tokens": "x"},
        {"versions": None}, {"tables": b"x"}, {"model": 7}, {"ids": (0, float("nan"))}, {"tokens": ({},)},
    ],
)  # fmt: skip
def test_what_no_file_could_say_is_refused_in_one_line(changes: dict[str, Any]) -> None:
    model = load("capstone").model
    certificate: Certificate = replace(certify(model, [0, 1]), **changes)
    verdict = certificate.verify(model)
    assert not verdict.confirmed
    assert len(verdict.problems) == 1
    assert "\n" not in str(verdict.problems[0])
