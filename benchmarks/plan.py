"""What `certify --plan` expects, and what proofs then take: planned over actual, for models of well-known shapes."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.alone import alone
from benchmarks.gpt2_random import Shape, gpt2_model, random_tensors
from benchmarks.result import Progress, Result, Table
from benchmarks.synthetic import SHAPES, write_model
from exactformer.certificates import Prepared, prove_token, prove_tokens
from exactformer.certified.scheduling import Growth, Outlook
from exactformer.checkpoints import open_checkpoint, outline_checkpoint
from exactformer.model import Model
from exactformer.planning.planner import PROGRAM, Plan, plan
from exactformer.render.plans import lasting
from exactformer.worksheets import outlined
from exactformer.worksheets.models import model_folder

GPT2 = "gpt2-small (float32)"
MEASURED = {
    "stories": (8, 32), "pythia-14m": (8, 32), "pythia-70m": (8,), GPT2: (8,), "smollm2-135m": (8,),
}  # fmt: skip
_GPT2 = {
    "model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257,
    "layer_norm_epsilon": 1e-05, "torch_dtype": "float32",
}  # fmt: skip
_LLAMA3 = {
    "model_type": "llama", "vocab_size": 128256, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
    "max_position_embeddings": 8192, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
PLANNED = {  # configurations as they are published, or shapes; nobody has proved anything of the last two here
    "SmolLM2-135M": SHAPES["smollm2-135m"],
    "Qwen2.5-0.5B": SHAPES["qwen2.5-0.5b"],
    "GPT-2 XL": SHAPES["gpt2-xl"],
    "Llama-3-8B": _LLAMA3 | {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336},
    "Llama-3-70B": _LLAMA3 | {"hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "intermediate_size": 28672},
}
WORKERS = 16
ROUNDS = 3
AIM = 1.3


def run(progress: Progress) -> Result:
    measured: dict[str, Any] = {}
    for name, lengths in MEASURED.items():
        with tempfile.TemporaryDirectory() as folder:
            source = _source(name, folder)
            actual = alone(1, _proved, source, lengths)
            before, after = (
                {str(length): alone(1, _planned, source, length, seen) for length in lengths} for seen in (None, actual["outlook"])
            )
        measured[name] = {"estimated": before, "derived": after, "actual": actual}
        for length in lengths:
            progress(f"plan {name}, T={length}: pass {_ratio(measured[name], 'estimated', 'pass', length):.2f} of the actual")
    alone_planned = {}
    for name in PLANNED:
        alone_planned[name] = alone(1, _large, name)
        progress(f"plan {name}: made")
    return _result(measured, alone_planned)


def _source(name: str, folder: str) -> str:
    if name in SHAPES:
        alone(1, write_model, SHAPES[name], Path(folder))
        return folder
    return name


# -- each in a process
def _planned(source: str, length: int, seen: list[Any] | None) -> dict[str, Any]:
    """From the configuration alone, or with what a scout saw."""
    outlook = None if seen is None else Outlook(tuple(Growth(*map(_frozen, each)) for each in seen[0]), seen[1])
    model, kind = _shapes(source)
    return _told(plan(model, source, kind, length, 2, 1, outlook, time.process_time))


def _large(name: str) -> dict[str, Any]:
    found = plan(_configured(PLANNED[name])[0], name, "BF16", 8, 1, WORKERS, clock=time.process_time)
    spread = {"spread": found.spread.total, "spread pass": found.spread.passes, "each": found.memory.each(WORKERS)}
    ways = {"weights": found.weights, "total": found.time.total, "obstacles": found.obstacles, "whole memory": found.memory.total}
    return _told(found) | spread | ways


def _configured(settings: dict[str, Any]) -> tuple[Model, str]:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.json"
        config.write_text(json.dumps(settings), encoding="utf-8")
        found = outline_checkpoint(config)
    return found.model, found.dtype


def _shapes(source: str) -> tuple[Model, str]:
    if source == GPT2:
        return _configured(_GPT2)
    _, found = outlined(source)
    assert found is not None
    return found.model, found.dtype


def _told(found: Plan) -> dict[str, Any]:
    return {
        "bits": found.bits, "limbs": found.limbs, "schedule": [half.limbs for half in found.halves],
        "memory": found.memory.total - PROGRAM,
        "preparation": found.time.preparation, "first": found.time.first + found.time.passes, "pass": found.time.passes,
        "token": found.time.token,
    }  # fmt: skip


def _proved(source: str, lengths: tuple[int, ...]) -> dict[str, Any]:
    program = _resident("VmRSS")
    if source == GPT2:
        model = gpt2_model(random_tensors("trained-like", Shape()), Shape())
    else:
        model = open_checkpoint(source if Path(source).is_dir() else model_folder(source)).model
    prepared, size = Prepared(model), len(model.config.vocabulary)
    once, _ = _timed(prepared.prepare)
    assert prepared.outlook is not None
    found: dict[str, Any] = {"preparation": once}
    for length in lengths:
        ids = [[int(n * 0.618 * size + 7 * k) % size for n in range(length)] for k in range(ROUNDS + 1)]
        first, _ = _timed(lambda: prove_token(model, ids[0], prepared=prepared))  # noqa: B023
        passes = [_timed(lambda: prove_token(model, each, prepared=prepared)) for each in ids[1:]]  # noqa: B023
        answers = [answer for _, answer in passes]
        growth = next((each for each in prepared.outlook.growths if each.length >= length), prepared.outlook.growths[-1])
        found[str(length)] = {
            "pass": sorted(seconds for seconds, _ in passes)[ROUNDS // 2], "first": first, "bits": sum(growth.halves),
            "limbs": max(answers[0].schedule), "schedule": list(answers[0].schedule), "attempts": [a.attempts for a in answers],
            "proved": sum(answer.proved for answer in answers), "memory": _resident("VmHWM") - program,
            "token": _token(model, prepared, ids[0]),
        }  # fmt: skip
    growths = [(each.length, each.halves, each.sizes) for each in prepared.outlook.growths]
    return found | {"outlook": [growths, prepared.outlook.lead]}


def _token(model: Model, prepared: Prepared, ids: list[int]) -> float:
    """After the first, with keys and values kept."""
    proved = prove_tokens(model, ids, ROUNDS + 1, prepared=prepared)
    next(proved)
    return sorted(_timed(lambda: next(proved, None))[0] for _ in range(ROUNDS))[ROUNDS // 2]


def _resident(what: str) -> int:
    """Bytes: now (VmRSS), or the most so far (VmHWM)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return int(status[what].split()[0]) * 1024


