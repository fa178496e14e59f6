"""Exact numbers that are made when somebody asks for them.

Every array of a pass is there in two ways: as balls, which are computed at once, and as the operation that makes its exact or named
numbers. Where balls answer a question (which logit is the largest, what are its first fifty digits) no closed form is built. Where
they do not, the numbers are made as `exact` makes them, and answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.model.arithmetics.roles import Choice, Primitives
from exactformer.numbers import Number, Undefined
from exactformer.numbers.budget import WORKING_BITS


class Deferred:
    """An array of numbers: balls around them, and how they are made of others.

    NumPy's functions that move entries about (`np.concatenate`, `np.transpose`) do so in both.
    """

    __slots__ = ("_function", "_inputs", "_numbers", "balls")

    def __init__(self, balls: Any, function: Callable[..., Any], *inputs: Any) -> None:
        self.balls = balls
        self._function, self._inputs = function, inputs
        self._numbers: Any = None

    @property
    def numbers(self) -> Any:
        """Exact or named, made on first use. A stack, not recursion: models may be deep."""
        stack = [self]
        while stack:
            top = stack[-1]
            if top._numbers is None and (waiting := [x for x in _within(top._inputs) if x._numbers is None]):
                stack += waiting
                continue
            if top._numbers is None:
                top._numbers = top._function(*_each(top._inputs, lambda x: x._numbers))
                top._inputs = ()  # they are not needed any more
            stack.pop()
        return self._numbers

    @property
    def shape(self) -> tuple[int, ...]:
        return self.balls.shape  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.balls)

    def __getitem__(self, place: Any) -> Deferred:
        return Deferred(self.balls[place], lambda numbers: numbers[place], self)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return Deferred(function(*_each(args, lambda x: x.balls), **kwargs), lambda *numbers: function(*numbers, **kwargs), *args)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.numbers, dtype=object)

    def answers(self, by_ball: Callable[[Any], Any], by_number: Callable[[Any], Any]) -> list[list[Any]]:
        """For a matrix, the answer of every entry: what `by_ball` says of all numbers in its ball, or, if None, `by_number`."""
        return [
            [by_number(self.numbers[i, j]) if (answer := by_ball(b)) is None else answer for j, b in enumerate(row)]
            for i, row in enumerate(self.balls.tolist())
        ]


def _both(name: str) -> Any:
    """The operation of that name: of the balls at once, of the numbers when they are asked for, or where balls do not suffice."""

    def operation(self: DeferredArithmetic, *inputs: Any) -> Deferred:
        taken = [self.known(x) if type(x) is np.ndarray else x for x in inputs]  # a note may have put other numbers there
        balls = getattr(self.balls, name)(*[x.balls if type(x) is Deferred else x for x in taken])
        result = Deferred(balls, getattr(self.exact, name), *taken)
        return self.known(result.numbers) if _undecided(balls) else result

    return operation


class DeferredArithmetic(Primitives):
    name = "exact"
    numbers = "exact"
    proves = True

    def __init__(self, exact: ExactArithmetic, balls: ArbArithmetic | None = None) -> None:
        self.exact, self.balls = exact, balls or ArbArithmetic(WORKING_BITS)

    def for_logits(self) -> DeferredArithmetic:
        """For another pass: with numbers of its own, and the weights whose balls are there."""
        return DeferredArithmetic(type(self.exact)(self.exact.passing), self.balls)

    def known(self, numbers: Any) -> Deferred:
        """Numbers that are there, with balls around them."""
        result = Deferred(self.balls.enclosed(numbers), lambda: numbers)
        result._numbers = numbers
        return result

    def load(self, weights: Any) -> Deferred:
        return Deferred(self.balls.load(weights), lambda: self.exact.load(weights))

    def constant(self, number: Number) -> Deferred:
        return Deferred(self.balls.constant(number), lambda: number)

    def shown(self, x: Any) -> Any:
        return x.numbers if isinstance(x, Deferred) else x

    embed, add, subtract, times, scale = map(_both, ("embed", "add", "subtract", "times", "scale"))
    linear, project, scores, mix, merge = map(_both, ("linear", "project", "scores", "mix", "merge"))
    mask, erase, shift, softmax, tanh, cap = map(_both, ("mask", "erase", "shift", "softmax", "tanh", "cap"))
    mean, center, variance, deviation, normalise = map(_both, ("mean", "center", "variance", "deviation", "normalise"))
    settle, mark, activate = map(_both, ("settle", "mark", "activate"))

    def hardmax(self, rows: Deferred) -> Deferred:
        return self.known(self.exact.hardmax(self.shown(rows)))

    def choose(self, logits: Deferred) -> list[Choice]:
        choices = self.balls.choose(logits.balls)
        return choices if all(choice.proved for choice in choices) else self.exact.choose(logits.numbers)


def _each(inputs: Iterable[Any], part: Callable[[Deferred], Any]) -> list[Any]:
    """A part of each input that is deferred, also of those in lists; other inputs as they are."""
    return [part(x) if isinstance(x, Deferred) else _each(x, part) if isinstance(x, list) and _within(x) else x for x in inputs]


def _within(inputs: Iterable[Any]) -> list[Deferred]:
    """The deferred arrays among inputs, and in lists among them."""
    found = []
    for x in inputs:
        found += [x] if isinstance(x, Deferred) else _within(x) if isinstance(x, list) else []
    return found


def _undecided(balls: Any) -> bool:
    """Is there something that these balls do not tell?"""
    kinds = set(map(type, balls.ravel().tolist()))
    return Undefined in kinds and any(type(b) is Undefined and b.undecided for b in balls.flat)
