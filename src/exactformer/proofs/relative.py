"""Rotary positions: that a score depends on the distance of two positions alone, proved for the angles of a model.

With R_p the turn by position p, (R_i q)·(R_j k) = q·(R_iᵀ R_j k) for all q and k. So the theorem is that R_iᵀ R_j is the turn by
j − i: for every pair of dimensions, with its angle θ,
    cos iθ cos jθ + sin iθ sin jθ = cos (i − j)θ   and   sin iθ cos jθ − cos iθ sin jθ = sin (i − j)θ.
These are statements about numbers, and are decided as such, for all positions up to a length.
"""

from __future__ import annotations

from dataclasses import dataclass

from exactformer.model import Config, ConfigError
from exactformer.numbers import Number, Undecided, compare, cos, sin


@dataclass(frozen=True)
class Turned:
    """What was found of one angle: `equal` is None where it is undecided, first at `place`."""

    where: str
    angle: Number
    equal: bool | None
    place: tuple[int, int] | None = None


def relative(config: Config, length: int) -> list[Turned]:
    """For every angle of the model and all positions j ≤ i below `length`.

    >>> from exactformer.worksheets import load
    >>> [(str(found.angle), found.equal) for found in relative(load("llama").model.config, 3)]
    [('1', True)]
    """
    if config.positions != "rotary":
        raise ConfigError("positions", 'are not "rotary": scores do not depend on distances by themselves')
    kinds = {"": config.rotary, " (blocks with a window)": config.window_rotary}
    seen = {id(rotary): (where, rotary) for where, rotary in reversed(kinds.items())}
    return [
        _decided(f"pair {n}{where}", angle, length) for where, rotary in seen.values() for n, angle in enumerate(rotary.frequencies)
    ]


def _decided(where: str, angle: Number, length: int) -> Turned:
    turns = [(cos(p * angle), sin(p * angle)) for p in range(length)]
    for i in range(length):
        for j in range(i + 1):
            equal = _same_turn(turns[i], turns[j], turns[i - j])
            if not equal:
                return Turned(where, angle, equal, (i, j))
    return Turned(where, angle, True)


def _same_turn(query: tuple[Number, Number], key: tuple[Number, Number], distance: tuple[Number, Number]) -> bool | None:
    (c, s), (d, t) = query, key
    try:
        return compare(c * d + s * t, distance[0]) == 0 and compare(s * d - c * t, distance[1]) == 0
    except Undecided:
        return None
