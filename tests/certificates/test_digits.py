"""Logits to as many decimals as asked for."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from certify_tools import run, small_model, write_model

from exactformer.certificates import Prepared, prove_token, prove_tokens
from exactformer.model import Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers.digits import ball_bounds


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(small_model(tmp_path_factory.mktemp("model") / "m"))


def _logits(model: Model, ids: list[int]) -> list[tuple[Fraction, Fraction]]:
    def note(step: Any) -> Any:
        return step.values

    return [tuple(map(Fraction, ball_bounds(ball, 100))) for ball in forward(model, ids, ArbArithmetic(600), note)[-1]]


@pytest.mark.parametrize("digits", [1, 12, 30, 50])
def test_the_largest_logits_have_the_digits_asked_for(prepared: Prepared, digits: int) -> None:
    ids = [3, 4, 5]
    found = prove_token(prepared.model, ids, prepared=prepared, top=4, digits=digits)
    true = _logits(prepared.model, ids)
    assert len(found.top) == 4
    for entry in found.top:
        assert entry.width <= Fraction(1, 10**digits)
        low, high = true[entry.token]
        assert entry.low <= low <= high <= entry.high


def test_fewer_digits_at_the_cap_leave_the_token_proved(prepared: Prepared, tmp_path: Path) -> None:
    found = prove_token(prepared.model, [3, 4, 5], prepared=prepared, cap=5, digits=30)
    assert found.proved
    assert max(entry.width for entry in found.top) > Fraction(1, 10**30)
    folder, file = str(write_model(tmp_path / "m")), str(tmp_path / "c.json")
    told = run(folder, "--ids", "3 4 5", "--cap", "5", "--digits", "30", "--format", "json", "-o", file)
    assert (told.returncode, told.stderr) == (3, "exactformer: token 1: its logits are not known to 30 decimals with 5 limbs\n")
    assert run(folder, "--verify", file).returncode == 0
    plenty = run(folder, "--ids", "3 4 5", "--digits", "30")
    assert plenty.returncode == 0
    assert len(re.findall(r"-?\d+\.\d{29,}", plenty.stdout)) >= 5
    with pytest.raises(ValueError, match="digits"):
        prove_token(prepared.model, [3], prepared=prepared, digits=81)


def test_generated_tokens_have_them_too(prepared: Prepared) -> None:
    for found in prove_tokens(prepared.model, [3, 4], 3, prepared=prepared, digits=25):
        assert found.proved
        assert max(entry.width for entry in found.top) <= Fraction(1, 10**25)
