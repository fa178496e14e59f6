"""Numbers as plain data: whole, however little of them is shown."""

from __future__ import annotations

from exactformer.numbers import Exact, Number, Undefined, exact, exp, log, pi, sqrt
from exactformer.numbers.spelling import spelled


def tower(height: int, top: Number) -> Number:
    """A closed form too long to be shown, of which the top hardly changes the first digits."""
    x = top
    for n in range(height):
        x = exp(1 / (x + n + 1))
    return x


def test_different_numbers_are_spelled_differently() -> None:
    e, two = exp(exact(1)), exact(2)
    numbers = [exact(1), exact("1/2"), exact(-1), e, e + 1, e + 2, 2 * e, e / 2, e * sqrt(two), e / sqrt(two), sqrt(two), pi()]
    numbers += [two ** exact("1/3"), log(two), exp(two), e + exp(two), e + 2 * exp(two), e * exp(sqrt(two)) + 1]
    numbers += [Undefined("no", False), Undefined("no", True), Undefined("nothing", False)]
    assert len({tuple(spelled([number])) for number in numbers}) == len(numbers)


def test_what_is_shown_alike_is_spelled_differently() -> None:
    one, other = tower(60, exp(exact(1))), tower(60, exp(exact(1)) + exact("1e-200"))
    assert str(one) == str(other)
    assert one.digits(60) == other.digits(60)
    assert list(spelled([one])) != list(spelled([other]))
    assert list(spelled([one])) == list(spelled([tower(60, exp(exact(1)))]))


def test_a_rational_is_spelled_by_its_value_whatever_it_was_recovered_from() -> None:
    recovered = exp(exact(1)) / exp(exact(1))
    assert isinstance(recovered, Exact)
    assert list(spelled([recovered])) == list(spelled([exact(1)]))


def test_shared_nodes_are_spelled_once() -> None:
    x = tower(300, exp(exact(1)))
    assert len(list(spelled([x] * 1000))) == len(list(spelled([x]))) + 999
    assert list(spelled([x, exp(x)])) != list(spelled([exp(x), x]))
