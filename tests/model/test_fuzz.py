"""Random tiny models: every recovered rational and every decision is confirmed at 600 bits; false claims are refused."""

from __future__ import annotations

import random
from fractions import Fraction

import flint
import pytest
from flint import arb, fmpq

from arb_check import confirms, independent_ball
from exactformer.arithmetics import arithmetic
from exactformer.model import Step, forward
from exactformer.numbers import Exact, Named, Undecided, Undefined, decide, exact
from exactformer.numbers import sign as real_sign
from exactformer.numbers.decide import prove_equal
from exactformer.numbers.field import subtract
from random_models import random_model, random_tokens
from sampling import parts

MODELS, CHUNKS = 520, 26


class Log:
    """The signs that a pass asked for, and the values of its steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.signs: list[tuple[Named, int]] = []
        self.values: list[object] = []

        def sign(x: object, *budget: object) -> int:
            answer = real_sign(x, *budget)  # type: ignore[arg-type]
            if isinstance(x, Named):
                self.signs.append((x, answer))
            return answer

        monkeypatch.setattr(decide, "sign", sign)
        monkeypatch.setattr("exactformer.model.arithmetics.exact.sign", sign)

    def note(self, step: Step) -> object:
        self.values.extend(step.values.flat)
        return step.values


def run(seed: int, monkeypatch: pytest.MonkeyPatch) -> Log:
    rng = random.Random(seed)
    model = random_model(rng)
    log, ops = Log(monkeypatch), arithmetic("exact")
    logits = forward(model, model.ids(random_tokens(rng, model)), ops, log.note)
    log.choices = ops.choose(logits)  # type: ignore[attr-defined]
    log.logits = logits  # type: ignore[attr-defined]
    return log


@pytest.mark.parametrize("chunk", parts(0, CHUNKS, 2))
def test_recovered_values_and_decisions_hold_at_600_bits(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    recovered = decided = undecided = 0
    for seed in range(chunk, MODELS, CHUNKS):
        with monkeypatch.context() as patch:
            log = run(seed, patch)
        done: dict[int, arb] = {}
        for value in log.values:
            if isinstance(value, Exact) and value.origin is not None:
                recovered += 1
                assert confirms(independent_ball(value.origin, done), value.value), (seed, value)
            undecided += isinstance(value, Undefined) and value.undecided
        for x, answer in log.signs:
            decided += 1
            ball = independent_ball(x, done)
            assert confirms(ball, fmpq(0)) if answer == 0 else (ball > 0) == (answer > 0) and not ball.contains(0), (seed, answer)
        for choice, row in zip(log.choices, log.logits, strict=True):  # type: ignore[attr-defined]
            if choice.index is not None:
                for i, logit in enumerate(row):
                    margin = independent_ball(subtract(row[choice.index], logit), dict(done))
                    tie = i == choice.index or i in choice.ties
                    assert confirms(margin, fmpq(0)) if tie else margin > 0, (seed, i)
    assert recovered >= 5
    assert decided >= 20
    assert undecided == 0


@pytest.mark.parametrize("first", parts(1000, 1020, 2))
def test_false_claims_are_refused(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values moved by 1e-100, rationals that are close, near-ties: none is accepted. Two models, as some have no named values."""
    asked, tiny = 0, fmpq(1, 10**100)
    for seed in (first, first + 20):
        with monkeypatch.context() as patch:
            log = run(seed, patch)
        rng = random.Random(seed)
        named = [v for v in log.values if isinstance(v, Named)]
        recovered = [v for v in log.values if isinstance(v, Exact) and v.origin is not None]
        for value in rng.sample(recovered, min(4, len(recovered))):
            fresh = Named(value.origin.op, value.origin.args, value.origin.data)  # type: ignore[union-attr]
            for wrong in (value.value + tiny, value.value - tiny, value.value + fmpq(1, 4096)):
                asked += 1
                assert not prove_equal(fresh, wrong), (seed, wrong)
        for value in rng.sample(named, min(9, len(named))):
            for wrong in nearby(value):
                asked += 1
                assert not prove_equal(value, wrong), (seed, wrong)
                assert_not_equal(value, wrong)
    assert asked >= 20


def nearby(x: Named) -> list[fmpq]:
    """Rationals next to a number that a 600-bit ball proves to be different from it."""
    ball = independent_ball(x)
    mantissa, exponent = ball.mid().man_exp()
    middle = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    close = [middle.limit_denominator(10**k) for k in (3, 9, 30)]
    claims = [fmpq(f.numerator, f.denominator) for f in close]
    before, flint.ctx.prec = flint.ctx.prec, 1200
    try:
        return [q for q in claims if not (ball - arb(q)).contains(0)]
    finally:
        flint.ctx.prec = before


def assert_not_equal(x: Named, q: fmpq) -> None:
    try:
        assert x != exact(q)
    except Undecided:
        pytest.fail("a difference above 2^-300 must be seen")
