"""The theorems of the networks that come with the package, with something damaged: a weight, or the rule at one input.

A damaged network is held against PyTorch in float64, which knows nothing of ours: where it leads clearly, a proof says the same.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
import torch
from training.networks.network import logits

import exactformer as xf
from benchmarks.networks import NETWORKS
from benchmarks.result import Progress, Result, Table
from benchmarks.trials.batches import Tried
from exactformer.cli.questions import Question
from exactformer.model import Model
from exactformer.model.weights import assembled
from exactformer.proofs import Report, prove
from exactformer.proofs.batches import Box, asking, parts_of

DAMAGED, CHANGED = 400, 100
SAMPLE = 200  # inputs of a trial
_CLEAR = 1e-6  # a lead that float64 does not mistake
Tokens = tuple[str, ...]


@cache
def theorem(name: str) -> Question:
    """What the worksheet of a network states, as `exactformer prove NAME` takes it."""
    return Question(xf.load(name), name, None, None, None, None, None)


def sample(rng: random.Random, question: Question, number: int = SAMPLE) -> list[Tokens]:
    """Some inputs of the domain, none twice; those of one length stand together."""
    found: set[tuple[int, ...]] = set()
    for part in (parts := parts_of(question.domain, question.vocabulary)):
        assert isinstance(part, Box)
        share = min(part.size, -(-number // len(parts)))
        found |= set(map(tuple, part.numbered(np.array(rng.sample(range(part.size), share))).tolist()))
    return [tuple(question.vocabulary[i] for i in ids) for ids in sorted(found, key=lambda ids: (len(ids), ids))]


def proved(question: Question, inputs: Any, model: Model | None = None, rule: Any = None) -> tuple[Report, dict[Tokens, Any]]:
    """The report, and what is not proved right, by its input."""
    wrong: list[Any] = []
    model = question.worksheet.model if model is None else model
    report = prove(
        model, inputs, question.rule if rule is None else rule, steps=question.steps, arithmetic_name="certified", workers=1,
        wrong=wrong.append,
    )  # fmt: skip
    given = None if question.steps == 1 else question.longest - question.steps + 1  # what follows was fed back
    return report, {failure.tokens[:given]: failure for failure, _ in wrong}


@dataclass(frozen=True)
class Changed:
    """A rule that demands another token of one input, as its first answer."""

    inner: Any
    place: Tokens
    token: str

    statement = "a rule that is changed in one place"

    def __call__(self, tokens: Tokens) -> Any:
        return self.token if tokens == self.place else self.inner(tokens)


def changed(rng: random.Random, name: str) -> Tried:
    """The rule is changed at one input: there it is refuted, and nowhere else."""
    question, tried = theorem(name), Tried(Counter({"changed": 1}), [])
    inputs = sample(rng, question)
    right = question.rule(place := rng.choice(inputs)).right
    other = rng.choice([token for token in question.vocabulary if token not in right])
    _, failed = proved(question, inputs, rule=Changed(question.rule, place, other))
    if set(failed) != {place} or failed[place].verdict != "refuted" or {failed[place].token} != right:
        tried.failed.append(f"{name}: changed at {place}, refuted at {sorted(failed)}")
    return tried


def damaged(rng: random.Random, name: str) -> Tried:
    """A weight is changed: what PyTorch answers wrongly by a clear lead is refuted, and what it answers rightly is proved."""
    question = theorem(name)
    config = question.worksheet.model.config
    weights = {name: np.array(values, dtype=np.float32) for name, values in question.worksheet.model.weights.named()}
    weight = rng.choice(list(weights))
    place = tuple(rng.randrange(n) for n in weights[weight].shape)
    new = rng.choice((-1, 1)) * 10 ** rng.uniform(-1, 2)
    weights[weight][place] = new
    model = Model(config, assembled(config, weights))
    inputs, tried = sample(rng, question), Tried(Counter({"damaged": 1}), [])
    report, wrong = proved(question, inputs, model)
    tried.counts += Counter({f"{verdict} inputs": number for verdict, number in report.counts.items()})
    tried.counts["damaged so that it was refuted"] += report.counts["refuted"] > 0
    for tokens, (right, lead) in zip(inputs, in_floats(question, model, inputs), strict=True):
        said = "proved" if tokens not in wrong else wrong[tokens].verdict
        if lead > _CLEAR and said != ("proved" if right else "refuted"):
            tried.failed.append(f"{name}: {weight}{list(place)} = {new}: {tokens} is {said}, PyTorch: {right} by {lead}")
        if said != "undecided" and lead <= _CLEAR:
            tried.counts["nearly ties, and decided"] += 1
    return tried


def in_floats(question: Question, model: Model, inputs: list[Tokens]) -> Iterator[tuple[bool, float]]:
    """Is each input answered as demanded, in float64, and by how much: the least lead up to the first answer that is wrong."""
    weights = {name: torch.tensor(np.asarray(values, dtype=float)) for name, values in model.weights.named()}
    asked = asking(question.rule, model.config, question.steps, None)
    index = {token: n for n, token in enumerate(question.vocabulary)}
    for length, same in groupby(inputs, len):
        ids = np.array([[index[token] for token in tokens] for tokens in same])
        right = torch.tensor(asked(ids)[0][:, :, :1])  # [n, steps, 1]
        fed = torch.cat([torch.tensor(ids), right[:, :-1, 0]], dim=1)
        rows = logits(weights, model.config, fed)[:, length - 1 :]
        others = rows.scatter(-1, right, -torch.inf).amax(dim=-1)
        leads = (rows.gather(-1, right)[..., 0] - others).tolist()
        for each in leads:
            heard = each[: next((n for n, lead in enumerate(each, 1) if lead < 0), len(each))]
            yield heard[-1] >= 0, min(map(abs, heard))


def _all(progress: Progress) -> Iterator[Tried]:
    rng = random.Random(1813)
    for what, number in ((changed, CHANGED), (damaged, DAMAGED)):
        for n in range(number):
            yield what(rng, NETWORKS[n % len(NETWORKS)])
            if (n + 1) % 50 == 0:
                progress(f"{what.__name__}: {n + 1} of {number}")


def run(progress: Progress) -> Result:
    whole = Tried(Counter(), [])
    for tried in _all(progress):
        whole += tried
    counts = whole.counts
    verdicts = {verdict: counts[f"{verdict} inputs"] for verdict in ("proved", "refuted", "undecided")}
    table = Table(
        ("trials", "number", "what was found"),
        (
            ("rules changed at one input", f"{counts['changed']:,}", "refuted there, and nowhere else"),
            ("weights damaged", f"{counts['damaged']:,}", f"{counts['damaged so that it was refuted']:,} refuted somewhere"),
            ("inputs of these", f"{sum(verdicts.values()):,}", ", ".join(f"{n:,} {verdict}" for verdict, n in verdicts.items())),
        ),
    )
    text = (
        f"The networks that come with the package, {SAMPLE} inputs of their domains in a trial. A damaged network is held against "
        f"PyTorch in float64: what that answers wrongly by a lead of more than {_CLEAR} is refuted, and what it answers rightly by "
        f"as much is proved. Trials that did not hold: {len(whole.failed)}."
    )
    data = {"counts": dict(counts), "failed": whole.failed}
    return Result("trials_trained", "Theorems of trained networks, with something damaged", (text, table), data)
