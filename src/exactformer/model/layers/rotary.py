"""Positions that turn queries and keys: the fields of rotary positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from exactformer.model.fields import ConfigError, one_of, positive, setting
from exactformer.model.layers.embedding import Positions
from exactformer.model.rotary import Pairs, Rotary, frequencies
from exactformer.numbers import Exact, Number, exact

_FIELDS: tuple[str, ...] = ("rotary_base", "rotary_fraction", "rotary_pairs", "rotary_frequencies", "window_rotary_base")
_FIELDS += ("window_rotary_frequencies",)
_DEFAULT_BASE, _WHOLE = exact(10000), exact(1)


@dataclass(frozen=True, kw_only=True)
class RotaryFields:
    head_dim: int
    positions: Positions
    window: int
    full_blocks: tuple[int, ...]
    rotary_base: Exact = _DEFAULT_BASE
    rotary_fraction: Exact = _WHOLE  # of the dimensions of a head: the first are turned, the others stay
    rotary_pairs: Pairs = "halves"
    rotary_frequencies: tuple[Number, ...] = ()  # the angle of each pair, where it is not base^(−2i/width)
    window_rotary_base: Exact | None = None  # in blocks with a window, where that is another
    window_rotary_frequencies: tuple[Number, ...] = ()
    late_rotary: bool = setting(False, worksheet="cannot")  # a mistake: are results turned, instead of queries and keys?

    def check(self) -> None:
        one_of("rotary_pairs", self.rotary_pairs, get_args(Pairs))
        positive("rotary_base", self.rotary_base)
        positive("rotary_fraction", self.rotary_fraction)
        positive("window_rotary_base", self.window_rotary_base)
        if self.positions != "rotary":
            for name in _FIELDS:
                if getattr(self, name) != RotaryFields.__dataclass_fields__[name].default:
                    raise ConfigError(name, 'is given, but positions is not "rotary"')
            return
        if self.rotary_fraction > 1 or (self.rotary_fraction.value * self.head_dim / 2).q != 1:
            turned = f"{self.rotary_fraction} of the {self.head_dim} dimensions of a head"
            raise ConfigError("rotary_fraction", f"{turned} cannot be put in pairs")
        for name in ("rotary_frequencies", "window_rotary_frequencies"):
            given = getattr(self, name)
            if given and (len(given) != self.rotary_width // 2 or not all(isinstance(x, Number) for x in given)):
                raise ConfigError(name, f"is not {self.rotary_width // 2} exact numbers, one for each pair")

    @property
    def rotary_width(self) -> int:
        """Dimensions of a head that are turned."""
        return int(self.rotary_fraction.value * self.head_dim)

    @cached_property
    def rotary(self) -> Rotary:
        return Rotary(self.rotary_frequencies or frequencies(self.rotary_base, self.rotary_width), self.rotary_pairs)

    @cached_property
    def window_rotary(self) -> Rotary:
        if not self.window_rotary_frequencies and self.window_rotary_base is None:
            return self.rotary
        base = self.rotary_base if self.window_rotary_base is None else self.window_rotary_base
        return Rotary(self.window_rotary_frequencies or frequencies(base, self.rotary_width), self.rotary_pairs)

    def rotary_at(self, block: int) -> Rotary | None:
        if self.positions != "rotary":
            return None
        return self.window_rotary if self.window and block not in self.full_blocks else self.rotary
