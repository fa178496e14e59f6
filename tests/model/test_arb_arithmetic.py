"""The arithmetic `arb`: its balls hold the exact values, it proves no false token, and what it cannot tell it says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb

from ball_ends import ends, holds
from exactformer.model import Config, InputError, Model, Weights, forward
from exactformer.model.arithmetics.arb import ArbArithmetic, decide
from exactformer.model.arithmetics.exact import MASKED, ExactArithmetic
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.model.cache import Cache
from exactformer.numbers import Undefined, array, exact, exp, sqrt
from exactformer.numbers.enclosure import precision
from exactformer.trace import run
from exactformer.trace.gradient import gradient
from random_models import random_model, random_tokens
from sampling import counts

Steps = list[tuple[str, Any]]


def pass_of(model: Model, ids: list[int], ops: Any) -> Steps:
    steps: Steps = []
    forward(model, ids, ops, lambda step: (steps.append((step.name, step.values)), step.values)[1])
    return steps


def compare(proved: Any, balls: Any, name: str) -> tuple[int, int]:
    """How many balls hold the exact values of an array, and how many are undecided."""
    assert proved.shape == balls.shape
    held = undecided = 0
    for right, ball in zip(proved.flat, balls.flat, strict=True):
        assert (right is MASKED) == (ball is MASKED), name
        if right is MASKED or (isinstance(right, Undefined) and right.undecided):
            continue
        if isinstance(right, Undefined):
            assert isinstance(ball, Undefined), name
        elif isinstance(ball, Undefined):
            assert ball.undecided, name
            undecided += 1
        else:
            assert holds(ball, right), f"{name}: {ball} is not around {right}"
            held += 1
    return held, undecided


# -- against the exact arithmetic
def passes(count: int) -> Iterator[tuple[Model, list[int], Steps]]:
    for seed in range(count):
        rng = random.Random(seed)
        model = random_model(rng, dims=(2, 3), blocks=2, stable=seed % 5 == 0, late_mask=seed % 11 == 0, length=2 + seed % 2)
        ids = model.ids(random_tokens(rng, model))
        yield model, ids, pass_of(model, ids, ExactArithmetic())


@pytest.fixture(scope="module", params=counts(50, 220))
def exact_passes(request: pytest.FixtureRequest) -> list[tuple[Model, list[int], Steps]]:
    return list(passes(request.param))


def test_balls_hold_the_exact_values(exact_passes: list[tuple[Model, list[int], Steps]]) -> None:
    held = undecided = 0
    for model, ids, steps in exact_passes:
        for (name, right), (same, balls) in zip(steps, pass_of(model, ids, ArbArithmetic(128)), strict=True):
            assert name == same
            counts = compare(right, balls, name)
            held, undecided = held + counts[0], undecided + counts[1]
    assert held > 90 * len(exact_passes)
    assert undecided < held / 20  # behind a LayerNorm with ε = 0 of equal entries that are not dyadic


def test_proved_tokens_are_the_exact_ones_at_any_precision(exact_passes: list[tuple[Model, list[int], Steps]]) -> None:
    """Few bits make wide balls: many tokens stay undecided then, and none is proved wrongly."""
    proved = undecided = undefined = 0
    for model, ids, steps in exact_passes:
        right = ExactArithmetic().choose(steps[-1][1])
        for bits in (2, 5, 8, 12, 24, 128):
            ops = ArbArithmetic(bits)
            for ours, theirs in zip(ops.choose(pass_of(model, ids, ops)[-1][1]), right, strict=True):
                undecided += not ours.proved
                if ours.proved and ours.index is None:
                    assert theirs.index is None
                    assert theirs.proved
                    undefined += 1
                elif ours.proved and theirs.proved:
                    assert (ours.index, ours.ties) == (theirs.index, theirs.ties)
                    assert holds(ours.margin, theirs.margin)
                    proved += 1
    assert proved > 4 * len(exact_passes)
    assert undecided > 2 * len(exact_passes)
    assert undefined > 0


@pytest.mark.parametrize("count", counts(10, 30))
def test_gradients_hold_the_exact_ones(count: int) -> None:
    held = undecided = 0
    for seed in range(count):
        rng = random.Random(1000 + seed)
        model = random_model(rng, dims=(2, 3), blocks=1, length=2, stable=seed % 4 == 0, late_mask=seed % 7 == 0)
        tokens, targets = random_tokens(rng, model, 2), random_tokens(rng, model, 2)
        right, ours = (gradient(run(model, tokens, name), targets) for name in ("exact", "arb"))
        counts = [compare(array_of(right.loss), array_of(ours.loss), "loss")]
        for proved, balls in zip(right.steps, ours.steps, strict=True):
            assert proved.name == balls.name
            counts.append(compare(proved.values, balls.values, f"{seed} {proved.name}"))
        held, undecided = held + sum(c[0] for c in counts), undecided + sum(c[1] for c in counts)
    assert held > 100 * count
    assert undecided < held / 5


def array_of(value: Any) -> Any:
    result = np.empty(1, dtype=object)
    result[0] = value
    return result


# -- against more bits, and against floats
@pytest.mark.parametrize("seed", range(6))
def test_more_bits_are_inside_fewer(seed: int) -> None:
    model, ids = float_model(seed)
    for (name, coarse), (_, fine) in zip(*(pass_of(model, ids, ArbArithmetic(bits)) for bits in (128, 1000)), strict=True):
        for a, b in zip(coarse.flat, fine.flat, strict=True):
            assert a is b is MASKED or (holds(a, b) and ends(b)[1] - ends(b)[0] < Fraction(1, 2**800)), name


@pytest.mark.parametrize("seed", range(3))
def test_floats_are_near(seed: int) -> None:
    model, ids = float_model(seed)
    ours, floats = (pass_of(model, ids, ops)[-1][1] for ops in (ArbArithmetic(), FloatArithmetic("float64")))
    np.testing.assert_allclose([[float(ball.mid()) for ball in row] for row in ours], floats, rtol=1e-9, atol=1e-9)


def float_model(seed: int) -> tuple[Model, list[int]]:
    """Weights as a checkpoint has them: float32."""
    rng = random.Random(seed)
    model = random_model(
        rng, dims=(8,), norm=("pre", "post")[seed % 2], epsilon=exact("1e-5"), final_norm=True, mlp=16, mask="causal",
        activation=("gelu", "gelu_tanh", "relu")[seed % 3], blocks=2,
    )  # fmt: skip
    noise = np.random.default_rng(seed)

    def floats(group: Any) -> Any:
        if group is None or isinstance(group, np.ndarray):
            return None if group is None else noise.normal(0.0, 0.5, group.shape).astype(np.float32)
        if isinstance(group, tuple):
            return tuple(map(floats, group))
        return type(group)(**{field: floats(getattr(group, field)) for field in group.__dataclass_fields__})

    drawn = Model(model.config, floats(model.weights))
    return drawn, drawn.ids(random_tokens(rng, drawn, 4))


# -- false claims
@pytest.mark.parametrize("count", counts(2000, 6000))
def test_no_wrong_winner_is_proved(count: int) -> None:
    """Rows of balls around known numbers that are close together, or equal: a proved winner is the one largest number."""
    rng = random.Random(0)
    proved = refused = 0
    for _ in range(count):
        ops = ArbArithmetic(rng.choice((8, 24, 64)))
        base, gap = rng.randint(-9, 9), Fraction(1, 2 ** rng.randint(1, 60))
        values = [base + rng.randint(-2, 2) * gap for _ in range(rng.randint(2, 6))]
        row = np.empty((1, len(values)), dtype=object)
        for j, value in enumerate(values):
            radius = gap * Fraction(rng.randint(0, 400), 256)
            middle = value + radius * Fraction(rng.randint(-256, 256), 256)
            row[0, j] = arb(dyadic(middle), dyadic(radius))
        (choice,) = ops.choose(row)
        largest = [j for j, value in enumerate(values) if value == max(values)]
        if choice.index is None:
            assert not choice.proved
            assert f"{ops.bits} bits" in choice.why
            refused += 1
        else:
            assert choice.proved
            assert largest == [choice.index]
            leads = [values[choice.index] - v for j, v in enumerate(values) if j != choice.index]
            assert ends(choice.margin)[0] <= min(leads)
            assert holds(choice.margin, exact(values[choice.index] - values[choice.runner_up]))
            proved += 1
    assert proved > count / 12
    assert refused > count / 2


def test_the_lower_end_of_a_margin_is_below_every_lead() -> None:
    """Also where few bits make the leads of several others look alike."""
    rng = random.Random(5)
    for _ in range(1000):
        row = _row(arb(96), *(arb(rng.choice((0, 1, 8)), rng.uniform(0, 3)) for _ in range(4)))
        (choice,) = ArbArithmetic(4).choose(row)
        least = 96 - max(ends(ball)[1] for ball in row[0, 1:])  # where the others are as large as they may be
        assert choice.index == 0
        assert ends(choice.margin)[0] <= least


def dyadic(value: Fraction) -> arb:
    with precision(200):
        return arb(value.numerator) / value.denominator


def test_perturbed_logits_are_not_proved() -> None:
    """Logits that were moved by more than their lead, up or down, with the radius grown to match: no winner is left."""
    rng = random.Random(1)
    refused = 0
    for seed in range(6):
        model, ids = float_model(seed)
        ops = ArbArithmetic()
        logits = pass_of(model, ids, ops)[-1][1]
        for row, choice in zip(logits, ops.choose(logits), strict=True):
            assert choice.proved
            for _ in range(60):
                j = rng.randrange(len(row))
                if j != choice.index:
                    moved = row.copy()
                    radius = (row[choice.index] - row[j]).upper() * rng.uniform(1.0, 3.0)
                    moved[j] = row[j] + arb(0, radius)
                    assert not ops.choose(moved[None])[0].proved
                    refused += 1
    assert refused > 500


def test_equal_logits_are_never_told_apart() -> None:
    config = Config(vocabulary=("a", "b", "c"), dim=1, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    model = Model(config, Weights(W_E=array([[1], [2], [3]]), W_U=array([["1/3", "1/3", "0"]])))
    bits, (choice,) = decide(model, [0], 16, 100)
    assert bits == 100
    assert not choice.proved
    assert choice.index is None
    assert choice.why == "undecided: the largest logit (looked to 100 bits)"


# -- what balls cannot tell
def test_infinite_balls_end_as_undecided() -> None:
    ops = ArbArithmetic()
    wide = ops.times(ops.load(array([[1, 2]])), arb("0 +/- 1e400000").exp())
    assert all(isinstance(v, Undefined) and v.undecided for v in wide.flat)
    assert not ops.choose(wide)[0].proved
    for row in (ops.over(ops.load(array([[1]])), arb(0, 1)), ops.softmax(_row(arb(0, 10**9), arb(1)))):
        assert all(isinstance(v, Undefined) and v.undecided for v in row.flat)
    assert ops.choose(ops.linear(ops.load(array([[0]])), wide, None))[0].proved is False  # 0 times it is no number either


def test_no_ball_of_a_pass_is_infinite(exact_passes: list[tuple[Model, list[int], Steps]]) -> None:
    seen = 0
    for model, ids, _ in exact_passes[:60]:
        for name, values in pass_of(model, ids, ArbArithmetic(3)):
            for value in values.flat:
                assert value is MASKED or isinstance(value, Undefined) or value.is_finite(), name
                seen += isinstance(value, Undefined)
    assert seen > 100


def test_layer_norm_of_equal_entries() -> None:
    """Where the variance is 0 and ε is 0: undefined is proved where all is exact, and undecided behind a ball."""
    ops = ArbArithmetic()
    for entry, undecided in (("1/2", False), ("1/3", True)):
        x = ops.load(array([[entry] * 3, [0, 0, 1]]))
        centered = ops.center(x, ops.mean(x))
        deviation = ops.deviation(ops.variance(centered), ops.constant(exact(0)))
        out = ops.normalise(centered, deviation, ops.load(array([1] * 3)), ops.load(array([0] * 3)), "ln")
        assert all(v.undecided == undecided and "ln at position 0" in v.why for v in out[0])
        assert holds(out[1, 2], sqrt(2))
    small = ops.deviation(ops.variance(ops.load(array([["0", "0"]]))), ops.constant(exact("1e-5")))
    assert holds(small[0, 0], sqrt(exact("1e-5")))
    wide = ops.deviation(ops.variance(_row(arb(0, 1), arb(0, 1))), ops.constant(exact("1e-5")))
    assert wide[0, 0] > 0  # a variance is not negative, whatever its ball


def test_what_has_weight_zero_is_not_looked_at() -> None:
    ops = ArbArithmetic()
    gone = Undefined("gone", undecided=True)
    v = np.array([[[arb(3)], [gone]]], dtype=object)
    z = ops.mix(np.array([[[arb(1), arb(0)], [arb(1) / 2, arb(1) / 2]]], dtype=object), v)
    assert z[0, 0, 0] == 3
    assert z[0, 1, 0] is gone


def test_slope_of_relu_at_its_kink() -> None:
    ops = ArbArithmetic()
    slopes = ops.slope(_row(arb(1), arb(-1), arb(0), arb(0, 1)), "relu")[0]
    assert [slopes[0] == 1, slopes[1] == 0, slopes[2] == 0] == [True] * 3
    assert slopes[3].undecided
    assert ops.zero_entries(_row(arb(0), arb(0, 1), arb(2))) == [(0, 0)]


def _row(*values: arb) -> Any:
    row = np.empty((1, len(values)), dtype=object)
    row[0] = values
    return row


# -- weights, bits, threads, caches
def test_weights_are_taken_exactly() -> None:
    ops = ArbArithmetic(8)
    for dtype in (np.float16, np.float32, np.float64):
        values = np.random.default_rng(0).normal(size=(3, 4)).astype(dtype)
        for ball, value in zip(ops.load(values).flat, values.flat, strict=True):
            assert ends(ball) == (Fraction(float(value)),) * 2
    assert ends(ops.load(np.array([7]))[0]) == (7, 7)
    third, e = ops.load(np.array([exact("1/3"), exp(1)], dtype=object))
    assert holds(third, exact("1/3"))
    assert holds(e, exp(1))
    assert e.rad() > 0
    with pytest.raises(ValueError, match="inf is not a number"):
        ops.load(np.array([1.0, np.inf]))
    with pytest.raises(TypeError):
        ops.load(np.array([1.0], dtype=np.longdouble))


@pytest.mark.parametrize("bits", [0, 1, -5, 64.0, True])
def test_bits_that_are_none(bits: Any) -> None:
    with pytest.raises(ValueError, match="bits: give a whole number of at least 2"):
        ArbArithmetic(bits)


def test_decide_doubles_the_bits() -> None:
    config = Config(vocabulary=("a", "b"), dim=1, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    close = 1 + Fraction(1, 3 * 2**100)
    model = Model(config, Weights(W_E=array([[1], [-1]]), W_U=array([[1, close]])))
    bits, choices = decide(model, [0, 1], 16)
    assert (bits, [choice.index for choice in choices]) == (128, [1, 0])
    assert decide(model, [0, 1], 16, 100).bits == 100
    assert [choice.proved for choice in decide(model, [0, 1], 16, 100, [-1]).choices] == [False]
    with pytest.raises(ValueError, match="the cap is below the start"):
        decide(model, [0], 128, 64)
    with pytest.raises(InputError, match="no logits"):
        decide(Model(Config(**{**vars(config), "unembedding": "none"}), Weights(W_E=array([[1], [-1]]))), [0])


def test_eight_threads_at_different_precisions_agree_with_one() -> None:
    def result(seed: int) -> list[Any]:
        model, ids = float_model(seed % 6)
        logits = pass_of(model, ids, ArbArithmetic(40 + 61 * (seed % 8)))[-1][1]
        return [(ball.mid().man_exp(), ball.rad().man_exp()) for ball in logits.flat]

    seeds, before = list(range(32)), flint.ctx.prec
    alone = [result(seed) for seed in seeds]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(result, seeds)) == alone
    assert flint.ctx.prec == before


def test_a_cache_gives_the_same() -> None:
    model, ids = float_model(0)
    ops, cache = ArbArithmetic(), Cache()
    note = lambda step: step.values  # noqa: E731
    whole = forward(model, ids, ops, note)
    for i, token in enumerate(ids):
        assert all(holds(a, b) for a, b in zip(whole[i], forward(model, [token], ops, note, cache)[0], strict=True))
