"""NumPy arrays of numbers, held against the same formulas written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exactformer.numbers import array, cos, exact, exp, from_float, log, pi, sin, sqrt, tanh
from exactformer.numbers.arrays import matmul, zeros


def exact_matrix() -> np.ndarray:
    return array([[1, "0.5", -2], ["1/3", 0, 4]])


def named_matrix() -> np.ndarray:
    return np.array([[sqrt(2), exp(1)], [exact(1), pi()], [log(2), exact(0)]], dtype=object)


def same(a, b) -> bool:
    return a.shape == b.shape and all(x == y for x, y in zip(a.flat, b.flat, strict=True))


def product(a, b) -> np.ndarray:
    """The definition of a matrix product."""
    result = zeros(a.shape[0], b.shape[1])
    for i, j in np.ndindex(result.shape):
        for k in range(a.shape[1]):
            result[i, j] = result[i, j] + a[i, k] * b[k, j]
    return result


def test_array_takes_what_exact_takes_and_numbers():
    a = array([["0.5", sqrt(2)], [Fraction(1, 3), np.int64(4)]])
    assert a.dtype == object
    assert a.shape == (2, 2)
    assert [a[0, 0], a[1, 0], a[1, 1]] == [Fraction(1, 2), Fraction(1, 3), 4]
    assert a[0, 1] == sqrt(2)


@pytest.mark.parametrize("values", [[0.5], [[1, 2], [3, 0.25]], np.array([0.5]), np.array([0.5], dtype=np.float32)])
def test_array_refuses_floats(values):
    with pytest.raises(TypeError, match="from_float"):
        array(values)


def test_an_array_of_floats_comes_in_one_by_one():
    assert same(array([from_float(x) for x in (0.5, 0.25)]), array(["1/2", "1/4"]))


def test_ragged_rows_are_refused():
    with pytest.raises((TypeError, ValueError)):
        array([[1, 2], [3]])


@pytest.mark.parametrize("multiply", [lambda a, b: a @ b, matmul, np.dot])
@pytest.mark.parametrize("known", [None, 3, 300])
def test_matrix_products(multiply, known):
    """Whatever digits of the entries are known beforehand."""
    a, b = exact_matrix(), named_matrix()
    for x in b.flat if known else ():
        x.digits(known)
    assert same(multiply(a, b), product(a, b))
    assert same(multiply(b, a), product(b, a))
    assert same(multiply(a, a.T), product(a, a.T))
    assert same(multiply(b.T, b), product(b.T, b))
    column = array([["1/2"], [0], [3]])
    assert same(multiply(b.T, column), product(b.T, column))


def test_a_matrix_product_by_named_rows_and_exact_columns():
    rows = np.array([[sqrt(2), exp(1), pi()], [log(2), sqrt(3), sin(1)]], dtype=object)
    columns = array([["1/2", 0, 1], ["1/3", 0, 0], [-2, 0, 0]])
    assert same(matmul(rows, columns), product(rows, columns))
    assert same(matmul(columns, rows.T), product(columns, rows.T))


def test_a_product_of_rationals_remembers_what_was_recovered():
    a = np.array([[sqrt(2) ** 2, exact(1)], [exact(1), exact(1)]], dtype=object)
    assert [x.recovered for x in matmul(a, array([[1], [2]])).flat] == [True, False]


def test_elementwise_arithmetic():
    a, b = exact_matrix(), named_matrix().T
    for i, j in np.ndindex(a.shape):
        x, y = a[i, j], b[i, j]
        assert (a + b)[i, j] == x + y
        assert (a - b)[i, j] == x - y
        assert (a * b)[i, j] == x * y
        assert (a * 2)[i, j] == (2 * a)[i, j] == x + x
        assert (a / 3)[i, j] == x / 3
        assert (1 - b)[i, j] == 1 - y
        assert (b**2)[i, j] == y * y
        assert (-b)[i, j] == -y
        assert a.T[j, i] is x


def test_arrays_of_integers_mix_in_and_arrays_of_floats_do_not():
    assert same(exact_matrix() * np.array([2, 3, 4]), array([[2, "1.5", -8], ["2/3", 0, 16]]))
    for floats in (0.5, np.float64(0.5), np.array([0.5, 1.0, 2.0])):
        with pytest.raises(TypeError, match="from_float"):
            exact_matrix() + floats


def test_sums_means_and_maxima():
    a, b = exact_matrix(), named_matrix()
    assert a.sum() == Fraction(23, 6)
    assert same(a.sum(axis=0), array(["4/3", "1/2", 2]))
    assert same(a.mean(axis=1), array(["-1/6", "13/9"]))
    assert b.sum() == sqrt(2) + exp(1) + 1 + pi() + log(2)
    assert b.max() == pi()
    assert np.argmax(b) == 3
    assert same(np.sort(np.array([pi(), sqrt(2), exact(3)], dtype=object)), np.array([sqrt(2), exact(3), pi()], dtype=object))


def test_comparisons_elementwise():
    a = np.array([sqrt(2), exact(1), sqrt(2) ** 2], dtype=object)
    assert (a == array([1, 1, 2])).tolist() == [False, True, True]
    assert (a > 1).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("of_arrays", "of_numbers"),
    [(np.exp, exp), (np.sqrt, sqrt), (np.log, log), (np.sin, sin), (np.cos, cos), (np.tanh, tanh), (np.abs, abs)],
)
def test_functions_elementwise(of_arrays, of_numbers):
    a = np.array([[sqrt(2), exact("1/3")], [exact(4), pi()]], dtype=object)
    assert same(of_arrays(a), np.array([[of_numbers(x) for x in row] for row in a], dtype=object))
    assert of_arrays(exact(2)) == of_numbers(exact(2))


def test_a_softmax_written_in_numpy():
    scores = array([[1, 2, 3], [0, 0, 0]])
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=1, keepdims=True)
    assert (weights.sum(axis=1) == array([1, 1])).all()
    assert (weights[1] == Fraction(1, 3)).all()
    assert weights[0, 0] == 1 / (1 + exp(1) + exp(2))
