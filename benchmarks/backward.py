"""What a gradient costs: the backward pass with the gradient of every weight, against the forward pass that it starts from."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.models import VOCABULARY, Problem, Size, exact_model, problems
from benchmarks.result import Progress, Result, Table
from exactformer.trace import gradient
from exactformer.trace import run as trace

SIZES = tuple(Size(*s) for s in ((2, 4, 1), (4, 4, 1), (8, 8, 1), (16, 16, 1), (4, 4, 2)))
SEEDS, ROUNDS = 3, 5


def run(progress: Progress) -> Result:
    rows, data = [], []
    for size in SIZES:
        ratios = [median(_ratio(problem) for _ in range(ROUNDS)) for problem in problems(size, SEEDS)]
        progress(f"backward {size}: {median(ratios):.3g} × forward")
        rows.append(
            (str(size.dim), str(size.length), str(size.blocks), f"{median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})")
        )
        data.append({"dim": size.dim, "length": size.length, "blocks": size.blocks, "ratios": ratios})
    text = (
        "Processor time of the backward pass (the gradient of the mean cross-entropy by every step and every weight, exactness "
        "recovered where it is proved) divided by that of the forward pass that it starts from, both traced, in exact arithmetic. "
        f"Median (least–largest) over {SEEDS} random models a size, {ROUNDS} rounds each, every time from fresh numbers."
    )
    table = Table(("d", "T", "blocks", "backward / forward"), tuple(rows))
    return Result("backward", "The backward pass against the forward pass", (text, table), {"sizes": data, "repetitions": ROUNDS})


def _ratio(problem: Problem) -> float:
    model = exact_model(problem)
    tokens = tuple(VOCABULARY[i] for i in problem.tokens)
    forward, passed = _timed(lambda: trace(model, tokens))
    backward, _ = _timed(lambda: gradient(passed, tokens))
    return backward / forward


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
