"""Many prompts before the referee: independent cases, in parallel, resumable, on this machine or on a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from exactformer.certificates.hash import model_hash
from exactformer.certificates.proving import CAP
from exactformer.certificates.storage import prepared
from exactformer.hashing import Digest
from exactformer.model import Model
from exactformer.proofs.elsewhere import Elsewhere
from exactformer.proofs.runner import run
from exactformer.referee.judging import Record, Referee
from exactformer.referee.outputs import Engine, Given, OutputsError
from exactformer.referee.report import Judgements

Case = tuple[tuple[int, int], ...]  # (engine, prompt) of all that were given the same ids


@dataclass(frozen=True)
class Models:
    """A model in the reading that is judged, and in the other one where there are two."""

    judged: Model
    other: Model | None = None

    def checked(self) -> Models:
        if self.judged.config.unembedding == "none":
            raise OutputsError("the model has no logits: there is nothing to judge")
        return self


@dataclass(frozen=True)
class Judging(Elsewhere[tuple[Models, Sequence[Engine]]]):
    """Judges one case: a prompt, of all engines that were given it."""

    cap: int = CAP

    def fingerprint(self, found: tuple[Models, Sequence[Engine]]) -> str:
        return digest_of(*found, self.cap)

    @cached_property
    def _referees(self) -> list[Referee]:
        models, _ = self.opened
        found = []
        for model in (models.judged, models.other):
            if model is not None:
                with prepared(model) as ready:
                    ready.prepare()
                found.append(Referee(ready, self.cap))
        return found

    def __call__(self, case: Case) -> Any:
        _, engines = self.opened
        given = [(engines[engine], engines[engine].prompts[prompt]) for engine, prompt in case]
        judged, *others = self._referees
        try:
            records = judged.judge(given)
            if others and any(each.rows for _, each in given):
                _add_other(records, others[0].judge([(engine, _tokens_alone(each)) for engine, each in given if each.rows]))
        except OutputsError as error:
            return {"refused": str(error)}
        return {"records": records}


@dataclass(frozen=True)
class _Both:
    """Opens models and outputs."""

    models: Callable[[], Models]
    engines: Callable[[], Sequence[Engine]]

    def __call__(self) -> tuple[Models, Sequence[Engine]]:
        return self.models(), self.engines()


def _tokens_alone(given: Given) -> Given:
    """What is asked of the other reading: is the token right?"""
    return Given(given.ids, given.first, tokens=tuple((given.chosen(row) or (0,))[0] for row in range(given.rows)))


def _add_other(records: list[Record], others: list[Record]) -> None:
    """Where the two readings differ, what the other one says."""
    found = {(other["engine"], other["position"]): other for other in others}
    for record in records:
        other = found.get((record["engine"], record["position"]))
        if other is not None and other.get("true_token") != record.get("true_token"):
            record["other_reading"] = {key: other.get(key) for key in ("verdict", "true_token", "margin")}


def digest_of(models: Models, engines: Sequence[Engine], cap: int) -> str:
    """What tells one run from every other: the models, and all that the engines gave."""
    from exactformer import __version__

    digest = Digest("exactformer judge").add(__version__, cap, model_hash(models.judged))
    digest.add(None if models.other is None else model_hash(models.other))
    for engine in engines:
        digest.add(engine.name, engine.format.name, engine.quantised, engine.sampled, len(engine.prompts))
        for given in engine.prompts:
            digest.add(given.ids, given.first, given.tokens)
            digest.add(tuple((token, value.hex()) for row in given.picked for token, value in row.items()))
            for name, numbers in (("logits", given.logits), ("logprobs", given.logprobs), *given.steps.items()):
                if numbers is not None:
                    digest.add(name, tuple(numbers.shape), numbers.dtype.str, numbers.tobytes())
    return digest.hexdigest()


def cases_of(engines: Sequence[Engine]) -> list[Case]:
    """Every prompt once, with all engines that were given its ids; the same ids a second time are a second prompt."""
    found: dict[tuple[tuple[int, ...], int], list[tuple[int, int]]] = {}
    for number, engine in enumerate(engines):
        seen: Counter[tuple[int, ...]] = Counter()
        for prompt, given in enumerate(engine.prompts):
            found.setdefault((given.ids, seen[given.ids]), []).append((number, prompt))
            seen[given.ids] += 1
    return [tuple(each) for each in found.values()]


def judge_all(
    open_models: Callable[[], Models],
    open_engines: Callable[[], Sequence[Engine]],
    *,
    cap: int = CAP,
    journal: Path | Callable[[str], Path | None] | None = None,
    workers: int | None = 1,
    cluster: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Judgements:
    """Judge all that engines gave. The openers are called in every process that computes: they hold paths rather than weights.

    With one worker everything is computed in this process. `journal` is a file, or is asked for one with the run's fingerprint.
    """
    models = open_models().checked()
    engines = [engine.checked(models.judged) for engine in open_engines()]
    names = Counter(engine.name for engine in engines)
    if not engines or max(names.values()) > 1:
        raise OutputsError(
            f"{names.most_common(1)[0][0]}: two engines have this name" if engines else "there are no outputs to judge"
        )
    judging = Judging(_Both(open_models, open_engines), digest_of(models, engines, cap), cap)
    judging.begun_with((models, engines))
    cases = cases_of(engines)
    book = journal(judging.digest) if callable(journal) else journal
    found: dict[int, list[Record]] = {}
    for number, result in run(
        judging, cases, fingerprint=judging.digest, journal=book, check=_check, workers=workers, cluster=cluster, progress=progress
    ):
        if "refused" in result:
            raise OutputsError(result["refused"])
        found[number] = result["records"]
    records = [{"engine": record["engine"], "prompt": number} | record for number in range(len(cases)) for record in found[number]]
    prompts = tuple(engines[case[0][0]].prompts[case[0][1]].ids for case in cases)
    return Judgements(tuple(engine.judged() for engine in engines), prompts, tuple(records), model_hash(models.judged))


def _check(result: Any) -> None:
    """What a journal holds: records with a verdict that there is."""
    from exactformer.referee.verdicts import VERDICTS

    if not isinstance(result, dict) or set(result) not in ({"records"}, {"refused"}):
        raise ValueError("is not the result of a judgement")
    for record in result.get("records", ()):
        if not isinstance(record, dict) or record.get("verdict") not in (*VERDICTS, None):
            raise ValueError("has a verdict that there is not")
