"""Eight threads on different models give what one thread gives: no precision leaks from one computation into another."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import flint

from exactformer.numbers import Undefined
from exactformer.trace import run
from random_models import random_model, random_tokens


def results(seed: int) -> list[str]:
    rng = random.Random(seed)
    model = random_model(rng, dims=(2, 3, 4), blocks=2)
    pass_ = run(model, random_tokens(rng, model))
    digits = 10 + 20 * (seed % 8)
    logits = [v.why if isinstance(v, Undefined) else f"{v} {v.digits(digits)}" for v in pass_.logits.flat if not tie(v)]
    return [*logits, *(str(out.token) for out in pass_.output)]


def tie(value: object) -> bool:
    """Rationals whose decimals end may be ties, which have no digits."""
    return getattr(value, "status", "") == "exact"


def test_eight_threads_agree_with_one() -> None:
    seeds = list(range(48))
    alone = [results(seed) for seed in seeds]
    precision = flint.ctx.prec
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(results, seeds))
    assert together == alone
    assert flint.ctx.prec == precision
    assert sum(map(len, alone)) > 200
