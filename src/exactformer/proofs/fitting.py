"""A rule that names all answers to an input, fitted to the lengths and positions of a domain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.proofs.chunks import RunError
from exactformer.proofs.rules import Demand, Tokens


@dataclass(frozen=True)
class Fitted:
    """Asked about a sequence, it names the next answer to the input that the sequence begins with; or all, with `positions`.

    >>> from exactformer.proofs.expressions import read_rule
    >>> rule = Fitted(read_rule("reverse"), tuple("abc"), 2)
    >>> sorted(rule(("a", "b")).right), sorted(rule(("a", "b", "b")).right)
    (['b'], ['a'])
    """

    inner: Any  # has a statement, and `arrays(ids, vocabulary, outputs)` or `whole(tokens)`
    vocabulary: Tokens
    prompt: int | None = None  # tokens of an input; None where there is one answer, and inputs are of any length
    positions: tuple[int, ...] | None = None
    outputs: Tokens | None = None  # what the model says; None: the vocabulary

    @property
    def statement(self) -> str:
        return str(self.inner.statement)

    @property
    def arrays(self) -> Any:
        """For whole arrays of inputs, where the rule can do that."""
        return self._arrays if hasattr(self.inner, "arrays") else None

    def _arrays(self, ids: Any, vocabulary: Tokens, outputs: Tokens | None = None) -> tuple[Any, str]:
        right, kind = self.inner.arrays(ids, vocabulary, outputs)
        return self._placed(right, ids.shape[1]), kind

    def _placed(self, right: Any, length: int) -> Any:
        """Of answers [n, m], those at the positions: where there is one for every token, they are picked."""
        if self.positions is None or right.shape[1] == len(self.positions) != length:
            return right
        if right.shape[1] != length:
            wanted = f"{len(self.positions)} position{'s' * (len(self.positions) > 1)}"
            raise RunError(f"positions: the rule names {right.shape[1]} answers, for {wanted} of {length}")
        return right[:, list(self.positions)]

    def __call__(self, tokens: Tokens) -> Any:
        given = tokens if self.prompt is None or self.positions is not None else tokens[: self.prompt]
        index = {token: n for n, token in enumerate(self.vocabulary)}
        ids = np.array([[index[token] for token in given]])
        if self.arrays is not None:
            right, kind = self.arrays(ids, self.vocabulary, self.outputs)
            answers = [(self.outputs or self.vocabulary)[i] for i in right[0].tolist()]
        else:
            answers, kind = list(self.inner.whole(given)), "demanded"
            if self.positions is not None:
                answers = self._placed(np.array([answers], dtype=object), len(given))[0].tolist()
        if self.positions is not None:
            return answers
        return Demand(frozenset([answers[len(tokens) - len(given)]]), kind)
