"""What is claimed of published networks, proved: counts over whole domains, least leads, losses. They are not in this repository:
without them nothing is measured.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import exactformer as xf
from benchmarks.result import Progress, Result, Table
from exactformer.numbers.decimals import outwards
from exactformer.proofs import Product, Report, Sequences, Sorted, prove
from exactformer.proofs.expressions import read_rule
from exactformer.proofs.fitting import Fitted

DATA = Path(__file__).parents[1].parent / "shared" / "data"
NUMBERS = tuple(map(str, range(64)))
NORMED = 'norm = "pre"\nfinal_norm = true\nepsilon = 1e-5'
NETWORKS = {"plain": 'norm = "none"', "plain-undertrained": 'norm = "none"', "layernorm": NORMED}
_SHEET = """title = "the larger of two numbers, {name}"
weights = "{name}.safetensors"
[model]
vocabulary = [{tokens}]
dim = 32
blocks = 1
heads = 1
positions = "table"
mask = "causal"
scale = "sqrt"
unembedding = "own"
{norm}
[input]
tokens = "3 5"
"""


@dataclass(frozen=True)
class Claim:
    name: str
    says: str
    model: Any
    domain: Any
    rule: Any
    steps: int = 1


@contextmanager
def larger_of_two(name: str) -> Iterator[Any]:
    """The model of a worksheet that names the weights of one of the three networks."""
    with tempfile.TemporaryDirectory() as folder:
        tokens = ", ".join(f'"{n}"' for n in NUMBERS)
        Path(folder, "sheet.toml").write_text(_SHEET.format(name=name, tokens=tokens, norm=NETWORKS[name]))
        Path(folder, f"{name}.safetensors").write_bytes((DATA / "max-of-two" / f"{name}.safetensors").read_bytes())
        yield xf.load(Path(folder, "sheet.toml")).model


def claims() -> Iterator[Claim]:
    largest = Fitted(read_rule("max"), NUMBERS)
    for name in NETWORKS:
        with larger_of_two(name) as model:
            yield Claim(f"max of two, {name}", "the larger of two numbers below 64", model, Product((NUMBERS,) * 2), largest)
    sort = xf.load(DATA / "gpt-nano-sort" / "hf").model
    yield Claim("gpt-nano-sort", "six letters, sorted", sort, Sequences(tuple("012"), 6, 6), Sorted(6, "012"), 6)
    digits = tuple("0123456789")
    adder = Fitted(read_rule("3 reversed digits of ab + cd"), digits, 4)
    model = xf.load(DATA / "mingpt-adder").model
    yield Claim("mingpt-adder", "sums of two numbers of two digits", model, Product((digits,) * 4), adder, 3)


def proved(claim: Claim) -> Report:
    return prove(claim.model, claim.domain, claim.rule, steps=claim.steps, arithmetic_name="certified", workers=1, loss=True)


def run(progress: Progress) -> Result | None:
    if not (DATA / "max-of-two").is_dir():
        progress("claims: the published networks are not here")
        return None
    rows, data = [], []
    for claim in claims():
        start = time.process_time()
        report = proved(claim)
        seconds = time.process_time() - start
        (kind,) = report.kinds.values()
        assert kind.margin is not None
        assert report.loss is not None
        lead = outwards(kind.margin.numerator, kind.margin.denominator, 6, down=True)
        loss = [
            outwards(end.numerator, end.denominator, 8, down=down) for end, down in zip(report.loss, (True, False), strict=True)
        ]
        counts = report.counts
        rows.append(
            (
                claim.name, claim.says, f"{report.sequences:,}", *(f"{counts[v]:,}" for v in ("proved", "refuted", "undecided")),
                f"{lead} at {' '.join(kind.at)}", f"{loss[0]} to {loss[1]}", f"{seconds:.1f} s",
            )
        )  # fmt: skip
        data.append({"name": claim.name, "counts": counts, "least_lead": lead, "at": kind.at, "loss": loss, "seconds": seconds})
        progress(f"{claim.name}: {counts}")
    table = Table(
        ("network", "what it is asked for", "inputs", "right", "wrong", "undecided", "least lead, at", "mean loss", "time"),
        tuple(rows),
    )
    text = (
        "Every input of the domain, in the arithmetic certified. Right and wrong are proved; a lead is that of the demanded token "
        "over all others, at least, where it is right; the loss is the mean cross-entropy of the demanded tokens, enclosed. "
        "Processor time of one thread, tables and norms included."
    )
    return Result("claims", "What is claimed of published networks, proved", (text, table), {"rows": data})
