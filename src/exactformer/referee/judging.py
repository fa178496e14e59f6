"""One prompt before the referee: every engine's outputs, held against the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactformer.arithmetics import arithmetic
from exactformer.certificates.comparison import StepErrors, step_errors
from exactformer.certificates.ends import outward_decimals
from exactformer.certificates.preparation import Prepared
from exactformer.certificates.proving import CAP
from exactformer.certified.ball import Ball
from exactformer.model import Model, Step, forward
from exactformer.model.arithmetics.shaken import shaken
from exactformer.numbers.formats import Format
from exactformer.reading import times
from exactformer.referee.outputs import Engine, Given, OutputsError
from exactformer.referee.truth import Truth, truths
from exactformer.referee.verdicts import UNDECIDED, Bounds, Verdict, verdict

BEYOND = 3  # times the error of a careful pass: what is farther off was not computed carefully, or is another computation
_STRETCH = 1.01  # an error is known well where the upper bound is at most this times the lower one
_GUARD = 5  # bits beyond a unit of the format at which the first pass aims
_KNOWN_WELL = 30  # where each error is to be known well, however small it happens to be
_SHAKEN = 5  # careful passes besides our own
_FEW = 10  # tokens with the same number that are named

Record = dict[str, Any]  # plain data, as the JSON report has it


class Careful:
    """Passes in floats of a format, step by step, kept with their converted weights for the next prompt.

    The first is our own; the others are shaken, and say by how much careful programs differ.
    """

    def __init__(self, model: Model, format: Format) -> None:
        self.model, self.format = model, format
        self.kinds = [arithmetic(format.name), *(shaken(format.name, seed) for seed in range(_SHAKEN))]
        self._ids: tuple[int, ...] = ()
        self._passes: list[dict[str, Any]] = []
        self._truth: Truth | None = None
        self._errors: dict[tuple[str, int, int], tuple[StepErrors, float]] = {}  # against that truth

    def steps(self, ids: tuple[int, ...]) -> dict[str, Any]:
        """Those of our own pass."""
        return self._pass(ids, 0)

    def largest(self, ids: tuple[int, ...], truth: Truth, name: str, first: int, rows: int) -> tuple[StepErrors, float]:
        """The errors of our own pass at a step, and the largest L2 norm of the errors of a row in any of them.

        They are the same for all engines that compute in this format.
        """
        if truth is not self._truth:
            self._truth, self._errors = truth, {}
        key = (name, first, rows)
        if key not in self._errors:
            ball, part = truth.step(name, first, rows), slice(first, first + rows)
            errors = [step_errors(name, self._pass(ids, n)[name][part], ball, self.format.name) for n in range(len(self.kinds))]
            self._errors[key] = errors[0], max(largest_row(each.high, np.isfinite(each.high)) for each in errors)
        return self._errors[key]

    def _pass(self, ids: tuple[int, ...], number: int) -> dict[str, Any]:
        if ids != self._ids:
            self._ids, self._passes = ids, []
        while len(self._passes) <= number:
            found: dict[str, Any] = {}

            def note(step: Step, found: dict[str, Any] = found) -> Any:
                found[step.name] = step.values
                return step.values

            with np.errstate(all="ignore"):
                forward(self.model, list(ids), self.kinds[len(self._passes)], note)
            self._passes.append(found)
        return self._passes[number]


@dataclass(frozen=True)
class Referee:
    """Judges prompts of one model: what it prepares is kept from prompt to prompt."""

    prepared: Prepared
    cap: int = CAP

    @property
    def model(self) -> Model:
        return self.prepared.model

    @cached_property
    def _careful(self) -> dict[str, Careful]:
        return {}

    def careful(self, format: Format) -> Careful:
        return self._careful.setdefault(format.name, Careful(self.model, format))

    def judge(self, given: Sequence[tuple[Engine, Given]], progress: Callable[[str], None] = lambda step: None) -> list[Record]:
        """What is found of each engine for one prompt. All of them were given the same ids."""
        ids = given[0][1].ids
        wanted = {name for _, each in given for name in each.steps}
        everywhere = bool(wanted) or any(each.first < len(ids) - 1 for _, each in given)
        numbers = any(each.logits is not None or each.logprobs is not None for _, each in given)
        width = math.log2(min(engine.format.epsilon for engine, _ in given)) - (_KNOWN_WELL if numbers else _GUARD)
        records: list[Record] = []
        for truth in truths(self.prepared, ids, width, all_positions=everywhere, wanted=wanted, cap=self.cap, progress=progress):
            found = [_Prompt(self, truth, engine, each) for engine, each in given]
            records = [record for prompt in found for record in prompt.records()]
            if all(prompt.settled for prompt in found):
                break
        return records


class _Prompt:
    """One engine and one prompt, beside one certified pass."""

    def __init__(self, referee: Referee, truth: Truth | str, engine: Engine, given: Given) -> None:
        self.referee, self.truth, self.engine, self.given = referee, truth, engine, given
        self.settled = not isinstance(truth, str)

    def records(self) -> list[Record]:
        """One for each position, and one for all steps where there are any."""
        found: list[Record] = [{"engine": self.engine.name} | self._position(row) for row in range(self.given.rows)]
        if self.given.steps or self.given.logits is not None:
            steps = [*self._steps(), *self._logits_step()]
            first = next((step["step"] for step in steps if step["beyond"]), None)
            found.append({"engine": self.engine.name, "position": None, "verdict": None, "first_step": first, "steps": steps})
        return found

    def _position(self, row: int) -> Record:
        position, tokens = self.given.first + row, self.given.chosen(row)
        found: Record = {"position": position, "verdict": UNDECIDED, "token": tokens[0] if tokens else None}
        if len(tokens) > 1:
            found["as_large"] = list(tokens[1:_FEW])
        if isinstance(self.truth, str):
            return found | {"true_token": None, "margin": None, "why": self.truth}
        lead = self.truth.lead(position)
        if not self.engine.sampled:
            careful = None if self.engine.quantised or self._numbers is None else lambda: self._careful_error(position)
            judged = verdict(self.truth, position, tokens, self.engine.format, careful)
            self.settled &= judged.name != UNDECIDED
            found |= {"verdict": judged.name} | _shortness(judged)
        else:
            self.settled &= not isinstance(lead, str)
            found |= {"verdict": None}
        if not isinstance(lead, str):
            margin = None if lead.margin is None else list(outward_decimals(*lead.margin))
            found |= {"true_token": lead.winner, "ties": list(lead.ties), "runner_up": lead.runner_up, "margin": margin}
        if self._errors is not None:
            found |= self._error_of(self._errors, row)
        if self.given.picked:
            found |= {"logprob": self._picked(row, position)}
        return found

    @property
    def _careful(self) -> Careful:
        return self.referee.careful(self.engine.format)

    @property
    def _numbers(self) -> Any:
        return self.given.logits if self.given.logits is not None else self.given.logprobs

    @cached_property
    def _errors(self) -> StepErrors | None:
        """Of all numbers of all rows."""
        if self._numbers is None:
            return None
        assert isinstance(self.truth, Truth)
        ball = self.truth.logits if self.given.logits is not None else self.truth.logprobs
        start = self.given.first - self.truth.first
        errors = step_errors("logits", self._numbers, ball[start : start + self.given.rows], self.engine.format.name)
        self.settled &= errors.stretch <= _STRETCH
        return errors

    def _error_of(self, errors: StepErrors, row: int) -> Record:
        low, high = errors.low[row], errors.high[row]
        units = high / errors.unit[row]
        at = int(np.argmax(high))
        name = "logits" if self.given.logits is not None else "logprobs"
        return {
            "of": name, "error": [_plain(low.max()), _plain(high.max())], "error_at": at, "error_median": _plain(np.median(high)),
            "ulps": _plain(units.max()), "ulps_median": _plain(np.median(units)),
        }  # fmt: skip

    def _careful_error(self, position: int) -> Bounds:
        """The largest error of a logit at a position that our own pass in the engine's format has."""
        assert isinstance(self.truth, Truth)
        values = self._careful.steps(self.given.ids)["logits"][position : position + 1]
        row = position - self.truth.first
        errors = step_errors("logits", values, self.truth.logits[row : row + 1], self.engine.format.name)
        return errors.largest

    def _picked(self, row: int, position: int) -> list[Record]:
        """Log-probabilities of single tokens."""
        assert isinstance(self.truth, Truth)
        tokens = list(self.given.picked[row])
        values = np.array([[self.given.picked[row][token] for token in tokens]])
        whole = self.truth.logprobs[position - self.truth.first : position - self.truth.first + 1]
        ball = Ball(whole.mid[:, :, tokens], whole.n, whole.spread()[:, tokens])
        errors = step_errors("logprobs", values, ball, self.engine.format.name)
        return [
            {
                "token": token, "given": _plain(values[0, n]), "error": [_plain(errors.low[0, n]), _plain(errors.high[0, n])],
                "ulps": _plain(errors.high[0, n] / errors.unit[0, n]),
            }
            for n, token in enumerate(tokens)
        ]  # fmt: skip

    def _steps(self) -> Iterator[Record]:
        """The steps that were given, in the order of the pass, each beside those of a careful pass."""
        if isinstance(self.truth, str) or not self.given.steps:
            return
        careful = self._careful.steps(self.given.ids)
        order = [name for name, value in self.truth.steps.items() if isinstance(value, Ball) and name in careful]
        for name in self.given.steps:
            if name not in order:
                raise OutputsError(f"{self.engine.name}: {name}: {_no_step(name, self.truth.steps)}")
        for name in order:
            if name in self.given.steps:
                ball = self.truth.steps[name]
                value = _shaped(self.given.steps[name], ball.shape, f"{self.engine.name}: {name}")
                errors = step_errors(name, value, ball, self.engine.format.name)
                yield _step_record(errors, *self._careful.largest(self.given.ids, self.truth, name, 0, len(ball)))

    def _logits_step(self) -> Iterator[Record]:
        """The logits that were given, as the last step."""
        if self._errors is not None and self.given.logits is not None and isinstance(self.truth, Truth):
            found = self._careful.largest(self.given.ids, self.truth, "logits", self.given.first, self.given.rows)
            yield _step_record(self._errors, *found)


