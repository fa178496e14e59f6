"""How the next token is chosen from a row of logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exactformer.messages import Refused
from exactformer.numbers import Exact, exact


class DecodingError(Refused):
    """A strategy, or something else about decoding, that makes no sense: one line that names it."""


@dataclass(frozen=True)
class Strategy:
    """Logits are divided by the temperature, then the `top_k` largest are kept, then the smallest set of those whose probabilities,
    made to sum to 1, reach `top_p`; from what is left a token is drawn. The temperature 0 stands for the largest logit itself.

    Temperature and `top_p` are exact: texts, integers, fractions.

    >>> Strategy(temperature="1/3", top_k=2).temperature
    exact('1/3')
    >>> Strategy(temperature=-1)
    Traceback (most recent call last):
    exactformer.decoding.strategy.DecodingError: temperature: -1 is negative
    """

    temperature: Any = "1"
    top_k: int | None = None
    top_p: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", _rational("temperature", self.temperature))
        if self.temperature.value < 0:
            raise DecodingError(f"temperature: {self.temperature} is negative")
        if self.top_k is not None and (type(self.top_k) is not int or self.top_k < 1):
            raise DecodingError(f"top-k: {self.top_k!r} is not a whole number of at least 1")
        if self.top_p is not None:
            object.__setattr__(self, "top_p", _rational("top-p", self.top_p))
            if not 0 < self.top_p.value <= 1:
                raise DecodingError(f"top-p: {self.top_p} is not above 0 and at most 1")

    @property
    def greedy(self) -> bool:
        """Is the largest logit taken, and nothing drawn?"""
        return bool(self.temperature.value == 0)

    def __str__(self) -> str:
        if self.greedy:
            return "greedy"
        parts = [f"temperature {self.temperature}"]
        parts += [] if self.top_k is None else [f"top-k {self.top_k}"]
        parts += [] if self.top_p is None else [f"top-p {self.top_p}"]
        return ", ".join(parts)


def _rational(name: str, value: Any) -> Exact:
    try:
        return exact(value)
    except (TypeError, ValueError) as error:
        raise DecodingError(f"{name}: {error}") from None


GREEDY = Strategy(temperature=0)
