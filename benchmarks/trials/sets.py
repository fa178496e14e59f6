"""Counts by sets of inputs, tried on networks drawn at random, against counts input by input.

All are of one attention layer; vocabularies, positions, masks, heads, biases, rules, domains and budgets are drawn. Many networks
have tokens whose logits nearly tie, by so little that floats cannot tell them apart.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from benchmarks.result import Progress, Result, Table
from exactformer.model import AttentionWeights, BlockWeights, Config, Model, Weights
from exactformer.proofs import Product, Report, prove
from exactformer.proofs.boxes import ROOTS
from exactformer.proofs.expressions import read_rule
from exactformer.proofs.fitting import Fitted

NUMBER = 3000
_NEAR_TIES = 0.2  # the share of networks that have them
_MOST, _MOST_NEAR = 400, 30  # inputs of a domain; where logits nearly tie, which takes limbs
_ENOUGH = 10**6  # a budget that is never used up


@dataclass(frozen=True)
class Tried:
    heads: int
    budget: int
    inputs: int
    right: tuple[int, int]  # by sets: between these
    true: tuple[int, int]  # one by one: so many, and so many undecided
    failed: str = ""


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


def tried(rng: random.Random) -> Tried:
    tokens, length = rng.randint(2, 6), rng.randint(1, 5)
    near_ties = rng.random() < _NEAR_TIES
    model = drawn_model(rng, tokens, length, near_ties)
    names = model.config.vocabulary
    choices = [tuple(rng.sample(names, rng.randint(1, tokens))) for _ in range(length)]
    while prod(map(len, choices)) > (_MOST_NEAR if near_ties else _MOST):
        place = max(range(length), key=lambda n: len(choices[n]))
        choices[place] = choices[place][:-1]
    word, domain, budget = rng.choice(list(ROOTS)), Product(tuple(choices)), rng.choice((1, 12, 200, _ENOUGH))
    rule = Fitted(read_rule(word), names)
    every = prove(model, domain, rule, arithmetic_name="certified", workers=1)
    by_sets = prove(model, domain, rule, arithmetic_name="certified", workers=1, sets=budget)
    (low, high), (least, open_) = _right(by_sets), (every.counts["proved"], every.counts["undecided"])
    failed = ""
    if low > least + open_ or high < least:
        failed = f"{word}: by sets between {low} and {high} are right, one by one {least} (and {open_} undecided)"
    elif budget == _ENOUGH and (low, high - low) != (least, open_):
        failed = f"{word}: by sets {low} are right and {high - low} undecided, one by one {least} and {open_}"
    return Tried(model.config.heads, budget, domain.size, (low, high), (least, open_), failed)


def _right(report: Report) -> tuple[int, int]:
    return report.counts["proved"], report.sequences - report.counts["refuted"]


def trials(number: int, seed: int = 0) -> Iterator[Tried]:
    for n in range(number):
        result = tried(random.Random(f"{seed} {n}"))
        yield Tried(**vars(result) | {"failed": f"network {n} of seed {seed}: {result.failed}"}) if result.failed else result


def run(progress: Progress) -> Result:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for n, result in enumerate(trials(NUMBER), 1):
        low, high = result.right
        counts["networks"] += 1
        counts["of several heads"] += result.heads > 1
        counts["inputs"] += result.inputs
        counts["networks with a budget that was enough"] += result.budget == _ENOUGH
        counts["networks of which both counts meet"] += low == high
        counts["inputs undecided by sets"] += high - low
        counts["inputs undecided one by one"] += result.true[1]
        failed += [result.failed] if result.failed else []
        if n % 100 == 0:
            progress(f"{n} of {NUMBER} networks, {counts['inputs']:,} inputs, {len(failed)} failed")
    told = (
        f"{NUMBER:,} networks of one attention layer drawn at random, of one or two heads, two to six tokens and up to five "
        f"positions; {_NEAR_TIES:.0%} of them have tokens whose logits nearly tie, down to 10^−18. "
        "Rules (max, min, first, last), domains and budgets are drawn. The true number of right answers, input by input in "
        "certified batches and limbs, must lie between the two counts by sets; where the budget is enough, they must equal it."
    )
    rows = tuple((name, f"{number:,}") for name, number in counts.items())
    parts = (told, Table(("", "number"), rows), f"{len(failed)} counts were false.")
    return Result("trials_sets", "Counts by sets of inputs", parts, {"counts": counts, "failed": failed})