def _step_record(errors: StepErrors, ours: StepErrors, allowed: float) -> Record:
    """How far a step is off, and how far a careful one is: the largest L2 norm of the errors of a row."""
    known = np.isfinite(ours.high)
    low, high = largest_row(errors.low, known), largest_row(errors.high, known)
    return {
        "step": errors.name, "error": [_plain(low), _plain(high)], "careful": _plain(allowed),
        "ulps": _plain(_largest(errors.high / errors.unit, known)), "careful_ulps": _plain(_largest(ours.high / ours.unit, known)),
        "beyond": bool(low > most_allowed(allowed, ours.unit, known)),
    }  # fmt: skip


def most_allowed(careful: float, unit: Any, known: Any) -> float:
    """The largest error of a row that careful floats may have.

    To round the true values is always allowed, and so is an error that all entries of a row share: two units for each.
    """
    return max(BEYOND * careful, largest_row(2 * unit, known))


def _largest(values: Any, known: Any) -> float:
    return float(np.where(known, values, 0.0).max(initial=0.0))


def largest_row(errors: Any, known: Any) -> float:
    return float(np.sqrt(np.square(np.where(known, errors, 0.0)).sum(axis=-1)).max(initial=0.0))


def _no_step(name: str, steps: dict[str, Any]) -> str:
    if name in steps:
        return "is a step that floats and proofs do not both have as an array of numbers"
    return f"is not a step of this model, nor a module of it; the steps are {', '.join(list(steps)[:6])}, …"


