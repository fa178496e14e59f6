"""Programs drawn at random, compiled, and held against their meaning in plain Python on all inputs: at a strength that is enough by
the lemma, at the smallest, with one less, with a rule changed in one place, and with a damaged weight."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.result import Progress, Result, Table
from exactformer.model import Model, forward
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.model.changing import with_weights
from exactformer.programs import Program, aggregate, apply, count, indices, mean, select, tokens
from exactformer.programs.operators import SOp
from exactformer.programs.program import Rule
from exactformer.programs.selectors import Selector
from exactformer.proofs import Report, prove

PROGRAMS = 300
LENGTH = 3
_WIDE = 1e-6  # a lead that floats are believed in
Tokens = tuple[str, ...]


def drawn_program(rng: random.Random) -> Program:
    """Two to four operations on top of tokens and indices; the last is the output."""
    pool: list[SOp] = [tokens, indices]
    for _ in range(rng.randint(2, 4)):
        pool.append(_drawn_operation(rng, pool))
    return Program(pool[-1], tuple("abc"[: rng.choice((2, 2, 3))]), "drawn")


def _drawn_operation(rng: random.Random, pool: list[SOp]) -> SOp:
    kind = rng.choice(("apply", "apply two", "count", "count", "aggregate", "mean"))
    if kind.startswith("apply"):
        return apply(_drawn_function(rng, rng.randint(2, 3)), *rng.sample(pool, 2 if kind.endswith("two") else 1))
    if kind == "count":
        return count(_drawn_selector(rng, pool))
    if kind == "mean":
        numbers = apply(_drawn_function(rng, 2), rng.choice(pool))
        return mean(_drawn_selector(rng, pool), numbers, default=rng.choice((0, 1, -1)))
    one = select(indices, apply(_drawn_function(rng, LENGTH + 1), rng.choice(pool)), "==")  # one position, or none
    held = rng.choice(pool)
    return aggregate(one & _drawn_selector(rng, pool) if rng.random() < 0.3 else one, held, default=rng.choice(("none", 0, 7)))


def _drawn_selector(rng: random.Random, pool: list[SOp]) -> Selector:
    test = rng.choice(("==", "!=", None))
    if test is None:
        chosen = select(rng.choice(pool), rng.choice(pool), _drawn_function(rng, 2))
    else:
        chosen = select(rng.choice(pool), rng.choice(pool), test)
    if rng.random() < 0.3:
        other = select(indices, indices, rng.choice(("<", "<=", ">")))
        chosen = chosen & other if rng.random() < 0.5 else chosen | other
    return ~chosen if rng.random() < 0.2 else chosen


def _drawn_function(rng: random.Random, values: int) -> Callable[..., Any]:
    """A function whose table is drawn: it looks at nothing but how its arguments are written."""
    seed = rng.getrandbits(32)
    return lambda *given: crc32(repr(given).encode(), seed) % values


def float_leads(model: Model, rule: Rule, inputs: list[Tokens]) -> dict[Tokens, float]:
    """By how much what is demanded leads all else in floats, at the worst position of each input."""
    found, names = {}, model.config.vocabulary
    for given in inputs:
        logits = forward(model, model.ids(given), FloatArithmetic("float64"))[1:]
        right = [names.index(token) for token in rule(given)]
        others = logits.copy()
        others[range(len(right)), right] = -np.inf
        found[given] = float((logits[range(len(right)), right] - others.max(axis=1)).min())
    return found


def try_program(rng: random.Random, counts: Counter[str]) -> list[str]:
    """One program, and what did not hold of it."""
    program = drawn_program(rng)
    inputs, rule, failed = program.inputs(LENGTH), program.rule(LENGTH), []

    def holds(what: str, truth: bool) -> None:
        counts[what] += 1
        if not truth:
            failed.append(f"{what}: {program.vocabulary}, {rule(inputs[-1])}")

    enough = program.prove(LENGTH)
    holds("proved at a strength that is enough by the lemma", enough.verdict == "proved")
    found = program.smallest_strength(LENGTH)
    assert found.strength is not None
    holds("the smallest strength is no larger", found.strength <= program.enough(LENGTH))
    if found.strength:
        weak = program.model(LENGTH, found.strength - 1)
        assert found.below is not None
        below = _proof(weak, [found.below.tokens], rule, "exact")
        holds("one less is refuted, in exact numbers too", below.verdict == "refuted")
        _against_floats(holds, "weak", weak, rule, inputs)
    odd = rng.choice(inputs)
    changed = _proof(program.model(LENGTH), inputs, _changed(rule, odd, rng, program.compiled(LENGTH).config.vocabulary))
    there = [failure.tokens for failure in changed.failures]
    holds("a rule changed in one place is refuted there alone", there == [odd] and changed.counts["proved"] == len(inputs) - 1)
    damaged = damaged_model(program.model(LENGTH), rng)
    _against_floats(holds, "damaged", damaged, rule, inputs)
    return failed


def _against_floats(holds: Callable[[str, bool], None], what: str, model: Model, rule: Rule, inputs: list[Tokens]) -> None:
    leads = float_leads(model, rule, inputs)
    wide = [given for given in inputs if abs(leads[given]) > _WIDE]
    if not wide:
        return
    refuted: list[Tokens] = []
    report = prove(
        model, wide, rule, positions=Program.answered, arithmetic_name="certified", last="exact", workers=1,
        wrong=lambda wrong: refuted.append(wrong[0].tokens),
    )  # fmt: skip
    holds(f"{what}: wrong exactly where floats say so", refuted == [given for given in wide if leads[given] < 0])
    holds(f"{what}: nothing is undecided", report.counts["undecided"] == 0)


def damaged_model(model: Model, rng: random.Random) -> Model:
    """One weight that is not 0 becomes another."""
    name, array = rng.choice([(name, array) for name, array in model.weights.named() if any(entry != 0 for entry in array.flat)])
    place = rng.choice([place for place in np.ndindex(array.shape) if array[place] != 0])
    return with_weights(model, (f"{name}[{','.join(map(str, place))}]={rng.choice(('0', '-1', '1/2', '3'))}",))


def _changed(rule: Rule, odd: Tokens, rng: random.Random, vocabulary: Tokens) -> Callable[[Tokens], list[str]]:
    answers, place = rule(odd), rng.randrange(len(odd) - 1)
    other = rng.choice([token for token in vocabulary if token != answers[place]])
    wrong = [*answers[:place], other, *answers[place + 1 :]]
    return lambda given: wrong if given == odd else rule(given)


def _proof(model: Model, inputs: list[Tokens], rule: Any, arithmetic: str = "certified") -> Report:
    return prove(model, inputs, rule, positions=Program.answered, arithmetic_name=arithmetic, last="exact", workers=1)


def run(progress: Progress) -> Result:
    counts, failed = Counter[str](), list[str]()
    for seed in range(PROGRAMS):
        failed += [f"seed {seed}: {line}" for line in try_program(random.Random(seed), counts)]
        if seed % 20 == 19:
            progress(f"{seed + 1} programs, {len(failed)} failures")
    table = Table(("what", "times"), tuple((what, f"{number:,}") for what, number in sorted(counts.items())))
    text = f"{PROGRAMS} programs, all inputs of up to {LENGTH} tokens each. Trials that did not hold: {len(failed)}."
    data = {"counts": dict(counts), "failed": failed}
    return Result("trials_programs", "Programs drawn at random, against their meaning in plain Python", (text, table), data)
