"""What a gradient costs: the backward pass with the gradient of every weight, against the forward pass that it starts from."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks.models import VOCABULARY, Problem, Size, exact_model, problems
from benchmarks.result import Progress, Result, Table
from exactformer.numbers import exact
from exactformer.trace import gradient
from exactformer.trace import run as trace

SIZES = tuple(Size(*s) for s in ((2, 4, 1), (4, 4, 1), (8, 8, 1), (16, 16, 1), (4, 4, 2)))
SEEDS, ROUNDS = 3, 5
KINDS: dict[str, dict[str, Any]] = {
    "post-norm, ε = 0, ReLU": {},
    "pre-norm, ε = 1e-5, GELU, scaled": {"norm": "pre", "epsilon": exact("1e-5"), "activation": "gelu_tanh", "scale": "sqrt"},
}


def run(progress: Progress) -> Result:
    rows, data = [], []
    for kind, changes in KINDS.items():
        for size in SIZES:
            ratios = [median(_ratio(problem, changes) for _ in range(ROUNDS)) for problem in problems(size, SEEDS)]
            progress(f"backward {kind}, {size}: {median(ratios):.3g} × forward")
            spread = f"{median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})"
            rows.append((kind, str(size.dim), str(size.length), str(size.blocks), spread))
            data.append({"kind": kind, "dim": size.dim, "length": size.length, "blocks": size.blocks, "ratios": ratios})
    text = (
        "Processor time of the backward pass (the gradient of the mean cross-entropy by every step and every weight, exactness "
        "recovered where it is proved) divided by that of the forward pass that it starts from, both traced, in exact arithmetic. "
        f"Median (least–largest) over {SEEDS} random models a size, {ROUNDS} rounds each, every time from fresh numbers."
    )
    table = Table(("model", "d", "T", "blocks", "backward / forward"), tuple(rows))
    return Result("backward", "The backward pass against the forward pass", (text, table), {"sizes": data, "repetitions": ROUNDS})


def _ratio(problem: Problem, changes: dict[str, Any]) -> float:
    model = exact_model(problem)
    model = replace(model, config=replace(model.config, **changes))
    tokens = tuple(VOCABULARY[i] for i in problem.tokens)
    forward, passed = _timed(lambda: trace(model, tokens))
    backward, _ = _timed(lambda: gradient(passed, tokens))
    return backward / forward


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
