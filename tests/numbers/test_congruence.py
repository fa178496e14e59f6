"""Numbers in one class are equal; the same operation on members of one class stays in one class; different numbers never meet."""

from __future__ import annotations

import random

import pytest
from twins import samples

from exactformer.numbers import Exact, Named, Number, exact, exp, log, recover, sqrt
from exactformer.numbers.congruence import Congruence
from exactformer.numbers.enclosure import ball
from exactformer.numbers.field import add, divide, dot, multiply, subtract, total

E, ROOT = exp(1), sqrt(2)


def layer(x: Number, y: Number, c: Number) -> list[Number]:
    """What a pass does with numbers; none of it looks whether a number is rational."""
    product = dot([x, y, c], [y, c, x])
    return [
        product,
        add(product, c),
        divide(x, E),
        divide(add(x, y), exact(3)),
        exp(subtract(x, y)),
        divide(exp(x), total([exp(x), exp(y), E])),
        multiply(c, log(add(multiply(x, x), exact(2)))),
    ]


def test_the_same_operations_on_equal_numbers() -> None:
    x, other = 1 / (1 + E), exp(-1) / (exp(-1) + 1)
    y = log(exact(3))
    classes = Congruence()
    assert not any(classes.same(a, b) for a, b in zip(layer(x, y, ROOT), layer(other, y, ROOT), strict=True))
    classes = Congruence()
    classes.join(x, other)
    assert all(classes.same(a, b) for a, b in zip(layer(x, y, ROOT), layer(other, y, ROOT), strict=True))


@pytest.mark.parametrize("value", ["0", "1", "-2/3", "5"])
def test_a_number_that_is_recovered_in_one_pass_alone(value: str) -> None:
    """Constructors fold rationals: x + 5·y is built otherwise than x + w·y with a w that is proved to be 5."""
    named = subtract(add(E, exact(value)), E)
    assert type(named) is Named
    rational = recover(named)
    assert type(rational) is Exact
    for build in (
        lambda w: add(multiply(w, ROOT), E),
        lambda w: total([w, E, ROOT]),
        lambda w: dot([w, w], [E, ROOT]),
        lambda w: add(exact(1), divide(multiply(w, E), exact(7))),
        lambda w: exp(total([w, E])),
    ):
        assert Congruence().same(build(named), build(rational))


def test_different_numbers_never_meet() -> None:
    """Of many random numbers, those in one class have the same value."""
    rng = random.Random(3)
    numbers = [x.number for x in samples(150, depth=3, seed=8) if type(x.number) is Named]
    numbers += [
        n for _ in range(40) for n in layer(rng.choice(numbers), rng.choice(numbers), rng.choice(numbers)) if type(n) is Named
    ]
    classes = Congruence()
    members: dict[int, list[Number]] = {}
    for number in numbers:
        members.setdefault(classes.name(number), []).append(number)
    assert 100 < len(members) < len(numbers)
    for first, *others in members.values():
        assert all(ball(first, 600).overlaps(ball(other, 600)) for other in others)  # type: ignore[arg-type]
    ends = [ball(group[0], 600) for group in members.values()]  # type: ignore[arg-type]
    assert sum(a.overlaps(b) for n, a in enumerate(ends) for b in ends[:n]) < len(ends)  # and most classes differ
