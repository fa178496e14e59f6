"""Rotary positions of a config.json: `rope_parameters`, or `rope_scaling` and `rope_theta` as older versions wrote them.

There are two readings of the angles. *Ideal*: position · base^(−2i/d), over the reals. *Stored*: position times the float32 number
that the transformers library computes for base^(−2i/d), taken as the rational that it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from exactformer.checkpoints.fields import Fields
from exactformer.messages import few
from exactformer.model.rotary import frequencies
from exactformer.numbers import Exact, Number, exact, from_float, pi
from exactformer.reading import described

Reading = Literal["ideal", "stored"]
READINGS: tuple[Reading, ...] = get_args(Reading)
_KEYS: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
}
_ONE = exact(1)
_LARGEST = 10**30  # of bases and factors, and 1 over the smallest: float32 holds them
_EVERYWHERE = ("rope_type", "type", "rope_theta", "partial_rotary_factor")


@dataclass(frozen=True)
class Rope:
    """How the pairs of `width` dimensions of a head turn."""

    base: Exact
    width: int
    kind: str = "default"
    factor: Exact = _ONE  # that all angles are divided by, or those of slow pairs
    low: Exact = _ONE  # llama3: turns over the first positions up to which a pair is slow
    high: Exact = _ONE  # and from which on it is fast
    original: int = 0  # positions that the model was first trained with

    def frequencies(self, reading: Reading) -> tuple[Number, ...]:
        """The angle by which one position turns each pair.

        >>> Rope(exact(10000), 4, "linear", factor=exact(2)).frequencies("ideal")
        (exact('1/2'), exact('1/200'))
        >>> Rope(exact(10000), 4).frequencies("stored")
        (exact('1'), exact('5368709/536870912'))
        """
        if reading == "stored":
            return tuple(from_float(float(angle)) for angle in self._stored())
        return tuple(map(self._scaled, frequencies(self.base, self.width)))

    def _scaled(self, angle: Number) -> Number:
        """linear: all turn slower. llama3: those that turn less than `low` times over the first positions do, those that turn more
        than `high` times do not, and between the two the share grows evenly.
        """
        if self.kind != "llama3":
            return angle / self.factor
        turns = self.original * angle / (2 * pi())
        if turns < self.low:
            return angle / self.factor
        if turns > self.high:
            return angle
        share = (turns - self.low) / (self.high - self.low)
        return (1 - share) * angle / self.factor + share * angle

    def _stored(self) -> Any:
        """The library's float32 operations, in its order, each rounded to nearest. (Its power function is not, always: it may
        differ by a unit in the last place.)
        """
        exponents = np.arange(0, self.width, 2, dtype=np.float32) / np.float32(self.width)
        base = from_float(float(np.float32(self.base.to_float())))
        angles = _short(1) / np.array([_nearest(base ** from_float(float(x))) for x in exponents], dtype=np.float32)
        factor, low = _short(self.factor), _short(self.low)
        if self.kind != "llama3":
            return angles / factor
        length = _short(1) / angles * np.float32(2 * math.pi)
        longest, shortest = _short(self.original / self.low), _short(self.original / self.high)
        slow = np.where(length > longest, angles / factor, angles)
        share = (_short(1) / length * np.float32(self.original) - low) / _short(self.high - self.low)
        between = (_short(1) - share) * slow / factor + share * slow
        return np.where((length >= shortest) & (length <= longest), between, slow)


def _short(number: Number | int) -> Any:
    """By way of float64, as settings become float32 in the library."""
    return np.float32(number if isinstance(number, int) else number.to_float())


def _nearest(number: Number) -> Any:
    """At once: the float64 next to a power may be halfway between two float32 numbers, and the power on either side of it."""
    near = number.to_float()
    short = float(np.float32(near))
    other = float(np.nextafter(np.float32(short), np.float32(math.inf if near > short else 0)))
    if near - short != other - near or number == from_float(near):
        return np.float32(near)
    return np.float32(max(short, other) if number > from_float(near) else min(short, other))


def read_rope(
    fields: Fields, head_dim: int, fraction: str | None = None, names: tuple[str, str] = ("rope_theta", "partial_rotary_factor")
) -> Rope:
    """What a configuration says of its rotary positions. A `fraction` is the usual one of families whose heads may be turned in
    part; others turn whole heads. `names` are those of base and fraction outside the tables.
    """
    given, scaling = fields.optional("rope_parameters"), fields.optional("rope_scaling")
    tables = [_said(table, fields, names) for table in (given, scaling) if table is not None]
    if len(tables) == 2 and tables[0] != tables[1]:
        raise fields.error("rope_scaling", "contradicts rope_parameters")
    where = given if given is not None else scaling
    said = tables[0] if tables else _said(Fields({}, fields.path), fields, names)
    return rope_of(said, fields if where is None else where, fields, head_dim, fraction)


def rope_of(said: Mapping[str, Any], where: Fields, fields: Fields, head_dim: int, fraction: str | None) -> Rope:
    """From a table in which everything stands."""
    kind = said["rope_type"]
    if not isinstance(kind, str) or kind not in _KEYS:
        raise where.error("rope_type", f"{described(kind)} is not supported; supported: {', '.join(_KEYS)}")
    if unknown := [key for key in said if key not in _EVERYWHERE and key not in _KEYS[kind]]:
        raise where.error(few(unknown), f"is not known to go with the rope type {kind}: it may change the network")
    table = Fields(dict(said), where.path, where.place)
    part = table.positive("partial_rotary_factor", "1" if fraction is None else fraction)
    if part > 1 or (fraction is None and part != 1):
        supported = "1" if fraction is None else "up to 1"
        raise table.error(
            "partial_rotary_factor", f"{described(said['partial_rotary_factor'])} is not supported; supported: {supported}"
        )
    width = int(head_dim * part.to_float())  # with the rounding of the library's product
    if width % 2 or not width:
        raise table.error("partial_rotary_factor", f"turns {width} of the {head_dim} dimensions of a head, which are not pairs")
    base = _moderate(table, "rope_theta", "10000")
    if kind == "default":
        return Rope(base, width)
    factor = _moderate(table, "factor")
    if kind == "linear":
        return Rope(base, width, kind, factor)
    low, high = _moderate(table, "low_freq_factor"), _moderate(table, "high_freq_factor")
    if low >= high:
        raise table.error("high_freq_factor", f"{described(said['high_freq_factor'])} is not greater than low_freq_factor")
    original = table.count("original_max_position_embeddings", fields.count("max_position_embeddings"))
    return Rope(base, width, kind, factor, low, high, original)


def _moderate(table: Fields, field: str, default: str | None = None) -> Exact:
    number = table.positive(field, default)
    if not 1 <= number * _LARGEST <= _LARGEST**2:
        raise table.error(field, f"{described(table.get(field))} is not between 1e-30 and 1e30")
    return number


def _said(table: Fields, fields: Fields, names: tuple[str, str]) -> dict[str, Any]:
    """The table with its kind under one name, and with the base and the fraction that stand outside."""
    said = dict(table.raw)
    if "type" in said and "rope_type" in said and said["type"] != said["rope_type"]:
        raise table.error("type", f"{described(said['type'])} contradicts rope_type, which is {described(said['rope_type'])}")
    said["rope_type"] = said.get("rope_type", said.pop("type", "default"))
    said.pop("type", None)
    for name, outside in zip(("rope_theta", "partial_rotary_factor"), names, strict=True):
        if fields.get(outside) is None:
            continue
        if name in said and table.number(name) != fields.number(outside):
            raise fields.error(
                outside, f"{described(fields.get(outside))} contradicts {table.place}{name}, {described(said[name])}"
            )
        said[name] = fields.get(outside)
    return said
