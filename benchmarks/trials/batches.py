"""Theorems by batches, tried on models drawn at random: what is said of an input, by batches, by single passes and by balls.

Many models have two tokens whose logits nearly tie, by a lead of as little as 10^−50: floats cannot tell them apart, and limbs can.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from benchmarks.result import Progress, Result, Table
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights, forward
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.model.changing import with_weights
from exactformer.numbers import array, exact
from exactformer.proofs import Report
from exactformer.proofs.batches import Batches, asking
from exactformer.proofs.cases import Case
from exactformer.proofs.deciding import Deciding
from exactformer.proofs.rules import demand
from exactformer.proofs.tally import Tally

CASES, RULES, DAMAGED = 20_000, 100_000, 300
LENGTH = 3
_NEAR_TIES = 0.04  # the share of models that have them
Tokens = tuple[str, ...]


@dataclass
class Tried:
    """What came of some trials, and what did not hold."""

    counts: Counter[str]
    failed: list[str]

    def __iadd__(self, other: Tried) -> Tried:
        self.counts += other.counts
        self.failed += other.failed
        return self


def drawn_model(rng: random.Random, near_tie: bool) -> Model:
    """One block or two, with or without norms, MLP, heads, windows; weights of float32, or rational where logits nearly tie."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    dim, heads, blocks, words = rng.choice((4, 6, 8)), rng.choice((1, 2)), rng.choice((1, 1, 2)), rng.choice((3, 4))
    mlp, normed, kind = rng.choice((0, dim, 2 * dim)), rng.choice(("none", "none", "pre")), rng.choice(("layer", "rms"))
    gated = bool(mlp) and normed == "pre" and rng.random() < 0.4  # without norms, values are too large for limbs
    mask = rng.choice(("causal", "causal", "causal", "none"))
    final = normed == "pre" and rng.random() < 0.7
    config = Config(
        vocabulary=tuple("abcd"[:words]), dim=dim, heads=heads, blocks=blocks, norm=normed, norm_kind=kind, final_norm=final,
        epsilon=exact("1e-5") if normed == "pre" else None, mask=mask, scale="sqrt", positions="table", length=LENGTH,
        mlp=mlp, mlp_kind="gated" if gated else "plain",
        activation=rng.choice(("relu", "gelu", "gelu_tanh", "silu")) if mlp else None, unembedding="own",
        kv_heads=1 if heads == 2 and rng.random() < 0.3 else 0, window=2 if mask == "causal" and rng.random() < 0.1 else 0,
    )  # fmt: skip

    def some(*shape: int, size: float = 1.0) -> Any:
        return (numbers.standard_normal(shape) * size).astype(np.float32)

    def norm() -> NormWeights:
        return NormWeights(w=1 + some(dim, size=0.3), b=some(dim, size=0.2) if kind == "layer" else None)

    def block() -> BlockWeights:
        keys, width = config.key_heads, config.head_dim
        attn = AttentionWeights(
            W_Q=some(heads, dim, width), W_K=some(keys, dim, width), W_V=some(keys, dim, width),
            W_O=some(heads, width, dim, size=0.5), b_Q=some(heads, width) if rng.random() < 0.3 else None,
        )  # fmt: skip
        gate = {"W_gate": some(dim, mlp)} if gated else {}
        inner = MlpWeights(W_in=some(dim, mlp), W_out=some(mlp, dim, size=0.5), **gate) if mlp else None
        return BlockWeights(
            attn=attn, mlp=inner, ln1=norm() if normed == "pre" else None, ln2=norm() if normed == "pre" and mlp else None
        )

    unembedding = _nearly_tied(rng, some(dim, words)) if near_tie else some(dim, words)
    return Model(
        config,
        Weights(
            W_E=some(words, dim), W_pos=some(LENGTH, dim), blocks=tuple(block() for _ in range(blocks)), W_U=unembedding,
            ln_final=norm() if final else None,
        ),
    )  # fmt: skip


