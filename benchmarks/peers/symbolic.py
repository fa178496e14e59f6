"""SymPy: closed forms, as they build up, and their decimals at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from benchmarks.models import Matrix, Problem
from benchmarks.peers.peer import DIGITS, Answer, Peer

Rows = list[list[Any]]  # of sympy.Expr
_TINY = sympy.Float(10) ** -40  # below this, a value is asked to be zero


@dataclass(frozen=True)
class _Prepared:
    tokens: tuple[int, ...]
    W_E: Rows
    W_pos: Rows
    blocks: list[tuple[Rows, ...]]  # by columns


def _prepare(problem: Problem) -> _Prepared:
    blocks = [
        tuple(
            [list(column) for column in zip(*_rows(w), strict=True)]
            for w in (block.W_Q, block.W_K, block.W_V, block.W_O, block.W_in, block.W_out)
        )
        for block in problem.blocks
    ]
    return _Prepared(problem.tokens, _rows(problem.W_E), _rows(problem.W_pos), blocks)


def _rows(matrix: Matrix) -> Rows:
    return [[sympy.Rational(x.numerator, x.denominator) for x in row] for row in matrix]


def _solve(p: _Prepared) -> Answer:
    undecided = 0
    x = _add([p.W_E[token] for token in p.tokens], p.W_pos)  # [T, dim]
    for W_Q, W_K, W_V, W_O, W_in, W_out in p.blocks:
        x = _layer_norm(_add(x, _times(_attention(_times(x, W_Q), _times(x, W_K), _times(x, W_V)), W_O)))
        hidden = []
        for row in _times(x, W_in):
            signs = [_sign(v) for v in row]
            undecided += signs.count(None)
            hidden.append([sympy.S.Zero if sign == 0 or sign == -1 else v for v, sign in zip(row, signs, strict=True)])
        x = _layer_norm(_add(x, _times(hidden, W_out)))
    decimals = [[v.evalf(DIGITS) for v in row] for row in _times(x, p.W_E)]  # [T, vocabulary]
    winners = tuple(max(range(len(row)), key=row.__getitem__) for row in decimals)
    return Answer(tuple(tuple(str(v) for v in row) for row in decimals), winners, undecided)


def _sign(x: Any) -> int | None:
    """By decimals; what they leave at zero is asked to be zero."""
    value = x.evalf(DIGITS)
    if abs(value) > _TINY:
        return 1 if value > 0 else -1
    return 0 if x.equals(0) else None


def _times(x: Rows, columns: Rows) -> Rows:
    return [[_dot(row, column) for column in columns] for row in x]


def _dot(xs: list[Any], ys: list[Any]) -> Any:
    return sympy.Add(*(a * b for a, b in zip(xs, ys, strict=True)))


def _add(x: Rows, y: Rows) -> Rows:
    return [[a + b for a, b in zip(row, other, strict=True)] for row, other in zip(x, y, strict=True)]


def _attention(q: Rows, k: Rows, v: Rows) -> Rows:
    """softmax(q kᵀ) v, every position looking at itself and what is before it."""
    z = []
    for i, query in enumerate(q):
        powers = [sympy.exp(_dot(query, key)) for key in k[: i + 1]]
        normaliser = sympy.Add(*powers)
        pattern = [power / normaliser for power in powers]
        z.append([_dot(pattern, list(column)) for column in zip(*v[: i + 1], strict=True)])
    return z


def _layer_norm(x: Rows) -> Rows:
    out = []
    for row in x:
        mean = sympy.Add(*row) / len(row)
        centered = [v - mean for v in row]
        deviation = sympy.sqrt(_dot(centered, centered) / len(row))
        out.append([c / deviation for c in centered])
    return out


SYMPY = Peer("SymPy", _prepare, _solve)
