"""Certified passes of models drawn with every option of Llama's kind and with hostile numbers, against Arb at 700 bits: each step
inside its radius, and every proved token that of Arb.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from benchmarks.result import Progress, Result, Table
from benchmarks.trials.llamas import drawn_config
from exactformer.certificates import prove_token
from exactformer.certified import Ball, CertifiedArithmetic
from exactformer.model import Config, ConfigError, Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.weights import assembled, declared
from exactformer.numbers import Undecided, Undefined
from exactformer.numbers.enclosure import precision

NUMBER = 2_000
_BITS = 700
_SCHEDULES = ((0,), (4,), (5, 4, 0), (7, 6, 5, 4), (19,))


class Enclosed(NamedTuple):
    kind: str
    outcome: str  # inside, undecided, refused
    ratio: float = 0.0  # the largest error over its radius
    numbers: int = 0
    failed: str = ""


# -- numbers that are made to be hard
def _plain(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape)


def _huge(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape) * 2.0 ** float(rng.choice([-100, -20, 0, 0, 0, 20, 100]))


def _tiny(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape) * 2.0 ** rng.choice([-1070.0, -300.0, 0.0, 0.0, 0.0, 0.0], shape)


def _alike(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Equal scores, ties and zeros."""
    return rng.choice([0.0, 0.5, -0.5, 1.0], shape)


def _saturated(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape) * float(rng.choice([1.0, 8.0, 40.0]))


_KINDS = {"plain": _plain, "2^±100": _huge, "subnormal": _tiny, "alike": _alike, "saturated": _saturated}


def _model(config: Config, kind: str, seed: int) -> Model:
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float32, np.float64]) if kind in ("plain", "alike", "saturated") else np.float64
    values = {}
    for name, weight in declared(config).items():
        if not weight.optional or rng.random() < 0.5:
            values[name] = _KINDS[kind](rng, weight.shape).astype(dtype)
    return Model(config, assembled(config, values))


def tried(seed: int) -> Enclosed:
    rng = random.Random(seed)
    config = drawn_config(rng)
    kind = rng.choice(list(_KINDS))
    model, schedule = _model(config, kind, seed), rng.choice(_SCHEDULES)
    ids = [rng.randrange(5) for _ in range(rng.randint(1, 6))]
    try:
        peer = arb_steps(model, ids, _BITS)
        ratio, numbers = worst_ratio(model, ids, schedule, peer), _size(peer)
        answer = prove_token(model, ids, cap=7)
    except ConfigError as error:
        return Enclosed(kind, "refused", failed="" if "certified" in str(error) else f"model {seed}: {error}")
    except Undecided:
        return Enclosed(kind, "undecided")
    if not ratio <= 1:
        return Enclosed(kind, "outside", ratio, numbers, f"model {seed} ({kind}): an error of {ratio:.3g} radii")
    if answer.proved and (wrong := _wrong(model, peer, answer.token)):
        return Enclosed(kind, "wrong", ratio, numbers, f"model {seed} ({kind}): {wrong}")
    return Enclosed(kind, "inside, proved" if answer.proved else "inside, undecided", ratio, numbers)


def _wrong(model: Model, peer: dict[str, Any], token: int | None) -> str:
    """Does Arb know a larger logit than that of the token?"""
    row = peer["logits"][-1]
    with precision(_BITS):
        larger = [i for i, logit in enumerate(row) if i != token and token is not None and logit > row[token]]
    return f"token {token} was proved, {larger[0]} is larger" if larger else ""


def arb_steps(model: Model, ids: list[int], bits: int = 500) -> dict[str, Any]:
    steps: dict[str, Any] = {}

    def note(step: Any) -> Any:
        steps[step.name] = step.values
        return step.values

    forward(model, ids, ArbArithmetic(bits), note)
    return steps


def worst_ratio(model: Model, ids: list[int], schedule: tuple[int, ...], peer: dict[str, Any], moved: float = 0.0) -> float:
    """The largest error over its radius, of any step that both passes have; the stream starts with a radius of `moved` besides."""
    ratios = [0.0]

    def note(step: Any) -> Any:
        name, value = step.name, step.values
        if moved and name == "blocks.0.resid_pre":
            value = replace(value, radius=value.radius + moved)
        if isinstance(value, Ball) and name in peer and name not in ("embed", "embed_scaled", "pos_embed"):
            ratios.append(_ratio(value, peer[name]))
        return value

    forward(model, ids, CertifiedArithmetic(schedule=schedule, traced=True), note)
    return max(ratios)


def _ratio(value: Ball, peer: Any) -> float:
    if any(isinstance(entry, Undefined) for entry in peer.ravel().tolist()):
        return 0.0  # Arb cannot tell
    with precision(_BITS):
        balls = value.balls().reshape(-1, value.shape[-1])
        apart = [
            [b.mid() - p for b, p in zip(row, near, strict=True)]
            for row, near in zip(balls, peer.reshape(balls.shape), strict=True)
        ]
        if value.by_row:
            errors = [float(sum((d * d for d in row), arb(0)).sqrt().abs_upper()) for row in apart]
        else:
            errors = [float(d.abs_upper()) for row in apart for d in row]
    return max(e / r if r else (math.inf if e else 0.0) for e, r in zip(errors, value.radius.ravel().tolist(), strict=True))


def _size(peer: dict[str, Any]) -> int:
    return sum(int(np.size(values)) for values in peer.values())


def _named(counts: Counter[tuple[str, str]]) -> dict[str, int]:
    return {f"{kind}: {outcome}": count for (kind, outcome), count in counts.items()}


def run(progress: Progress) -> Result:
    counts: Counter[tuple[str, str]] = Counter()
    failed, worst, numbers = [], 0.0, 0
    for n in range(NUMBER):
        found = tried(n)
        counts[found.kind, found.outcome] += 1
        worst, numbers = max(worst, found.ratio), numbers + found.numbers
        failed += [found.failed] if found.failed else []
        if n % 100 == 99:
            progress(f"enclosures: {n + 1} of {NUMBER}, worst ratio {worst:.3f}, {len(failed)} failed")
    outcomes = sorted({outcome for _, outcome in counts})
    rows = tuple((kind, *(f"{counts[kind, outcome]:,}" for outcome in outcomes)) for kind in _KINDS)
    told = (
        f"{NUMBER:,} models with every option that Llama's kind has and numbers made to be hard, of which {numbers:,} numbers are "
        f"compared with Arb at {_BITS} bits, in passes of up to 19 limbs. The largest error over its radius: {worst:.3f}."
    )
    return Result(
        "trials_enclosures",
        "Certified passes of Llama's kind against Arb",
        (told, Table(("numbers", *outcomes), rows)),
        {"models": NUMBER, "numbers": numbers, "worst": worst, "counts": _named(counts), "failed": failed},
    )
