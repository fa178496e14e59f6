"""The next token of a GPT-2-sized model, proved: against a plain NumPy float64 pass of the same model, in the same run."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import gpt2_peer
from benchmarks.result import Progress, Result, Table
from exactformer.certified import CertifiedArithmetic, Prepared, certify, generate
from exactformer.model import AttentionWeights, BlockWeights, Config, MlpWeights, Model, NormWeights, Weights, arithmetic, forward
from exactformer.model.arb_arithmetic import ArbArithmetic
from exactformer.model.cache import Cache
from exactformer.numbers import exact

LENGTHS, ROUNDS, TOKENS, BITS, THREADS = (8, 32, 128), 5, 5, (126, 189, 252), (1, 2)
KINDS = ("initialised", "trained-like")


@dataclass(frozen=True)
class Shape:
    blocks: int = 12
    dim: int = 768
    heads: int = 12
    vocabulary: int = 50257
    positions: int = 1024


SMALL = Shape(2, 64, 4, 500, 64)


def run(progress: Progress) -> Result:
    measured: dict[str, Any] = {}
    for kind in KINDS:
        for threads in THREADS:
            found = measured[f"{kind}, {threads}"] = _alone(threads, _measure, kind, threads)
            for length in LENGTHS:
                progress(f"certified {kind}, {threads} threads, T={length}: {median(found['passes'][length]['known']):.3g} × NumPy")
    against = _alone(1, _against_arb)
    progress(f"certified: {median(against):.3g} × faster than arb at a small size")
    return _result(measured, against)


def _result(measured: dict[str, Any], against: list[float]) -> Result:
    rows, others = [], []
    for name, found in measured.items():
        kind, threads = name.split(", ")
        for length, passes in found["passes"].items():
            limbs, lead = "-".join(map(str, passes["schedule"])), f"{passes['margin']:.2g}"
            rows.append((kind, threads, str(length), _spread(passes["known"]), _spread(passes["scouted"]), limbs, lead))
        bits = [f"{median(found['bits'][bits]):.3g}" for bits in BITS]
        once = (f"{found['prepared']:.0f} s", f"{found['memory']:.2f} GB")
        others.append((kind, threads, _spread(found["generated"]), *bits, *once))
    text = (
        "Time of a certified pass (the argmax of the exact network at the last position, proved against every other "
        "logit) divided by that of GPT-2 as one writes it in NumPy float64 (`benchmarks/gpt2_peer.py`), for models of "
        "GPT-2 small's shape with random float32 weights. *known*: the growth of radii is known from an earlier prompt of "
        "the model; *scouted*: with the scout pass that finds it. Every run was proved. Processor time on one thread, "
        f"wall time on two. Median (least–largest) of {ROUNDS} rounds in turn."
    )
    more = (
        f"Generation with keys and values kept: time a token, after the first of {TOKENS}, divided by that of a float64 "
        "pass of one token with keys and values kept. Then a pass of 8 tokens with the same number of bits in every "
        "block, divided by the NumPy pass. Then the norms, computed once a model; and the most memory resident above the "
        "weights and the NumPy program's, from the norms to the first token."
    )
    size = f"{SMALL.blocks} blocks, dimension {SMALL.dim}, 8 tokens"
    arb = f"At a small size ({size}) balls of Arb at 384 bits take {_spread(against)} times as long as a pass of 7 limbs."
    tables = (
        text, Table(("weights", "threads", "T", "known", "scouted", "limbs by block", "lead"), tuple(rows)), more,
        Table(("weights", "threads", "a token", *(f"{bits} bits" for bits in BITS), "norms", "memory"), tuple(others)), arb,
    )  # fmt: skip
    data = {"measured": {name: _plain(found) for name, found in measured.items()}, "arb": against, "repetitions": ROUNDS}
    return Result("certified", "Certified passes at GPT-2 size", tables, data)


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {key: {str(k): v for k, v in value.items()} if isinstance(value, dict) else value for key, value in found.items()}


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})"


def _alone(threads: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """In a process of its own: the number of threads is fixed when NumPy is loaded."""
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    try:
        with get_context("spawn").Pool(1) as pool:
            return pool.apply(function, arguments)
    finally:
        del os.environ["OPENBLAS_NUM_THREADS"]
        if before is not None:
            os.environ["OPENBLAS_NUM_THREADS"] = before


def _measure(kind: str, threads: int) -> dict[str, Any]:
    clock = time.process_time if threads == 1 else time.perf_counter
    tensors = random_tensors(kind, Shape())
    model, peer = gpt2_model(tensors, Shape()), gpt2_peer.load(tensors)
    before = _resident()
    prepared = Prepared(model)
    start = time.perf_counter()
    prepared.prepare()
    norms = time.perf_counter() - start
    certify(model, _ids(8), prepared=prepared)
    memory = (_resident() - before) / 2**30
    passes = {length: _passes(model, peer, prepared, length, clock) for length in LENGTHS}
    ids = _ids(8)
    plain = [_seconds(lambda: gpt2_peer.forward(peer, ids, 12), clock) for _ in range(ROUNDS)]
    bits = {wanted: [_with_bits(model, prepared, wanted, clock) / median(plain)] for wanted in BITS}
    generated = _generated(model, prepared, clock)
    return {"passes": passes, "generated": generated, "bits": bits, "prepared": norms, "memory": memory}


def _with_bits(model: Model, prepared: Prepared, bits: int, clock: Callable[[], float]) -> float:
    """The same limbs in all blocks."""
    schedule = (bits // 21 + 1,) * (Shape().blocks + 1)
    certify(model, _ids(8), prepared=prepared, schedule=schedule)  # not timed: slices are cut, and tables built
    return _seconds(lambda: certify(model, _ids(8), prepared=prepared, schedule=schedule), clock)


def _passes(model: Model, peer: Any, prepared: Prepared, length: int, clock: Callable[[], float]) -> dict[str, Any]:
    ids, known, scouted = _ids(length), [], []
    prepared.growth = None
    certify(model, ids, prepared=prepared)  # slices are cut here, and tables built
    result = certify(model, ids, prepared=prepared)
    for _ in range(ROUNDS):
        plain = _seconds(lambda: gpt2_peer.forward(peer, ids, 12), clock)
        known.append(_seconds(lambda: certify(model, ids, prepared=prepared), clock) / plain)
    for _ in range(2):  # a scout needs the floats of every matrix: fewer rounds
        prepared.growth = None
        plain = _seconds(lambda: gpt2_peer.forward(peer, ids, 12), clock)
        scouted.append(_seconds(lambda: certify(model, ids, prepared=prepared), clock) / plain)
    floats = gpt2_peer.forward(peer, ids, 12)[-1]
    if not result.proved or result.margin is None or result.token != int(np.argmax(floats)):
        raise AssertionError(f"T={length}: not proved, or not the token of the floats: {result.why}")
    margin = float(result.margin[0])
    return {"known": known, "scouted": scouted, "schedule": result.schedule, "attempts": result.attempts, "margin": margin}


def _generated(model: Model, prepared: Prepared, clock: Callable[[], float]) -> list[float]:
    ids = _ids(8)
    start, times = clock(), []
    for result in generate(model, ids, TOKENS, prepared=prepared):
        times.append(clock() - start)
        if not result.proved:
            raise AssertionError(f"a token was not proved: {result.why}")
        start = clock()
    ops, cache = arithmetic("float64"), Cache()
    forward(model, ids, ops, _silent, cache)
    plain = [_seconds(lambda: forward(model, [1], ops, _silent, cache), clock) for _ in range(TOKENS)]
    return [t / median(plain[1:]) for t in times[1:]]


def _against_arb() -> list[float]:
    ratios = []
    for seed in range(3):
        model = gpt2_model(random_tensors("initialised", SMALL, seed), SMALL)
        ids = np.random.default_rng(seed).integers(0, SMALL.vocabulary, 8).tolist()
        ops = CertifiedArithmetic(schedule=(7,))
        forward(model, ids, ops, _silent)
        ours = median(_seconds(lambda: forward(model, ids, ops, _silent), time.process_time) for _ in range(3))  # noqa: B023
        ratios.append(_seconds(lambda: forward(model, ids, ArbArithmetic(384), _silent), time.process_time) / ours)  # noqa: B023
    return ratios


def _silent(name: str, op: str, value: Any, *reads: str, remarks: Any = ()) -> Any:
    return value


def _seconds(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    gc.collect()
    start = clock()
    work()
    return clock() - start


def _ids(length: int) -> list[int]:
    return [int(i) for i in np.random.default_rng(1).integers(0, Shape().vocabulary, length)]


def _resident() -> int:
    """Most bytes resident so far."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def random_tensors(kind: str, shape: Shape, seed: int = 0) -> dict[str, Any]:
    """Weights as the transformers library names them: as before training, or with large gains, outliers and sharp logits."""
    random, trained, d = np.random.default_rng(seed), kind == "trained-like", shape.dim
    wide = (768 / d) ** 0.5
    outliers = random.choice(d, 4, replace=False)

    def some(*size: int, before: float, after: float, outlier: float = 1) -> Any:
        values = random.standard_normal(size, dtype=np.float32) * np.float32(after if trained else before)
        if trained and outlier != 1:
            values[..., outliers] *= np.float32(outlier)
        return values

    def gain(level: float, spread: float, outlier: float) -> Any:
        values = np.exp(random.standard_normal(d) * spread + level) if trained else np.ones(d)
        values[outliers] *= outlier if trained else 1
        return values.astype(np.float32)

    tensors = {
        "wte.weight": some(shape.vocabulary, d, before=0.02 * wide, after=0.14, outlier=3),
        "wpe.weight": some(shape.positions, d, before=0.01 * wide, after=0.05, outlier=40),
    }
    small = 0.02 * wide / (2 * shape.blocks) ** 0.5
    for n in range(shape.blocks):
        h = f"h.{n}"
        for ln in ("ln_1", "ln_2"):
            tensors |= {f"{h}.{ln}.weight": gain(-1.2, 0.4, 0.2), f"{h}.{ln}.bias": some(d, before=0, after=0.05)}
        tensors |= {
            f"{h}.attn.c_attn.weight": some(d, 3 * d, before=0.02 * wide, after=0.14 * wide),
            f"{h}.attn.c_attn.bias": some(3 * d, before=0, after=0.2),
            f"{h}.attn.c_proj.weight": some(d, d, before=small, after=0.1 * wide, outlier=4),
            f"{h}.attn.c_proj.bias": some(d, before=0, after=0.1),
            f"{h}.mlp.c_fc.weight": some(d, 4 * d, before=0.02 * wide, after=0.13 * wide),
            f"{h}.mlp.c_fc.bias": some(4 * d, before=0, after=0.1) - np.float32(0.15 * trained),
            f"{h}.mlp.c_proj.weight": some(4 * d, d, before=small, after=0.085 * wide, outlier=10),
            f"{h}.mlp.c_proj.bias": some(d, before=0, after=0.1),
        }
    return tensors | {"ln_f.weight": gain(1.0, 0.3, 0.1), "ln_f.bias": some(d, before=0, after=0.1)}


