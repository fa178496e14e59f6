"""Counts by sets of inputs, tried on networks drawn at random, against counts input by input.

All are of one attention layer; vocabularies, positions, masks, heads, biases, rules, domains and budgets are drawn. Many networks
have tokens whose logits nearly tie, by so little that floats cannot tell them apart.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from benchmarks.result import Progress, Result, Table
from benchmarks.trials.drawn import drawn
from exactformer.model import AttentionWeights, BlockWeights, Config, Model, Weights
from exactformer.proofs import Product
from exactformer.proofs.batches import Batch
from exactformer.proofs.boxes import ROOTS
from exactformer.proofs.deciding import Deciding
from exactformer.proofs.expressions import read_rule
from exactformer.proofs.fitting import Fitted
from exactformer.proofs.surveying import Survey, Surveying

NUMBER = 300
BUDGETS = (1, 60, 10**6)  # the last is never used up
_NEAR_TIES = 0.2  # the share of networks that have them
_MOST, _MOST_NEAR = 400, 30  # inputs of a domain; where logits nearly tie, which takes limbs


@dataclass(frozen=True)
class Tried:
    """One network: how many counts were taken, of how many the ends meet, and what was false."""

    heads: int
    inputs: int
    counts: int
    met: int
    undecided: int  # inputs that have no proved winner one by one
    failed: tuple[str, ...] = ()


def drawn_model(rng: random.Random, tokens: int, length: int, near_ties: bool) -> Model:
    numbers = np.random.default_rng(rng.getrandbits(32))
    heads, width, size = rng.choice((1, 1, 2)), rng.choice((1, 2, 3)), rng.choice((0.4, 1.0, 2.0))
    own = near_ties or rng.random() < 0.7
    config = Config(
        vocabulary=tuple("abcdef"[:tokens]), dim=rng.choice((2, 3, 4)), blocks=1, heads=heads, head_dim=width, norm="none",
        kv_heads=int(rng.random() < 0.3), mask=rng.choice(("causal", "causal", "strict", "none")) if length > 1 else "causal",
        scale=rng.choice(("sqrt", "none")), positions=rng.choice(("table", "table", "none", "sinusoidal")), length=length,
        unembedding="own" if own else "tied", residual=rng.random() < 0.8,
    )  # fmt: skip

    def some(*shape: int) -> Any:
        return numbers.standard_normal(shape) * size

    def perhaps(*shape: int) -> Any:
        return some(*shape) if rng.random() < 0.3 else None

    dim, keys = config.dim, config.key_heads
    attn = AttentionWeights(
        W_Q=some(heads, dim, width), W_K=some(keys, dim, width), W_V=some(keys, dim, width), W_O=some(heads, width, dim),
        b_Q=perhaps(heads, width), b_K=perhaps(keys, width), b_V=perhaps(keys, width), b_O=perhaps(dim),
    )  # fmt: skip
    unembedding = some(dim, tokens) if own else None
    if near_ties and unembedding is not None:
        for token in range(1, tokens):
            if rng.random() < 0.7:
                unembedding[:, token] = unembedding[:, 0] + some(dim) * 10.0 ** -rng.randint(12, 18)
    return Model(
        config,
        Weights(
            W_E=some(tokens, dim), W_pos=some(length, dim) if config.positions == "table" else None,
            blocks=(BlockWeights(attn=attn),), W_U=unembedding, b_U=None if near_ties else perhaps(tokens),
        ),
    )  # fmt: skip


def winners(model: Model, ids: Any) -> Any:
    """The token that leads after each input [n, T], proved one by one: in a batch, then in limbs. −1: undecided, −2: a tie."""
    number, names = len(ids), model.config.vocabulary
    batch = Batch(0, ids, np.zeros((number, 1, 1), dtype=int), np.zeros(number, dtype=int), ("demanded",))
    said, found = Deciding(model)(batch), np.zeros(number, dtype=int)
    for n, _, winner, _ in said["wrong"]:
        found[n] = winner
    for n, (answer,) in said["open"].items():
        found[int(n)] = -1 if not answer["proved"] else -2 if answer["ties"] else names.index(answer["token"])
    return found


def tried(rng: random.Random) -> Tried:
    """All rules and budgets, on one network and one domain."""
    tokens, length = rng.randint(2, 6), rng.randint(1, 5)
    near_ties = rng.random() < _NEAR_TIES
    model = drawn_model(rng, tokens, length, near_ties)
    names = model.config.vocabulary
    choices = [tuple(rng.sample(names, rng.randint(1, tokens))) for _ in range(length)]
    while prod(map(len, choices)) > (_MOST_NEAR if near_ties else _MOST):
        place = max(range(length), key=lambda n: len(choices[n]))
        choices[place] = choices[place][:-1]
    domain = Product(tuple(choices))
    ids = np.array([model.ids(each) for each in domain])
    true, surveying, failed, met = winners(model, ids), Surveying(model, None), list[str](), 0
    for word, budget in product(ROOTS, BUDGETS):
        rule = Fitted(read_rule(word), names)
        wanted = rule.arrays(ids, names)[0][:, 0]
        right, undecided = int((true == wanted).sum()), int((true == -1).sum())
        survey = Survey(model, domain, rule, budget)
        said = [surveying(asked) for asked in survey]
        low, high = sum(each["right"] for each in said), domain.size - sum(each["wrong"] for each in said)
        met += low == high
        if low > right + undecided or high < right or (budget == BUDGETS[-1] and (low, high - low) != (right, undecided)):
            failed.append(f"{word}, {budget} sets: {low} to {high} are right, one by one {right} ({undecided} undecided)")
    counts = len(ROOTS) * len(BUDGETS)
    return Tried(model.config.heads, domain.size, counts, met, int((true == -1).sum()), tuple(failed))


def trials(number: int, seed: int = 0, workers: int | None = 1) -> Iterator[Tried]:
    return (Tried(**found) for found in drawn(tried, "network", number, seed, workers))


def run(progress: Progress) -> Result:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for n, result in enumerate(trials(NUMBER, workers=None), 1):
        counts["networks"] += 1
        counts["of them, of several heads"] += result.heads > 1
        counts["inputs, one by one"] += result.inputs
        counts["of them, undecided"] += result.undecided
        counts["counts by sets"] += result.counts
        counts["of them, from below and above the same"] += result.met
        failed += result.failed
        if n % 50 == 0:
            progress(f"{n} of {NUMBER} networks, {counts['counts by sets']:,} counts, {len(failed)} failed")
    budgets = ", ".join(f"{budget:,}" for budget in BUDGETS)
    told = (
        f"{NUMBER:,} networks of one attention layer drawn at random, of one or two heads, two to six tokens and up to five "
        f"positions, each with a domain; {_NEAR_TIES:.0%} of them have tokens whose logits nearly tie, down to 10^−18. "
        f"For every rule (max, min, first, last) and budget ({budgets} sets) the true number of right answers, input by input "
        "in certified batches and limbs, must lie between the two counts by sets; with the last budget, they must equal it."
    )
    rows = tuple((name, f"{number:,}") for name, number in counts.items())
    parts = (told, Table(("", "number"), rows), f"{len(failed)} counts were false.")
    return Result("trials_sets", "Counts by sets of inputs", parts, {"counts": counts, "failed": failed})
