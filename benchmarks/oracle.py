"""The oracle against mpmath with 50 digits: softmax of a million entries, and one head of attention over 512 tokens.

mpmath is timed on some rows, and that is scaled up to all of them. Both are processor time of one process. What mpmath gives
with 50 digits is not rounded and not proved; the oracle's output is both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import ml_dtypes
import mpmath
import numpy as np

from benchmarks.result import Progress, Result, Table
from exactformer import oracle

DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
ROWS, WIDTH, SAMPLE = 1000, 1000, 3  # of the softmax, and rows that mpmath computes
TOKENS, ENTRIES, QUERIES = 512, 64, 2  # of the head, and queries that mpmath computes
AIMS = {"float16": 300, "bfloat16": 300, "float32": 300, "float64": 5}
ROUNDS = 15


def softmax_by_mpmath(x: Any) -> Any:
    rows = []
    for row in x:
        powers = [mpmath.exp(v) for v in row]
        total = mpmath.fsum(powers)
        rows.append([p / total for p in powers])
    return rows


def head_by_mpmath(q: Any, k: Any, v: Any) -> Any:
    scale, rows = 1 / mpmath.sqrt(len(k[0])), []
    columns = list(zip(*v, strict=True))
    for query in q:
        powers = [mpmath.exp(mpmath.fdot(query, key) * scale) for key in k]
        total = mpmath.fsum(powers)
        rows.append([mpmath.fdot(powers, column) / total for column in columns])
    return rows


def numbers(x: Any) -> Any:
    return [[mpmath.mpf(float(v)) for v in row] for row in x]


def seconds(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def in_turn(ours: Callable[[], Any], theirs: Callable[[], Any], scale: float) -> tuple[float, float, float]:
    """Medians of both, what the peer takes times `scale`, and of the ratios: a slow moment hits both."""
    ours()  # tables are made once
    rounds = [(seconds(ours), seconds(theirs) * scale) for _ in range(ROUNDS)]
    return median(x for x, _ in rounds), median(y for _, y in rounds), median(y / x for x, y in rounds)


def run(progress: Progress) -> Result:
    random = np.random.default_rng(5)
    rows: list[tuple[str, ...]] = []
    data: dict[str, Any] = {}
    x = random.normal(size=(ROWS, WIDTH)) * 3
    q, k, v = (random.normal(size=(TOKENS, ENTRIES)) for _ in range(3))
    with mpmath.workdps(50):
        for dtype in DTYPES:
            name = np.dtype(dtype).name
            a, head = x.astype(dtype), tuple(m.astype(dtype) for m in (q, k, v))
            part, whole = numbers(a[:SAMPLE]), tuple(map(numbers, head))
            softmax = in_turn(lambda a=a: oracle.softmax(a).rounded(), lambda part=part: softmax_by_mpmath(part), ROWS / SAMPLE)
            attention = in_turn(
                lambda h=head: oracle.attention(*h).rounded(),
                lambda w=whole: head_by_mpmath(w[0][:QUERIES], *w[1:]), TOKENS / QUERIES,
            )  # fmt: skip
            data[name] = {"softmax": softmax, "attention": attention}
            aim, ratio = AIMS[name], softmax[2]
            told = f"{ratio:.0f} × (aim {aim} ×{'' if ratio >= aim else ', missed'})"
            rows.append((name, f"{softmax[0]:.3f} s", f"{softmax[1]:.1f} s", told, f"{attention[0]:.3f} s", f"{attention[1]:.1f} s",
                         f"{attention[2]:.0f} ×"))  # fmt: skip
            progress(f"oracle {name}: softmax {softmax[2]:.0f} × mpmath, attention {attention[2]:.0f} ×")
    columns = ("format", "softmax: oracle", "mpmath", "ratio", "head: oracle", "mpmath", "ratio")
    return Result(
        "oracle",
        "True values, correctly rounded, against mpmath",
        (
            f"Softmax of {ROWS:,} rows of {WIDTH:,} entries, and one head of attention ({TOKENS} tokens, {ENTRIES} entries). "
            f"mpmath computes {SAMPLE} rows and {QUERIES} queries with 50 digits, scaled up to all; it neither rounds nor proves. "
            f"Processor time; medians of {ROUNDS} rounds in turn.",
            Table(columns, tuple(rows)),
        ),
        data,
    )