def _nearly_tied(rng: random.Random, columns: Any) -> Any:
    """The second column is the first but for as little as 10^−50 of one entry, and both are large."""
    rows = [[exact(Fraction(float(x))) for x in row] for row in columns]
    by = exact(Fraction(rng.choice((-1, 1)), 10 ** rng.randint(3, 50)))
    for i, row in enumerate(rows):
        row[0] = 3 * row[0]
        row[1] = row[0] + (by if i == 0 else 0)
    return array(rows)


def truth(model: Model, inputs: list[Tokens]) -> list[str | None]:
    """What balls of up to 1,024 bits prove."""
    case = Case(model, "arb")
    answers = (case(tokens)[0] for tokens in inputs)
    return [answer["token"] if answer["proved"] and not answer.get("ties") else None for answer in answers]


def _inputs(model: Model) -> list[Tokens]:
    return list(product(model.config.vocabulary, repeat=LENGTH))


class Remembering(Deciding):
    """Logits, and what limbs say of an input, do not depend on the rule: they are computed once."""

    @cached_property
    def memory(self) -> dict[Any, list[Any]]:
        return {}

    def _logits(self, ids: Any, asked: tuple[int, ...]) -> list[Any]:
        key = (ids.tobytes(), ids.shape, asked)
        if key not in self.memory:
            self.memory[key] = list(super()._logits(ids, asked))
        return self.memory[key]

    def _alone(self, ids: list[int]) -> Iterator[dict[str, Any]]:
        key = tuple(ids)
        if key not in self.memory:
            self.memory[key] = list(super()._alone(ids))
        return iter(self.memory[key])


class Judge:
    """Theorems about one model, which is prepared once, as `prove` judges them."""

    def __init__(self, model: Model) -> None:
        self.model, self.deciding = model, Remembering(model)

    def __call__(self, inputs: list[Tokens], rule: Any, wrong: Any = None) -> Report:
        vocabulary = self.model.config.vocabulary
        report = Report("", "certified", tuple((token,) for token in vocabulary), len(inputs), len(inputs))
        batches = Batches(inputs, self.model.config, LENGTH, asking(rule, self.model.config, 1, None))
        tally = Tally(report, batches, self.model.config, 1, None, lambda _, sequence: demand(rule, sequence), wrong)
        for batch in batches:
            tally.add(json.loads(json.dumps(self.deciding(batch))))
        return report


def verdicts(rng: random.Random, number: int = 64) -> Tried:
    """Batch, single passes and balls: of each input they say the same, or one of them nothing."""
    near_tie = rng.random() < _NEAR_TIES
    model = drawn_model(rng, near_tie)
    inputs = rng.sample(everything := _inputs(model), 2 if near_tie else min(number, len(everything)))
    tried, single, judge = Tried(Counter(), []), Case(model, "certified"), Judge(model)
    said: dict[Tokens, str | None] = dict.fromkeys(inputs)
    for token in model.config.vocabulary:
        wrong: list[Any] = []
        report = judge(inputs, lambda _, token=token: token, wrong.append)
        missing = {failure.tokens for failure, _ in wrong}
        for tokens in inputs:
            if tokens not in missing:
                if said[tokens] is not None:
                    tried.failed.append(f"{tokens}: two tokens are proved, {said[tokens]} and {token}")
                said[tokens] = token
        tried.counts["undecided by batches"] += report.counts["undecided"]
    for tokens, true in zip(inputs, truth(model, inputs), strict=True):
        alone = single(tokens)[0]["token"]
        tried.counts["cases"] += 1
        tried.counts["the same"] += said[tokens] == alone == true
        if len({answer for answer in (said[tokens], alone, true) if answer is not None}) > 1:
            tried.failed.append(f"{tokens}: batch {said[tokens]}, single {alone}, balls {true}; {model.config}")
    return tried


