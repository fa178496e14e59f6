"""The next token of a GPT-2-sized model, proved: against plain passes of the same model in floats, in the same run."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from itertools import groupby
from statistics import median
from typing import Any

import numpy as np

from benchmarks import gpt2_peer, torch_peer
from benchmarks.alone import alone, resident
from benchmarks.gpt2_random import KINDS, Shape, gpt2_model, random_tensors
from benchmarks.result import Progress, Result, Table
from exactformer.arithmetics import arithmetic
from exactformer.certificates import Prepared, prove_token, prove_tokens
from exactformer.certified import CertifiedArithmetic
from exactformer.model import Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.cache import Cache

LENGTHS, ROUNDS, TOKENS, BITS, THREADS = (8, 32, 128), 5, 5, (126, 189, 252), (1, 2)
PEERS = ("NumPy", "torch float64", "torch float32")
HEADS = Shape().heads
ONE_BLOCK = Shape(blocks=1, vocabulary=512, positions=64)  # for Arb: a block of full width

Clock = Callable[[], float]
Seconds = dict[str, float]


def run(progress: Progress) -> Result:
    measured: dict[str, Any] = {}
    for kind in KINDS:
        for threads in THREADS:
            found = measured[f"{kind}, {threads}"] = alone(threads, _measure, kind, threads)
            for length, rounds in found["passes"].items():
                progress(f"certified {kind}, {threads} threads, T={length}: {_spread(_ratios(rounds, 'NumPy'))} × NumPy")
        found = measured[f"{kind}, 1"]
        found["arb"] = alone(1, _arb_block, kind) * Shape().blocks / median(_of(found["passes"][8], "certified"))
        progress(f"certified {kind}: {found['arb']:.3g} × faster than Arb")
    return _result(measured)


# -- what is measured
def _measure(kind: str, threads: int) -> dict[str, Any]:
    clock = time.process_time if threads == 1 else time.perf_counter
    tensors = random_tensors(kind, Shape())
    model = gpt2_model(tensors, Shape())
    before = resident()
    prepared = Prepared(model)
    start = time.perf_counter()
    prepared.prepare()
    once = time.perf_counter() - start
    prove_token(model, _ids(8, 0), prepared=prepared)
    memory = (resident() - before) / 2**30
    doubles = gpt2_peer.load(tensors)
    single, double = torch_peer.load(tensors, threads), torch_peer.load(doubles, threads)
    peers = {
        "NumPy": lambda ids: gpt2_peer.forward(doubles, ids, HEADS, last_only=True),
        "torch float64": lambda ids: torch_peer.forward(double, ids, HEADS).numpy(),
        "torch float32": lambda ids: torch_peer.forward(single, ids, HEADS).numpy(),
    }
    return {
        "passes": {length: _rounds(model, peers, prepared, length, clock) for length in LENGTHS},
        "bits": {bits: _with_bits(model, peers["NumPy"], prepared, bits, clock) for bits in BITS},
        "generated": _generated(model, prepared, clock),
        "prepared": once,
        "memory": memory,
    }


def _rounds(model: Model, peers: dict[str, Any], prepared: Prepared, length: int, clock: Clock) -> list[dict[str, Any]]:
    """In each a prompt that was never seen, proved, and then in floats."""
    prove_token(model, _ids(length, 0), prepared=prepared)  # not timed: slices are cut, and tables built
    for peer in peers.values():
        peer(_ids(length, 0))
    found = []
    for n in range(1, ROUNDS + 1):
        ids, answers = _ids(length, n), []
        seconds = {"certified": _seconds(lambda: answers.append(prove_token(model, ids, prepared=prepared)), clock)}  # noqa: B023
        result = answers[0]
        for name, peer in peers.items():
            seconds[name] = _seconds(lambda: answers.append(peer(ids)), clock)  # noqa: B023
        if not result.proved or result.margin is None or result.token != int(np.argmax(answers[1][-1])):
            raise AssertionError(f"T={length}: not proved, or not the token of the floats: {result.why}")
        found.append(seconds | {"attempts": result.attempts, "schedule": result.schedule, "margin": float(result.margin[0])})
    return found


def _with_bits(model: Model, peer: Any, prepared: Prepared, bits: int, clock: Clock) -> list[float]:
    """Times NumPy, with the same limbs in all blocks, whether they are enough or not."""
    ops, ids = CertifiedArithmetic(prepared.store, (bits // 21 + 1,), last_only=True), _ids(8, 0)
    prepared.store.trim(ops.limbs_at)

    def work() -> None:
        forward(model, ids, ops, _silent)

    work()  # not timed: slices are cut, and tables built
    return [_seconds(work, clock) / _seconds(lambda: peer(ids), clock) for _ in range(ROUNDS)]


def _generated(model: Model, prepared: Prepared, clock: Clock) -> list[float]:
    """A token after the first, times a pass of one token in float64, keys and values kept in both."""
    ids, times, start = _ids(8, 0), [], clock()
    for result in prove_tokens(model, ids, TOKENS, prepared=prepared):
        times.append(clock() - start)
        if not result.proved:
            raise AssertionError(f"a token was not proved: {result.why}")
        start = clock()
    ops, cache = arithmetic("float64"), Cache()
    forward(model, ids, ops, _silent, cache)
    plain = [_seconds(lambda: forward(model, [1], ops, _silent, cache), clock) for _ in range(TOKENS)]
    return [t / median(plain[1:]) for t in times[1:]]


def _arb_block(kind: str) -> float:
    """Seconds of a block of full width in balls of Arb, entry by entry, for 8 tokens; the weights are balls already."""
    model, ops = gpt2_model(random_tensors(kind, ONE_BLOCK), ONE_BLOCK), ArbArithmetic(384)
    ids = [n * 60 for n in range(8)]
    forward(model, ids, ops, _silent)
    return _seconds(lambda: forward(model, ids, ops, _silent), time.process_time)


def _silent(step: Any) -> Any:
    return step.values


def _seconds(work: Callable[[], Any], clock: Clock) -> float:
    gc.collect()
    start = clock()
    work()
    return clock() - start


def _ids(length: int, seed: int) -> list[int]:
    return [int(i) for i in np.random.default_rng((length, seed)).integers(0, Shape().vocabulary, length)]


# -- what is told
def _of(rounds: list[dict[str, Any]], name: str) -> list[float]:
    return [each[name] for each in rounds]


def _ratios(rounds: list[dict[str, Any]], peer: str) -> list[float]:
    return [each["certified"] / each[peer] for each in rounds]


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})"


def _result(measured: dict[str, Any]) -> Result:
    passes, others = [], []
    for name, found in measured.items():
        kind, threads = name.split(", ")
        for length, rounds in found["passes"].items():
            limbs = ", ".join(f"{n} × {len(list(same))}" for n, same in groupby(rounds[-1]["schedule"]))
            attempts = f"{sum(_of(rounds, 'attempts')) / len(rounds):.2g}"
            passes.append((kind, threads, str(length), *(_spread(_ratios(rounds, peer)) for peer in PEERS), attempts, limbs))
        bits = [_spread(found["bits"][bits]) for bits in BITS]
        arb = f"{found['arb']:.3g}" if "arb" in found else ""
        once = (f"{found['prepared']:.0f} s", f"{found['memory']:.2f} GB")
        others.append((kind, threads, _spread(found["generated"]), *bits, arb, *once))
    first = (
        "Time of a certified pass (the argmax of the exact network at the last position, proved against every other "
        "logit) divided by that of GPT-2 as one writes it in NumPy float64 (`benchmarks/gpt2_peer.py`) and in torch "
        "(`benchmarks/torch_peer.py`), which compute the logits of the last position too. Models of GPT-2 small's shape "
        "with random float32 weights (`benchmarks/gpt2_random.py`), prepared; every round has a prompt that the model "
        "never saw. Every token was proved, and is that of NumPy. Processor time on one thread, wall time on two. Median "
        f"(least–largest) of {ROUNDS} rounds in turn; *passes* until the proof, a prompt; *limbs* of 21 bits "
        "(0 stands for float64) × the number of halves of blocks, and at the end the head, that have so many."
    )
    second = (
        f"*a token*: time of one generated, after the first of {TOKENS}, with keys and values kept, divided by that of a "
        "float64 pass of one token with keys and values kept. *… bits*: a pass of 8 tokens with so many bits in every "
        "block, enough or not, divided by the NumPy pass. *Arb*: twelve times a block of this width and 8 tokens in "
        "balls of Arb at 384 bits, without the unembedding, divided by the whole certified pass. *once*: norms and "
        "scout, once a model. *memory*: the most that was resident above the weights, from the norms to the first token."
    )
    tables = (
        first, Table(("weights", "threads", "T", *(f"× {peer}" for peer in PEERS), "passes", "limbs × halves"), tuple(passes)),
        second, Table(("weights", "threads", "a token", *(f"{n} bits" for n in BITS), "Arb", "once", "memory"), tuple(others)),
    )  # fmt: skip
    data = {"measured": {name: _plain(found) for name, found in measured.items()}, "repetitions": ROUNDS}
    return Result("certified", "Certified passes at GPT-2 size", tables, data)


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {key: {str(k): v for k, v in value.items()} if isinstance(value, dict) else value for key, value in found.items()}
