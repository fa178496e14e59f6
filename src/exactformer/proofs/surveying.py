"""A domain by sets of inputs: its roots as cases, what is proved of each, read strictly and added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby, islice
from typing import Any

import numpy as np

from exactformer.certified.one_layer import OneLayer, check_shape, one_layer
from exactformer.circuits.symmetry import interchangeable
from exactformer.hashing import Digest
from exactformer.messages import quoted
from exactformer.model import Config, Model, machine
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

_TOGETHER = 1024  # wrong inputs that are proved at once
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

    Some wrong inputs of each root are named, or all where they are no more than are `listed`.
    """

    def __init__(self, model: Model, last: str | None, listed: int = 0) -> None:
        self.model, self.last, self.listed = model, last, listed

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "last": self.last, "listed": self.listed}

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
        said = _output(self.model.config, root.answer)
        bounding = Bounding(layer.of(root.last), root, said)
        found = search(bounding, root, asked.budget, self.listed)
        right, wrong = found.right, found.wrong
        alone = found.alone[: asked.budget]
        verdicts = [verdict for verdict, _ in self._alone(alone, [said] * len(alone))]
        right, wrong = right + verdicts.count(PROVED), wrong + verdicts.count(REFUTED)
        if right + wrong < root.size and self.model.config.heads == 1:
            least, most = misled(bounding, root)
            right, wrong = max(right, root.size - most), max(wrong, least)
        named = found.misled[: None if found.listed else MOST_KEPT]
        if found.listed:
            named += [ids for ids, verdict in zip(alone, verdicts, strict=True) if verdict == REFUTED]
        counts = {"right": right, "wrong": wrong, "sets": found.looked, "alone": len(found.alone), "misled": named}
        return {"root": asked.name, "inputs": root.size} | counts

    def failures(self, wrong: Iterable[tuple[list[int], int]]) -> Iterator[Failure]:
        """What is said after inputs that are wrong, given with what was demanded: each is proved once more, by itself."""
        names, outputs = self.model.config.vocabulary, self.model.config.spoken
        for _, same in groupby(wrong, lambda entry: len(entry[0])):
            while some := list(islice(same, _TOGETHER)):
                inputs, answers = [ids for ids, _ in some], [_output(self.model.config, answer) for _, answer in some]
                for ids, answer, (verdict, token) in zip(inputs, answers, self._alone(inputs, answers), strict=True):
                    if verdict == PROVED:
                        raise AssertionError(f"{ids} is wrong as one of a set, and right by itself")
                    yield Failure(tuple(names[i] for i in ids), (outputs[answer],), token, (), REFUTED, "")

    def _alone(self, inputs: list[list[int]], answers: list[int]) -> list[tuple[str, str | None]]:
        """The verdict on each input, and what is said there: by a batch, and what that leaves open as a proof by batches does."""
        if not inputs:
            return []
        names, outputs, number = self.model.config.vocabulary, self.model.config.spoken, len(inputs)
        batch = Batch(0, np.array(inputs), np.array(answers)[:, None, None], np.zeros(number, dtype=int), ("demanded",))
        decided = self._deciding(batch)
        found: list[tuple[str, str | None]] = [(PROVED, outputs[answer]) for answer in answers]
        for n, _, winner, _ in decided["wrong"]:
            found[n] = REFUTED, outputs[winner]
        for key, said in decided["open"].items():
            n, demanded = int(key), Demand(frozenset([outputs[answers[int(key)]]]))
            report, heard = Report("", "certified", interchangeable(self.model, None), 1, 1), read(said, 1, outputs, "certified")
            judge(report, lambda *_, demanded=demanded: demanded, tuple(names[i] for i in inputs[n]), heard, outputs)
            found[n] = next(verdict for verdict, times in report.counts.items() if times), heard[0].token
        return found


def _output(config: Config, token: int) -> int:
    """The output that has the name of a token of the input, which a rule demands."""
    return config.spoken.index(config.vocabulary[token])


class Survey(Sequence[Asked]):
    """The cases of a domain. How a budget is shared depends on the domain alone: half of it alike, half by size."""

    def __init__(self, model: Model, inputs: Inputs, rule: Rule, budget: int, listed: int = 0) -> None:
        word = getattr(getattr(rule, "inner", rule), "word", None)
        if word not in ROOTS or getattr(rule, "positions", None) is not None:
            raise RunError(f"sets of inputs are for the rules {', '.join(ROOTS)}, whose answers whole sets have in common")
        if isinstance(inputs, list):
            raise RunError("sets of inputs are for domains that are products of sets of tokens, and not for lists of inputs")
        boxes = [part for part in parts_of(inputs, model.config.vocabulary) if isinstance(part, Box)]
        for box in boxes:
            check_shape(model.config, len(box.choices))
        self.listed = listed  # wrong inputs at most: all of them are wanted, if any
        self.word, self.choices, self.budget = word, [box.choices for box in boxes], budget
        found = [(len(box.choices), root) for box in boxes for root in roots(word, box.choices, len(model.config.vocabulary))]
        for answer in dict.fromkeys(root.answer for _, root in found):
            if (token := model.config.vocabulary[answer]) not in model.config.spoken:
                raise RunError(f"sets of inputs: the rule demands {quoted(token)}, which is not a token that the model says")
        self.inputs, cases = sum(root.size for _, root in found), len(found)
        shares = (max(1, budget * (self.inputs + cases * root.size) // (2 * cases * self.inputs)) for _, root in found)
        self._asked = [Asked(length, root, share) for (length, root), share in zip(found, shares, strict=True)]
        self._wrong: list[tuple[list[int], int]] = []
        self._numbers = {tuple(asked.name): number for number, asked in enumerate(self._asked)}

    def __len__(self) -> int:
        return len(self._asked)

    def __getitem__(self, number: Any) -> Any:
        return self._asked[number]

    def add_to(self, digest: Digest) -> None:
        digest.add("sets", self.word, self.budget, self.listed, *self.choices)

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
        insist(all(isinstance(ids, list) and asked.has(ids) for ids in said["misled"]), "names an input that is not of its set")
        return asked

    def add(self, report: Report, said: Any) -> None:
        """A result, which is checked once more."""
        answer = self.read(said).root.answer
        report.counts[PROVED] += said["right"]
        report.counts[REFUTED] += said["wrong"]
        report.counts[UNDECIDED] += said["inputs"] - said["right"] - said["wrong"]
        report.sets = (report.sets or 0) + said["sets"] + said["alone"]
        self._wrong += ((ids, answer) for ids in said["misled"])
        if self.listed:
            self._check_list(report.counts[REFUTED], said)

    def _check_list(self, wrong: int, said: Any) -> None:
        """All wrong inputs are wanted: what is too much is refused, and what nobody found one by one."""
        if wrong > self.listed:
            raise RunError(f"--wrong: more than {self.listed:,} inputs are proved wrong: leave it out, or give a smaller --domain")
        if len(said["misled"]) != said["wrong"]:
            raise RunError("--wrong: some wrong inputs were counted by sums, and not found one by one: give a larger --budget")

    def wrong(self) -> list[tuple[list[int], int]]:
        """Wrong inputs with what was demanded, in the order of the domain: all that are listed, or the first that are known."""
        first = sorted(self._wrong, key=lambda entry: (len(entry[0]), entry[0]))
        return first if self.listed else first[:MOST_KEPT]
