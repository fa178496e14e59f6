"""Where the lemmas of docs/certified.md end, a pass ends: undecided, in one line, not with a bound that was never proved."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from moving_checks import alike
from small_models import gpt2_shaped

from exactformer.certificates import prove_token
from exactformer.certified import CertifiedArithmetic, OutOfRangeError, attention, bounds, constants, limbs, moving, norms
from exactformer.certified.ball import row_norms
from exactformer.certified.limbs import MOST
from exactformer.certified.normalising import _norm, layer_norm
from exactformer.certified.weights import Matrix, Vector, VerifiedNorms
from exactformer.model import InputError, Model
from exactformer.model.changing import with_weights
from exactformer.numbers import array, exact, sqrt
from exactformer.numbers.enclosure import ball
from exactformer.worksheets import load

U = Fraction(1, 1 << 53)


def test_up_outweighs_as_many_roundings_as_are_allowed() -> None:
    """Lemma 0, with the last rounding of the product with UP: (1 − u)^k ≥ 1 − k u."""
    assert (1 - (bounds.ROUNDINGS + 1) * U) * Fraction(bounds.UP) > 1


def test_no_sum_is_longer_than_lemma_0_allows() -> None:
    most = bounds.ROUNDINGS - bounds.ASIDE - 1
    limbs.check_terms(most)
    for lengths in ((most + 1,), (most, 1), (bounds.ROUNDINGS,)):
        with pytest.raises(OutOfRangeError, match="too many for their rounding"):
            limbs.check_terms(*lengths)
    row = np.ones((1, most))
    assert row_norms(row)[0] >= np.sqrt(most)
    with pytest.raises(OutOfRangeError):
        row_norms(np.ones((1, most + 1)))
    with pytest.raises(OutOfRangeError):
        norms.frobenius(np.ones((1, most)))


def test_more_positions_than_lemma_0_allows_are_refused_before_their_bounds_are_computed() -> None:
    """Bounds of attention sum over the positions, twice on the longest way."""
    width, most = 1, (bounds.ROUNDINGS - bounds.ASIDE - 3) // 2
    moving.check_length(most, width)
    for length in (most + 1, 1 << 17):
        k = np.zeros((1, length, width))
        seen = np.zeros((1, length), dtype=bool)
        mixed = attention.Mixed(None, np.zeros(1), np.zeros((1, 1, length)), (0.0, 0.0), None, 0.0, None, 0.0)
        radii = alike((np.zeros(1), np.zeros(length), np.zeros(length)), (k, k, k))
        with pytest.raises(OutOfRangeError, match="too many for their rounding"):
            moving.reach(mixed, seen, 1.0, np.zeros((1, 1, width)), k, k, radii)
    short = attention.Mixed(None, np.zeros(1), np.ones((1, 1, 1)), (0.0, 0.0), None, 0.0, None, 0.0)
    one = np.ones((1, 1, 1))
    moved, _ = moving.reach(short, np.ones((1, 1), dtype=bool), 1.0, one, one, one, alike((np.zeros(1),) * 3, (one,) * 3))
    assert moved[0] < 1e-10


@pytest.mark.parametrize("size", ["1e-302", "1e-310", "5e-324", "1e-400", "-1e-310", "1e302", "1e400"])
def test_weights_that_floats_hold_with_fewer_digits_are_refused(size: str) -> None:
    """Lemma 19: the float next to 10^−310 is right to 2^−1075, and not to u of itself."""
    for numbers in (array([size]), np.array([exact(size) * sqrt(2)], dtype=object)):
        with pytest.raises(OutOfRangeError, match="beyond"):
            constants.floats_of(numbers)
    assert constants.floats_of(array([0])).tolist() == [0.0]


@pytest.mark.parametrize("size", ["1/3e-300", "7e-301", "-1e-300", "1e300"])
def test_the_floats_next_to_all_others_are_right_to_u(size: str) -> None:
    number = exact(size)
    near = Fraction(float(constants.floats_of(np.array([number], dtype=object))[0]))
    assert abs(near - number.fraction) <= U * abs(number.fraction)


def test_subnormal_floats_are_the_numbers_that_they_are() -> None:
    """The weights of a file are exact, however small; what is lost by products with them is in TINY and FLOOR (Lemma 0)."""
    table = np.array([[5e-324, 1e-310]])
    assert constants.floats_of(table).tolist() == table.tolist()


@pytest.mark.parametrize("schedule", [(0, 0, 0), (5, 5, 5)])
@pytest.mark.parametrize("scale", ["1e-310", "1e-400", "-1e-320", "1e305", "1e400"])
def test_factors_of_scores_that_floats_do_not_hold_end_undecided(scale: str, schedule: tuple[int, ...]) -> None:
    """Lemma 14 takes the factor right to 2u of itself."""
    model = gpt2_shaped("trained", 3, blocks=1, activation="relu")
    result = prove_token(replace(model, config=replace(model.config, scale=exact(scale))), [1, 2], schedule=schedule, cap=5)
    assert not result.proved
    assert result.why.startswith("undecided: the factor of the scores: beyond")


@pytest.mark.parametrize("scale", ["0", "1e-200"])
def test_factors_of_0_and_tiny_ones_are_no_obstacle(scale: str) -> None:
    model = gpt2_shaped("trained", 3, blocks=1, activation="relu")
    assert prove_token(replace(model, config=replace(model.config, scale=exact(scale))), [1, 2]).proved


@pytest.mark.parametrize("epsilon", ["1e-310", "1e-400", "1e400"])
def test_an_epsilon_that_floats_do_not_hold_ends_undecided(epsilon: str) -> None:
    """Lemmas 11 and 12 compute with the float next to it."""
    model = gpt2_shaped("trained", 3, blocks=1, activation="relu")
    result = prove_token(replace(model, config=replace(model.config, epsilon=exact(epsilon))), [1, 2], cap=5)
    assert result.why == "undecided: ε of a LayerNorm: beyond what floats hold with all their digits"
    with pytest.raises(OutOfRangeError):
        layer_norm(CertifiedArithmetic().embed(model.weights.W_E, [0]), None, None, Fraction(epsilon))  # type: ignore[arg-type]


def test_weights_that_are_no_numbers_are_bad_input() -> None:
    from exactformer.numbers import Undefined

    undefined = np.array([Undefined("1/0")], dtype=object)
    for look in (constants.floats_of, lambda numbers: constants.integers(numbers, constants.RATIONAL_BITS)):
        with pytest.raises(InputError, match="a weight that is not a number"):
            look(undefined)


def test_a_closed_form_too_large_for_the_limbs_is_undecided() -> None:
    with pytest.raises(OutOfRangeError, match="weights too large"):
        constants.integers(np.array([exact("1e60") * sqrt(2)], dtype=object), constants.RATIONAL_BITS)


@pytest.mark.parametrize("n", [4, 19, 21, MOST])
def test_rational_vectors_and_constants_are_as_near_as_is_said(n: int) -> None:
    """Lemma 19: 0.75 of the ulp, with all limbs that there are, and for constants with one more."""
    numbers = [exact("1/3"), sqrt(2), exact("-5/7")]
    vector = Vector(np.array(numbers, dtype=object), "w")
    found, is_exact = vector.limbs(n)
    assert not is_exact
    for number, held in zip(numbers, limbs.to_integers(found), strict=True):
        apart = abs(ball(number, 700) - arb((int(held), -limbs.BITS * (n - 1))))
        assert apart > 0
        assert apart <= 0.75 * limbs.ulp(n)
    constant, error = constants.constant_limbs(numbers[0], n + 1)
    (held,) = limbs.to_integers(constant[:, None])
    assert 0 < abs(Fraction(1, 3) - Fraction(int(held), 1 << (limbs.BITS * n))) <= error


def test_vocabularies_may_be_longer_than_the_sums_of_bounds() -> None:
    """Lemma 18 sums over the dimensions alone; what sums over the tokens is refused (Lemma 0)."""
    wide = np.ones((2, bounds.ROUNDINGS + 4), dtype=np.float32)
    matrix = Matrix((wide,), "W_U", VerifiedNorms())
    assert np.sqrt(2) <= matrix.column_sizes(None).max() < 1.4143
    for look in (lambda: matrix.row_sizes, lambda: matrix.frobenius):
        with pytest.raises(OutOfRangeError, match="too many for their rounding"):
            look()


def test_norms_of_rows_of_all_but_nothing() -> None:
    """Lemmas 10 and 21: right to 2^−45 of themselves, with all limbs that there are and for the least row that these hold."""
    for square, scale in ((1, 42 * MOST), (3, 42 * MOST), (12345678901234567, 42 * MOST), (0, 42), (2 << 42, 42)):
        true = Fraction(square, 1 << scale)
        near = Fraction(_norm(square, scale))
        assert abs(near**2 - true) <= true * Fraction(1, 2**49)


EXTREMES = [f"{sign}1e{power}" for power in (5, 10, 40, 300, 310, 400, -5, -40, -300, -310, -400) for sign in ("", "-")]


def ended(model: Model, work: Any) -> str:
    """How it ended: nothing but a result, or one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return str(work(model))
        except OutOfRangeError as error:
            return "undecided" if "\n" not in str(error) else str(error)


