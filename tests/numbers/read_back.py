"""Closed forms read back: the text and the LaTeX of a number, evaluated by the rules that a reader goes by."""

from __future__ import annotations

import re
from typing import Any

from twins import mp

_TOKEN = re.compile(r"\d+|x\d+|[a-z]+|[-+·/^()√π]")
_FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "erf", "erfc")


def evaluate(text: str, symbols: dict[str, Any] | None = None) -> Any:
    """
    >>> evaluate("-(1+√9)·2^3/4"), evaluate("x1^2+1", {"x1": mp.mpf(3)})
    (mpf('-8.0'), mpf('10.0'))
    >>> evaluate("--1")
    Traceback (most recent call last):
    ValueError: '-' in --1
    """
    tokens = _TOKEN.findall(text)
    assert "".join(tokens) == text, text
    reader = _Reader(tokens, {"e": +mp.e, "π": +mp.pi, **(symbols or {})}, text)
    value = reader.sum()
    assert reader.next is None, text
    return value


def evaluate_latex(text: str) -> Any:
    r"""
    >>> evaluate_latex(r"\frac{1}{2}\,\sqrt{4}^{3}+\operatorname{erf}\left(0\right)")
    mpf('4.0')
    """
    text = re.sub(r"\\operatorname\{(\w+)\}", r"\1", text)
    for old, new in ((r"\left", ""), (r"\right", ""), (r"\,", "·"), (r"\pi", "π")):
        text = text.replace(old, new)
    before = ""
    while before != text:  # from the inside out
        before = text
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"(√(\1))", text)
        text = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", text)
    return evaluate(text.replace("\\", ""))


class _Reader:
    """sum = [-] product {(+|-) product}; product = power {(·|/) power}; power = atom [^ atom]; atom = √ atom | …"""

    def __init__(self, tokens: list[str], symbols: dict[str, Any], text: str) -> None:
        self.tokens, self.symbols, self.text = tokens[::-1], symbols, text

    @property
    def next(self) -> str | None:
        return self.tokens[-1] if self.tokens else None

    def take(self, *wanted: str) -> str | None:
        return self.tokens.pop() if self.next in wanted else None

    def sum(self) -> Any:
        value = -self.product() if self.take("-") else self.product()
        while sign := self.take("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> Any:
        value = self.power()
        while sign := self.take("·", "/"):
            value = value * self.power() if sign == "·" else value / self.power()
        return value

    def power(self) -> Any:
        base = self.atom()
        return base ** self.atom() if self.take("^") else base

    def atom(self) -> Any:
        if self.take("√"):
            return mp.sqrt(self.atom())
        if function := self.take(*_FUNCTIONS):
            return getattr(mp, function)(self.atom())
        if self.take("("):
            value = self.sum()
            assert self.take(")"), self.text
            return value
        if self.next in self.symbols:
            return self.symbols[self.tokens.pop()]
        if self.next is None or not self.next.isdigit():
            raise ValueError(f"{self.next!r} in {self.text}")
        return mp.mpf(int(self.tokens.pop()))
