"""Token after token: a pass, a choice that is proved where the arithmetic can, and the same again with the token put at the end."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any, Literal

from flint import arb

from exactformer.arithmetics import arithmetic, kind
from exactformer.decoding.distribution import Distribution, of_row
from exactformer.decoding.pieces import Pieces
from exactformer.decoding.rows import BallRow
from exactformer.decoding.selection import largest, rank
from exactformer.decoding.strategy import GREEDY, DecodingError, Strategy
from exactformer.model import InputError, Model, Values, following, forward
from exactformer.model.cache import Cache
from exactformer.numbers import Undecided, Undefined, UndefinedValue
from exactformer.tokenizers import Tokenizer

_START_BITS, _CAP_BITS = 128, 4096


@dataclass(frozen=True)
class End:
    """Why no token follows."""

    kind: Literal["stop", "maximum", "length", "undefined", "undecided", "interrupted"]  # the last: by who asked for tokens
    text: str


@dataclass(frozen=True)
class Chosen:
    """One token of a continuation; the last one has the reason of the end.

    Where the logits are undefined, or the choice is undecided, the last one has no token.
    """

    position: int  # in the sequence, prompt included
    id: int | None  # among the outputs
    token: str | None
    text: str  # what can be shown of the continuation now that this token is there
    proved: bool
    probability: Any = None  # what it was drawn with; for a greedy choice what it has among all tokens
    rank: int | None = None  # 1 is the most likely token; None: undecided
    runner_up: str | None = None  # the most likely of the other tokens; None: undecided, or there is none
    margin: Any = None  # its logit minus the largest of the others; negative where a less likely token was drawn
    bits: int | None = None  # of the balls, where it took balls
    end: End | None = None


def generate(
    model: Model,
    ids: Sequence[int],
    *,
    steps: int,
    arithmetic: str = "exact",
    strategy: Strategy = GREEDY,
    stop: Collection[int | str] = (),
    seed: int | None = None,
    tokenizer: Tokenizer | None = None,
    cap_bits: int = _CAP_BITS,
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Chosen]:
    """Continue `ids` by up to `steps` tokens, one at a time, until a token of `stop` or the end of the model's positions.

    In `arb`, what stays undecided is computed again with twice as many bits, up to `cap_bits`. Drawing takes a seed; the token at
    a position depends on the seed, the position and the tokens before, so a continuation can be continued.

    >>> from exactformer.worksheets import load
    >>> model = load("capstone").model
    >>> (chosen,) = generate(model, [0, 1], steps=5)
    >>> chosen.token, chosen.proved, str(chosen.probability), chosen.end.text
    ('a', True, 'e^2/(1+e+e^2)', 'the model has 2 positions')
    """
    if type(steps) is not int or steps < 1:
        raise DecodingError(f"steps: {steps!r} is not a whole number of at least 1")
    if cap_bits < _START_BITS:
        raise DecodingError(f"cap of {cap_bits} bits: balls start with {_START_BITS}")
    if seed is not None and type(seed) is not int:
        raise DecodingError(f"seed: {seed!r} is not a whole number")
    if strategy.greedy and seed is not None:
        raise DecodingError("seed: a greedy choice draws nothing")
    if not kind(arithmetic).stepwise:
        raise DecodingError(f"arithmetic: {arithmetic} computes whole layers, and proves tokens in its own way: use certify")
    prompt, stops = _checked(model, ids), _stops(model, stop)
    if steps > 1:
        model.check_fed_back()
    passes = _Passes(model, arithmetic, cap_bits, progress)
    return _continued(passes, prompt, steps, strategy, stops, fresh_seed() if seed is None else seed, tokenizer)


def fresh_seed() -> int:
    """A seed that nobody chose."""
    return secrets.randbits(32)


def _continued(
    passes: _Passes, ids: list[int], steps: int, strategy: Strategy, stop: set[int], seed: int, tokenizer: Tokenizer | None
) -> Iterator[Chosen]:
    config = passes.model.config
    pieces = Pieces(None if config.outputs else tokenizer, config.spoken, ids)
    for step in range(1, steps + 1):
        position = len(ids)
        try:
            chosen = passes.choice(ids, strategy, seed)
        except (Undecided, UndefinedValue) as error:
            kind: Literal["undecided", "undefined"] = "undecided" if isinstance(error, Undecided) else "undefined"
            yield Chosen(
                position, None, None, pieces.rest(), passes.proves and kind == "undefined", end=End(kind, _at(position, error))
            )
            return
        assert chosen.id is not None
        end = None
        if chosen.id in stop:
            end = End("stop", f"the stop token {chosen.token}")
        elif config.length is not None and position >= config.length:
            end = End("length", f"the model has {config.length:,} positions")
        elif step == steps:
            end = End("maximum", f"{steps:,} token{'s' * (steps > 1)}, as asked for")
        is_text = end is None or end.kind != "stop"
        text = pieces.text(chosen.id, end is not None) if is_text else pieces.rest()
        yield replace(chosen, text=text, end=end)
        if end is not None:
            return
        ids = [*ids, passes.model.fed_back(chosen.id)]


class _Passes:
    """Passes over a sequence that grows, in one arithmetic after another where one of them cannot decide."""

    def __init__(self, model: Model, name: str, cap_bits: int, progress: Callable[[str], None]) -> None:
        self.model, self.name, self.cap_bits, self.progress = model, name, cap_bits, progress
        self.proves, self.encloses = kind(name).proves, kind(name).numbers == "balls"
        self.bits = _START_BITS
        self._start(self._balls() if self.encloses else arithmetic(name))

    def choice(self, ids: list[int], strategy: Strategy, seed: int) -> Chosen:
        while True:
            logits = self._logits(ids)
            try:
                return _chosen(of_row(logits, strategy, self.bits, self.model.config.spoken), seed, len(ids))
            except Undecided:
                # Of exact numbers nothing more is to be had. Balls get more bits, also those that stand for long exact rows.
                if self.bits >= self.cap_bits or not (self.encloses or isinstance(logits[0], arb)):
                    raise
                self.bits = min(2 * self.bits, self.cap_bits)
                self._start(self._balls())

    def _balls(self) -> Values:
        from exactformer.model.arithmetics.arb import ArbArithmetic

        return ArbArithmetic(self.bits)

    def _start(self, ops: Values) -> None:
        """Keys and values are kept where later positions cannot change them."""
        self.ops, self.cache = ops, Cache() if self.model.config.keeps_past else None

    def _logits(self, ids: list[int]) -> Any:
        new = ids if self.cache is None else self.cache.after(ids)
        logits = forward(self.model, new, self.ops, following(self.progress), self.cache)[-1]
        if isinstance(logits[0], Undefined) and len(new) < len(ids):
            self._start(self.ops)
            return self._logits(ids)  # whole, for the reason names a position of the pass
        return logits


def _chosen(distribution: Distribution, seed: int, position: int) -> Chosen:
    row = distribution.row
    id = distribution.draw_id(seed, position)
    others = [i for i in range(row.size) if i != id]
    second = _unless_undecided(lambda: largest(row, others, 1)[0]) if others else None
    return Chosen(
        position,
        id,
        distribution.labels[id],
        "",
        row.proved,
        distribution.probability(id),
        _unless_undecided(lambda: rank(row, id)),
        None if second is None else distribution.labels[second],
        row.margin(id, second) if second is not None else row.lead(id, others) if others else None,
        row.bits if isinstance(row, BallRow) else None,
    )


def _unless_undecided(question: Callable[[], int]) -> int | None:
    """What goes beyond the choice itself may stay open."""
    try:
        return question()
    except Undecided:
        return None


def _checked(model: Model, ids: Sequence[int]) -> list[int]:
    size = len(model.config.vocabulary)
    if model.config.unembedding == "none":
        raise InputError("the model has no logits: there is no token to choose")
    for position, id in enumerate(ids):
        if not 0 <= index(id) < size:
            raise InputError(f"position {position}: no token has the id {id}: the vocabulary has 0 to {size - 1:,}")
    model.ids(tuple(model.config.vocabulary[id] for id in ids))  # says what else does not fit
    return [index(id) for id in ids]


def _stops(model: Model, stop: Collection[int | str]) -> set[int]:
    outputs = model.config.spoken
    names = {token: id for id, token in enumerate(outputs)} if any(isinstance(token, str) for token in stop) else {}
    found = set()
    for token in stop:
        id = names.get(token, -1) if isinstance(token, str) else token
        if not 0 <= id < len(outputs):
            where = "among the outputs" if model.config.outputs else "in the vocabulary"
            raise DecodingError(f"stop: the token {token!r} is not {where}")
        found.add(id)
    return found


def _at(position: int, error: Undecided | UndefinedValue) -> str:
    """The reason, with the position after the word that it starts with."""
    kind, _, reason = str(error).partition(": ")
    return f"{kind}: position {position}: {reason}"
