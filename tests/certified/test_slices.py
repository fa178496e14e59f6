"""Exactness of products on BLAS, and what must be refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from exactformer.certified import slices


@pytest.fixture(autouse=True)
def _fresh_check() -> Iterator[None]:
    slices.check_blas.cache_clear()
    yield
    slices.check_blas.cache_clear()


class Kernel(np.ndarray):
    """An array whose product is another one's."""

    multiply: Any = None

    def __matmul__(self, other: Any) -> Any:
        return type(self).multiply(np.asarray(self), np.asarray(other))


def strassen(a: Any, b: Any) -> Any:
    """One level of Strassen's scheme, where the sizes are even; products below by BLAS."""
    if any(size % 2 for size in (*a.shape, b.shape[1])):
        return a @ b
    (m, k), n = (size // 2 for size in a.shape), b.shape[1] // 2
    a11, a12, a21, a22 = a[:m, :k], a[:m, k:], a[m:, :k], a[m:, k:]
    b11, b12, b21, b22 = b[:k, :n], b[:k, n:], b[k:, :n], b[k:, n:]
    p1, p2, p3 = (a11 + a22) @ (b11 + b22), (a21 + a22) @ b11, a11 @ (b12 - b22)
    p4, p5, p6, p7 = a22 @ (b21 - b11), (a11 + a12) @ b22, (a21 - a11) @ (b11 + b12), (a12 - a22) @ (b21 + b22)
    return np.block([[p1 + p4 - p5 + p7, p3 + p5], [p2 + p4, p1 - p2 + p3 + p6]])


def single(a: Any, b: Any) -> Any:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float64)


def split_in_two(a: Any, b: Any) -> Any:
    """Operands as two shorter numbers each, without the product of the lower parts."""
    high_a, high_b = np.rint(a / 1024) * 1024, np.rint(b / 1024) * 1024
    return a @ high_b + high_a @ (b - high_b)


@pytest.mark.parametrize("kernel", [strassen, single, split_in_two])
def test_a_kernel_that_is_not_exact_is_noticed(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Kernel):
        multiply = staticmethod(kernel)

    monkeypatch.setattr(slices, "_operand", lambda x: x.view(Other))
    with pytest.raises(ArithmeticError, match="BLAS"):
        slices.check_blas()


def test_the_kernel_in_use_is_exact() -> None:
    slices.check_blas()


def test_any_order_gives_the_same_bits() -> None:
    random = np.random.default_rng(1)
    w = (random.standard_normal((700, 90)) * 0.3).astype(np.float32)
    sliced = slices.from_floats(w)
    x = random.integers(-(1 << 20), (1 << 20) + 1, (5, 4, 700)).astype(float)
    order = random.permutation(700)
    again = slices.Sliced(np.concatenate([s[order] for s in np.split(sliced.stacked, sliced.count)]), sliced.shift, 700, [
        (int(np.flatnonzero(order == row)[0]), column, digits) for row, column, digits in sliced.apart.entries
    ])  # fmt: skip
    assert np.array_equal(sliced.times(x), again.times(x[:, :, order]))


def folding(random: np.random.Generator) -> tuple[slices.Sliced, Any]:
    """A matrix, with slices beyond the second now and then, and values whose first limb is small, all at their largest."""
    n, rows = int(random.integers(2, 7)), int(random.choice([1, 30, 768, 3072]))
    w = np.abs(random.standard_normal((rows, 3))) * 2.0 ** random.integers(-12, 3)
    w = (w * 2.0 ** -random.integers(0, 60, w.shape) if random.random() < 0.3 else w).astype(np.float32)
    x = np.full((n, 2, rows), 2.0**20)
    x[0] = random.integers(-1, 12) * random.choice([1, 1, 10])
    x[-1] -= random.integers(0, 9, x[-1].shape)
    return slices.from_floats(w), x


def outcome(sliced: slices.Sliced, x: Any) -> int:
    return sum(len(x) - len(part) for part in sliced._folded(x))


def test_folded_limbs_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pairs are summed, exactly: with the first two limbs as one for all slices, for the first alone, and for none."""
    random = np.random.default_rng(2)
    cases = [folding(random) for _ in range(400)]
    folded = [sliced.times(x) for sliced, x in cases]
    seen = [outcome(sliced, x) for sliced, x in cases]
    monkeypatch.setattr(slices, "FOLDED", 0.0)
    assert all(outcome(sliced, x) == 0 for sliced, x in cases)
    for (sliced, x), result in zip(cases, folded, strict=True):
        assert np.array_equal(sliced.times(x), result)
    assert min(seen.count(kind) for kind in (0, 1, 2)) >= 30


def test_folding_beyond_its_limit_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [folding(np.random.default_rng(seed)) for seed in range(200)]
    exact = [sliced.times(x) for sliced, x in cases]
    monkeypatch.setattr(slices, "FOLDED", 2.0**56)
    assert any(not np.array_equal(sliced.times(x), result) for (sliced, x), result in zip(cases, exact, strict=True))


def test_the_bound_of_columns_is_checked() -> None:
    with pytest.raises(AssertionError, match="too large"):
        slices.Sliced(np.full((2, 1), 2.0**32), 0, 2, [])
    with pytest.raises(ArithmeticError, match="too large"):
        slices.from_floats(np.full((2, 1), 1e30))


def test_entries_of_many_sizes_are_kept_apart() -> None:
    w = np.full((300, 40), 1.5, dtype=np.float32)
    w[7, 3] = np.float32(1e-20)
    sliced = slices.from_floats(w)
    assert [(row, column) for row, column, _ in sliced.apart.entries] == [(7, 3)]
