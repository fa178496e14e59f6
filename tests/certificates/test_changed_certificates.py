"""Certificates changed at random, some dozens of the thousand that `python -m benchmarks.trials certificates` tries."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.trials import certificates

from exactformer.certificates.certificate import Certificate, certify
from exactformer.certificates.file import dump
from exactformer.certificates.verifying import Verification
from exactformer.worksheets import load


def test_changed_certificates_confirm_nothing_that_is_false() -> None:
    tried = certificates.sample(100, seed=1)
    assert [result.failed for result in tried if result.failed] == []
    damaged, renewed = (Counter(result.outcome for result in tried[start::2]) for start in (0, 1))
    assert damaged["unreadable"] > 30
    assert renewed["refused"] > 15
    assert renewed["confirmed"] > 2


def test_a_false_claim_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial itself is tried: with a verification that confirms everything."""
    subject = certificates.subjects()[0]
    claim = subject.certificate.tokens[0]
    swapped = dump(replace(subject.certificate, tokens=(replace(claim, token=claim.runner_up, runner_up=claim.token),)))
    elsewhere = dump(replace(subject.certificate, tokens=(replace(claim, top=(replace(claim.top[0], low="7", high="8"),)),)))
    assert [certificates.judged(subject, text.encode()) for text in (swapped, elsewhere)] == ["refused"] * 2
    monkeypatch.setattr(certificates, "verify", lambda *args, **options: Verification(()))
    assert certificates.judged(subject, dump(subject.certificate).encode()) == "confirmed"
    for text, what in ((swapped, "does not lead"), (elsewhere, "top")):
        with pytest.raises(AssertionError, match=f"confirmed though it is false: .*{what}"):
            certificates.judged(subject, text.encode())


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
