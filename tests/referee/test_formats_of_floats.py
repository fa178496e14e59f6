"""Formats of floats, held against NumPy and PyTorch."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from exactformer.arithmetics import arithmetic
from exactformer.messages import Refused
from exactformer.numbers.formats import FORMATS, Format, format_of

TORCH = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
EVERY = [pytest.param(format, id=name) for name, format in FORMATS.items()]


def by_torch(x: float, format: Format) -> float:
    return float(torch.tensor(x, dtype=torch.float64).to(TORCH[format.name]))


def random_floats(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=count) * 2.0 ** rng.integers(-160, 140, size=count)


@pytest.mark.parametrize("format", EVERY)
def test_arrays_are_rounded_as_pytorch_rounds_them(format: Format) -> None:
    x = np.concatenate(
        [random_floats(4000), [0.0, -0.0, 1.0, format.greatest, -format.greatest, format.smallest, format.smallest / 2]]
    )
    if format.name != "float64":
        halfway = format.nearest(random_floats(500))
        x = np.concatenate([x, halfway + format.ulp(halfway) / 2])  # ties go to the even one
    with np.errstate(all="ignore"):
        found = format.nearest(x)
    expected = torch.tensor(x).to(TORCH[format.name]).double().numpy()
    assert (found == expected).all()


@pytest.mark.parametrize("format", EVERY)
def test_what_is_no_number_stays_so(format: Format) -> None:
    rng = np.random.default_rng(4)
    payloads = np.concatenate([rng.integers(1, 2**52, size=200), [1, 2**52 - 1]])
    nans = (payloads | (0x7FF << 52)).view(np.float64)
    assert np.isnan(format.nearest(np.concatenate([nans, -nans]))).all()
    infinite = np.array([np.inf, -np.inf])
    assert (format.nearest(infinite) == infinite).all()
    assert format.nearest(np.array(0.1)).shape == ()


@pytest.mark.parametrize("format", EVERY)
@given(x=st.fractions(min_value=-60_000, max_value=60_000))
def test_fractions_are_rounded_once(format: Format, x: Fraction) -> None:
    near = Fraction(format.nearest_rational(x))
    unit = Fraction(float(format.ulp(np.array(float(near)))))
    assert abs(near - x) <= unit / 2
    if abs(near - x) == unit / 2:  # a tie: the last bit is 0
        assert (near / unit).numerator % 2 == 0


@pytest.mark.parametrize("format", EVERY)
def test_a_fraction_just_beside_a_tie_goes_to_its_side(format: Format) -> None:
    """Where rounding to float64 first would go wrong."""
    tie, little = 1 + Fraction(format.epsilon) / 2, Fraction(1, 2**300)
    assert format.nearest_rational(tie) == 1
    assert format.nearest_rational(tie + little) == 1 + format.epsilon
    assert format.nearest_rational(-tie - little) == -1 - format.epsilon


@pytest.mark.parametrize("format", EVERY)
def test_the_largest_and_what_is_beyond(format: Format) -> None:
    beyond = Fraction(format.greatest) + Fraction(float(format.ulp(np.array(format.greatest)))) / 2
    assert format.nearest_rational(beyond) == math.inf
    assert format.nearest_rational(beyond - Fraction(1, 2**2000)) == format.greatest
    assert format.nearest_rational(-beyond) == -math.inf
    assert format.nearest_rational(Fraction(0)) == 0


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_units_are_numpys(name: str) -> None:
    format, dtype = FORMATS[name], np.dtype(name)
    with np.errstate(all="ignore"):
        x = random_floats(3000).astype(dtype)
    x = x[np.isfinite(x)]
    assert (format.ulp(x.astype(np.float64)) == np.spacing(np.abs(x)).astype(np.float64)).all()


def test_a_format_that_there_is_not_is_refused() -> None:
    with pytest.raises(Refused, match="dtype: 'int8' is not one of float16, bfloat16, float32, float64"):
        format_of("int8", "dtype")


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_what_narrow_arithmetic_stores_is_of_its_format(name: str) -> None:
    import exactformer as xf

    worksheet = xf.load("stories")
    trace = worksheet.trace([1, 5, 9, 30], name)
    for step in trace.steps:
        inside = step.name.endswith((".ms", ".rms", ".mean", ".var", ".std", ".centered"))  # of a norm: in float32
        if not inside and getattr(step.values, "dtype", None) == np.float32:
            values = step.values.astype(np.float64)
            finite = values[np.isfinite(values)]
            assert (FORMATS[name].nearest(finite) == finite).all(), step.name
    assert arithmetic(name).name == name
