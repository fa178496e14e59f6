"""mpmath with 50 digits: rounded arithmetic, which proves nothing about what it prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpmath import exp, fdot, fsum, mpf, nstr, sqrt, workdps

from benchmarks.models import Matrix, Problem
from benchmarks.peers.peer import DIGITS, Answer, Peer

Rows = list[list[Any]]  # of mpf
_ZERO = mpf(0)


@dataclass(frozen=True)
class _Prepared:
    tokens: tuple[int, ...]
    W_E: Rows  # [vocabulary, dim]: as it is tied, its rows are the columns of the unembedding
    W_pos: Rows
    blocks: list[tuple[Rows, ...]]  # W_Q, W_K, W_V, W_O, W_in, W_out by columns, as fdot wants them


def _prepare(problem: Problem) -> _Prepared:
    blocks = [
        tuple(_columns(w) for w in (block.W_Q, block.W_K, block.W_V, block.W_O, block.W_in, block.W_out))
        for block in problem.blocks
    ]
    return _Prepared(problem.tokens, _rows(problem.W_E), _rows(problem.W_pos), blocks)


def _rows(matrix: Matrix) -> Rows:
    with workdps(DIGITS):
        return [[mpf(x.numerator) / x.denominator for x in row] for row in matrix]


def _columns(matrix: Matrix) -> Rows:
    return [list(column) for column in zip(*_rows(matrix), strict=True)]


def _solve(p: _Prepared) -> Answer:
    with workdps(DIGITS):
        x = _add([p.W_E[token] for token in p.tokens], p.W_pos)  # [T, dim]
        for W_Q, W_K, W_V, W_O, W_in, W_out in p.blocks:
            x = _layer_norm(_add(x, _times(_attention(_times(x, W_Q), _times(x, W_K), _times(x, W_V)), W_O)))
            hidden = [[v if v > 0 else _ZERO for v in row] for row in _times(x, W_in)]
            x = _layer_norm(_add(x, _times(hidden, W_out)))
        logits = _times(x, p.W_E)  # [T, vocabulary]
        winners = tuple(max(range(len(row)), key=row.__getitem__) for row in logits)
        return Answer(tuple(tuple(nstr(v, DIGITS) for v in row) for row in logits), winners, 0)


def _times(x: Rows, columns: Rows) -> Rows:
    return [[fdot(row, column) for column in columns] for row in x]


def _add(x: Rows, y: Rows) -> Rows:
    return [[a + b for a, b in zip(row, other, strict=True)] for row, other in zip(x, y, strict=True)]


def _attention(q: Rows, k: Rows, v: Rows) -> Rows:
    """softmax(q kᵀ) v, every position looking at itself and what is before it."""
    z = []
    for i, query in enumerate(q):
        powers = [exp(fdot(query, key)) for key in k[: i + 1]]
        normaliser = fsum(powers)
        pattern = [power / normaliser for power in powers]
        z.append([fdot(pattern, column) for column in zip(*v[: i + 1], strict=True)])
    return z


def _layer_norm(x: Rows) -> Rows:
    out = []
    for row in x:
        mean = fsum(row) / len(row)
        centered = [v - mean for v in row]
        deviation = sqrt(fdot(centered, centered) / len(row))
        out.append([c / deviation for c in centered])
    return out


MPMATH = Peer("mpmath", _prepare, _solve)
