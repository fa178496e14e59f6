"""The lemma on interchangeable tokens, tried on models drawn at random: what is claimed is compared with renamed inputs.

The weights are such that tokens are interchangeable, but for a few entries; many models have what the lemma does not speak of, such
as norms, MLPs and biases; and the circuit that says where to look for the symmetry is often not the model's own.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

import exactformer as xf
from benchmarks.result import Progress, Result, Table
from exactformer.circuits import Circuit, Head, interchangeable
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.arithmetics.exact import ExactArithmetic
from exactformer.numbers import Number, Undecided, Undefined

NUMBER = 3000
TOKENS = ("a", "b", "c")
LENGTH = 3
INPUTS = 3  # sequences that are renamed, for each claim
_HELD = {"token": "tokens", "other": "tokens", "position": "positions", "code": 2}


@dataclass(frozen=True)
class Tried:
    plain: bool  # does the lemma speak of such models?
    claimed: int  # pairs of tokens that are called interchangeable
    differing: int  # of all others, pairs that a renamed input does tell apart
    failed: str = ""


def _hint(rng: random.Random) -> Circuit:
    """A circuit is asked for its subspaces alone."""
    names = list(_HELD)
    if rng.random() < 0.15:
        rng.shuffle(names)
    head = Head(query="token", key="token", strength=1, value="token", to="other")
    stream = {name: _HELD[name] for name in names}
    return Circuit(vocabulary=TOKENS, length=LENGTH, stream=stream, codes={"token": "one-hot"}, layers=((head,),), predict="other")


def _number(rng: random.Random) -> Any:
    return xf.exact(f"{rng.randint(-4, 4)}/{rng.choice((1, 1, 2, 3))}")


def _drawn(rng: random.Random, *shape: int) -> Any:
    return xf.array(np.array([_number(rng) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape).tolist())


def _alike(rng: random.Random, rows: list[str | None], columns: list[str | None]) -> Any:
    """A matrix that does not change when tokens are exchanged in its rows and columns: entries depend on which are the same."""
    drawn: dict[Any, Any] = {}
    zero = rng.random() < 0.2

    def entry(i: int, j: int) -> Any:
        row, column = rows[i], columns[j]
        of_tokens = row is not None and column is not None
        # Places of token subspaces are told apart by the subspace, others by themselves.
        key = (i // 3 if row else ("at", i), j // 3 if column else ("at", j), row == column if of_tokens else None)
        return xf.exact(0) if zero else drawn.setdefault(key, _number(rng))

    return xf.array([[entry(i, j) for j in range(len(columns))] for i in range(len(rows))])


def _damage(rng: random.Random, weights: dict[str, Any]) -> None:
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        values = weights[rng.choice(list(weights))]
        values[tuple(rng.randrange(n) for n in values.shape)] = _number(rng)


def drawn_model(rng: random.Random) -> Model:
    stream: list[str | None] = [*TOKENS, *TOKENS, *[None] * LENGTH, None, None]
    dim, words = len(stream), list(TOKENS)
    anywhere: list[str | None] = [None] * LENGTH
    weights = {"W_E": _alike(rng, words, stream), "W_U": _alike(rng, stream, words), "W_pos": _alike(rng, anywhere, stream)}
    blocks, heads = rng.randint(1, 2), rng.randint(1, 2)
    unit = xf.array([[int(i == j) for j in range(dim)] for i in range(dim)])
    for n in range(blocks):
        for name in ("scores", "moved"):
            weights[f"{n}.{name}"] = np.stack([_alike(rng, stream, stream) for _ in range(heads)])
    _damage(rng, weights)
    more = rng.choice((*[""] * 12, "norm", "mlp", "bias", "b_U", "tied", "sinusoidal", "none", "final"))
    config = Config(
        vocabulary=TOKENS, dim=dim, blocks=blocks, heads=heads, head_dim=dim,
        length=LENGTH if more not in ("sinusoidal", "none") else None,
        norm=rng.choice(("pre", "post")) if more == "norm" else "none", final_norm=more == "final",
        epsilon=xf.exact("1/7") if more in ("norm", "final") else None, mask=rng.choice(("strict", "causal", "none")),
        scale=rng.choice(("none", "sqrt", xf.exact("1/3"))), scale_by_block=rng.random() < 0.2, hard=rng.random() < 0.4,
        positions=more if more in ("sinusoidal", "none") else "table", mlp=2 if more == "mlp" else 0,
        activation="relu" if more == "mlp" else None, unembedding="tied" if more == "tied" else "own",
        residual=rng.random() < 0.8, late_mask=rng.random() < 0.1, stable=rng.random() < 0.2,
    )  # fmt: skip
    if config.hard and (config.scale == "sqrt" or more in ("norm", "final", "sinusoidal")):
        config = replace(config, hard=False)  # where scores are not rational, whether two are equal takes long to find out

    def norm(wanted: bool) -> NormWeights | None:
        return NormWeights(w=_drawn(rng, dim), b=_drawn(rng, dim)) if wanted else None

    def block(n: int) -> BlockWeights:
        bias = {"b_V": _drawn(rng, heads, dim), "b_O": _drawn(rng, dim), "b_Q": _drawn(rng, heads, dim)} if more == "bias" else {}
        every = np.stack([unit] * heads)
        attention = AttentionWeights(W_Q=weights[f"{n}.scores"], W_K=every, W_V=weights[f"{n}.moved"], W_O=every.copy(), **bias)
        mlp = MlpWeights(W_in=_drawn(rng, dim, 2), W_out=_drawn(rng, 2, dim)) if config.mlp else None
        return BlockWeights(attn=attention, mlp=mlp, ln1=norm(config.norm != "none"))

    table = config.positions == "table"
    return Model(
        config,
        Weights(
            W_E=weights["W_E"], W_pos=weights["W_pos"] if table else None, blocks=tuple(map(block, range(blocks))),
            ln_final=norm(config.final_norm), W_U=None if more == "tied" else weights["W_U"],
            b_U=_drawn(rng, 3) if more == "b_U" else None,
        ),
    )  # fmt: skip


def _logits(model: Model, balls: ArbArithmetic, tokens: tuple[str, ...]) -> list[Any]:
    """Of all positions: exact where attention is hard, which balls cannot always tell."""
    ops: Any = ExactArithmetic() if model.config.hard else balls

    def quiet(step: Any) -> Any:
        return step.values

    return list(forward(model, model.ids(tokens), ops, quiet))


def differ(model: Model, balls: ArbArithmetic, one: str, other: str, tokens: tuple[str, ...]) -> bool:
    """Do the logits of an input and of the renamed one differ, for certain, in more than the renaming?"""
    names = {token: token for token in TOKENS} | {one: other, other: one}
    for row, renamed in zip(*(_logits(model, balls, x) for x in (tokens, tuple(names[t] for t in tokens))), strict=True):
        for i, token in enumerate(TOKENS):
            a, b = row[i], renamed[TOKENS.index(names[token])]
            if isinstance(a, Undefined) or isinstance(b, Undefined):
                continue
            if _certainly_differ(a, b):
                return True
    return False


def _certainly_differ(a: Any, b: Any) -> bool:
    try:
        return a != b if isinstance(a, Number) else not a.overlaps(b)
    except Undecided:
        return False


def tried(rng: random.Random) -> Tried:
    model, circuit, balls = drawn_model(rng), _hint(rng), ArbArithmetic(160)
    for _, weights in model.weights.named():
        weights.setflags(write=False)  # so that they are converted once
    classes = interchangeable(model, circuit)
    claimed = [pair for members in classes for pair in combinations(members, 2)]
    inputs = [tuple(rng.choice(TOKENS) for _ in range(rng.randint(1, LENGTH))) for _ in range(INPUTS)]
    told_apart = 0
    for pair in combinations(TOKENS, 2):
        if pair not in claimed:  # one look is enough to see that models do tell tokens apart
            told_apart += differ(model, balls, *pair, (*pair, pair[0]))
        elif found := [tokens for tokens in inputs if differ(model, balls, *pair, tokens)]:
            return Tried(True, len(claimed), 0, f"{pair} are called interchangeable, and {' '.join(found[0])} tells them apart")
    plain = {name.rpartition(".")[2] for name, _ in model.weights.named()} == {"W_E", "W_pos", "W_U", "W_Q", "W_K", "W_V", "W_O"}
    return Tried(plain, len(claimed), told_apart)


def trials(number: int, seed: int = 0) -> Iterator[Tried]:
    for n in range(number):
        result = tried(random.Random(f"{seed} {n}"))
        yield replace(result, failed=f"model {n} of seed {seed}: {result.failed}") if result.failed else result


def run(progress: Progress) -> Result:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for n, result in enumerate(trials(NUMBER), 1):
        counts["with more than heads"] += not result.plain
        counts["of which something is claimed"] += bool(result.claimed)
        counts["in which an input tells two tokens apart"] += bool(result.differing)
        counts["pairs claimed"] += result.claimed
        failed += [result.failed] if result.failed else []
        if n % 200 == 0:
            progress(f"{n} of {NUMBER} models, {counts['pairs claimed']} claims, {len(failed)} failed")
    told = (
        f"{NUMBER:,} models drawn at random, of one or two blocks and heads, three tokens and three positions. Wherever two tokens "
        f"are called interchangeable, {INPUTS} inputs are renamed and the logits of all positions compared: exactly where "
        "attention is hard, else in balls of 160 bits."
    )
    rows = [(name, f"{counts[name]:,}") for name in counts]
    return Result(
        "trials_symmetry",
        "Claims that tokens are interchangeable",
        (told, Table(("models", "number"), tuple(rows)), f"{len(failed)} claims were false."),
        {"models": NUMBER, "counts": counts, "failed": failed},
    )
