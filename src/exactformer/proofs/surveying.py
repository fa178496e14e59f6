"""A domain by sets of inputs: its roots as cases, what is proved of each, read strictly and added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from exactformer.certified.one_layer import OneLayer, check_shape, one_layer
from exactformer.hashing import Digest
from exactformer.model import Model, machine
from exactformer.proofs.answers import insist, is_count, read
from exactformer.proofs.batches import Batch, Box, Inputs, parts_of
from exactformer.proofs.bounding import Bounding
from exactformer.proofs.boxes import ROOTS, Root, roots
from exactformer.proofs.chunks import RunError
from exactformer.proofs.deciding import Deciding
from exactformer.proofs.judging import judge
from exactformer.proofs.report import MOST_KEPT, PROVED, REFUTED, UNDECIDED, Failure, Report
from exactformer.proofs.rules import Demand, Rule
from exactformer.proofs.searching import search
from exactformer.proofs.summing import misled

_FIELDS = {"root", "inputs", "right", "wrong", "sets", "alone", "misled"}


@dataclass(frozen=True, eq=False)
class Asked:
    """A root, of inputs of one length, and how many of its sets may be looked at."""

    length: int
    root: Root
    budget: int

    @property
    def name(self) -> list[int]:
        return [self.length, self.root.last, self.root.answer]

    def has(self, ids: list[Any]) -> bool:
        """Is it one of these inputs?"""
        *free, last = ids if ids and all(type(i) is int for i in ids) else [-1]
        root = self.root
        return (
            last == root.last
            and len(free) == len(root.allowed)
            and all(0 <= i < len(row) and row[i] for i, row in zip(free, root.allowed, strict=True))
            and (not root.needs or root.answer in free)
        )

    def __repr__(self) -> str:
        return f"inputs of {self.length} tokens that end with token {self.root.last} and demand token {self.root.answer}"


class Surveying:
    """What is proved of the sets of a root: branch and bound; then single inputs in limbs; or what is left, counted by sums.

    So many wrong inputs of each root are `named`, each proved once more by itself.
    """

    def __init__(self, model: Model, last: str | None, named: int = MOST_KEPT) -> None:
        self.model, self.last, self.named = model, last, named

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "last": self.last, "named": self.named}

    @cached_property
    def _layer(self) -> Any:
        return cache(lambda length: one_layer(self.model, length))

    @cached_property
    def _deciding(self) -> Deciding:
        return Deciding(self.model, last=self.last)

    def __call__(self, asked: Asked) -> dict[str, Any]:
        machine.check()
        root, layer = asked.root, self._layer(asked.length)
        assert isinstance(layer, OneLayer)
        bounding = Bounding(layer.of(root.last), root)
        found = search(bounding, root, asked.budget)
        right, wrong = found.right, found.wrong
        verdicts = [verdict for verdict, _ in self._alone(found.alone[: asked.budget], root.answer)]
        right, wrong = right + verdicts.count(PROVED), wrong + verdicts.count(REFUTED)
        if right + wrong < root.size and self.model.config.heads == 1:
            least, most = misled(bounding, root)
            right, wrong = max(right, root.size - most), max(wrong, least)
        some = found.misled[: self.named]
        said = self._alone(some, root.answer)
        if any(verdict == PROVED for verdict, _ in said):
            raise AssertionError(f"{asked}: one of {some} is wrong as one of a set, and right by itself")
        named = [[ids, token] for ids, (_, token) in zip(some, said, strict=True)]
        counts = {"right": right, "wrong": wrong, "sets": found.looked, "alone": len(found.alone), "misled": named}
        return {"root": asked.name, "inputs": root.size} | counts

    def _alone(self, inputs: list[list[int]], answer: int) -> list[tuple[str, str | None]]:
        """The verdict on each input, and what is said there: by a batch, and what that leaves open as a proof by batches does."""
        if not inputs:
            return []
        names, number = self.model.config.vocabulary, len(inputs)
        batch = Batch(0, np.array(inputs), np.full((number, 1, 1), answer), np.zeros(number, dtype=int), ("demanded",))
        decided, demanded = self._deciding(batch), Demand(frozenset([names[answer]]))
        found: list[tuple[str, str | None]] = [(PROVED, names[answer])] * number
        for n, _, winner, _ in decided["wrong"]:
            found[n] = REFUTED, names[winner]
        for n, said in decided["open"].items():
            report, answers = Report("", "certified", tuple((name,) for name in names), 1, 1), read(said, 1, names, "certified")
            judge(report, lambda *_: demanded, tuple(names[i] for i in inputs[int(n)]), answers, names)
            found[int(n)] = next(verdict for verdict, times in report.counts.items() if times), answers[0].token
        return found


class Survey(Sequence[Asked]):
    """The cases of a domain. How a budget is shared depends on the domain alone: half of it alike, half by size."""

    def __init__(self, model: Model, inputs: Inputs, rule: Rule, budget: int) -> None:
        word = getattr(getattr(rule, "inner", rule), "word", None)
        if word not in ROOTS or getattr(rule, "positions", None) is not None:
            raise RunError(f"sets of inputs are for the rules {', '.join(ROOTS)}, whose answers whole sets have in common")
        if isinstance(inputs, list):
            raise RunError("sets of inputs are for domains that are products of sets of tokens, and not for lists of inputs")
        boxes = [part for part in parts_of(inputs, model.config.vocabulary) if isinstance(part, Box)]
        for box in boxes:
            check_shape(model.config, len(box.choices))
        self.vocabulary = model.config.vocabulary
        self.word, self.choices, self.budget = word, [box.choices for box in boxes], budget
        found = [(len(box.choices), root) for box in boxes for root in roots(word, box.choices, len(model.config.vocabulary))]
        self.inputs, cases = sum(root.size for _, root in found), len(found)
        shares = (max(1, budget * (self.inputs + cases * root.size) // (2 * cases * self.inputs)) for _, root in found)
        self._asked = [Asked(length, root, share) for (length, root), share in zip(found, shares, strict=True)]
        self._numbers = {tuple(asked.name): number for number, asked in enumerate(self._asked)}

    def __len__(self) -> int:
        return len(self._asked)

    def __getitem__(self, number: Any) -> Any:
        return self._asked[number]

    def add_to(self, digest: Digest) -> None:
        digest.add("sets", self.word, self.budget, *self.choices)

    def read(self, said: Any) -> Asked:
        """The case that a result is of, if it can be one."""
        insist(isinstance(said, dict) and set(said) == _FIELDS, "has not the fields of a set of inputs")
        name = said["root"]
        insist(isinstance(name, list) and all(type(n) is int for n in name), "names no set of inputs")
        insist(tuple(name) in self._numbers, "names a set of inputs that there is not")
        asked = self._asked[self._numbers[tuple(name)]]
        numbers = [said[field] for field in ("inputs", "right", "wrong", "sets", "alone")]
        insist(all(map(is_count, numbers)), "has a count that is none")
        insist(said["inputs"] == asked.root.size, "is of another number of inputs")
        insist(said["right"] + said["wrong"] <= asked.root.size, "decides more inputs than there are")
        insist(said["sets"] >= 1, "looked at nothing")
        insist(isinstance(said["misled"], list) and len(said["misled"]) <= said["wrong"], "has no list of wrong inputs")
        for entry in said["misled"]:
            insist(isinstance(entry, list) and len(entry) == 2, "has a wrong input that is none")
            insist(isinstance(entry[0], list) and asked.has(entry[0]), "names an input that is not of its set")
            insist(entry[1] is None or entry[1] in self.vocabulary, "names a token that there is not")
        return asked

    def add(self, report: Report, said: Any) -> None:
        """A result, which is checked once more."""
        answer = self.vocabulary[self.read(said).root.answer]
        report.counts[PROVED] += said["right"]
        report.counts[REFUTED] += said["wrong"]
        report.counts[UNDECIDED] += said["inputs"] - said["right"] - said["wrong"]
        for ids, token in said["misled"]:
            report.failed(Failure(tuple(self.vocabulary[i] for i in ids), (answer,), token, (), REFUTED, ""))
        report.sets = (report.sets or 0) + said["sets"] + said["alone"]
