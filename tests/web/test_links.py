"""Where a number came from: the slices that links name are all that an entry depends on, forward and backward."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from exactformer.arithmetics import arithmetic
from exactformer.trace import Gradient, Step, Trace, gradient, run
from exactformer.web.links import Link, gradient_links, links, signature
from random_models import random_model, random_tokens

PRODUCTS = ("linear", "unembed", "project", "merge", "scores", "mix")


def slices(links: list[Link], index: tuple[int, ...], ids: list[int]) -> Iterator[tuple[Link, tuple[Any, ...]]]:
    for link in links:
        bound = dict(zip(link.out, index, strict=True))
        if "i" in bound:
            bound["t"] = ids[bound["i"]]
        yield link, tuple(int(c) if c.isdigit() else bound.get(c, slice(None)) for c in link.at)


def weights(trace: Trace) -> dict[str, Any]:
    ops = arithmetic("float64")
    return {name: ops.load(values) for name, values in trace.model.weights.named()}


def traces() -> Iterator[Trace]:
    for seed in range(12):
        rng = random.Random(seed)
        model = random_model(rng, blocks=2, residual=True)
        yield run(model, random_tokens(rng, model, 3), "float64")


@pytest.fixture(scope="module")
def passes() -> list[Trace]:
    return list(traces())


def test_products_are_the_dot_products_of_their_slices(passes: list[Trace]) -> None:
    seen = set()
    for trace in passes:
        values = {step.name: step.values for step in trace.steps} | weights(trace)
        ids = trace.model.ids(trace.tokens)
        for step in trace.steps:
            if step.op not in PRODUCTS:
                continue
            seen.add(step.op)
            for index in np.ndindex(*step.values.shape):
                (_, x), (_, w), *bias = slices(links(step), index, ids)
                left, right = values[step.reads[0]][x], values[step.reads[1]][w]
                total = float(np.sum(left * right)) + sum(float(values[link.read][at]) for link, at in bias)
                assert total == pytest.approx(step.values[index], abs=1e-9)
    assert seen == set(PRODUCTS)


def test_entry_by_entry_operations_read_their_own_place(passes: list[Trace]) -> None:
    for trace in passes:
        values = {step.name: step.values for step in trace.steps}
        ids = trace.model.ids(trace.tokens)
        embedding = weights(trace)["W_E"]
        for index in np.ndindex(*values["embed"].shape):
            (_, tokens), (_, row) = slices(links(trace["embed"]), index, ids)
            assert tokens == (index[0],)
            assert embedding[row] == values["embed"][index]
        for step in trace.steps:
            if step.op == "add":
                for index in np.ndindex(*step.values.shape):
                    parts = [values[link.read][at] for link, at in slices(links(step), index, ids)]
                    assert sum(parts) == pytest.approx(step.values[index])


def test_every_operation_has_letters_for_every_axis(passes: list[Trace]) -> None:
    for trace in passes:
        shapes = (
            {step.name: step.values.ndim for step in trace.steps} | {n: w.ndim for n, w in weights(trace).items()} | {"tokens": 1}
        )
        for step in trace.steps:
            assert len(signature(step)[0]) == step.values.ndim == len(trace.axes(step.name))
            assert [link.read for link in links(step)] == list(step.reads)
            assert all(len(link.at) == shapes[link.read] for link in links(step))


def graded(trace: Trace) -> Gradient:
    return gradient(trace, trace.tokens)


def test_gradients_read_what_their_steps_name(passes: list[Trace]) -> None:
    for trace in passes:
        found = graded(trace)
        ranks = {step.name: step.values.ndim for step in (*trace.steps, *found.steps)} | {
            n: w.ndim for n, w in trace.model.weights.named()
        }
        for step in found.steps:
            linked = gradient_links(step, trace.computed)
            assert {link.read for link in linked} == set(step.reads)
            assert all(len(link.at) == ranks[link.read] and len(link.out) == step.values.ndim for link in linked)


def products_handed_back(trace: Trace, step: Step) -> list[Link]:
    """The links of a gradient that is handed back by products alone."""
    found = gradient_links(step, trace.computed)
    return found if all(link.via and trace[link.via].op in PRODUCTS for link in found) else []


def test_gradients_of_products_are_dot_products_of_their_slices(passes: list[Trace]) -> None:
    checked = 0
    for trace in passes:
        found = graded(trace)
        values = {s.name: s.values for s in (*trace.steps, *found.steps)} | weights(trace)
        ids = trace.model.ids(trace.tokens)
        for step in found.steps:
            linked = products_handed_back(trace, step)
            readers = {link.via for link in linked}
            if not linked or any(sum(link.via == via for link in linked) != 2 for via in readers):
                continue
            for index in np.ndindex(*step.values.shape):
                parts: dict[str, Any] = dict.fromkeys(readers, 1.0)
                for link, at in slices(linked, index, ids):
                    parts[link.via] = parts[link.via] * values[link.read][at]
                assert sum(float(np.sum(part)) for part in parts.values()) == pytest.approx(step.values[index], abs=1e-9)
                checked += 1
    assert checked > 500
