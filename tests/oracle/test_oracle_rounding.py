"""Every operation in every format against mpmath: the same bits, on random inputs and on nasty ones."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import oracle_reference as reference
import pytest
from mpmath import mpf
from oracle_reference import DTYPES

from exactformer import oracle

EPS = "1e-5"
OPERATIONS = {
    "softmax": (oracle.softmax, reference.by_rows(reference.softmax_row)),
    "log_softmax": (oracle.log_softmax, reference.by_rows(reference.log_softmax_row)),
    "layer_norm": (lambda x: oracle.layer_norm(x, eps=EPS), reference.by_rows(lambda r: reference.layer_norm_row(r, mpf(EPS)))),
    "rms_norm": (lambda x: oracle.rms_norm(x, eps=EPS), reference.by_rows(lambda r: reference.rms_norm_row(r, mpf(EPS)))),
    "gelu": (oracle.gelu, reference.each(reference.gelu)),
    "gelu_tanh": (oracle.gelu_tanh, reference.each(reference.gelu_tanh)),
    "silu": (oracle.silu, reference.each(reference.silu)),
}


@pytest.fixture(autouse=True)
def digits(request: Any) -> Any:
    with mpmath.workdps(1000 if "norm" in request.node.name else 350):  # float64 from 2^-1074 to 2^1024, whose mean is taken off
        yield


def inputs(dtype: Any, seed: int) -> dict[str, Any]:
    """Rows of 7."""
    random = np.random.default_rng(seed)
    info = np.finfo(dtype) if dtype is not DTYPES[1] else __import__("ml_dtypes").finfo(dtype)
    largest, tiny, least = float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)
    with np.errstate(over="ignore"):
        found = {
            "ordinary": random.normal(size=(20, 7)) * 3,
            "wide": random.normal(size=(10, 7)) * np.exp(random.normal(size=(10, 7)) * 3),
            "far": random.uniform(-110, 110, size=(10, 7)),
            "close": 1 + random.integers(0, 3, size=(5, 7)) * float(info.eps),
            "small": random.normal(size=(5, 7)) * tiny,
            "subnormal": random.integers(-5, 6, size=(5, 7)) * least,
            "large": random.uniform(-0.9, 0.9, size=(5, 7)) * largest,
            "mixed": random.choice([0.0, 1.0, -1.0, largest, -largest, least, -least, 0.5, 30.0, -30.0, -90.0], size=(10, 7)),
            "equal": np.full((2, 7), 1.5),
            "zeros": np.zeros((1, 7)),
        }
        return {name: x.astype(dtype) for name, x in found.items()}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("name", OPERATIONS)
def test_bits_are_those_of_mpmath(name: str, dtype: Any) -> None:
    ours, theirs = OPERATIONS[name]
    for kind, x in inputs(dtype, 1).items():
        found = ours(x).rounded()
        assert found.dtype == np.dtype(dtype)
        wanted = reference.expected(theirs(x), dtype)
        assert np.array_equal(found.astype(np.float64), wanted), (kind, x, found, wanted)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_attention_is_that_of_mpmath(dtype: Any) -> None:
    random = np.random.default_rng(2)
    for kind in ("plain", "softcap", "added", "wide"):
        q, k, v = ((random.normal(size=(5, 3)) * (20 if kind == "wide" else 1)).astype(dtype) for _ in range(3))
        seen = np.tril(np.ones((5, 5), dtype=bool))
        added = np.where(random.random((5, 5)) < 0.3, -1e4, 0.5).astype(dtype) if kind == "added" else None
        cap = 3 if kind == "softcap" else None
        found = oracle.attention(q, k, v, causal=True, mask=added, softcap=cap).rounded()
        wanted = reference.expected(reference.attention(q, k, v, seen, added, softcap=cap), dtype)
        assert np.array_equal(found.astype(np.float64), wanted), kind


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_products_are_those_of_mpmath(dtype: Any) -> None:
    random = np.random.default_rng(3)
    for scale in (1.0, 1e3, 1e-3):
        a, b = (random.normal(size=s) * scale for s in ((6, 9), (9, 5)))
        a, b, bias = (x.astype(dtype) for x in (a, b, random.normal(size=5)))
        a[0, 0], b[0, 0] = a[0, 1], -b[1, 0]  # terms that cancel
        wanted = reference.numbers(a) @ reference.numbers(b) + reference.numbers(bias)
        assert np.array_equal(oracle.matmul(a, b, bias).rounded().astype(np.float64), reference.expected(wanted, dtype))
    gate, up = (random.normal(size=50).astype(dtype) for _ in range(2))
    wanted = reference.each(reference.silu)(gate) * reference.numbers(up)
    assert np.array_equal(oracle.swiglu(gate, up).rounded().astype(np.float64), reference.expected(wanted, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("style", ["halves", "neighbours"])
def test_rotations_are_those_of_mpmath(dtype: Any, style: str) -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=(2, 4, 6)).astype(dtype)
    positions, width = [0, 1, 5, 100_003], 4
    angles = [[p * mpf(10000) ** (mpf(-2 * i) / width) for i in range(2)] for p in positions]
    pairs = [(0, 2), (1, 3)] if style == "halves" else [(0, 1), (2, 3)]
    wanted = reference.numbers(x)
    for n in range(4):
        for i, (a, b) in enumerate(pairs):
            c, s = mpmath.cos(angles[n][i]), mpmath.sin(angles[n][i])
            for head in range(2):
                one, two = wanted[head, n, a], wanted[head, n, b]
                wanted[head, n, a], wanted[head, n, b] = one * c - two * s, two * c + one * s
    found = oracle.rotary(x, positions=positions, style=style, width=width).rounded()
    assert np.array_equal(found.astype(np.float64), reference.expected(wanted, dtype))
    cos, sin = (random.normal(size=(4, 2)).astype(dtype) for _ in range(2))
    wanted = reference.numbers(x)
    for n in range(4):
        for i, (a, b) in enumerate(pairs):
            c, s = mpf(float(cos[n, i])), mpf(float(sin[n, i]))
            for head in range(2):
                one, two = wanted[head, n, a], wanted[head, n, b]
                wanted[head, n, a], wanted[head, n, b] = one * c - two * s, two * c + one * s
    found = oracle.rotary(x, cos, sin, style=style, width=width).rounded()
    assert np.array_equal(found.astype(np.float64), reference.expected(wanted, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_is_that_of_mpmath(dtype: Any, reduction: str) -> None:
    random = np.random.default_rng(5)
    x = (random.normal(size=(9, 6)) * 4).astype(dtype)
    targets = random.integers(0, 6, size=9)
    targets[3] = -100
    rows = [
        -reference.log_softmax_row(list(reference.numbers(r)))[t] if t >= 0 else mpf(0) for r, t in zip(x, targets, strict=True)
    ]
    wanted = {"none": np.array(rows, dtype=object), "sum": np.array(mpmath.fsum(rows)), "mean": np.array(mpmath.fsum(rows) / 8)}[
        reduction
    ]
    found = oracle.cross_entropy(x, targets, reduction=reduction).rounded()
    assert np.array_equal(found.astype(np.float64), reference.expected(wanted, dtype))
