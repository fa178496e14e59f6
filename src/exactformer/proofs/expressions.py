"""Rules in a few words: sorted, copy, reverse, max, min, majority, first, last, balanced; arithmetic on numerals; its digits.

    (a + b) mod 113          a, b, … are the numbers at positions 0, 1, …; the answer is the token that is written as the result
    3 reversed digits of ab + cd    letters side by side are the digits of a number; three answers, the last digit first

Nothing is run: a text is parsed by a grammar of a few lines. A rule is evaluated on whole arrays of inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.proofs.chunks import RunError
from exactformer.proofs.rules import Demand, Tokens, as_outputs

_TOKEN = re.compile(r"\s*([0-9]+|[a-z]+|[-+*()])")
_LARGEST = 10**15  # of a number on the way: far below where whole numbers of 64 bits end
_MOST_DIGITS = 15
_DIGITS = re.compile(r"\s*(?:([0-9]{1,2})\s+)?(reversed\s+)?digits\s+of\s+(.+)", re.DOTALL)
Values = Callable[[int], Any]  # the numbers at a position, of all inputs


class RuleError(RunError):
    """A rule that cannot be read, or that has no answer for an input."""


@dataclass(frozen=True)
class Words:
    """Some tokens of the input in another order, or one of them; tokens are compared by their places in the vocabulary."""

    word: str

    @property
    def statement(self) -> str:
        return _WORDS[self.word][0]

    def answers(self, length: int) -> int:
        return length if self.word in _WHOLE else 1

    def arrays(self, ids: Any, vocabulary: Tokens, outputs: Tokens | None = None) -> tuple[Any, str]:
        return as_outputs(_WORDS[self.word][1](ids), vocabulary, outputs, self.word), self.word


@dataclass(frozen=True)
class Majority:
    """The most frequent token; where several are, any of them."""

    statement = "the most frequent token of the input (where several are, any of them)"

    def answers(self, length: int) -> int:
        return 1

    def __call__(self, tokens: Tokens) -> Demand:
        most = max(map(tokens.count, tokens))
        right = frozenset(token for token in tokens if tokens.count(token) == most)
        return Demand(right, "a tie" if len(right) > 1 else "one most frequent")


@dataclass(frozen=True)
class Balanced:
    """yes or no: does every bracket of the input have its partner? Tokens that are no brackets do not count."""

    statement = "yes where every bracket ( or ) of the input has its partner, else no"

    def answers(self, length: int) -> int:
        return 1

    def arrays(self, ids: Any, vocabulary: Tokens, outputs: Tokens | None = None) -> tuple[Any, str]:
        said = outputs or vocabulary
        for tokens, known, verb in ((("(", ")"), vocabulary, "reads"), (("yes", "no"), said, "says")):
            if missing := [token for token in tokens if token not in known]:
                raise RuleError(f"rule 'balanced': {quoted(missing[0])} is not a token that the model {verb}")
        steps = np.array([(token == "(") - (token == ")") for token in vocabulary])
        depths = np.cumsum(steps[ids], axis=1)
        holds = (depths >= 0).all(axis=1) & (depths[:, -1] == 0)
        return np.where(holds, said.index("yes"), said.index("no"))[:, None], "balanced or not"


@dataclass(frozen=True)
class Formula:
    """Arithmetic on the numbers of an input, as one token or as digits."""

    text: str
    evaluate: Callable[[Values], Any]
    digits: int = 0  # 0: the result is one token
    backwards: bool = False

    @property
    def statement(self) -> str:
        return self.text

    def answers(self, length: int) -> int:
        return self.digits or 1

    def arrays(self, ids: Any, vocabulary: Tokens, outputs: Tokens | None = None) -> tuple[Any, str]:
        numbers = np.array([int(token) if re.fullmatch("[0-9]{1,15}", token) else -1 for token in vocabulary])

        def value(position: int) -> Any:
            if position >= ids.shape[1]:
                raise RuleError(f"rule {quoted(self.text)}: {chr(97 + position)} is position {position} of {ids.shape[1]}")
            found = numbers[ids[:, position]]
            if (found < 0).any():
                token = vocabulary[int(ids[int(np.argmax(found < 0)), position])]
                raise RuleError(f"rule {quoted(self.text)}: the token {quoted(token)} at position {position} is not a number")
            return found

        result = np.broadcast_to(self.evaluate(value), (len(ids),))
        if self.digits:
            if (result < 0).any() or (result >= 10**self.digits).any():
                bad = int(result[(result < 0) | (result >= 10**self.digits)][0])
                raise RuleError(f"rule {quoted(self.text)}: {bad} has not {self.digits} digits")
            result = np.stack([result // 10**n % 10 for n in range(self.digits)][:: 1 if self.backwards else -1], axis=1)
        else:
            result = result[:, None]
        return self._ids(result, outputs or vocabulary), "demanded"

    def _ids(self, numbers: Any, outputs: Tokens) -> Any:
        index = {token: n for n, token in enumerate(outputs)}
        values, places = np.unique(numbers, return_inverse=True)
        missing = [int(value) for value in values if str(int(value)) not in index]
        if missing:
            raise RuleError(f"rule {quoted(self.text)}: the answer {missing[0]} is not a token that the model says")
        return np.array([index[str(int(value))] for value in values])[places].reshape(numbers.shape)


_WORDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "sorted": ("the input again, sorted", lambda ids: np.sort(ids, axis=1)),
    "copy": ("the input again", lambda ids: ids),
    "reverse": ("the input again, the last token first", lambda ids: ids[:, ::-1]),
    "max": ("the largest token of the input", lambda ids: ids.max(axis=1, keepdims=True)),
    "min": ("the smallest token of the input", lambda ids: ids.min(axis=1, keepdims=True)),
    "first": ("the first token of the input", lambda ids: ids[:, :1]),
    "last": ("the last token of the input", lambda ids: ids[:, -1:]),
}
_WHOLE = ("sorted", "copy", "reverse")
_OWN: dict[str, Majority | Balanced] = {"majority": Majority(), "balanced": Balanced()}
WORDS = (*_WORDS, *_OWN)


def read_rule(text: str) -> Words | Majority | Balanced | Formula:
    """A rule from its text.

    >>> read_rule("(a + b) mod 5").arrays(np.array([[3, 4]]), tuple("01234"))[0].tolist()
    [[2]]
    >>> read_rule("3 reversed digits of ab + cd").arrays(np.array([[9, 9, 0, 2]]), tuple("0123456789"))[0].tolist()
    [[1, 0, 1]]
    >>> tokens = ("(", ")", "yes", "no")
    >>> [tokens[i] for (i,) in read_rule("balanced").arrays(np.array([[0, 0, 1, 1], [1, 0, 0, 1]]), tokens)[0]]
    ['yes', 'no']
    >>> read_rule("a + ")
    Traceback (most recent call last):
    exactformer.proofs.expressions.RuleError: rule 'a + ': ends where a number or a letter is expected
    """
    word = text.strip()
    if word in _WORDS:
        return Words(word)
    if word in _OWN:
        return _OWN[word]
    if found := _DIGITS.fullmatch(text):
        count = int(found[1] or 0)
        if not 1 <= count <= _MOST_DIGITS:
            raise RuleError(f"rule {quoted(text)}: how many digits? write, for example, 3 digits of a + b")
        return Formula(word, _Parser(text, found[3]).whole(), count, bool(found[2]))
    return Formula(word, _Parser(text, text).whole())


class _Parser:
    """expression = sum ["mod" number]; sum = product {("+" | "-") product}; product = factor {"*" factor}"""

    def __init__(self, rule: str, text: str) -> None:
        self.rule, self.parts, place = rule, list[str](), 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                raise self.error(f"{quoted(text[place:].strip()[:20])} is not understood (words: {', '.join(WORDS)})")
            self.parts.append(found[1])
            place = found.end()
        self.place = 0

    def error(self, problem: str) -> RuleError:
        return RuleError(f"rule {quoted(self.rule)}: {problem}")

    def whole(self) -> Callable[[Values], Any]:
        if not any(part.isalpha() and part != "mod" for part in self.parts):
            raise self.error(f"is neither a word ({', '.join(WORDS)}) nor a formula of a, b, …")
        result = self.expression()
        if self.place < len(self.parts):
            raise self.error(f"{quoted(self.parts[self.place])} is not expected there (words: {', '.join(WORDS)})")
        return result

    def next(self, *wanted: str) -> str | None:
        if self.place < len(self.parts) and self.parts[self.place] in wanted:
            self.place += 1
            return self.parts[self.place - 1]
        return None

    def expression(self) -> Callable[[Values], Any]:
        total = self.sum()
        if self.next("mod"):
            if not (self.place < len(self.parts) and self.parts[self.place].isdigit()) or not int(self.parts[self.place]):
                raise self.error("mod: is followed by a whole number from 1")
            divisor = self._number(self.parts[self.place])
            self.place += 1
            return lambda values: total(values) % divisor
        return total

    def sum(self) -> Callable[[Values], Any]:
        total = self.product()
        while sign := self.next("+", "-"):
            total = self._joined(total, self.product(), np.add if sign == "+" else np.subtract)
        return total

    def product(self) -> Callable[[Values], Any]:
        total = self.factor()
        while self.next("*"):
            total = self._joined(total, self.factor(), np.multiply)
        return total

    def _joined(self, one: Callable[[Values], Any], two: Callable[[Values], Any], operation: Any) -> Callable[[Values], Any]:
        def evaluate(values: Values) -> Any:
            x, y = one(values), two(values)
            if operation is np.multiply and np.max(np.abs(x.astype(float) * y.astype(float)), initial=0) > _LARGEST:
                raise self.error("a product is too large")
            result = operation(x, y)
            if np.max(np.abs(result), initial=0) > _LARGEST:
                raise self.error("a sum is too large")
            return result

        return evaluate

    def factor(self) -> Callable[[Values], Any]:
        if self.next("("):
            inside = self.expression()
            if not self.next(")"):
                raise self.error("a bracket is not closed")
            return inside
        if self.place == len(self.parts):
            raise self.error("ends where a number or a letter is expected")
        part = self.parts[self.place]
        self.place += 1
        if part.isdigit():
            number = np.array(self._number(part))
            return lambda values: number
        if not part.isalpha() or part == "mod" or len(part) > _MOST_DIGITS:
            raise self.error(f"{quoted(part)} is not expected there")
        places = [ord(letter) - 97 for letter in part]
        if len(places) > 1:
            self.check_digits(part)

        def digits(values: Values) -> Any:
            found = [values(place) for place in places]
            if len(found) > 1 and any((one > 9).any() for one in found):
                raise self.error(f"{part}: letters side by side are digits")
            return sum(one * 10 ** (len(found) - 1 - n) for n, one in enumerate(found))

        return digits

    def check_digits(self, part: str) -> None:
        """A word that somebody meant is not taken for digits."""
        if any(ord(b) != ord(a) + 1 for a, b in pairwise(part)):
            raise self.error(f"{quoted(part)} is not a word that is known ({', '.join(WORDS)}), nor positions next to each other")

    def _number(self, text: str) -> int:
        if len(text) > 15:
            raise self.error("a number is too large")
        return int(text)
