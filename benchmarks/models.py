"""Random models to measure on: plain rationals, from which every peer makes its own numbers.

Weights are drawn from −1, −1/2, 0, 1/2, 1: small enough to be written by hand, and rich in zeros and equal rows, so that exact
zeros before a ReLU and ties between logits do occur. LayerNorms have gain 1 and bias 0; no peer computes with these two.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from exactformer.arithmetics import arithmetic
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights, forward
from exactformer.numbers import Exact, array, exact

Matrix = tuple[tuple[Fraction, ...], ...]
VOCABULARY = ("a", "b", "c", "d")
ENTRIES = (Fraction(-1), Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1))


@dataclass(frozen=True)
class Size:
    dim: int
    length: int
    blocks: int

    def __str__(self) -> str:
        return f"d={self.dim}, T={self.length}, blocks={self.blocks}"

    def covers(self, other: Size) -> bool:
        """Is this at least as large as `other` in every respect?"""
        return self.dim >= other.dim and self.length >= other.length and self.blocks >= other.blocks


@dataclass(frozen=True)
class Block:
    W_Q: Matrix  # [dim, dim], one head
    W_K: Matrix
    W_V: Matrix
    W_O: Matrix
    W_in: Matrix  # [dim, dim]
    W_out: Matrix


@dataclass(frozen=True)
class Problem:
    """A model and its input: post-norm with ε = 0, causal, scores not scaled, ReLU, unembedding tied."""

    size: Size
    seed: int
    tokens: tuple[int, ...]
    W_E: Matrix  # [vocabulary, dim]
    W_pos: Matrix  # [length, dim]
    blocks: tuple[Block, ...]


def random_problem(size: Size, seed: int) -> Problem:
    """The problem of that size and seed, the same on every machine."""
    source = random.Random(f"{size} {seed}")

    def matrix(rows: int, columns: int) -> Matrix:
        return tuple(tuple(source.choice(ENTRIES) for _ in range(columns)) for _ in range(rows))

    dim = size.dim
    tokens = tuple(source.randrange(len(VOCABULARY)) for _ in range(size.length))
    blocks = tuple(Block(*(matrix(dim, dim) for _ in range(6))) for _ in range(size.blocks))
    return Problem(size, seed, tokens, matrix(len(VOCABULARY), dim), matrix(size.length, dim), blocks)


def problems(size: Size, number: int) -> list[Problem]:
    """The first seeds whose LayerNorms all have something to divide by.

    Only a variance that is *proved* to be 0 rules a seed out: leaving out what could not be decided would flatter us.
    """
    found: list[Problem] = []
    for seed in count():
        problem = random_problem(size, seed)
        if not any(_is_zero(deviation) for deviation in _deviations(problem)):
            found.append(problem)
        if len(found) == number:
            return found
    raise AssertionError("seeds do not run out")


def exact_model(problem: Problem) -> Model:
    """The problem as a model of the library, made of numbers about which nothing is known yet."""
    dim = problem.size.dim
    config = Config(
        vocabulary=VOCABULARY, dim=dim, blocks=problem.size.blocks, norm="post", epsilon=exact(0), mask="causal", scale="none",
        positions="table", length=problem.size.length, mlp=dim, activation="relu",
    )  # fmt: skip
    blocks = tuple(
        BlockWeights(
            attn=AttentionWeights(
                **{name: array([getattr(block, name)]) for name in ("W_Q", "W_K", "W_V", "W_O")}  # [1, dim, dim]
            ),
            mlp=MlpWeights(W_in=array(block.W_in), W_out=array(block.W_out)),
            ln1=NormWeights(w=array([1] * dim), b=array([0] * dim)),
            ln2=NormWeights(w=array([1] * dim), b=array([0] * dim)),
        )
        for block in problem.blocks
    )
    return Model(config, Weights(W_E=array(problem.W_E), W_pos=array(problem.W_pos), blocks=blocks))


def _deviations(problem: Problem) -> list[Any]:
    """Every standard deviation of the pass."""
    found: list[Any] = []

    def note(step: Any) -> Any:
        if step.op == "deviation":
            found.extend(np.ravel(step.values))
        return step.values

    forward(exact_model(problem), list(problem.tokens), arithmetic("exact"), note)
    return found


def _is_zero(deviation: Any) -> bool:
    return isinstance(deviation, Exact) and bool(deviation.value == 0)