@pytest.mark.parametrize("value", EXTREMES)
def test_extreme_weights_end_in_a_result_or_undecided(value: str) -> None:
    """Through traces too, whose lines besides the proof have bounds of their own."""
    for name, place in (("capstone", "W_E[0,0]"), ("capstone", "blocks.0.ln1.w[0]"), ("length4", "blocks.0.attn.W_Q[0,0,0]")):
        sheet = load(name)
        model = with_weights(sheet.model, [f"{place}={value}"])
        decided = ended(model, lambda model, sheet=sheet: replace(sheet, model=model).trace(arithmetic="certified").decided)
        assert decided in ("True", "False", "undecided")
        if name == "capstone":
            assert ended(model, lambda model: prove_token(model, [0, 1], cap=8).proved) in ("True", "False")


@pytest.mark.parametrize("value", ["1e10", "1e400"])
def test_a_trace_that_is_beyond_the_limbs_has_the_status_of_undecided(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    import sys
    from unittest.mock import patch

    from exactformer import cli

    arguments = ["exactformer", "trace", "length4", "--set", f"W_E[0,0]={value}", "--arithmetic", "certified"]
    with patch.object(sys, "argv", arguments), pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr()
    assert (end.value.code, said.out, said.err) == (3, "", "exactformer: undecided: a value beyond 2^31\n")
