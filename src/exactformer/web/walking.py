"""A certified pass for whoever walks through it: floats with proved radii, written as digits where they are asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from exactformer.certified.arithmetic import CertifiedArithmetic, LimbSchedule
from exactformer.certified.ball import FLOAT, Ball, resize
from exactformer.certified.store import Store
from exactformer.model import InputError, Model
from exactformer.model.arithmetics.exact import MASKED
from exactformer.render.layout import verdict
from exactformer.trace import Step, Trace, run
from exactformer.web import document
from exactformer.web.distributions import distribution, strategy_of
from exactformer.web.sources import RequestError

_MOST = 30_000_000  # numbers of a pass that is kept: 16 bytes each
_KEPT = 2  # passes that are kept


class OnDemand:
    """An array of balls that are made when they are looked at: points, where no radii are given. `hidden` is under the mask."""

    dtype = np.dtype(object)

    def __init__(self, mid: Any, radius: Any = None, hidden: Any = None) -> None:
        self.mid, self.radius, self.hidden = mid, radius, hidden
        self.shape, self.ndim, self.size = tuple(mid.shape), mid.ndim, int(mid.size)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> Any:
        mid = np.asarray(self.mid[key], dtype=np.float64)
        result = Ball(mid, FLOAT, np.zeros(mid.shape) if self.radius is None else np.asarray(self.radius[key])).balls()
        if self.hidden is not None:
            result[np.asarray(self.hidden[key])] = MASKED
        return result

    def shades(self, head: int) -> list[list[float | str | None]]:
        """Midpoints of one matrix, to a few digits; null where nothing is known."""
        key: Any = head if self.ndim == 3 else ...
        mid = np.atleast_2d(np.asarray(self.mid[key], dtype=np.float64))
        known = np.isfinite(mid)
        if self.radius is not None:
            known &= np.isfinite(np.atleast_2d(self.radius[key]))
        hidden = np.zeros(mid.shape, dtype=bool) if self.hidden is None else self.hidden[key]
        return [
            ["hidden" if under else float(f"{x:.4g}") if there else None for x, there, under in zip(*row, strict=True)]
            for row in zip(mid.tolist(), known.tolist(), hidden.tolist(), strict=True)
        ]


class _Walking(CertifiedArithmetic):
    """Keeps floats of what it shows: 15 digits are more than a table has."""

    def __init__(self, store: Store, schedule: LimbSchedule) -> None:
        super().__init__(store, schedule, traced=True)
        self.count = 0
        self.last: Ball | None = None

    def shown(self, value: Any) -> Any:
        self.count += 0 if value.ndim == 0 else int(np.prod(value.shape))
        if self.count > _MOST:
            raise InputError(f"a walk through this pass has more than {_MOST:,} numbers: give a shorter prompt")
        if isinstance(value, Ball):
            self.last = resize(Ball(value.mid, value.n, value.radius), FLOAT)
            return OnDemand(self.last.mid, self.last.spread())
        if self.last is not None and value.ndim == 3 and value.shape == self.last.shape:  # scores with the mask on them
            hidden = np.array([x is MASKED for x in value.ravel()], dtype=bool).reshape(value.shape)
            return OnDemand(self.last.mid, self.last.spread(), hidden)
        return value


class Walks:
    """Passes over prompts, of one model; the last few are kept. `text` is of tokens that are read, `said` of outputs."""

    def __init__(self, model: Model, title: str, store: Store, text: Callable[[int], str], said: Callable[[int], str]) -> None:
        self.model, self.title, self.store, self.text, self.said = model, title, store, text, said
        self.outputs = {word: i for i, word in enumerate(model.config.spoken)}
        self.kept: OrderedDict[tuple[int, ...], Trace] = OrderedDict()

    def trace(self, ids: list[int], schedule: Callable[[], LimbSchedule]) -> Trace:
        key = tuple(ids)
        if key not in self.kept:
            ops = _Walking(self.store, schedule())
            self.store.trim(ops.limbs_at)
            words = tuple(self.model.config.vocabulary[i] for i in ids)
            self.kept[key] = self._worded(run(self.model, words, title=self.title, ops=ops))
        self.kept.move_to_end(key)
        if len(self.kept) > _KEPT:
            self.kept.popitem(last=False)
        return self.kept[key]

    def _worded(self, trace: Trace) -> Trace:
        """With the texts of tokens in its last step, and not their names in the vocabulary."""
        *steps, last = trace.steps
        texts = np.array([[self._text(out.token)] for out in trace.output], dtype=object)
        return replace(trace, steps=(*steps, replace(last, values=texts)))

    def outline(self, trace: Trace) -> dict[str, Any]:
        """As for any pass, with tokens by their texts."""
        found = document.outline(trace, breaks=False)

        def quoted(word: str | None) -> str | None:
            return None if word is None else f"“{self._text(word)}”"

        for out, said in zip(trace.output, found["output"], strict=True):
            spoken = replace(
                out,
                token=self._text(out.token),
                runner_up=quoted(out.runner_up),
                ties=tuple(f"“{self._text(word)}”" for word in out.ties),
            )
            said |= {"token": spoken.token, "verdict": verdict(spoken, trace.arithmetic)}
        found["tokens"] = list(map(self.text, found["ids"]))
        if found["model"]["vocabulary"] is not None:
            found["model"]["vocabulary"] = list(map(self.text, range(len(found["model"]["vocabulary"]))))
        if found["model"]["outputs"] is not None:
            found["model"]["outputs"] = list(map(self.said, range(len(self.outputs))))
        return found | {"about": "", "circuit": False}

    def _text(self, word: str | None) -> str | None:
        return None if word is None else self.said(self.outputs[word])

    def values(self, trace: Trace, steps: list[str], **window: int | None) -> dict[str, Any]:
        found = document.asked(trace, {name: self.step(trace, name) for name in steps}, **window)
        if "words" in found:
            found["words"] = {n: self.text(n) for n in found["words"]}
        return found

    def number(self, trace: Trace, step: str, index: list[int], digits: int) -> dict[str, Any]:
        found = self.step(trace, step)
        opened = document.opened(found, document.entry(found, index), digits)
        value = opened["value"]
        return opened | {"digits": value["text"], "low": value["low"], "high": value["high"]} if value.get("low") else opened

    def shades(self, trace: Trace, step: str, head: int) -> dict[str, Any]:
        return document.shades(self.step(trace, step), head)

    def distribution(self, trace: Trace, position: int, temperature: str, top_k: int | None, top_p: str | None) -> dict[str, Any]:
        return distribution(trace.logits, strategy_of(temperature, top_k, top_p), self.said, position)

    @staticmethod
    def step(trace: Trace, name: str) -> Step:
        for step in trace.steps:
            if step.name == name:
                return step
        for step in trace.weights:
            if step.name == name:
                return step if step.values.dtype == object else replace(step, values=OnDemand(step.values))
        raise RequestError(f"step: there is no step {name!r}")
