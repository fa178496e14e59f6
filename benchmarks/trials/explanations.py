"""Explanations of random models: all add up, and none does in which a contribution was changed, however little."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.result import Progress, Result, Table
from exactformer.arithmetics import adjoints
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights
from exactformer.numbers import Undecided, UndefinedValue, array, exact
from exactformer.trace import Explanation
from exactformer.trace import run as traced
from exactformer.trace.explanation import DoesNotAddUp, summed

MODELS, CHANGES = 25, 60  # changes of each explanation, in two arithmetics: 3,000


def _drawn(rng: random.Random, *shape: int) -> Any:
    return array([f"{rng.randint(-4, 4)}/{rng.choice((1, 2, 3))}" for _ in range(int(np.prod(shape)))]).reshape(shape)


def drawn_model(rng: random.Random) -> Model:
    dim, heads, norm = 2, rng.choice((1, 2)), rng.choice(("none", "pre", "post"))
    final, mlp = rng.random() < 0.5, rng.choice((0, 3))
    config = Config(
        vocabulary=("a", "b", "c"), dim=dim, heads=heads, blocks=rng.choice((1, 2)), norm=norm, mask="causal", scale="sqrt",
        final_norm=final, mlp=mlp, activation=rng.choice(("relu", "gelu", "silu")) if mlp else None, positions="table", length=3,
        epsilon=exact("1e-5") if norm != "none" or final else None,
    )  # fmt: skip

    def normed() -> NormWeights:
        return NormWeights(w=_drawn(rng, dim), b=_drawn(rng, dim))

    def block() -> BlockWeights:
        width = dim // heads
        q, k, v = (_drawn(rng, heads, dim, width) for _ in range(3))
        attn = AttentionWeights(W_Q=q, W_K=k, W_V=v, W_O=_drawn(rng, heads, width, dim), b_O=_drawn(rng, dim))
        inner = MlpWeights(W_in=_drawn(rng, dim, mlp), W_out=_drawn(rng, mlp, dim), b_out=_drawn(rng, dim)) if mlp else None
        ln1, ln2 = (normed() if norm != "none" and there else None for there in (True, bool(mlp)))
        return BlockWeights(attn=attn, mlp=inner, ln1=ln1, ln2=ln2)

    blocks = tuple(block() for _ in range(config.blocks))
    ln_final = normed() if final else None
    return Model(config, Weights(W_E=_drawn(rng, 3, dim), W_pos=_drawn(rng, 3, dim), blocks=blocks, ln_final=ln_final))


def changed(rng: random.Random, found: Explanation, by: Any) -> Explanation:
    """With one contribution, or one part of one, moved a little."""
    n, ops = rng.randrange(len(found.contributions)), adjoints(found.arithmetic)
    each = found.contributions[n]
    if each.parts and rng.random() < 0.5:
        k = rng.randrange(len(each.parts))
        part = replace(each.parts[k], value=summed([each.parts[k].value, by], ops))
        each = replace(each, parts=(*each.parts[:k], part, *each.parts[k + 1 :]))
    else:
        each = replace(each, value=summed([each.value, by], ops))
    return replace(found, contributions=(*found.contributions[:n], each, *found.contributions[n + 1 :]))


def tried(rng: random.Random, arithmetic: str, changes: int = CHANGES) -> tuple[str, int, list[str]]:
    """What is proved of a random model; how many changes were noticed; and what went wrong."""
    model = drawn_model(rng)
    try:
        found = traced(model, [rng.choice("abc") for _ in range(rng.randint(1, 3))], arithmetic).explain("a", "b")
    except (Undecided, UndefinedValue):
        return "no logit", 0, []
    noticed, missed = 0, []
    for _ in range(changes):
        size = rng.randint(0, 150 if arithmetic == "exact" else 20)
        wrong = changed(rng, found, adjoints(arithmetic).constant(exact(f"{rng.choice((-1, 1))}e-{size}")))
        try:
            missed.append(f"a change by 1e-{size} is called {wrong.proved(adjoints(arithmetic))}")  # undecided is missed, too
        except DoesNotAddUp:
            noticed += 1
    return found.proof, noticed, missed


def run_all(models: int, progress: Progress) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for n in range(models):
        for arithmetic in ("exact", "arb"):
            proof, noticed, missed = tried(random.Random(f"explanations {n}"), arithmetic)
            counts[f"{arithmetic}: {proof}"] += 1
            counts["changes noticed"] += noticed
            failed += [f"model {n}, {arithmetic}: {line}" for line in missed]
        if n % 5 == 4:
            progress(f"{n + 1} of {models} models, {counts['changes noticed']} changes noticed, {len(failed)} missed")
    return counts, failed


def run(progress: Progress) -> Result:
    counts, failed = run_all(MODELS, progress)
    told = (
        f"{MODELS} models drawn at random, with and without norms and MLPs, each explained in exact numbers and in balls. In each "
        f"explanation one number is changed {CHANGES} times, by 1 down to 10^−150 (in balls 10^−20)."
    )
    rows = tuple((name, f"{counts[name]:,}") for name in sorted(counts))
    return Result(
        "trials_explanations",
        "Explanations that add up, and changed ones",
        (told, Table(("what", "number"), rows), f"{len(failed)} changes were missed."),
        {"models": MODELS, "counts": counts, "failed": failed},
    )