def _shaped(value: Any, shape: tuple[int, ...], where: str) -> Any:
    """A step in its own shape. Engines have [positions, heads · width] for [heads, positions, width], and pad shorter prompts."""
    floats = np.asarray(value, dtype=np.float64)
    if floats.ndim == 2 and len(shape) == 3 and floats.shape[1] == shape[0] * shape[2]:
        floats = floats.reshape(len(floats), shape[0], shape[2]).transpose(1, 0, 2)
    if floats.ndim == len(shape) and all(have >= want for have, want in zip(floats.shape, shape, strict=True)):
        cut = floats[tuple(slice(n) for n in shape)]
        padded = sum(have != want for have, want in zip(floats.shape, shape, strict=True))
        if padded <= 1 + (len(shape) == 3 and shape[-1] == shape[-2]) and floats.shape[-1] in (shape[-1], floats.shape[-2]):
            return cut
    raise OutputsError(f"{where}: has the shape {times(floats.shape)}, where the step has {times(shape)}")


def _shortness(judged: Verdict) -> Record:
    found: Record = {} if judged.short is None else {"short": list(outward_decimals(*judged.short))}
    return found | ({"why": judged.why} if judged.why else {})


def _plain(x: Any) -> float | None:
    """A float for JSON, which has no infinity: None stands for what is not known, or is infinite."""
    value = float(x)
    return value if math.isfinite(value) else None
