"""Plain Arb: balls of a fixed precision through python-flint. What it decides is proved; an exact zero it cannot decide."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat, ctx, fmpq

from benchmarks.models import Matrix, Problem
from benchmarks.peers.peer import DIGITS, Answer, Peer

BITS = 256  # 50 digits are 167 bits; the rest is lost on the way, and the benchmark checks that it is enough
_ZERO = arb(0)


@dataclass(frozen=True)
class _Prepared:
    tokens: tuple[int, ...]
    W_E: arb_mat
    W_pos: arb_mat
    blocks: list[tuple[arb_mat, ...]]


def _prepare(problem: Problem) -> _Prepared:
    blocks = [
        tuple(_matrix(w) for w in (block.W_Q, block.W_K, block.W_V, block.W_O, block.W_in, block.W_out)) for block in problem.blocks
    ]
    return _Prepared(problem.tokens, _matrix(problem.W_E), _matrix(problem.W_pos), blocks)


def _matrix(matrix: Matrix) -> arb_mat:
    with ctx.workprec(BITS):
        return arb_mat([[arb(fmpq(x.numerator, x.denominator)) for x in row] for row in matrix])


def _solve(p: _Prepared) -> Answer:
    undecided = 0
    with ctx.workprec(BITS):
        table = p.W_E.tolist()
        x = arb_mat([table[token] for token in p.tokens]) + p.W_pos  # [T, dim]
        for W_Q, W_K, W_V, W_O, W_in, W_out in p.blocks:
            x = _layer_norm(x + _pattern(x * W_Q * (x * W_K).transpose()) * (x * W_V) * W_O)
            before = (x * W_in).entries()
            undecided += sum(1 for v in before if not (v > 0 or v <= 0))
            hidden = arb_mat(x.nrows(), W_in.ncols(), [v.max(_ZERO) for v in before])
            x = _layer_norm(x + hidden * W_out)
        logits = (x * p.W_E.transpose()).tolist()  # [T, vocabulary]
        winners = tuple(_argmax(row) for row in logits)
        decimals = tuple(tuple(v.str(DIGITS, radius=False) for v in row) for row in logits)
    return Answer(decimals, winners, undecided + winners.count(None))


def _pattern(scores: arb_mat) -> arb_mat:
    """Softmax of what every position may look at: itself and what is before it."""
    rows = []
    for i, row in enumerate(scores.tolist()):
        powers = [score.exp() for score in row[: i + 1]]
        normaliser = sum(powers, _ZERO)
        rows.append([power / normaliser for power in powers] + [_ZERO] * (len(row) - i - 1))
    return arb_mat(rows)


def _layer_norm(x: arb_mat) -> arb_mat:
    out = []
    for row in x.tolist():
        mean = sum(row, _ZERO) / len(row)
        centered = [v - mean for v in row]
        deviation = (sum((c * c for c in centered), _ZERO) / len(row)).sqrt()
        out.append([c / deviation for c in centered])
    return arb_mat(out)


def _argmax(row: list[arb]) -> int | None:
    """The first entry that no other exceeds, if balls show it."""
    for i, v in enumerate(row):
        if all(v > w for w in row[:i]) and all(v >= w for w in row[i + 1 :]):
            return i
    return None


ARB = Peer("plain Arb", _prepare, _solve)
