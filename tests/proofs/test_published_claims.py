"""What was claimed of published networks, proved; and a claim that is changed in one place is refuted at that input."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from benchmarks.claims import DATA, NUMBERS, Claim, claims, larger_of_two, proved

from exactformer.proofs import Product, prove

pytestmark = pytest.mark.skipif(not (DATA / "max-of-two").is_dir(), reason="skipped: ../shared/data/max-of-two is not there")
WRONG = (
    "3 2, 6 5, 7 8, 13 12, 15 14, 17 16, 22 23, 22 26, 24 26, 25 26, 30 31, 34 37, 36 37, 36 38, 41 42, 41 43, 42 41, 48 49, 50 51"
)
RIGHT = {"max of two, plain": 4096, "max of two, plain-undertrained": 4046, "max of two, layernorm": 4077}


@pytest.mark.parametrize("number", range(3))
def test_counts_over_all_pairs(number: int) -> None:
    claim: Claim = list(claims())[number]
    report = proved(claim)
    assert report.counts == {"proved": RIGHT[claim.name], "refuted": 4096 - RIGHT[claim.name], "undecided": 0}
    assert report.loss is not None
    if number == 0:  # where 5.47e-7 and 1.76e-7 were said
        assert Fraction("2.1127766e-7") <= report.loss[0] <= report.loss[1] <= Fraction("2.1127767e-7")


def test_which_pairs_are_wrong() -> None:
    wrong: list[Any] = []
    with larger_of_two("layernorm") as model:
        prove(model, Product((NUMBERS,) * 2), lambda t: max(t, key=int), arithmetic_name="certified", workers=1, wrong=wrong.append)
    assert [failure.tokens for failure, _ in wrong] == [tuple(pair.split()) for pair in WRONG.split(", ")]
    assert all(failure.token == min(failure.tokens, key=int) for failure, _ in wrong)  # it says the smaller one


def test_a_claim_that_is_changed_in_one_place() -> None:
    def rule(tokens: tuple[str, ...]) -> str:
        return "9" if tokens == ("7", "8") else max(tokens, key=int)

    with larger_of_two("plain") as model:
        report = prove(model, Product((NUMBERS,) * 2), rule, arithmetic_name="certified", workers=1)
    assert [(failure.tokens, failure.token) for failure in report.failures] == [(("7", "8"), "8")]
    assert report.counts["proved"] == 4095


@pytest.mark.large
def test_sorting_and_adding() -> None:
    for claim in list(claims())[3:]:
        assert proved(claim).verdict == "proved"
