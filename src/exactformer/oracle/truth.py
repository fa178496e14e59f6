"""The true value of an operation on given floats: rounded correctly, or held against somebody's output, proved in either case.

Entries go through kinds of numbers that cost more and more, until each is settled: one float (if the format has fewer digits), two
floats, Arb with more and more bits. What is then still open is undecided, and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.model import machine
from exactformer.numbers import Undecided
from exactformer.numbers.enclosure import precision
from exactformer.numbers.formats import Format, exponent
from exactformer.oracle import arbs
from exactformer.oracle.arbs import Arbs
from exactformer.oracle.double import Double
from exactformer.oracle.formats import OracleError, packed
from exactformer.oracle.single import Single
from exactformer.oracle.taking import taken
from exactformer.oracle.ulps import Ulps

Side = Callable[[Fraction], int | None]
PRECISIONS = (192, 640, 4608)  # bits of Arb; at the last one, sums of products of float64 are exact
FINE = 2.0**-10  # of an ulp: bounds of an error need not be closer


@dataclass(frozen=True, eq=False)
class Part:
    """What an operation reads: does it have rows of its own for the rows of the output, and columns for its columns?"""

    values: Any
    rows: bool = True
    columns: bool = False

    def take(self, rows: Any, columns: Any = None) -> Any:
        if not isinstance(self.values, np.ndarray):
            return self.values
        found = self.values[rows] if self.rows else self.values
        return found[..., columns] if self.columns and columns is not None else found


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of the output that are computed together."""

    start: int
    rows: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Operation:
    """One of the formulas; `side(column, t, parts…)` is the sign of an entry minus the rational t, or None."""

    name: str
    formula: Callable[..., Any]
    side: Callable[..., int | None] | None = None
    columns: bool = False  # is a column computed without the others?
    lifted: bool = False  # are the numbers in two floats 2^512 times what they are?


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What an operation gives on the rationals that its floats are. `given`: entries that IEEE's infinities and NaN decide."""

    operation: Operation
    form: Format
    shape: tuple[int, ...]
    axis: int  # of the shape, along which a row runs; that of all axes: rows are single entries
    columns: int
    blocks: tuple[Block, ...]
    given: Any  # [rows, columns], or None
    decided: Any  # where they do, or None

    def __repr__(self) -> str:
        return f"Truth({self.operation.name}, shape={self.shape}, format={self.form.name!r})"

    def rounded(self) -> Any:
        """The true value in the output's format: the nearest number of it, ties to even, proved."""
        out = np.zeros((self._rows, self.columns))
        for rows, columns, (values,) in self._settled(_Rounding(self.form)):
            out[rows, columns] = values
        if self.given is not None:
            out = np.where(self.decided, self.given, out)
        with np.errstate(all="ignore"):
            return packed(self.form, self._arranged(out))

    def ulps(self, y: Any, limit: float = np.inf) -> Ulps:
        """The proved error of y, entry by entry, in units of the last place of the output's format at the true value.

        Bounds of an error are a thousandth of an ulp apart, or of the error; where a `limit` lies between them, closer.
        """
        array, form = taken(y, "y")
        if array.shape != self.shape:
            raise OracleError("y", f"has the shape {array.shape}; {self.operation.name} has {self.shape} here")
        if form.precision > self.form.precision:
            raise OracleError("y", f"is {form.name}, the truth was asked for in {self.form.name}: say dtype={quoted(form.name)}")
        given = self._spread(array)
        finite = np.isfinite(given)
        low, high = np.zeros(given.shape), np.zeros(given.shape)
        for rows, columns, (least, most) in self._settled(_Measuring(self.form, np.where(finite, given, 0.0), limit)):
            low[rows, columns], high[rows, columns] = least, most
        if not finite.all():  # right where the truth is rounded to the same infinity
            off = ~finite & ~(given == self._spread(self.rounded().astype(np.float64)))
            low, high = (np.where(finite, bound, np.where(off, np.inf, 0.0)) for bound in (low, high))
        if self.given is not None:
            low, high = _against(given, self.given, self.decided, low, high, self.form)
        return Ulps(self._arranged(low), self._arranged(high), self.form.name)

    def digits(self, index: tuple[int, ...], digits: int = 20) -> str:
        """The true value at an index, in decimals."""
        flat = int(np.ravel_multi_index(index, self.shape)) if self.shape else 0
        place = int(
            np.flatnonzero(self._spread(np.arange(max(1, int(np.prod(self.shape)))).reshape(self.shape)).ravel() == flat)[0]
        )
        row, column = divmod(place, self.columns)
        if self.given is not None and self.decided[row, column]:
            return str(self.given[row, column])
        block = next(b for b in self.blocks if b.start <= row < b.start + b.rows)
        with precision(PRECISIONS[0]):
            return str(self._balls(block, row - block.start, [column])[0].str(digits, radius=False))

    @property
    def _rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def _in_order(self) -> bool:
        """Do rows follow each other as in the array?"""
        return self.axis >= len(self.shape) - 1

    def _spread(self, y: Any) -> Any:
        """As rows and columns."""
        return (y if self._in_order else np.moveaxis(y, self.axis, -1)).reshape(self._rows, self.columns)

    def _arranged(self, rows: Any) -> Any:
        if self._in_order:
            return rows.reshape(self.shape)
        moved = [*self.shape]
        moved.append(moved.pop(self.axis))
        return np.ascontiguousarray(np.moveaxis(rows.reshape(moved), -1, self.axis))

    def _settled(self, judge: _Rounding | _Measuring) -> Iterator[tuple[Any, Any, Any]]:
        """Rows, columns and what the judge says of these entries: every entry once that is not given."""
        machine.check(blas=self.operation.columns)  # those use BLAS
        with np.errstate(all="ignore"):
            for block in self.blocks:
                yield from self._block(block, judge)
        machine.check()

    def _block(self, block: Block, judge: _Rounding | _Measuring) -> Iterator[tuple[Any, Any, Any]]:
        here = slice(block.start, block.start + block.rows)
        open_ = np.ones((block.rows, self.columns), dtype=bool) if self.given is None else ~self.decided[here]
        kinds = (Double,) if self.form.wide else (Single, Double)
        for kind in kinds:
            rows = np.flatnonzero(open_.any(axis=1))
            if not len(rows):
                return
            everything = kind is kinds[0] and len(rows) == block.rows
            numbers = self.operation.formula(kind, *(part.take(slice(None) if everything else rows) for part in block.parts))
            results, settled = judge.floats(numbers, block.start + rows, kind.lift if self.operation.lifted else 0)
            if everything:  # those that are not settled will be written again
                yield here, slice(None), results
                open_ &= ~settled
                continue
            at, columns = np.nonzero(settled & open_[rows])
            yield block.start + rows[at], columns, tuple(r[at, columns] for r in results)
            open_[rows[at], columns] = False
        for row in np.flatnonzero(open_.any(axis=1)).tolist():
            for column, found in self._row(block, row, np.flatnonzero(open_[row]).tolist(), judge):
                yield block.start + row, column, found

    def _row(
        self, block: Block, row: int, columns: list[int], judge: _Rounding | _Measuring
    ) -> Iterator[tuple[int, tuple[float, ...]]]:
        for bits in PRECISIONS:
            with precision(bits):
                balls = self._balls(block, row, columns)
            left = []
            for column, ball in zip(columns, balls, strict=True):
                with precision(bits):
                    ends = arbs.ends(ball, self.form)
                found = ends and judge.ball(ends, block.start + row, column, self._side(block, row, column), bits == PRECISIONS[-1])
                if found:
                    yield column, found
                else:
                    left.append(column)
            columns = left
            if not columns:
                return
        raise Undecided(f"{self.operation.name}: row {block.start + row}, column {columns[0]}", PRECISIONS[-1])

    def _balls(self, block: Block, row: int, columns: list[int]) -> Any:
        sliced = columns if self.operation.columns else None
        balls = self.operation.formula(Arbs, *(part.take([row], sliced) for part in block.parts)).balls[0]
        return balls if self.operation.columns else balls[columns]

    def _side(self, block: Block, row: int, column: int) -> Side:
        if self.operation.side is None:
            return lambda t: None
        side, sliced = self.operation.side, [column] if self.operation.columns else None
        return lambda t: side(0 if self.operation.columns else column, t, *(part.take([row], sliced) for part in block.parts))


