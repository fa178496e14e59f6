"""Errors in ulps: what they are, and that every change of an output by one ulp is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from benchmarks.trials.oracle import changed_by_one, operations
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracle_reference import DTYPES

from exactformer import oracle
from exactformer.numbers import Undecided

BFLOAT16 = ml_dtypes.bfloat16


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_outputs_changed_by_one_ulp_are_told(dtype: Any) -> None:
    """Each entry by itself is found to be half an ulp off or more, and no longer correctly rounded."""
    random = np.random.default_rng(7)
    told = 0
    for truth in operations(random, dtype, 6, 12):
        right = truth.rounded()
        assert truth.ulps(right).least <= 0.5
        oracle.assert_ulps(right, truth, most=0.5)
        wrong = changed_by_one(right, random)
        found = truth.ulps(wrong)
        assert (found.low >= 0.4999).all(), truth.operation.name  # 1 ulp of the smaller binade may be half of the larger one
        with pytest.raises((AssertionError, Undecided)):
            oracle.assert_ulps(wrong, truth, most=0.49)
        told += found.low.size
    assert told >= 600  # of each of four formats


def test_one_entry_of_many() -> None:
    random = np.random.default_rng(8)
    truth = oracle.softmax(random.normal(size=(50, 40)).astype(np.float32))
    right = truth.rounded()
    for _ in range(40):
        place = tuple(int(random.integers(n)) for n in right.shape)
        wrong = right.copy()
        wrong[place] = np.nextafter(wrong[place], np.float32(2))
        found = truth.ulps(wrong)
        assert found.least >= 0.5
        assert found.low[place] >= 0.5
        assert (found.high > 0.5001).sum() <= 1
        with pytest.raises(
            AssertionError, match=rf"^softmax\[{place[0]}, {place[1]}\]: given .* true value 0\.\d+.* ulps of float32 off"
        ):
            oracle.assert_ulps(wrong, truth, most=0.5)


def test_ulps_are_those_at_the_true_value() -> None:
    """1 = 0.5 + 0.5: a product whose true value is known, on both sides of a power of two, and where numbers are subnormal."""
    one = oracle.matmul(np.float32([[0.5, 0.5]]), np.float32([[1], [1]]))
    below, above = np.nextafter(np.float32(1), np.float32(0)), np.nextafter(np.float32(1), np.float32(2))
    assert one.ulps(np.float32([[below]])).most == pytest.approx(0.5)
    assert one.ulps(np.float32([[above]])).most == pytest.approx(1)
    tiny = oracle.matmul(np.float32([[2**-149]]), np.float32([[1]]))
    assert tiny.ulps(np.float32([[0]])).most == pytest.approx(1)
    assert tiny.ulps(np.float32([[2**-148]])).least == pytest.approx(1)
    assert oracle.matmul(np.float32([[0]]), np.float32([[1]])).ulps(np.float32([[2**-149]])).least == pytest.approx(1)
    assert oracle.matmul(np.float64([[2.0**-1074]]), np.float64([[0.5]])).rounded() == 0  # half of the least: a tie


def test_ties_go_to_even() -> None:
    half = np.float16([[2048, 1], [2048, 3], [-2048, -1], [2.0**-24, 0]])
    assert oracle.matmul(half, np.float16([1, 1])).rounded().tolist() == [2048, 2052, -2048, 2.0**-24]
    assert oracle.matmul(np.float16([2.0**-24]), np.float16([0.5])).rounded() == 0
    assert oracle.matmul(np.float16([3 * 2.0**-24]), np.float16([0.5])).rounded() == 2.0**-23
    largest = np.float16([65504, 16])
    assert oracle.matmul(largest, np.float16([1, 1])).rounded() == np.inf  # half-way to 65536
    assert oracle.matmul(largest, np.float16([1, 0.5])).rounded() == 65504
    # weights that are 1/2, of values that differ by one ulp; then a third key whose weight is next to nothing
    q, k = np.zeros((1, 4), dtype=BFLOAT16), np.zeros((2, 4), dtype=BFLOAT16)
    v = np.array([[1.0], [1.0078125]], dtype=BFLOAT16)
    assert oracle.attention(q, k, v).rounded() == 1
    v3, k3 = np.array([[1.0], [1.0078125], [2.0]], dtype=BFLOAT16), np.zeros((3, 4), dtype=BFLOAT16)
    mask = np.array([[0, 0, -30000]], dtype=BFLOAT16)
    assert oracle.attention(q, k3, v3, mask=mask).rounded() == BFLOAT16(1.0078125)
    assert oracle.attention(q, k3, np.array([[1.0], [1.0078125], [-2.0]], dtype=BFLOAT16), mask=mask).rounded() == 1
    # a root that is rational: 3/5 and 4/5 of √2 · √(1/2)
    x = np.float64([3, 4])
    assert oracle.rms_norm(x, np.float64([1, 1]), eps="-0").ulps(oracle.rms_norm(x, eps=0).rounded()).most <= 0.5
    shifted = oracle.layer_norm(np.float32([-1, 1]), np.float32([1, 1]), np.float32([2.0**-24, 2.0**-24]), eps=0)
    assert shifted.rounded().tolist() == [
        -1 + 2.0**-24, 1.0,
    ]  # fmt: skip
    assert oracle.softmax(np.zeros(2**13, dtype=np.float16)).rounded()[0] == 2.0**-13
    assert oracle.gelu(np.float32([257]), dtype="bfloat16").rounded() == 256  # a little below a tie
    assert oracle.gelu(np.float32([259]), dtype="bfloat16").rounded() == 258
    assert oracle.silu(np.float32([0.0])).rounded() == 0
    assert oracle.swiglu(np.float32([25700]), np.float32([-1]), dtype="float16").rounded() == -25696


def test_infinities_and_nan() -> None:
    inf, nan = np.inf, np.nan
    x = np.float32([[0, -inf, 0], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1]])
    same = np.testing.assert_array_equal
    same(oracle.softmax(x).rounded(), np.float32([[0.5, 0, 0.5], [nan] * 3, [nan] * 3, [nan] * 3]))
    same(oracle.log_softmax(x).rounded()[0, 1], -inf)
    same(oracle.gelu(x).rounded()[:, 0], np.float32([0, nan, inf, nan]))
    same(oracle.silu(np.float64([-inf, inf])).rounded(), [nan, inf])
    same(oracle.layer_norm(x[2:]).rounded(), np.full((2, 3), nan, dtype=np.float32))
    same(oracle.layer_norm(np.float32([[1, 1]]), eps=0).rounded(), np.float32([[nan, nan]]))
    same(oracle.rms_norm(np.float32([inf, 1])).rounded(), np.float32([nan, 0]))
    same(
        oracle.matmul(np.float32([[inf, 1], [inf, 0], [1e38, 1]]), np.float32([[0], [1]])).rounded(),
        np.float32([[nan], [nan], [1]]),
    )
    same(oracle.matmul(np.float32([3e38, 3e38]), np.float32([1, 1])).rounded(), np.float32(inf))
    same(oracle.matmul(np.float64([1e308, 1e308, -1e308]), np.float64([1, 1, 1])).rounded(), 1e308)
    same(oracle.cross_entropy(x[:1], np.array([1])).rounded(), np.float32(inf))
    q = np.float32([[1, 2], [3, 4]])
    same(oracle.attention(q, q, q, mask=np.array([[True, False], [False, False]])).rounded(), np.float32([[1, 2], [nan, nan]]))
    same(
        oracle.attention(q, q, q, mask=np.float32([[0, -inf], [-inf, -inf]]), empty="zero").rounded(), np.float32([[1, 2], [0, 0]])
    )
    t = oracle.softmax(x)
    assert t.ulps(t.rounded()).most <= 0.5
    assert t.ulps(np.zeros((4, 3), dtype=np.float32)).least == inf
    wrong = t.rounded()
    wrong[0, 0] = nan
    assert t.ulps(wrong).low[0, 0] == inf
    assert oracle.matmul(np.float32([3e38, 3e38]), np.float32([1, 1])).ulps(np.array(inf, dtype=np.float32)).most == 0


@settings(max_examples=40)
@given(arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 5)), elements=st.floats(width=32, allow_nan=False)))
def test_softmax_of_anything(x: Any) -> None:
    truth = oracle.softmax(x)
    y = truth.rounded()
    found = truth.ulps(y)
    assert found.most <= 0.5001
    assert np.array_equal(np.isnan(y).any(axis=-1), (x == np.inf).any(axis=-1) | (x == -np.inf).all(axis=-1))


@settings(max_examples=30)
@given(
    arrays(np.float64, 4, elements=st.floats(allow_nan=False, allow_infinity=False)),
    arrays(np.float64, 4, elements=st.floats(allow_nan=False, allow_infinity=False)),
)
def test_products_of_any_floats(a: Any, b: Any) -> None:
    exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    try:
        wanted = float(exact)
    except OverflowError:
        wanted = np.inf if exact > 0 else -np.inf
    assert oracle.matmul(a, b).rounded() == wanted  # Python rounds quotients of integers correctly
    assert oracle.matmul(a, b, dtype=np.float32).ulps(oracle.matmul(a, b, dtype=np.float32).rounded()).most <= 0.5


def test_a_failure_is_shown_where_it_was_asked_for() -> None:
    x = np.float32([0, 1])
    with pytest.raises(AssertionError) as failure:
        oracle.assert_ulps(x, oracle.softmax(x), most=1)
    assert failure.traceback.filter(failure)[-1].path == Path(__file__)


def test_an_array_is_no_truth() -> None:
    x = np.float32([0, 1])
    with pytest.raises(oracle.OracleError, match="truth: is of type ndarray: give what an operation of the oracle gives"):
        oracle.assert_ulps(x, x, most=1)  # type: ignore[arg-type]
