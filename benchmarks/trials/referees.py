"""The referee on trial: outputs changed in known ways land in their verdicts, and planted faults are found at their step.

Verdicts are held against a second opinion that shares no code with them: Arb at 300 bits, and fractions. Engines are the
transformers library's, of random Llamas; faults are planted in these.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.result import Progress, Result, Table
from exactformer.certificates import Prepared
from exactformer.checkpoints.modules import module_steps
from exactformer.model import Model, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers.enclosure import precision
from exactformer.numbers.formats import FORMATS, Format
from exactformer.referee import Engine, Given
from exactformer.referee.judging import Referee
from exactformer.worksheets import load

CONTROLS, FAULTS = 20_000, 200
_CAPTURED = ("q_proj", "k_proj", "v_proj", "o_proj", "layernorm", "gate_proj", "up_proj", "down_proj")
_MOVED = 4  # times the error of a careful pass: what a fault has to move its step by


def drawn_llama(seed: int, folder: Path) -> LlamaForCausalLM:
    """A random Llama with weights as large as trained ones, saved in a folder."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    heads = rng.choice([2, 4])
    config = LlamaConfig(
        vocab_size=rng.choice([11, 40]), hidden_size=16, intermediate_size=rng.choice([24, 40]),
        num_hidden_layers=rng.choice([1, 2, 3]), num_attention_heads=heads,
        num_key_value_heads=rng.choice([1, heads]), max_position_embeddings=64,
        rms_norm_eps=rng.choice([1e-5, 1e-6]), tie_word_embeddings=rng.random() < 0.5, attn_implementation="eager",
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(0, 0.4) if weight.ndim > 1 else weight.uniform_(0.5, 1.5)
            if "embed" in name:
                weight.normal_(0, 1)
    model.save_pretrained(folder)
    return model


def captured(model: Any, ids: torch.Tensor, steps: dict[str, str]) -> dict[str, Any]:
    """The outputs of modules by our names, and the logits."""
    found: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():
            if name.endswith(_CAPTURED) or name == "model.norm":
                note = module.register_forward_hook(
                    lambda m, i, o, name=name: found.__setitem__(steps[name], o[0].double().numpy())
                )
                stack.callback(note.remove)
        with torch.no_grad():
            found["logits"] = model(ids, use_cache=False).logits[0].double().numpy()
    return found


# -- faults: each changes a model for as long as it lasts, and says at which step that shows first
@contextlib.contextmanager
def one_weight(model: Any, block: int, size: float, rng: random.Random) -> Iterator[str]:
    module = rng.choice(["self_attn.q_proj", "mlp.up_proj", "mlp.down_proj", "self_attn.o_proj"])
    weight = model.model.layers[block].get_submodule(module).weight
    place = tuple(rng.randrange(n) for n in weight.shape)
    before = weight.detach().clone()
    with torch.no_grad():
        weight[place] += size
    yield f"model.layers.{block}.{module}"
    with torch.no_grad():
        weight.copy_(before)


@contextlib.contextmanager
def another_epsilon(model: Any, block: int, size: float, rng: random.Random) -> Iterator[str]:
    name = rng.choice(["input_layernorm", "post_attention_layernorm"])
    norm = model.model.layers[block].get_submodule(name)
    before, norm.variance_epsilon = norm.variance_epsilon, norm.variance_epsilon + size
    yield f"model.layers.{block}.{name}"
    norm.variance_epsilon = before


@contextlib.contextmanager
def one_head_unmasked(model: Any, block: int, size: float, rng: random.Random) -> Iterator[str]:
    head, heads = rng.randrange(model.config.num_attention_heads), model.config.num_attention_heads

    def unmask(module: Any, args: Any, kwargs: Any) -> Any:
        length = kwargs["hidden_states"].shape[1]
        hidden = torch.full((length, length), torch.finfo(kwargs["hidden_states"].dtype).min).triu(1)
        mask = hidden.expand(1, heads, length, length).clone().to(kwargs["hidden_states"].dtype)
        mask[:, head] = 0
        return args, kwargs | {"attention_mask": mask}

    note = model.model.layers[block].self_attn.register_forward_pre_hook(unmask, with_kwargs=True)
    yield f"model.layers.{block}.self_attn.o_proj"
    note.remove()


@contextlib.contextmanager
def narrow_table(model: Any, block: int, size: float, rng: random.Random) -> Iterator[str]:
    def narrow(module: Any, args: Any, kwargs: Any) -> Any:
        tables = tuple(table.to(torch.bfloat16).to(table.dtype) for table in kwargs["position_embeddings"])
        return args, kwargs | {"position_embeddings": tables}

    note = model.model.layers[block].self_attn.register_forward_pre_hook(narrow, with_kwargs=True)
    yield f"model.layers.{block}.self_attn.o_proj"
    note.remove()


PLANTED: tuple[Callable[..., Any], ...] = (one_weight, another_epsilon, one_head_unmasked, narrow_table)


def fault_trial(seed: int) -> tuple[str, str, str | None, str | None]:
    """One fault: its kind, the step where it is, the first step that is found, and the first that is found without the fault.

    A fault that moves its step by less than four times the error of a careful pass is made larger.
    """
    rng = random.Random(seed)
    plant, size = PLANTED[seed % len(PLANTED)], 2.0**-16
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = drawn_llama(seed, folder)
        worksheet = load(folder, "stored")
        steps = module_steps(folder, worksheet.model.config)
        ids = torch.tensor([[rng.randrange(model.config.vocab_size) for _ in range(10)]])
        block, again = rng.randrange(model.config.num_hidden_layers), rng.getrandbits(32)
        clean = captured(model, ids, steps)
        careful = Referee(Prepared(worksheet.model))
        first = _first_step(careful, ids, clean)
        while True:
            with plant(model, block, size, random.Random(again)) as where:
                faulty = captured(model, ids, steps)
            moved = np.sqrt(np.square(faulty[steps[where]] - clean[steps[where]]).sum(axis=-1)).max()
            found, allowed = _examined(careful, ids, faulty, steps[where])
            if moved >= _MOVED * allowed or size > 1:
                return plant.__name__.replace("_", " "), steps[where], found, first
            size *= 2


def _first_step(referee: Referee, ids: torch.Tensor, given: dict[str, Any]) -> str | None:
    return _examined(referee, ids, given, "logits")[0]


def _examined(referee: Referee, ids: torch.Tensor, given: dict[str, Any], step: str) -> tuple[str | None, float]:
    """The first step that is found, and the error of a careful pass at one step."""
    steps = {name: values for name, values in given.items() if name != "logits"}
    prompt = Given(tuple(ids[0].tolist()), 0, logits=given["logits"], steps=steps)
    records = referee.judge([(Engine("it", FORMATS["float32"], [prompt]), prompt)])
    allowed = next(each["careful"] for each in records[-1]["steps"] if each["step"] == step)
    return records[-1]["first_step"], float(allowed)


# -- verdicts on outputs that are changed in known ways
def arb_logits(model: Model, ids: list[int]) -> list[list[Fraction]]:
    """Logits by Arb at 300 bits, as the fractions in the middle: right to some eighty digits."""
    with precision(300):
        rows = forward(model, ids, ArbArithmetic(300))
        return [[_middle(entry) for entry in row] for row in rows]


def _middle(ball: Any) -> Fraction:
    assert float(ball.rad()) < 1e-60
    mantissa, exponent = ball.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def second_opinion(row: list[Fraction], tokens: list[int], format: Format, careful: Fraction) -> str:
    """The verdict by definition, from exact fractions: of several tokens, the worst."""
    order = ["right", "true tie", "near tie", "wrong by rounding", "wrong"]
    best = max(row)
    winners = [n for n, value in enumerate(row) if best - value < Fraction(1, 10**50)]

    def one(token: int) -> str:
        if token in winners:
            return "true tie" if len(winners) > 1 else "right"
        if _in_format(row[token], format) == _in_format(best, format):
            return "near tie"
        return "wrong by rounding" if best - row[token] < 4 * careful else "wrong"

    return max(map(one, tokens), key=order.index)


def _in_format(x: Fraction, format: Format) -> float:
    """By NumPy and PyTorch: the float64 next to x, rounded again. Nothing here lies near enough to a tie for that to matter."""
    if format.name == "bfloat16":
        return float(torch.tensor(float(x), dtype=torch.float64).to(torch.bfloat16))
    return float(np.dtype(format.name).type(float(x)))


def changed(rng: random.Random, row: list[Fraction], format: Format) -> tuple[str, Any]:
    """A row of logits of the format, made of the true ones, and what was done to it."""
    kind = rng.choice(["rounded", "one ulp", "swapped", "raised to the top", "noise", "all the same", "two on top"])
    values = np.array([_in_format(x, format) for x in row])
    order = np.argsort(values)[::-1]
    if kind == "one ulp":
        n = rng.randrange(len(values))
        values[n] += rng.choice([-1, 1]) * format.ulp(values)[n]
    elif kind == "swapped":
        i, j = order[0], order[rng.choice([1, 1, 2, len(values) - 1])]
        values[i], values[j] = values[j], values[i]
    elif kind == "raised to the top":
        values[rng.randrange(len(values))] = values.max() + format.ulp(values).max()
    elif kind == "noise":
        values = values + np.array([rng.gauss(0, 1) for _ in values]) * format.epsilon * 2.0 ** rng.randrange(0, 9)
        values = np.asarray(format.nearest(values))
    elif kind == "all the same":
        values[:] = 0.0
    elif kind == "two on top":
        values[order[1]] = values[order[0]]
    return kind, values


def control_trials(seed: int, number: int) -> tuple[Counter[str], list[str]]:
    """Rows of one model: how many of each verdict, and those on which the second opinion differs."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = drawn_llama(seed, folder)
        if seed % 3 == 0:  # two tokens that cannot be told apart, and some that nearly can not
            with torch.no_grad():
                head = made.get_output_embeddings().weight
                head[1] = head[0]
                head[3] = head[2] * (1 + 2.0**-22)
            made.save_pretrained(folder)
        model = load(folder, "stored").model
        referee = Referee(Prepared(model))
        ids = [rng.randrange(made.config.vocab_size) for _ in range(8)]
        true = arb_logits(model, ids)
        while sum(counts.values()) < number:
            format = rng.choice(list(FORMATS.values()))
            kinds, rows = zip(*(changed(rng, row, format) for row in true), strict=True)
            given = Given(tuple(ids), 0, logits=np.array(rows))
            records = referee.judge([(Engine("it", format, [given]), given)])
            careful = referee.careful(format).steps(tuple(ids))["logits"]
            for n, (row, record) in enumerate(zip(true, records, strict=False)):
                error = max(abs(Fraction(float(x)) - y) for x, y in zip(careful[n], row, strict=True))
                tokens = [int(t) for t in np.flatnonzero(rows[n] == rows[n].max())]
                expected = second_opinion(row, tokens, format, error)
                counts[record["verdict"]] += 1
                if record["verdict"] != expected and record["verdict"] != "undecided":
                    failed.append(f"seed {seed}, {format.name}, {kinds[n]}, position {n}: {record['verdict']}, not {expected}")
    return counts, failed


def run(progress: Progress) -> Result:
    counts: Counter[str] = Counter()
    failed: list[str] = []
    seed = 0
    while sum(counts.values()) < CONTROLS:
        found, wrong = control_trials(seed, 400)
        counts += found
        failed += wrong
        seed += 1
        progress(f"{sum(counts.values()):,} rows judged, {len(failed)} otherwise than the second opinion")
    kinds: dict[str, Counter[str]] = {}
    for trial in range(FAULTS):
        kind, where, found_step, without = fault_trial(trial)
        held = kinds.setdefault(kind, Counter())
        held["planted"] += 1
        held["found at its step"] += found_step == where
        held["something found without it"] += without is not None
        if found_step != where or without is not None:
            failed.append(f"fault {trial}, {kind} at {where}: found {found_step}; without it {without}")
        if trial % 10 == 9:
            progress(f"{trial + 1} faults, {len(failed)} failures in all")
    rows = tuple((verdict, f"{count:,}") for verdict, count in counts.most_common())
    columns = ("planted", "found at its step", "something found without it")
    faults = tuple((kind, *(f"{held[name]:,}" for name in columns)) for kind, held in kinds.items())
    return Result(
        "trials_referees", "The referee on trial",
        (
            f"{sum(counts.values()):,} rows of logits, changed in known ways, in four formats; verdicts held against Arb at 300 "
            f"bits and fractions. Otherwise than these: {sum('fault' not in line for line in failed)}.",
            Table(("verdict", "rows"), rows),
            "Faults planted in random Llamas of the transformers library (float32, eager), each large enough to move its step by "
            "four times the error of a careful pass:",
            Table(("fault", *columns), faults),
        ),
        {"counts": dict(counts), "faults": {kind: dict(held) for kind, held in kinds.items()}, "failed": failed},
    )  # fmt: skip