@dataclass(frozen=True)
class _Rounding:
    form: Format

    def floats(self, numbers: Any, rows: Any, lift: int) -> tuple[tuple[Any], Any]:
        values, settled = numbers.nearest(self.form, lift)
        return (values,), settled

    def ball(self, ends: arbs.Ends, row: int, column: int, side: Side, last: bool) -> tuple[float] | None:
        low, high = (self.form.nearest_rational(end) for end in ends)
        if low == high:
            return (-0.0 if high == 0 and ends[0] < 0 and ends[1] <= 0 else high,)
        below, above = (_as_if_unbounded(end, self.form) for end in (low, high))
        between = (below + above) / 2
        if above - below != self.form.unit(between):  # no neighbours: more bits are needed first
            return None
        found = side(between) if ends[0] <= between <= ends[1] else None
        return None if found is None else (self.form.nearest_rational(between) if not found else high if found > 0 else low,)


def _as_if_unbounded(value: float, form: Format) -> Fraction:
    """Infinity as what would follow the largest number: half-way to that, numbers begin to be rounded to it."""
    return Fraction(2) ** (form.largest + 1) * (1 if value > 0 else -1) if np.isinf(value) else Fraction(value)


@dataclass(frozen=True)
class _Measuring:
    form: Format
    y: Any  # [rows, columns], finite
    limit: float

    def floats(self, numbers: Any, rows: Any, lift: int) -> tuple[tuple[Any, Any], Any]:
        low, high = numbers.distance(self.y[rows], self.form, lift)
        return (low, high), self._close(low, high)

    def _close(self, low: Any, high: Any) -> Any:
        return (high <= low * (1 + FINE) + FINE) & ((high <= self.limit) | (low > self.limit) | (low == high))

    def ball(self, ends: arbs.Ends, row: int, column: int, side: Side, last: bool) -> tuple[float, float] | None:
        y = Fraction(float(self.y[row, column]))
        low, high = arbs.in_ulps(y, *ends, self.form)
        if last or self._close(low, high):
            return low, high
        power = Fraction(2) ** exponent(max(map(abs, ends))) * (1 if ends[1] > 0 else -1)
        return arbs.in_ulps(y, power, power, self.form) if side(power) == 0 else None


def _against(y: Any, given: Any, decided: Any, low: Any, high: Any, form: Format) -> tuple[Any, Any]:
    """Entries whose truth IEEE decides: an infinity or NaN is right or infinitely wrong; 0 is a number like others."""
    same = (y == given) | (np.isnan(y) & np.isnan(given))
    finite = np.isfinite(given) & np.isfinite(y)
    with np.errstate(all="ignore"):
        least, most = Single(np.where(finite, given, 0.0)).distance(np.where(finite, y, 0.0), form)
    wrong = np.where(same, 0.0, np.inf)
    return tuple(np.where(decided, np.where(finite, bound, wrong), rest) for bound, rest in ((least, low), (most, high)))  # type: ignore[return-value]