def _timed(work: Any) -> tuple[float, Any]:
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# -- what is told
def _ratio(found: dict[str, Any], basis: str, what: str, length: int) -> float:
    actual = found["actual"]["preparation"] if what == "preparation" else found["actual"][str(length)][what]
    return float(found[basis][str(length)][what] / actual) if actual else float("nan")


def _row(name: str, found: dict[str, Any], basis: str, length: int, first: bool) -> tuple[str, ...]:
    actual, expected = found["actual"][str(length)], found[basis][str(length)]

    def both(what: str, form: str, factor: float = 1.0) -> str:
        real = found["actual"]["preparation"] if what == "preparation" else actual[what]
        ratio = _ratio(found, basis, what, length)
        off = "" if 1 / AIM <= ratio <= AIM else " **off**"
        return f"{expected[what] * factor:{form}} / {real * factor:{form}} = {ratio:.2f}{off}"

    prepared = "" if basis == "derived" else both("preparation", ".3g")
    weighed = "" if basis == "derived" else both("memory", ".2f", 1e-9)
    once = both("first", ".3g") if first and basis == "estimated" else ""
    return (
        name, str(length), basis, both("bits", ".0f"), both("limbs", "d", 1), weighed, prepared, once,
        both("pass", ".3g"), both("token", ".3g"),
    )  # fmt: skip


def _large_row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    return (
        name, f"{found['weights'] / 1e9:.3g}", f"{found['bits']:.0f}", str(found["limbs"]),
        f"{found['whole memory'] / 1e9:,.1f} GB", lasting(found["preparation"]), lasting(found["pass"]),
        lasting(found["spread pass"]), f"{found['each'] / 1e9:,.1f} GB",
        "; ".join(each.removesuffix(": the pass would end undecided") for each in found["obstacles"] if "of memory" not in each),
    )  # fmt: skip


def _result(measured: dict[str, Any], planned: dict[str, Any]) -> Result:
    text = (
        "What `certify --plan` expects, and what proofs take: *planned / actual = ratio*, **off** where it is more than 30 % from "
        "1. *estimated*: from the configuration alone, with the table of typical growth; *derived*: with the growth that a scout "
        "saw and certify keeps. *bits* that a radius grows by from the embedding to the logits; *limbs* at the start; *memory* in "
        "GB, the most that was resident above the program itself; seconds of processor time on one thread for the *preparation* "
        "(norms and scout), the *first* pass (slices cut and tables built besides; where several lengths are proved, that of the "
        f"shortest), a *pass* (median of {ROUNDS} prompts), and the next *token* (keys and values kept). Shapes are those of "
        "`benchmarks/synthetic.py`, with random weights in bfloat16 that look trained, GPT-2 small in float32 "
        "(`benchmarks/gpt2_random.py`), and the built-in model stories. The plan times small things on the same machine, later."
    )
    rows = tuple(
        _row(name, found, basis, length, n == 0)
        for name, found in measured.items()
        for n, length in enumerate(MEASURED[name])
        for basis in ("estimated", "derived")
    )
    columns = ("model", "T", "growth", "bits", "limbs", "memory", "preparation", "first", "pass", "token")
    data = {"measured": measured, "planned": planned, "repetitions": ROUNDS, "aim": AIM}
    alone_text = (
        "**Plans and no measurements**, for 8 tokens in bfloat16 on one thread, from configurations alone: growth by the table, "
        "time from small things on this machine, as if there were as many limbs and as much memory as are wanted. "
        f"*over {WORKERS}*: a pass if it were spread over {WORKERS} workers with 10 Gbit/s between them, and the memory of each: "
        "`certify --spread` divides the memory so, and not the time of one pass. "
        "*in the way*: why such a pass would end as undecided today."
    )
    names = (
        "model", "10⁹ weights", "bits", "limbs", "memory", "preparation", "pass", f"pass over {WORKERS}", f"memory over {WORKERS}",
        "in the way",
    )  # fmt: skip
    larger = Table(names, tuple(_large_row(name, found) for name, found in planned.items()))
    return Result("plan", "Plans against proofs", (text, Table(columns, rows), alone_text, larger), data)
