"""What is proved of whole sets of inputs: by how much the answer leads every other token, at least and at most (Lemma 35)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.certified import bounds
from exactformer.certified.one_layer import Tables
from exactformer.proofs.boxes import Root, Sets

TERM, SUM = 15, 7  # Lemma 34: what a term is off by, and a sum for each of its terms, in u · weight · largest
FLOOR = 2.0**-480  # Lemma 34: what terms and weights are off by where they are all but 0


_ANY = np.errstate(over="ignore", invalid="ignore", divide="ignore")  # an end that is infinite, or no number, decides nothing


@dataclass(frozen=True, eq=False)
class Bounds:
    """Of sets: which are proved right, which wrong; for the others the token that is nearest to leading, and the lead."""

    right: Any
    wrong: Any
    worst: Any  # [n]: a column of the terms
    low: Any  # [n]: at least so much is left of the lead over that token
    least: Any  # [n, free positions]: what each position takes off that lead at most

    def of(self, rows: Any) -> Bounds:
        return Bounds(*(part[rows] for part in (self.right, self.wrong, self.worst, self.low, self.least)))


class Bounding:
    """The terms w(t)·(lead of the answer) of every token t at every position, for one root; sums of them decide.
    `said` is the output that is demanded: the one with the name of the root's answer."""

    @_ANY
    def __init__(self, tables: Tables, root: Root, said: int) -> None:
        self.root, self.positions = root, tables.weights.shape[1]
        others = np.arange(tables.says.shape[-1]) != said
        leads = tables.says[..., said, None] - tables.says[..., others]
        terms = np.concatenate([tables.weights[..., None] * leads, tables.weights[..., None]], axis=-1)  # the last column: weights
        self.own, self.terms = terms[:, -1, root.last], terms[:, :-1]  # [heads, others + 1], [heads, free, tokens, others + 1]
        self.largest = tables.largest
        inside = root.allowed[None, :, :, None]
        least, most = np.where(inside, self.terms, np.inf).min(axis=2), np.where(inside, self.terms, -np.inf).max(axis=2)
        whole = root.whole
        low = self._leads(least[None], most[None], whole)[0][0]
        kept = [*np.flatnonzero(~(low > 0)), -1]  # tokens that lead somewhere, perhaps: all others are behind everywhere
        self.own, self.terms = self.own[:, kept], np.ascontiguousarray(self.terms[..., kept])
        self.at_root = self._decided(least[None, ..., kept], most[None, ..., kept], whole)
        self._ranges: tuple[Any, Any] | None = None

    def ranges(self) -> tuple[Any, Any]:
        """The least and the most of 2^k tokens from each on: [k, heads, free, tokens, columns] each."""
        if self._ranges is None:
            inside = self.root.allowed[None, :, :, None]
            found = []
            for extreme, outside in ((np.minimum, np.inf), (np.maximum, -np.inf)):
                levels = [np.where(inside, self.terms, outside)]
                while (step := 1 << (len(levels) - 1)) < self.terms.shape[2]:
                    level = levels[-1].copy()
                    level[:, :, :-step] = extreme(level[:, :, :-step], levels[-1][:, :, step:])
                    levels.append(level)
                found.append(np.stack(levels))
            self._ranges = found[0], found[1]
        return self._ranges

    @_ANY
    def __call__(self, sets: Sets) -> Bounds:
        least, most = self.ranges()
        level = np.frexp(sets.high - sets.low + 1)[1] - 1  # [n, free]
        heads, places = np.arange(len(self.own))[None, :, None], np.arange(sets.low.shape[1])[None, None, :]
        begin = level[:, None], heads, places, sets.low[:, None]
        end = level[:, None], heads, places, (sets.high - (1 << level) + 1)[:, None]
        return self._decided(np.minimum(least[begin], least[end]), np.maximum(most[begin], most[end]), sets)

    def _decided(self, least: Any, most: Any, sets: Sets) -> Bounds:
        low, high, slack = self._leads(least, most, sets)
        right, wrong, rows = (low > 0).all(axis=1), (high < 0).any(axis=1), np.arange(len(low))
        if not low.shape[1]:  # no other token leads anywhere
            return Bounds(right, wrong, rows, np.zeros(len(low)), np.zeros(sets.low.shape))
        worst = np.where(np.isnan(low), -np.inf, low).argmin(axis=1)
        return Bounds(right, wrong & ~right, worst, slack[rows, worst], least[rows, :, :, worst].sum(axis=1))

    def _leads(self, least: Any, most: Any, sets: Sets) -> tuple[Any, Any, Any]:
        """Of terms [n, heads, free, columns]: ends around the lead over each token, [n, columns], right in their signs (Lemma 35);
        and the sum that the lower one is of, over all heads."""
        low, high = (part.sum(axis=2) + self.own for part in (least, most))  # [n, heads, columns]
        light, heavy = (low[..., -1:] - FLOOR) / bounds.UP**2, (high[..., -1:] + FLOOR) * bounds.UP**2  # all weights together
        largest, share = self.largest[:, None], (TERM + SUM * (self.positions + 2)) * bounds.UNIT
        room = (share * heavy * largest + FLOOR * (largest + 1)) * bounds.UP
        low, high = low[..., :-1] + self._needed(least[..., :-1], sets), high[..., :-1]
        below, above = low - room, high + room
        light = np.maximum(light, 0)
        below, above = below / np.where(below >= 0, heavy, light), above / np.where(above >= 0, light, heavy)
        return below.sum(axis=1), above.sum(axis=1), low.sum(axis=1)

    def _needed(self, least: Any, sets: Sets) -> Any:
        """What the answer adds to the least sum where it must stand somewhere: the least that it costs to put it there."""
        if not sets.needs.any():
            return 0.0
        at_answer = self.terms[:, :, self.root.answer, : least.shape[-1]]  # [heads, free, columns]
        supply = sets.supply(self.root)[:, None, :, None]
        extra = np.where(supply, at_answer - least, np.inf).min(axis=2)
        return np.where(sets.needs[:, None, None], extra, 0.0)

    def cuts(self, sets: Sets, found: Bounds) -> tuple[Any, Any, Any]:
        """Where to cut each set: a position, and the last token of the first part; and whether the other part is the one in which
        the worst token gains. Any cut is right; a good one leaves a part in which it is behind, or else takes off much of that."""
        tokens, rows = np.arange(self.terms.shape[2]), np.arange(len(sets))
        terms = np.moveaxis(self.terms.sum(axis=0), -1, 0)[found.worst]  # [n, free, tokens]
        inside = self.root.allowed & (tokens >= sets.low[..., None]) & (tokens <= sets.high[..., None])

        def ends(bar: Any) -> tuple[Any, Any, Any]:
            """At each position, the share of tokens before or after all that are below the bar; the cut; is it before them?"""
            bad = inside & ~(terms > bar[..., None])
            first, last = bad.argmax(axis=2)[..., None], tokens[-1] - bad[..., ::-1].argmax(axis=2)[..., None]
            before, after = ((inside & side).sum(axis=2) for side in (tokens < first, tokens > last))
            early = before >= after
            return np.maximum(before, after) / inside.sum(axis=2), np.where(early, first[..., 0] - 1, last[..., 0]), early

        share, cut, early = ends(found.least - found.low[:, None])
        more, further, sooner = ends((np.where(inside, terms, -np.inf).max(axis=2) + found.least) / 2)
        none = (share <= 0).all(axis=1)[:, None]
        share, cut, early = np.where(none, more, share), np.where(none, further, cut), np.where(none, sooner, early)
        place = share.argmax(axis=1)
        cut, early = cut[rows, place], early[rows, place]
        useless = (cut < sets.low[rows, place]) | (cut >= sets.high[rows, place])
        place = np.where(useless, (sets.high - sets.low).argmax(axis=1), place)
        return place, np.where(useless, (sets.low[rows, place] + sets.high[rows, place]) // 2, cut), early