def rules(rng: random.Random, number: int = 40) -> Tried:
    """Rules drawn at random, most of them wrong somewhere: a theorem is proved only where balls agree, input by input."""
    near_tie = rng.random() < _NEAR_TIES
    model = drawn_model(rng, near_tie)
    inputs, number = rng.sample(_inputs(model), 2 if near_tie else 8), 3 if near_tie else number  # limbs take their time
    true = dict(zip(inputs, truth(model, inputs), strict=True))
    tried, judge = Tried(Counter(), []), Judge(model)
    for _ in range(number):
        rule = {
            tokens: answer if answer and rng.random() < 0.9 else rng.choice(model.config.vocabulary)
            for tokens, answer in true.items()
        }
        report = judge(inputs, rule.__getitem__)
        right = sum(rule[tokens] == answer for tokens, answer in true.items())
        unknown = sum(answer is None for answer in true.values())
        tried.counts["rules"] += 1
        tried.counts[report.verdict] += 1
        if report.counts["proved"] > right + unknown or report.counts["refuted"] > len(inputs) - right:
            tried.failed.append(f"{rule}: {report.counts}, of which {right} are right; {model.config}")
        if report.verdict == "proved" and right + unknown < len(inputs):
            tried.failed.append(f"FALSE THEOREM {rule}: {true}; {model.config}")
    return tried


def damaged(rng: random.Random) -> Tried:
    """A weight changed: what the model said before is refuted where floats say so with a wide lead, and nowhere else."""
    model = drawn_model(rng, near_tie=False)
    inputs, plain = _inputs(model), FloatArithmetic("float64")

    def logits(model: Model) -> Any:
        return np.array([forward(model, model.ids(tokens), plain)[-1] for tokens in inputs])

    before = {tokens: model.config.vocabulary[i] for tokens, i in zip(inputs, logits(model).argmax(axis=1), strict=True)}
    name, weights = rng.choice(list(model.weights.named()))
    place = ",".join(str(rng.randrange(n)) for n in weights.shape)
    changed = with_weights(model, [f"{name}[{place}]={rng.choice((-4, -1, 0, 2, 5))}"])
    after, wrong, tried = logits(changed), list[Any](), Tried(Counter({"damaged": 1}), [])
    Judge(changed)(inputs, before.__getitem__, wrong.append)
    refuted = {failure.tokens: failure for failure, _ in wrong}
    for tokens, row in zip(inputs, after, strict=True):
        first, second = np.sort(row)[::-1][:2]
        says = changed.config.vocabulary[int(row.argmax())]
        expected = says != before[tokens]
        tried.counts["inputs that changed"] += expected
        if first - second > 1e-6 and expected != (tokens in refuted and refuted[tokens].verdict == "refuted"):
            tried.failed.append(f"{tokens}: floats say {says} by {first - second}, before {before[tokens]}; {name}[{place}]")
        if tokens in refuted and refuted[tokens].token not in (None, says) and first - second > 1e-6:
            tried.failed.append(f"{tokens}: said to be {refuted[tokens].token}, floats say {says}")
    return tried


def _all(progress: Progress) -> Iterator[Tried]:
    rng, done = random.Random(18), Counter[str]()
    for what, key, number in ((verdicts, "cases", CASES), (rules, "rules", RULES), (damaged, "damaged", DAMAGED)):
        while done[key] < number:
            tried = what(rng)
            before, done = done[key], done + tried.counts
            if before * 20 // number < done[key] * 20 // number:
                progress(f"{key}: {done[key]:,} of {number:,}")
            yield tried


def run(progress: Progress) -> Result:
    whole = Tried(Counter(), [])
    for tried in _all(progress):
        whole += tried
    counts = whole.counts
    table = Table(
        ("trials", "number", "what was found"),
        (
            ("inputs: batch, single passes, balls", f"{counts['cases']:,}", f"{counts['the same']:,} the same, others undecided"),
            ("rules over 8 inputs or 2", f"{counts['rules']:,}", f"{counts['proved']:,} proved, {counts['refuted']:,} refuted"),
            ("weights damaged", f"{counts['damaged']:,}", f"{counts['inputs that changed']:,} inputs changed, these refuted"),
        ),
    )  # fmt: skip
    text = (
        "Models drawn at random, one in twenty-five with two logits that nearly tie, by 10^-3 to 10^-50 of an entry. "
        f"Trials that did not hold: {len(whole.failed)}."
    )
    data = {"counts": dict(counts), "failed": whole.failed}
    return Result("trials_batches", "Theorems by batches, against single passes and balls", (text, table), data)