def gpt2_model(tensors: dict[str, Any], shape: Shape) -> Model:
    """The same weights as a model: views of them."""
    d, heads = shape.dim, shape.heads

    def block(h: str) -> BlockWeights:
        joint, biases = tensors[f"{h}.attn.c_attn.weight"], tensors[f"{h}.attn.c_attn.bias"]
        parts = {c: slice(i * d, (i + 1) * d) for i, c in enumerate("QKV")}
        attention = {f"W_{c}": joint[:, part].reshape(d, heads, -1).transpose(1, 0, 2) for c, part in parts.items()}
        attention |= {f"b_{c}": biases[part].reshape(heads, -1) for c, part in parts.items()}
        attention |= {"W_O": tensors[f"{h}.attn.c_proj.weight"].reshape(heads, -1, d), "b_O": tensors[f"{h}.attn.c_proj.bias"]}
        mlp = MlpWeights(
            W_in=tensors[f"{h}.mlp.c_fc.weight"], b_in=tensors[f"{h}.mlp.c_fc.bias"],
            W_out=tensors[f"{h}.mlp.c_proj.weight"], b_out=tensors[f"{h}.mlp.c_proj.bias"],
        )  # fmt: skip
        return BlockWeights(attn=AttentionWeights(**attention), mlp=mlp, ln1=norm(f"{h}.ln_1"), ln2=norm(f"{h}.ln_2"))

    def norm(name: str) -> NormWeights:
        return NormWeights(w=tensors[f"{name}.weight"], b=tensors[f"{name}.bias"])

    for tensor in tensors.values():
        tensor.flags.writeable = False
    config = Config(
        vocabulary=tuple(map(str, range(shape.vocabulary))), dim=d, blocks=shape.blocks, norm="pre", mask="causal", scale="sqrt",
        heads=heads, epsilon=exact("1e-5"), final_norm=True, positions="table", length=shape.positions, mlp=4 * d,
        activation="gelu_tanh",
    )  # fmt: skip
    blocks = tuple(block(f"h.{n}") for n in range(shape.blocks))
    return Model(config, Weights(W_E=tensors["wte.weight"], W_pos=tensors["wpe.weight"], blocks=blocks, ln_final=norm("ln_f")))
