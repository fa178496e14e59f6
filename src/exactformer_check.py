#!/usr/bin/env python3
"""Checks a certificate: after these ids the exact network says token t, which leads by m or more.

    python exactformer_check.py CERTIFICATE MODEL_FOLDER [--witness FILE] [--processes N]

Status 0: accepted, 1: refused, 2: bad input. This file needs Python 3.11 or later and its standard
library, nothing else. The exact network has the rational numbers of the safetensors files as
weights, follows config.json, and computes with real numbers. docs/checker.md of exactformer proves
that what is accepted is true; L1, L2, ... point there.

Numbers are integers in units of 2^-bits, an *ulp*. Rows, one for each position, have a radius in
ulps: the true row lies within it in the L2 norm. Products with weights are exact integers. Without
a witness they are computed here, and acceptance is a proof. With one they are read from it and
tested with random numbers that nobody can foresee: then a false certificate is accepted with a
probability of at most 2^-96, whoever wrote it.
"""

import argparse
import hashlib
import json
import math
import os
import re
import secrets
import signal
import struct
import sys
import time
from array import array
from collections import deque, namedtuple
from contextlib import ExitStack, suppress
from fractions import Fraction
from io import StringIO
from itertools import accumulate, cycle, repeat
from multiprocessing import Pipe, Process
from operator import add, mul

LARGEST = 1 << 20  # bytes of the JSON of a model
LONGEST = 1 << 23  # bytes of a certificate
WORK = 1 << 20  # positions times bits
SPACE = 1 << 30  # bits of the rows of all positions, beside as many as the weights have
FEWEST, MOST = 32, 4000  # bits
ROOM = 128  # more bits for rotary angles
CHUNK = 1 << 19  # weights that are read at a time, or a few more

class Refused(Exception):
    """What is claimed is not shown. It may still be true."""

    status = 1

class BadInput(Refused):
    """This is no certificate, or no model that is known here."""

    status = 2

def need(condition, why, kind=BadInput):
    if not condition:
        raise kind(why)

# ---------------------------------------------------------------------------- documents

def opened(path):
    need(os.path.isfile(path), f"{path}: there is no such regular file")
    return open(path, "rb")

def read_json(data, name, most=LARGEST):
    """A JSON object, strictly: no key twice, decimals as the fractions that they are."""

    def once(pairs):
        found = {}
        for key, value in pairs:
            need(key not in found, f"{ascii(key)[:80]}: is there twice")
            found[key] = value
        return found

    need(len(data) <= most, f"{name}: is too large")
    try:
        document = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_float=decimal,
                              parse_constant=decimal)
    except BadInput as problem:
        raise BadInput(f"{name}: {problem}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{name}: is not JSON") from None
    need(type(document) is dict, f"{name}: is not a table")
    return document

def decimal(text, name=""):
    """0.25 or 1e-05 as the fraction that it is."""
    known = re.fullmatch(r"-?[0-9]{1,80}(\.[0-9]{1,160})?([eE][-+]?[0-9]{1,2})?", text)
    need(known, f"{name}{text[:40]!r} is no decimal, or has too many digits")
    return Fraction(text)

def natural(value, least, most, name):
    need(type(value) is int and least <= value <= most, f"{name}: is not from {least} to {most}")
    return value

class Fields:
    """The fields of a configuration, taken by name. One that nobody asks for is refused."""

    def __init__(self, document, name):
        self.document, self.name, self.asked = document, name, set()

    def get(self, key, usual=None):
        self.asked.add(key)
        return self.document.get(key, usual)

    def need(self, condition, key, why):
        need(condition, f"{self.name}: {key}: {why}")

    def count(self, key, usual=None, least=1, most=(1 << 31) - 1):
        value = usual if self.get(key) is None else self.get(key)
        self.need(value is not None, key, "is missing")
        return natural(value, least, most, f"{self.name}: {key}")

    def number(self, key, usual, least, most):
        value = self.get(key, usual)
        good = type(value) in (int, Fraction) and least <= value <= most
        self.need(good, key, f"is not a number from {least} to {most}")
        return Fraction(value)

    def flag(self, key, usual):
        self.need(type(self.get(key, usual)) is bool, key, "is not true or false")
        return self.get(key, usual)

    def choice(self, key, known, usual=None):
        value = self.get(key, usual)
        self.need(value is not None, key, "is missing")
        self.need(type(value) is str and value in known, key, "is not known here")
        return known[value]

    def table(self, key):
        self.need(type(self.get(key)) in (dict, type(None)), key, "is not a table")
        return self.get(key)

    def finish(self, harmless=(), fixed=None):
        """What was not read may change the network; some keys are known with some values."""
        for key in self.document.keys() - self.asked - set(harmless):
            value, known = self.document[key], (fixed or {}).get(key, [])
            same = any(type(value) is type(good) and value == good for good in known)
            self.need(same, ascii(key)[:60], "is not known here: it may change the network")

# ---------------------------------------------------------------------- weights, exactly

WIDTHS = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "BOOL": 1, "U8": 1, "I8": 1, "I16": 2,
          "U16": 2, "I32": 4, "U32": 4, "I64": 8, "U64": 8}  # bytes of each type
FLOATS = ("F64", "F32", "BF16", "F16")

def widened(kind, raw):
    """The bytes of floats as those of float64 or, if they are less, of float32: as exact."""
    if kind == "BF16":  # the upper half of a float32
        wide = bytearray(2 * len(raw))
        wide[2::4], wide[3::4] = raw[0::2], raw[1::2]
        return bytes(wide)
    if kind == "F16":
        return array("f", struct.unpack(f"<{len(raw) // 2}e", raw)).tobytes()
    return raw

class Tensor:
    """A tensor in a file. Its bytes are there: that was checked (`read_tensors`)."""

    def __init__(self, file, start, kind, shape, name):
        self.file, self.start, self.kind, self.shape = file, start, kind, tuple(shape)
        self.width, self.name = WIDTHS[kind], ascii(name)[:80]

    def raw(self, first, count):
        self.file.seek(self.start + first * self.width)
        data = self.file.read(count * self.width)
        need(len(data) == count * self.width, f"tensor {self.name}: its file is cut off")
        return data

    def floats(self, first=0, count=None):
        count = math.prod(self.shape) if count is None else count
        raw = widened(self.kind, self.raw(first, count))
        found = array("d" if self.kind == "F64" else "f", raw)
        need(all(map(math.isfinite, found)), f"tensor {self.name}: a weight is not finite")
        return found

    def rounded(self, bits, square=Fraction(1), first=0, count=None):
        """Entries times √square in ulps: each is too close to 0 by less than one ulp (L1)."""
        top, bottom, found = square.numerator << 2 * bits, square.denominator, []
        for n, d in map(float.as_integer_ratio, self.floats(first, count)):
            size = math.isqrt(n * n * top // (d * d * bottom))
            found.append(-size if n < 0 else size)
        return found

class Matrix:
    """Weights as they are multiplied with rows: `outputs` columns of `inputs` numbers."""

    def __init__(self, tensor, by_rows):
        self.tensor, self.by_rows = tensor, by_rows  # are the columns the rows of the file?
        self.inputs, self.outputs = tensor.shape[::-1] if by_rows else tensor.shape

    def pieces(self):
        """The weights of some outputs after the other, about as many each time."""
        inputs, outputs = self.inputs, self.outputs
        most = -(-outputs // -(-inputs * outputs // CHUNK))
        for first in range(0, outputs, most):
            count = min(most, outputs - first)
            if self.by_rows:
                starts, length = [first * inputs], count * inputs
            else:
                starts, length = range(first, inputs * outputs, outputs), count
            data = b"".join(self.tensor.raw(start, length) for start in starts)
            w = Weights(self.tensor.kind, data, inputs, count, self.by_rows)
            need(w.good, f"tensor {self.tensor.name}: a weight is no number, too small or large")
            yield w

class Weights:
    """Columns of weights: each weight times 2^scale is an integer of at most `size` bits (L1)."""

    def __init__(self, kind, raw, inputs, outputs, by_rows):
        self.double, self.raw, self.by_rows = kind == "F64", widened(kind, raw), by_rows
        self.inputs, self.outputs = inputs, outputs
        # The last byte of a float is its sign and the first seven bits of the exponent.
        width, step, bias, fraction = (8, 16, 1023, 52) if self.double else (4, 2, 127, 23)
        tops = self.raw[width - 1 :: width].translate(bytes(byte & 127 for byte in range(256)))
        found = [top for top in range(128) if top in tops]
        zeros = 0 in found and tops.count(0) == self.floats().count(0.0)
        kept = found[zeros:] or [64]
        self.low, high = kept[0], kept[-1]
        self.scale = max(0, bias + fraction - step * self.low)
        self.size = step * (high + 1) - bias + self.scale
        self.good = high < 127 and self.scale < 1000

    def floats(self):
        return array("d" if self.double else "f", self.raw)

    def lines(self):
        """Where the weights of each output are, and those of each input."""
        count, length = self.inputs * self.outputs, self.inputs if self.by_rows else self.outputs
        rows = [slice(i, i + length) for i in range(0, count, length)]
        columns = [slice(i, count, length) for i in range(length)]
        return (rows, columns) if self.by_rows else (columns, rows)

    def parts(self):
        """The integers as parts, mostly of 24 bits, times powers of 2, which the keys name (L1)."""
        count, tops, seconds = self.inputs * self.outputs, self.raw[3::4], self.raw[2::4]
        known = [top for top in range(256) if top in tops]
        if self.double or not self.low or len(known) > 128:
            scaled = map(mul, self.floats(), repeat(2.0**self.scale))
            return list(map(math.floor, scaled)), bytes(count), [1]
        parts = bytearray(self.raw)
        parts[2::4] = seconds.translate(bytes(byte | 128 for byte in range(256)))
        parts[3::4] = bytes(count)
        ranks = bytes(2 * known.index(top) if top in known else 0 for top in range(256))
        pairs = tops.translate(ranks), seconds.translate(bytes(byte >> 7 for byte in range(256)))
        keys = sum(int.from_bytes(each, "little") for each in pairs).to_bytes(count, "little")
        exponents = ((top, 2 * (top & 127) + last) for top in known for last in (0, 1))
        powers = [(-1 if top > 127 else 1) << e - 150 + self.scale if e > 1 else 0
                  for top, e in exponents]
        return array("i", bytes(parts)), keys, powers

    def dots(self, numbers, lines):
        """These numbers times lines of weights, one each, added up."""
        (parts, keys, powers), sums = self.parts(), repeat(0)
        for number, line in zip(numbers, lines):
            multiple = [number * power for power in powers].__getitem__
            sums = list(map(add, sums, map(mul, map(multiple, keys[line]), parts[line])))
        return sums

def read_tensors(file, name):
    """The tensors of a safetensors file. Every byte belongs to one of them."""
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    need(2 <= length <= end - 8, f"{name}: is cut off, or no safetensors file")
    need(length <= LARGEST, f"{name}: header: is too large")
    data, start, reached, tensors = file.read(length), 8 + length, 8 + length, {}
    header = read_json(data, name)
    said = header.pop("__metadata__", {})
    texts = type(said) is dict and all(type(text) is str for text in said.values())
    need(data[:1] == b"{" and texts, f"{name}: header: is not as safetensors has it")
    for key, entry in header.items():
        good = type(entry) is dict and set(entry) == {"dtype", "shape", "data_offsets"}
        lists = [entry["shape"], entry["data_offsets"]] if good else [None]
        good = all(type(numbers) is list for numbers in lists) and entry["dtype"] in [*WIDTHS]
        good = good and len(lists[0]) <= 8 and len(lists[1]) == 2
        good = good and all(type(n) is int and 0 <= n <= end for numbers in lists for n in numbers)
        need(good, f"{name}: {ascii(key)[:80]}: is not described as safetensors has it")
    for key, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        tensor = Tensor(file, start + begin, entry["dtype"], entry["shape"], key)
        tensors[key] = tensor
        size = tensor.width * math.prod(tensor.shape)
        need(start + begin == reached, f"{name}: {tensor.name}: does not begin where another ends")
        need(stop - begin == size, f"{name}: {tensor.name}: has not the bytes of its shape")
        reached = start + stop
    need(reached == end, f"{name}: is cut off, or goes on after its tensors")
    return tensors

# -------------------------------------------------------------------- functions, in ulps

def root_up(n):
    """More than the root of an integer."""
    return math.isqrt(n) + 1

def norm_up(row):
    """More than the norm of integers."""
    return root_up(sum(map(mul, row, row)))

def norms(lines):
    """More than 2^32 times the norms of lines of floats: math.hypot is right to 2^-41 (L2)."""
    found = (math.hypot(*line).as_integer_ratio() for line in lines)
    return [n * (2**40 + 1) // (d * 2**8) + 1 for n, d in found]

def largest(rows):
    return max(max(max(row), -min(row)) for row in rows)

def exp_minus(y, bits):
    """e^-y for y >= 0, off by less than one ulp; exactly 1 for y = 0 (L3)."""
    if y >> bits >= bits:
        return 0
    unit, halvings = bits + 64, 14 + (y >> bits).bit_length()
    x = y << 64 - halvings  # y / 2^halvings < 2^-14, exactly
    total, term, k = 1 << unit, 1 << unit, 0
    while term:
        k += 1
        term = (term * x >> unit) // k
        total += -term if k & 1 else term
    for _ in range(halvings):
        total = total * total >> unit
    return total + (1 << 63) >> 64

def arc(top, bottom, sign, unit):
    """artanh (sign 1) or arctan (-1) of top/bottom from 0 to 1/3, off by `unit` units (L4)."""
    power, k, total = (top << unit) // bottom, 1, 0
    while power:
        total += power // k if sign > 0 or k & 2 == 0 else -(power // k)
        power, k = power * top * top // (bottom * bottom), k + 2
    return total

def pi(unit):
    """By Machin's formula, off by less than 20 `unit` units of 2^-unit (L4)."""
    return 16 * arc(1, 5, -1, unit) - 4 * arc(1, 239, -1, unit)

def log(number, unit):
    """ln of a fraction from 1 to 10^30, off by less than 204 `unit` units (L4)."""
    twos = (number.numerator // number.denominator).bit_length() - 1
    rest = number / (1 << twos)  # from 1 to 2
    small = (rest - 1) / (rest + 1)
    halves = arc(small.numerator, small.denominator, 1, unit) + twos * arc(1, 3, 1, unit)
    return 2 * halves

def cos_sin(angle, unit, quarter):
    """Both, off by less than 2^15 units and the error of the angle; `quarter` is π/2 (L5)."""
    turns, x = divmod(angle, quarter)
    sums, term, n = [1 << unit, 0], 1 << unit, 0
    while term:
        n += 1
        term = (term * x >> unit) // n
        sums[n & 1] += -term if n & 2 else term
    c, s = sums
    return ((c, s), (-s, c), (-c, -s), (s, -c))[turns % 4]

def gated(x, w, bits):
    """x / (1 + e^-w) for x and w of the same sign (L6)."""
    e, one = exp_minus(abs(w), bits), 1 << bits
    return (x << bits) // (one + e) if x >= 0 else -(-x * e // (one + e))

def silu(row, bits):
    return [gated(x, x, bits) for x in row]

def gelu_tanh(row, bits):
    """x/2 (1 + tanh(√(2/π)(x + 0.044715 x³))) = x / (1 + e^-w), w = √(8/π)(x + 0.044715 x³)."""
    factor = math.isqrt((8 << 3 * bits + 64) // pi(bits + 64))

    def w(x):
        return factor * (abs(x) + 44715 * (abs(x) ** 3 >> 2 * bits) // 10**6) >> bits

    return [gated(x, w(x), bits) for x in row]

def gelu_erf(row, bits):
    """x Φ(x). For u = |x|: Φ(u) - 1/2 = u e^(-u²/2)/√(2π) (1 + u²/3 + u⁴/15 + ...) (L6)."""
    root = math.isqrt(2 * pi(bits + 64) << bits >> 64)

    def tail(u):  # 1 - Φ(u)
        square = u * u
        whole = square >> 2 * bits + 1
        if whole >= bits:
            return 0
        total, term, n = 1 << bits + 64, 1 << bits + 64, 0
        while term or n <= square >> 2 * bits:
            n += 1
            term = (term * square >> 2 * bits) // (2 * n + 1)
            total += term
        more = 2 * whole + 8  # bits, as e^(-u²/2) is multiplied by almost its inverse
        e = exp_minus(square << more >> bits + 1, bits + more)
        return (1 << bits - 1) - (u * total * e >> bits + 64 + more) // root

    return [max(x, 0) - (abs(x) * tail(abs(x)) >> bits) for x in row]

def relu(row, bits):
    return [max(x, 0) for x in row]

ACTIVATIONS = {"relu": relu, "gelu": gelu_erf, "gelu_new": gelu_tanh, "silu": silu, "swish": silu,
               "gelu_pytorch_tanh": gelu_tanh}

def capped(x, cap, bits):
    """cap tanh(x/cap), off by less than 1 + 3 cap ulps (L7)."""
    e = exp_minus(2 * abs(x) * cap.denominator // cap.numerator, bits)
    size = cap.numerator * ((1 << bits) - e << bits) // (cap.denominator * ((1 << bits) + e))
    return size if x >= 0 else -size

# --------------------------------------------------------------------- rotary positions

def single(x):
    """The float32 that is next to a float."""
    return struct.unpack("<f", struct.pack("<f", x))[0]

def ideal_frequencies(rope, unit):
    """base^(-2i/width), scaled, off by less than 2^55 units (L5)."""
    logarithm, turn = log(rope.base, unit), 2 * pi(unit)
    found = []
    for i in range(rope.width // 2):
        f, share = exp_minus(2 * i * logarithm // rope.width, unit), 0
        if rope.kind == "llama3":
            turns = (rope.original * f << unit) // turn
            low, high = (edge.numerator * (1 << unit) // edge.denominator for edge in rope.edges)
            far = all(abs(turns - edge) >> 60 for edge in (low, high))
            need(far, "a rotary frequency is too near to an edge", Refused)
            share = min(max((turns - low << unit) // (high - low), 0), 1 << unit)
        slow = f * rope.factor.denominator // rope.factor.numerator
        found.append(slow + ((f - slow) * share >> unit))
    return found

def stored_frequencies(rope, unit):
    """The float32 numbers that the transformers library has, each operation rounded to nearest."""
    base, factor = Fraction(single(float(rope.base))), single(float(rope.factor))
    found = []
    for i in range(rope.width // 2):
        exponent, fine = Fraction(single(2 * i / rope.width)), 256
        e = exp_minus(int(exponent * log(base, fine)), fine)  # base^-exponent, to 2^20 units
        ends = (float(Fraction(1 << fine, e + off)) for off in (1 << 20, -1 << 20))
        power, above = map(single, map(math.nextafter, ends, (0, math.inf)))
        need(power == above, "a rotary frequency is between two floats", Refused)
        f = single(1 / power)
        if rope.kind == "llama3":
            length = single(single(1 / f) * single(2 * math.pi))
            longest, shortest = (single(float(rope.original / edge)) for edge in rope.edges)
            slow = single(f / factor) if length > longest else f
            low, span = single(float(rope.edges[0])), single(float(rope.edges[1] - rope.edges[0]))
            share = single(single(single(single(1 / length) * single(rope.original)) - low) / span)
            part = single(single(single(1 - share) * slow) / factor)
            f = single(part + single(share * slow)) if shortest <= length <= longest else slow
        else:
            f = single(f / factor)
        found.append(int(Fraction(f) * (1 << unit)))
    return found

def stored_root(number, kind):
    """The root as a float32, then in the type of the embedding: so many bits, rounded to even."""
    share, power = math.frexp(single(math.sqrt(number)))
    bits = {"BF16": 8, "F16": 11}.get(kind, 24)
    return math.ldexp(round(math.ldexp(share, bits)), power - bits)

class Turns:
    """Cosines and sines of position times frequency, with ROOM bits more than are needed (L5)."""

    def __init__(self, rope, reading, positions, bits):
        self.width, self.unit = rope.width, bits + ROOM
        frequencies = {"ideal": ideal_frequencies, "stored": stored_frequencies}[reading]
        self.frequencies, quarter = frequencies(rope, self.unit), pi(self.unit) // 2
        self.table = [[cos_sin(t * f, self.unit, quarter) for f in self.frequencies]
                      for t in range(positions)]

    def turned(self, x):
        """Pair i, dimensions i and i + width/2, turned by the angle of the position."""
        drop, half, values, radii = self.unit - x.bits, self.width // 2, [], []
        for row, radius, pairs in zip(x.values, x.radii, self.table):
            near = 1 << drop - 1
            pairs = [(c + near >> drop, s + near >> drop) for c, s in pairs]
            first, second = row[:half], row[half : self.width]
            values.append(
                [a * c - b * s >> x.bits for a, b, (c, s) in zip(first, second, pairs)]
                + [b * c + a * s >> x.bits for a, b, (c, s) in zip(first, second, pairs)]
                + row[self.width :]
            )
            radii.append(radius + (2 * norm_up(row) >> x.bits) + 1 + root_up(len(row)))
        return Rows(values, radii, x.bits)

# ---------------------------------------------------------------- rows, and their layers

class Rows:
    """Integer rows with radii, in ulps of 2^-bits: the true row t is within radii[t] (L0)."""

    def __init__(self, values, radii, bits):
        self.values, self.radii, self.bits = values, radii, bits

    def with_bits(self, bits):
        """The same in other ulps. With fewer bits, an entry loses less than a new ulp (L8)."""
        up, down = max(0, bits - self.bits), max(0, self.bits - bits)
        lost = 1 + root_up(len(self.values[0])) if down else 0
        values = [[x << up >> down for x in row] for row in self.values]
        return Rows(values, [(r << up >> down) + lost for r in self.radii], bits)

    def trimmed(self):
        """Without bits that say nothing: far below the radius."""
        most, ulps = max(self.radii), root_up(len(self.values[0]))
        drop = min(self.bits - FEWEST, most.bit_length() - ulps.bit_length() - 7)
        return self.with_bits(self.bits - drop) if drop > 0 else self

    def taken(self, positions):
        values, radii = ([part[t] for t in positions] for part in (self.values, self.radii))
        return Rows(values, radii, self.bits)

def alike(parts):
    """Trimmed, all to the same bits."""
    bits = max(part.trimmed().bits for part in parts)
    return [part.with_bits(bits) for part in parts]

def added(x, y):
    """x + y: radii add up (L8)."""
    bits = max(x.bits, y.bits)
    x, y = x.with_bits(bits), y.with_bits(bits)
    values = [list(map(add, a, b)) for a, b in zip(x.values, y.values)]
    return Rows(values, list(map(add, x.radii, y.radii)), bits).trimmed()

def side_by_side(parts):
    """Rows next to each other: the squares of radii add up (L8)."""
    values = [[a for row in rows for a in row] for rows in zip(*(part.values for part in parts))]
    radii = [norm_up(radii) for radii in zip(*(part.radii for part in parts))]
    return Rows(values, radii, parts[0].bits)

def norm(x, gain, bias, epsilon, centred, unit):
    """γ u/√(‖u‖²/d + ε) + β with u = x, or x less its mean; γ is the weight, or 1 + it (L9)."""
    d, bits = len(x.values[0]), x.bits
    gains = [Fraction(g) + unit for g in gain.floats()]
    steepest, factors = max(map(abs, gains)), [g.as_integer_ratio() for g in gains]
    biases = bias.rounded(bits) if bias else [0] * d
    top, bottom, values, radii = *epsilon.as_integer_ratio(), [], []
    for row, radius in zip(x.values, x.radii):
        total, times = (sum(row), d) if centred else (0, 1)
        c = [times * a - total for a in row]  # u times `times`, exactly
        squares = sum(map(mul, c, c))
        inside = (squares * bottom + top * d * times**2 * 4**bits) << 2 * bits + 128
        root = math.isqrt(inside // (d * bottom))  # 2^(bits + 64) times √(‖u‖²/d + ε)
        least = max(0, math.isqrt(squares) // times - radius)  # the true ‖u‖ is at least this
        sigma = math.isqrt((least**2 * bottom + top * d * 4**bits) // (d * bottom))
        need(root >> bits >= d and sigma, "a norm may divide by 0: too few bits", Refused)
        z = [(a << 2 * bits + 64) // root for a in c]
        values.append([g * a // power + b for (g, power), a, b in zip(factors, z, biases)])
        moved = (radius << bits) // sigma + 1 + 2 * root_up(d)
        radii.append(math.floor(steepest * moved) + 1 + 2 * root_up(d))
    return Rows(values, radii, bits)

def served(connection, other_end):
    """What a process does: what it is given, until the one that began it has gone."""
    other_end.close()
    with suppress(EOFError, OSError):
        while True:
            function, arguments = connection.recv()
            try:
                found = function(*arguments), None
            except Exception as error:
                found = None, error
            connection.send(found)

class Work:
    """Does something with many arguments: in this process, or in several, always in order."""

    def __init__(self, stack, processes):
        self.workers = []
        for _ in range(processes if processes > 1 else 0):
            here, there = Pipe()
            process = Process(target=served, args=(there, here), daemon=True)
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # that is for this process alone
            try:
                process.start()
            finally:
                signal.signal(signal.SIGINT, before)
            there.close()
            stack.callback(process.kill)
            self.workers.append(here)

    def __call__(self, function, tasks):
        """Each task with its result."""
        if not self.workers:
            yield from ((task, function(*task)) for task in tasks)
            return
        given = deque()
        for task, worker in zip(tasks, cycle(self.workers)):
            done = [received(*given.popleft())] if len(given) == len(self.workers) else []
            told(worker.send, (function, task))
            given.append((worker, task))
            yield from done
        while given:
            yield received(*given.popleft())

def received(worker, task):
    result, error = told(worker.recv)
    if error:
        raise error
    return task, result

def told(by, *what):
    try:
        return by(*what)
    except (EOFError, OSError):
        raise RuntimeError("a process was ended, perhaps for lack of memory") from None

def entry_bytes(largest, size, terms):
    """A sum of products fits into so many bytes, with its sign (L10)."""
    return (largest.bit_length() + size + terms.bit_length()) // 8 + 1

def entries(digits, width):
    """The integers that digits of `width` bytes are, less one half of 256^width."""
    half, starts = 1 << 8 * width - 1, range(0, len(digits), width)
    return [int.from_bytes(digits[i : i + width], "little") - half for i in starts]

def multiplied(w, rows, width, digits):
    """Rows times columns, digits in a base of 256^width: computed (L10), or tested (L14)."""
    columns, inputs = w.lines()
    if digits is None:  # the rows are the digits of one large integer for each input
        packed = [0] * w.inputs
        for row in reversed(rows):
            packed = [(number << 8 * width) + a for number, a in zip(packed, row)]
        offset = sum(1 << 8 * width * (t + 1) - 1 for t in range(len(rows)))
        totals = (total + offset for total in w.dots(packed, inputs))
        digits = b"".join(total.to_bytes(width * len(rows), "little") for total in totals)
    else:
        products = entries(digits, width)
        random = [secrets.randbits(96) for _ in columns]  # drawn when the products are fixed
        image = w.dots(random, columns)
        for t, row in enumerate(rows):
            same = sum(map(mul, random, products[t :: len(rows)])) == sum(map(mul, row, image))
            need(same, "the witness has a wrong product", Refused)
    floats = w.floats()
    return digits, norms(floats[line] for line in columns)

def products(x, matrix, work, witness=None, keep=None):
    """x W exactly: for each output the products of all rows, the scale and norm of its weights.

    They are read from a witness if there is one. `keep` gets what would be a witness.
    """
    def tasks():
        for w in matrix.pieces():
            width = entry_bytes(largest(x.values), w.size, w.inputs)
            size = width * len(x.values) * w.outputs
            digits = witness.read(size) if witness else None
            need(not witness or len(digits) == size, "the witness is cut off", Refused)
            yield w, x.values, width, digits

    for (w, rows, width, _), (digits, norms) in work(multiplied, tasks()):
        if keep:
            keep(digits)
        found = entries(digits, width)
        for n, norm in enumerate(norms):
            yield found[n * len(rows) : (n + 1) * len(rows)], w.scale, norm

def summed(w, rows):
    """Rows of floats times columns, and the norms of these."""
    floats = w.floats()
    columns = [floats[line].tolist() for line in w.lines()[0]]
    return [[sum(map(mul, column, row)) for row in rows] for column in columns], norms(columns)

def estimated(x, matrix, work):
    """x W from floats, as `products` has it (L13)."""
    rows = [list(map(float, row)) for row in x.values]
    for _, (sums, norms) in work(summed, ((w, rows) for w in matrix.pieces())):
        yield from ((list(map(math.floor, row)), 0, norm) for row, norm in zip(sums, norms))

def linear(x, columns, bias, sizes):
    """x W + b from its columns, cut into parts of these sizes, each with its own radii (L11)."""
    biases, parts = bias.rounded(x.bits) if bias else repeat(0), []
    columns = [([(y >> scale) + b for y in row], norm)
               for (row, scale, norm), b in zip(columns, biases)]
    for first, size in zip(accumulate(sizes, initial=0), sizes):
        values, norms = zip(*columns[first : first + size])
        steepest = norm_up(norms)
        radii = [(steepest * radius >> 32) + 1 + 2 * root_up(size) for radius in x.radii]
        parts.append(Rows(list(map(list, zip(*values))), radii, x.bits))
    return parts

def attention(q, k, v, square, cap, window, positions):
    """One head: softmax(√square q·k, capped) v at these positions, which see those before (L12)."""
    bits, size, values, radii = q.bits, len(v.values[0]), [], []
    factor = math.isqrt(square.numerator * 4**bits // square.denominator)
    k_norms, v_norms = list(map(norm_up, k.values)), list(map(norm_up, v.values))
    for t, query, radius in zip(positions, q.values, q.radii):
        seen = slice(max(0, t + 1 - window) if window else 0, t + 1)
        dots = [sum(map(mul, query, key)) for key in k.values[seen]]
        scores = [dot * factor >> 2 * bits for dot in dots]
        longest = norm_up(query) + radius
        moved = max(longest * r + radius * n for r, n in zip(k.radii[seen], k_norms[seen]))
        wrong = ((factor + 1) * moved >> 2 * bits) + (max(map(abs, dots)) >> 2 * bits) + 3
        if cap:
            scores = [capped(score, cap, bits) for score in scores]
            wrong += 1 + math.ceil(3 * cap)
        best = max(scores)
        powers = [exp_minus(best - score, bits) for score in scores]
        total = sum(powers)
        values.append([sum(map(mul, powers, column)) // total for column in zip(*v.values[seen])])
        spread = ((wrong + 2 * len(powers)) * max(v_norms[seen]) >> bits) + 1
        radii.append(max(v.radii[seen]) + spread + root_up(size))
    return Rows(values, radii, bits)

def activated(x, function, work):
    """Slopes are at most 5/4, and values are off by less than 2|x| + 8 ulps (L6)."""
    lost = [(2 * (largest([row]) >> x.bits) + 8) * root_up(len(row)) for row in x.values]
    radii = [(5 * r >> 2) + 1 + more for r, more in zip(x.radii, lost)]
    values = [row for _, row in work(function, ((row, x.bits) for row in x.values))]
    return Rows(values, radii, x.bits)

def times(x, y):
    """x y, entry by entry (L8)."""
    bits, values, radii = x.bits, [], []
    for a, b, r, s in zip(x.values, y.values, x.radii, y.radii):
        values.append([p * q >> bits for p, q in zip(a, b)])
        moved = largest([a]) * s + largest([b]) * r + r * s
        radii.append((moved >> bits) + 1 + root_up(len(a)))
    return Rows(values, radii, bits)

class Network:
    """What config.json and the tensors say, and the pass. Its fields are set by `network`."""

    def prepare(self, reading, positions, bits):
        """Tables that depend on the reading: turns, and what embeddings are multiplied by."""
        turns = {rope: Turns(rope, reading, positions, bits) for rope in set(self.ropes) - {None}}
        self.turns, self.embedding_square = list(map(turns.get, self.ropes)), Fraction(1)
        if self.root:
            kind, self.embedding_square = self.tensor("", "words").kind, Fraction(self.dim)
            if reading == "stored":
                self.embedding_square = Fraction(stored_root(self.dim, kind)) ** 2

    def has_room(self, positions, bits):
        """Rows of all positions, with turns, are little, or no more than the weights."""
        longest = max(self.dim, self.heads * self.size, self.inner)
        longest += sum(rope.width for rope in set(self.ropes) - {None})
        weights = sum(tensor.width * math.prod(tensor.shape) for tensor in self.tensors.values())
        space = positions * longest * (bits + 256)
        return positions * bits <= WORK and space <= SPACE + 8 * weights

    def tensor(self, at, key, part=".weight"):
        return self.tensors.get(at + self.names[key] + part)

    def norm(self, x, at, key):
        if not self.names[key]:
            return x
        gain, bias = self.tensor(at, key), self.tensor(at, key, ".bias")
        return norm(x, gain, bias, self.epsilon, self.centred, self.unit).trimmed()

    def linear(self, x, at, key, sizes=None):
        matrix = Matrix(self.tensor(at, key), self.by_rows)
        columns = products(x, matrix, self.work, self.witness, self.keep)
        return linear(x, columns, self.tensor(at, key, ".bias"), sizes or [matrix.outputs])

    def attention(self, x, block, at, positions):
        heads, shared = self.heads, self.kv_heads
        if self.names["qkv"]:
            parts = self.linear(x, at, "qkv", [self.size] * (3 * heads))
            if self.by_heads:
                parts = parts[0::3] + parts[1::3] + parts[2::3]
        else:
            parts = [part for key, count in zip("qkv", (heads, shared, shared))
                     for part in self.linear(x, at, key, [self.size] * count)]
        for n in range(heads + shared):
            parts[n] = self.norm(parts[n], at, "q_norm" if n < heads else "k_norm")
        parts = alike(parts)
        q, k, v = parts[:heads], parts[heads : heads + shared], parts[heads + shared :]
        if self.turns[block]:
            q, k = ([self.turns[block].turned(part) for part in parts] for parts in (q, k))
        square = self.square / (block + 1) ** 2 if self.by_block else self.square
        tasks = ((part.taken(positions), k[h * shared // heads], v[h * shared // heads],
                  square, self.score_cap, self.windows[block], positions)
                 for h, part in enumerate(q))
        done = side_by_side([part for _, part in self.work(attention, tasks)])
        return self.linear(done.trimmed(), at, "out")[0].trimmed()

    def mlp(self, x, at):
        up = self.linear(x, at, "up")[0]
        if self.names["gate"]:
            gate, up = alike([self.linear(x, at, "gate")[0], up])
            hidden = times(activated(gate, self.activation, self.work), up)
        else:
            hidden = activated(up.trimmed(), self.activation, self.work)
        return self.linear(hidden.trimmed(), at, "down")[0].trimmed()

    def embedded(self, ids, bits):
        words, places, d = self.tensor("", "words"), self.tensor("", "places"), self.dim
        for table in {words, places} - {None, self.tensors[self.head + ".weight"]}:
            for _ in Matrix(table, True).pieces():  # few rows are used, but all must be numbers
                pass
        rows = [words.rounded(bits, self.embedding_square, i * d, d) for i in ids]
        if places:
            more = (places.rounded(bits, first=t * d, count=d) for t in range(len(ids)))
            rows = [list(map(add, row, place)) for row, place in zip(rows, more)]
        return Rows(rows, [2 * root_up(d)] * len(ids), bits)

    def final_rows(self, ids, wanted, bits, tell=lambda done, blocks: None):
        """The last norm's rows at the wanted positions."""
        x = self.embedded(ids, bits)
        for block in range(self.blocks):
            at, last = self.names["block"].format(block), block == self.blocks - 1
            first = self.norm(x, at, "ln1")
            y = self.attention(first, block, at, wanted if last else range(len(ids)))
            if last:  # other positions do not matter any more
                x, first = x.taken(wanted), first.taken(wanted)
            before, x = x, added(x, self.norm(y, at, "ln1_post"))
            second = self.norm(before if self.parallel else x, at, "ln2")
            y = self.mlp(second if self.names["ln2"] else first, at)
            x = added(x, self.norm(y, at, "ln2_post"))
            tell(block + 1, self.blocks)
        return self.norm(x if self.blocks else x.taken(wanted), "", "ln_f")

    def leads(self, x, tokens, margins):
        """A lower bound of each token's lead over all others (L13)."""
        matrix, found = Matrix(self.tensors[self.head + ".weight"], True), []
        if matrix.tensor.kind != "F64" and largest(x.values) < 1 << 60:
            lost = (((4 * matrix.inputs + 8) * norm_up(row) >> 52) + 1 for row in x.values)
            wider = Rows(x.values, list(map(add, x.radii, lost)), x.bits)
            found = self.led(wider, tokens, estimated(x, matrix, self.work))
        if found and all(lead > 0 and lead >= margin for lead, margin in zip(found, margins)):
            return found
        return self.led(x, tokens, products(x, matrix, self.work))

    def led(self, x, tokens, columns):
        bias = self.tensor("", "head", ".bias")
        biases = bias.rounded(x.bits) if bias else repeat(0)
        own, rivals = [None] * len(tokens), [-math.inf] * len(tokens)
        for token, ((row, scale, norm), b) in enumerate(zip(columns, biases)):
            for t, (product, radius) in enumerate(zip(row, x.radii)):
                value, error = (product >> scale) + b, (norm * radius >> 32) + 3
                if token == tokens[t]:
                    own[t] = value - error
                else:
                    rivals[t] = max(rivals[t], value + error)
        if self.logit_cap:
            own, rivals = ([capped(y, self.logit_cap, x.bits) for y in ys] for ys in (own, rivals))
            own = [y - 2 - 2 * math.ceil(3 * self.logit_cap) for y in own]
        return [Fraction(a - b, 1 << x.bits) for a, b in zip(own, rivals)]

# --------------------------------------------------------------- config.json, and its tensors

# Keys that say how a library stores, runs, trains or samples a model: nothing about the network.
HARMLESS = """_attn_implementation_autoset _attn_implementation_internal _commit_hash
    _name_or_path attention_dropout attn_implementation attn_pdrop bad_words_ids
    begin_suppress_tokens bos_token_id chunk_size_feed_forward classifier_dropout
    decoder_start_token_id diversity_penalty do_sample dropout dtype early_stopping embd_pdrop
    encoder_no_repeat_ngram_size eos_token_id exponential_decay_length_penalty finetuning_task
    forced_bos_token_id forced_eos_token_id gradient_checkpointing hidden_dropout id2label
    initializer_range is_decoder label2id length_penalty max_length min_length model_type
    no_repeat_ngram_size num_beam_groups num_beams num_labels num_return_sequences
    output_attentions output_hidden_states output_past output_scores pad_token_id prefix
    problem_type remove_invalid_values repetition_penalty resid_pdrop return_dict
    return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature
    tf_legacy_loss tokenizer_class top_k top_p torch_dtype torchscript transformers_version
    typical_p use_cache""".split()  # noqa: SIM905
SUMMARY = """n_special predict_special_tokens summary_activation summary_first_dropout embed_dropout
    resid_dropout summary_last_dropout summary_proj_to_labels summary_type
    summary_use_proj""".split()  # noqa: SIM905
FIXED = {  # keys that change nothing with these values
    "add_cross_attention": [False], "cross_attention_hidden_size": [None], "use_bfloat16": [False],
    "is_encoder_decoder": [False], "pruned_heads": [{}, None], "quantization_config": [None],
    "tie_encoder_decoder": [False]}
NAMES = {  # of the tensors of Llama; an empty name: there is none
    "prefix": "model.", "words": "embed_tokens", "places": "", "block": "layers.{}.",
    "ln1": "input_layernorm", "ln1_post": "", "ln2": "post_attention_layernorm", "ln2_post": "",
    "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "qkv": "",
    "q_norm": "", "k_norm": "", "out": "self_attn.o_proj", "gate": "mlp.gate_proj",
    "up": "mlp.up_proj", "down": "mlp.down_proj", "ln_f": "norm", "head": "lm_head",
    "masks": "", "turns": "self_attn.rotary_emb.inv_freq"}
GPT2 = {"prefix": "transformer.", "words": "wte", "places": "wpe", "block": "h.{}.", "ln1": "ln_1",
        "ln2": "ln_2", "q": "", "k": "", "v": "", "qkv": "attn.c_attn", "out": "attn.c_proj",
        "gate": "", "up": "mlp.c_fc", "down": "mlp.c_proj", "ln_f": "ln_f", "masks": "attn",
        "turns": ""}
FOUR = {"ln1_post": "post_attention_layernorm", "ln2": "pre_feedforward_layernorm",
        "ln2_post": "post_feedforward_layernorm", "turns": ""}
HEADS = {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm", "turns": ""}
SPLIT, CACHE, NO_BIAS = ["pretraining_tp"], ["cache_implementation"], {"mlp_bias": [False]}
GEMMA = {"use_bidirectional_attention": [False, None], **NO_BIAS}
FAMILIES = {  # name of the class, what is called otherwise; keys that are harmless, or FIXED, too
    "small": ("", GPT2, SUMMARY, {}),
    "gpt2": ("GPT2LMHeadModel", GPT2, SUMMARY, {"reorder_and_upcast_attn": [False, True]}),
    "llama": ("LlamaForCausalLM", {}, SPLIT, {}),
    "mistral": ("MistralForCausalLM", {}, SPLIT, {"attention_bias": [False], **NO_BIAS}),
    "qwen2": ("Qwen2ForCausalLM", {"turns": ""}, SPLIT, NO_BIAS),
    "qwen3": ("Qwen3ForCausalLM", HEADS, SPLIT, NO_BIAS),
    "gemma": ("GemmaForCausalLM", {}, CACHE, GEMMA),
    "gemma2": ("Gemma2ForCausalLM", FOUR, CACHE, GEMMA),
    "gemma3_text": ("Gemma3ForCausalLM", {**FOUR, **HEADS}, CACHE,
                    {**GEMMA, "attn_logit_softcapping": [None]}),
    "phi": ("PhiForCausalLM", {
        "ln2": "", "out": "self_attn.dense", "gate": "", "up": "mlp.fc1", "down": "mlp.fc2",
        "ln_f": "final_layernorm"}, [], {"qk_layernorm": [False]}),
    "gpt_neox": ("GPTNeoXForCausalLM", {
        "prefix": "gpt_neox.", "words": "embed_in", "q": "", "k": "", "v": "", "gate": "",
        "qkv": "attention.query_key_value", "out": "attention.dense", "up": "mlp.dense_h_to_4h",
        "down": "mlp.dense_4h_to_h", "ln_f": "final_layer_norm", "head": "embed_out",
        "masks": "attention", "turns": "attention.rotary_emb.inv_freq"}, [], {}),
    "gpt_neo": ("GPTNeoForCausalLM", {
        **GPT2, "qkv": "", "q": "attn.attention.q_proj", "k": "attn.attention.k_proj",
        "v": "attn.attention.v_proj", "out": "attn.attention.out_proj",
        "masks": "attn.attention"}, SUMMARY, {})}

SMALL = (None, "gpt", "openai-gpt", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gopher-44m",
         "gpt-mini", "gpt-micro", "gpt-nano")  # model_type of minGPT

def described(c):
    """The network that a configuration describes, without its tensors."""
    n = Network()
    kind = n.kind = "small" if "block_size" in c.document else c.get("model_type")
    c.need(type(kind) is str and kind in FAMILIES, "model_type", "is missing, or not known here")
    name, other, harmless, fixed = FAMILIES[kind]
    n.names, gemma = {**NAMES, **other}, kind.startswith("gemma")
    if kind == "small":
        c.need(c.get("model_type") in SMALL, "model_type", "is not known here")
    gpt2, phi = kind in ("gpt2", "small"), kind == "phi"
    neo, neox = kind == "gpt_neo", kind == "gpt_neox"
    n.dim, n.vocabulary = c.count("n_embd" if gpt2 else "hidden_size"), c.count("vocab_size")
    n.heads = c.count("n_head" if gpt2 else "num_heads" if neo else "num_attention_heads")
    layers = "n_layer" if gpt2 else "num_layers" if neo else "num_hidden_layers"
    n.blocks = c.count(layers, least=0, most=1 << 12)
    usual = 4 * n.dim if gpt2 or neo else None
    n.inner = c.count("n_inner" if gpt2 else "intermediate_size", usual)
    n.kv_heads, n.size, free = n.heads, n.dim // n.heads, gemma or kind == "qwen3"
    if not (gpt2 or neo or neox):
        required = kind not in ("llama", "phi") and "num_key_value_heads" not in c.document
        n.kv_heads = c.count("num_key_value_heads", None if required else n.heads)
        if not phi:
            free = free or c.get("head_dim") is not None  # from the width
            n.size = c.count("head_dim", {"qwen3": 128}.get(kind, 256 if gemma else n.size))
    whole = n.size * n.heads == n.dim or free
    c.need(whole and n.heads % n.kv_heads == 0, "heads", "do not divide the width, or one another")
    c.need(gpt2 or neo or n.size % 2 == 0, "head_dim", "is odd")
    length = {"gpt2": "n_positions", "small": "block_size"}.get(kind, "max_position_embeddings")
    old = kind == "gpt2" and c.get("n_ctx") is not None and c.get("n_positions") is None
    n.length = c.count("n_ctx" if old else length)
    n.centred, n.unit, n.root = gpt2 or neo or neox or phi, int(gemma), gemma
    key = "layer_norm_epsilon" if gpt2 or neo else "layer_norm_eps" if n.centred else "rms_norm_eps"
    n.epsilon = c.number(key, Fraction(1, 10**5 if n.centred else 10**6), 0, 1)
    n.square, n.by_block, n.score_cap, n.logit_cap = Fraction(1, n.size), False, None, None
    if neo or (kind == "gpt2" and not c.flag("scale_attn_weights", True)):
        n.square = Fraction(1)
    if kind == "gpt2":
        n.by_block = c.flag("scale_attn_by_inverse_layer_idx", False)
    if kind in ("gemma2", "gemma3_text"):
        n.square = 1 / c.number("query_pre_attn_scalar", 256, Fraction(1, 10**6), 10**6)
        n.logit_cap = cap(c, "final_logit_softcapping", 30 if kind == "gemma2" else None)
        n.score_cap = cap(c, "attn_logit_softcapping", 50) if kind == "gemma2" else None
    n.parallel = phi or (neox and c.flag("use_parallel_residual", True))
    n.by_heads, n.by_rows, n.activation = neox, not gpt2, activation(c, kind)
    asked = kind in ("llama", "qwen3", "gpt_neox") or gemma
    qkv = c.flag("attention_bias", neox) if asked else phi or kind == "qwen2"
    mlp = c.flag("mlp_bias", False) if kind == "llama" else phi or neo or neox
    if kind == "llama" and (qkv or mlp):  # parts of matrices had no biases
        split = c.get("pretraining_tp") not in (None, 1)
        c.need(not split, "pretraining_tp", "is not 1, and there are biases")
    n.biases = {"qkv": qkv, "out": neo or (qkv and kind != "qwen2"), "mlp": mlp, "norm": n.centred}
    if gpt2:
        n.biases = dict.fromkeys(n.biases, kind == "gpt2" or c.flag("bias", True))
    n.windows = windows(c, kind, n.blocks)
    full, local = ropes(c, kind, n.size)
    n.ropes = [local if window else full for window in n.windows]
    if kind != "small":
        c.need(c.get("architectures", [name]) in ([name], None), "architectures", f"is not {name}")
    n.tied = c.flag("tie_word_embeddings", gpt2 or neo or gemma)
    if kind == "small" and "tie_word_embeddings" not in c.document:
        n.tied = None if small(c) == "gelu" else False  # nanoGPT: where the file has no other head
    c.finish(HARMLESS + harmless, {**FIXED, **fixed})
    return n

def cap(c, key, usual):
    return None if c.get(key, usual) is None else c.number(key, usual, Fraction(1, 10**6), 10**6)

def small(c):
    """nanoGPT has the GELU, minGPT its tanh form; None: it shows signs of both, or of neither."""
    nano = c.document.keys() & {"bias", "dropout"}
    mini = c.document.keys() & {"model_type", "embd_pdrop", "resid_pdrop", "attn_pdrop"}
    return None if bool(nano) == bool(mini) else "gelu" if nano else "gelu_new"

def activation(c, kind):
    if kind in ("gpt2", "small", "gpt_neo"):
        known = {key: f for key, f in ACTIVATIONS.items() if kind == "gpt_neo" or f is not silu}
        return c.choice("activation_function", known, small(c) if kind == "small" else "gelu_new")
    if not kind.startswith("gemma"):
        usual = {"phi": "gelu_new", "gpt_neox": "gelu"}.get(kind, "silu")
        return c.choice("hidden_act", ACTIVATIONS, usual)
    known = {**ACTIVATIONS, "gelu": gelu_tanh} if kind == "gemma" else ACTIVATIONS
    key, other = ("hidden_act", "hidden_activation")[:: 1 if kind == "gemma" else -1]
    found = c.choice(key, known, "gelu_pytorch_tanh")
    same = c.get(other) is None or c.choice(other, known) == found
    c.need(same, other, f"contradicts {key}")
    return found

def windows(c, kind, blocks):
    """How many positions each block sees; 0: all up to its own."""
    if kind == "gpt_neo":
        kinds, size, types = [], c.count("window_size", 256), c.get("attention_types")
        for entry in types if type(types) is list else [None]:
            good = type(entry) is list and len(entry) == 2 and type(entry[0]) is list
            c.need(good, "attention_types", "are not kinds, repeated")
            count = natural(entry[1], 0, blocks, "attention_types")
            c.need(len(kinds) + len(entry[0]) * count <= blocks, "attention_types", "are too many")
            kinds += entry[0] * count
        good = len(kinds) == blocks and all(one in ("global", "local") for one in kinds)
        good = good and c.get("attention_layers", kinds) in (kinds, None)
        c.need(good, "attention_types", "do not fit the layers")
        return [size if one == "local" else 0 for one in kinds]
    gemma, qwen = kind in ("gemma2", "gemma3_text"), kind in ("qwen2", "qwen3")
    if not (gemma or qwen or kind == "mistral"):
        return [0] * blocks
    size = 0 if c.get("sliding_window") is None else c.count("sliding_window")
    slides = c.flag("use_sliding_window", False) if qwen else True
    c.need(not slides or "sliding_window" in c.document, "sliding_window", "is missing")
    if kind == "mistral":
        return [size] * blocks
    if qwen:
        first, size = c.count("max_window_layers", 28, least=0), size if slides else 0
        here = [size > 0 and block >= first for block in range(blocks)]
    else:
        every = c.count("sliding_window_pattern", 6) if kind == "gemma3_text" else 2
        here = [(block + 1) % every != 0 for block in range(blocks)]
        if kind == "gemma3_text":
            same = c.count("_sliding_window_pattern", every) == every
            c.need(same or c.get("layer_types"), "_sliding_window_pattern", "contradicts the other")
    if c.get("layer_types") is not None:
        kinds, known = c.get("layer_types"), ("full_attention", "sliding_attention")
        good = type(kinds) is list and len(kinds) == blocks and all(one in known for one in kinds)
        c.need(good, "layer_types", "is not a list of known kinds, one for each layer")
        here = [one == "sliding_attention" for one in kinds]
    c.need(size or not any(here), "sliding_window", "is none, but some layers have one")
    return [size if one else 0 for one in here]

def ropes(c, kind, size):
    """Rotary positions of blocks without a window, and with one; None: positions are a table."""
    if kind in ("gpt2", "small", "gpt_neo"):
        return None, None
    given, scaling = c.table("rope_parameters"), c.table("rope_scaling")
    if kind != "gemma3_text":
        part = {"phi": Fraction(1, 2), "gpt_neox": Fraction(1, 4)}.get(kind)
        keys = ("rotary_emb_base", "rotary_pct") if kind == "gpt_neox" else (
            "rope_theta", "partial_rotary_factor")
        return (rope(c, [given, scaling], *map(c.get, keys), size, part),) * 2
    two, found = Fields(given or {}, f"{c.name}: rope_parameters"), []
    for name, key, usual, more in (("full_attention", "rope_theta", 1_000_000, scaling),
                                   ("sliding_attention", "rope_local_base_freq", 10_000, None)):
        tables, base = [two.table(name), more], c.get(key)
        said = any("rope_theta" in table for table in tables if table)
        base = usual if base is None and not said else base
        found.append(rope(c, tables, base, None, size, None))
    two.finish()
    clear = scaling is None or "rope_type" in scaling  # without it, versions of the library differ
    c.need(clear, "rope_scaling", "has no rope_type")
    return found

Rope = namedtuple("Rope", "kind base width factor edges original")

def rope(c, tables, base, share, size, part):
    """From tables that agree, and from what stands outside of them."""
    read = []
    for table in [table for table in tables if table is not None] or [{}]:
        kind = table.get("rope_type", table.get("type", "default"))
        c.need(table.get("type", kind) == kind, "rope type", "contradicts rope_type")
        table = {key: value for key, value in table.items() if key != "type"} | {"rope_type": kind}
        for key, value in (("rope_theta", base), ("partial_rotary_factor", share)):
            if value is not None:
                c.need(table.get(key, value) == value, key, "is there twice, and differs")
                table[key] = value
        read.append(table)
    c.need(read[0] == read[-1], "rope_scaling", "contradicts rope_parameters")
    t = Fields(read[0], f"{c.name}: rope")
    kind = t.choice("rope_type", {kind: kind for kind in ("default", "linear", "llama3")})
    base = t.number("rope_theta", 10000, 1, 10**30)
    share = t.number("partial_rotary_factor", part or 1, Fraction(1, 10**6) if part else 1, 1)
    width = int(size * float(share))
    pairs = width % 2 == 0 and 0 < width <= 1 << 24
    t.need(pairs, "partial_rotary_factor", "leaves no pairs, or too many")
    factor = Fraction(1) if kind == "default" else t.number("factor", None, 1, 10**30)
    edges, original = (), 0
    if kind == "llama3":
        least, ends = Fraction(1, 1 << 10), ("low_freq_factor", "high_freq_factor")
        edges = tuple(t.number(end, None, least, 1 << 20) for end in ends)
        t.need(edges[1] - edges[0] >= least, ends[1], "is too small")
        positions = c.count("max_position_embeddings")
        original = t.count("original_max_position_embeddings", positions, most=1 << 24)
    t.finish()
    return Rope(kind, base, width, factor, edges, original)

def network(c, tensors):
    """The network of a configuration. Every tensor has its place and shape; no other is there."""
    n = described(c)
    names, d, wide, few = n.names, n.dim, n.heads * n.size, n.kv_heads * n.size
    found = names["prefix"] if names["prefix"] + names["words"] + ".weight" in tensors else ""
    n.tensors = {key.removeprefix(found): tensor for key, tensor in tensors.items()}
    need(len(n.tensors) == len(tensors), "a tensor is there twice, with a prefix and without")
    first = n.tensors.get("h.0.attn.c_attn.weight")
    n.by_rows = n.by_rows or (first is not None and first.shape == (3 * d, d))
    head = names["head"] + ".weight"
    n.tied = head not in n.tensors if n.tied is None else n.tied
    n.head = names["words"] if n.tied else names["head"]
    shapes = {names["words"] + ".weight": (n.vocabulary, d), n.head + ".weight": (n.vocabulary, d)}
    if names["places"]:
        shapes[names["places"] + ".weight"] = (n.length, d)
    if n.kind == "phi":
        shapes[names["head"] + ".bias"] = (n.vocabulary,)
    parts = [(names["ln_f"], "norm", d)]
    for block in range(n.blocks):
        parts += [(names["block"].format(block) + names[key], *part) for key, *part in (
            ("ln1", "norm", d), ("ln1_post", "norm", d), ("ln2", "norm", d),
            ("ln2_post", "norm", d), ("q_norm", "norm", n.size), ("k_norm", "norm", n.size),
            ("q", "qkv", wide, d), ("k", "qkv", few, d), ("v", "qkv", few, d),
            ("qkv", "qkv", 3 * wide, d), ("out", "out", d, wide), ("gate", "mlp", n.inner, d),
            ("up", "mlp", n.inner, d), ("down", "mlp", d, n.inner)) if names[key]]
    for name, kind, *shape in parts:
        shapes[name + ".weight"] = tuple(shape if n.by_rows else shape[::-1])
        shapes |= {name + ".bias": (shape[0],)} if n.biases[kind] else {}
    for name, shape in shapes.items():
        tensor = n.tensors.get(name)
        need(tensor and tensor.shape == shape and tensor.kind in FLOATS,
             f"tensor {name}: is missing, or has not floats of the shape {list(shape)}")
    left = set(n.tensors) - set(shapes)
    if n.tied and head in left:
        same = same_bytes(n.tensors[head], n.tensors[names["words"] + ".weight"])
        need(same, f"tensor {head}: is not the embedding, to which it is tied")
        left.remove(head)
    left -= buffers(n, left)
    need(not left, f"tensor {ascii(min(left, default=''))[:80]}: has no place in the network")
    need(n.vocabulary > 1, "there is but one token")
    return n

def same_bytes(one, other):
    count = math.prod(one.shape)
    return (one.kind, one.shape) == (other.kind, other.shape) and all(
        one.raw(i, min(CHUNK, count - i)) == other.raw(i, min(CHUNK, count - i))
        for i in range(0, count, CHUNK))

def buffers(n, left):
    """Masks and frequencies that older versions saved: they must be what they are here."""
    found = set()
    ones = {"F64": struct.pack("<d", 1), "F32": struct.pack("<f", 1), "F16": struct.pack("<e", 1),
            "BF16": b"\x80\x3f", "BOOL": b"\1", "U8": b"\1"}
    for block, window in enumerate(n.windows if n.names["masks"] else []):
        at, p = n.names["block"].format(block) + n.names["masks"], n.length
        if (name := at + ".bias") in left:
            mask, found = n.tensors[name], found | {name}
            need(mask.shape == (1, 1, p, p) and mask.kind in ones, f"tensor {name}: is no mask")
            for t in range(p):
                seen, one = min(t + 1, window or t + 1), ones[mask.kind]
                row = bytes(len(one) * (t + 1 - seen)) + one * seen + bytes(len(one) * (p - t - 1))
                need(mask.raw(t * p, p) == row, f"tensor {name}: is not the causal mask")
        if (name := at + ".masked_bias") in left:
            mask, found = n.tensors[name], found | {name}
            hides = mask.shape in ((), (1,)) and mask.kind in FLOATS and mask.floats()[0] <= -1e4
            need(hides, f"tensor {name}: does not hide what is masked")
    for block, rope in enumerate(n.ropes if n.names["turns"] else []):
        if (name := n.names["block"].format(block) + n.names["turns"]) in left:
            table, found = n.tensors[name], found | {name}
            good = table.shape == (rope.width // 2,) and table.kind in FLOATS
            need(good, f"tensor {name}: has another shape or type")
            near, least = {"BF16": (7, 0), "F16": (9, 1 << 104)}.get(table.kind, (17, 0))
            for a, b in zip(table.rounded(128), ideal_frequencies(rope, 128)):
                need(abs(a - b) <= (b >> near) + least + 2, f"tensor {name}: has other frequencies")
    return found

# ------------------------------------------------------------------------------- the check

def named_files(folder, files, stack):
    """Those that have these SHA-256; `stack` closes them."""
    need(type(files) is dict and "config.json" in files, "the certificate: files: are not said")
    found = {}
    for name, wanted in files.items():
        named = re.fullmatch(r"\w[\w.-]{0,200}", name, re.ASCII)
        need(named, f"the certificate: files: {ascii(name)[:80]} is no name of a file")
        file, digest = stack.enter_context(opened(os.path.join(folder, name))), hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        file.seek(0)
        found[name] = file
        same = digest.hexdigest() == wanted
        need(same, f"{name}: is not the file that the certificate is about", Refused)
    return found

def read_model(folder, found):
    """config.json and the tensors, from open files by name."""
    config = read_json(found.pop("config.json").read(LARGEST + 1), "config.json")
    places, tensors, index = None, {}, "model.safetensors.index.json"
    if index in found:
        places = read_json(found.pop(index).read(LARGEST + 1), index).get("weight_map")
    whole = "model.safetensors"
    need(type(places) is dict or list(found) == [whole],
         f"the certificate: files: are neither {whole} nor shards with their index")
    also = places is not None and os.path.exists(os.path.join(folder, whole))
    need(not also, f"{whole} is in the folder, too, and may be what is meant")
    for name, file in found.items():
        for key, tensor in read_tensors(file, name).items():
            need(places is None or places.get(key) == name, f"{index}: {name} has other tensors")
            tensors[key] = tensor
    need(places is None or set(places) == set(tensors), f"{index}: names other tensors")
    return Fields(config, "config.json"), tensors

def check(document, folder, witness=None, keep=None, processes=1, tell=lambda done, blocks: None):
    """The claims, all of them proved: each a position, the token after it, and its margin."""
    with ExitStack() as stack:
        name, said = "the certificate", document.get("check", document)
        fields = {"format", "files", "reading", "ids", "claims", "bits"}
        need(said is not document or "tokens" not in said, f"{name}: has no field check")
        need(type(said) is dict, f"{name}: check: is not a table")
        wrong = ascii(min(set(said) ^ fields, default=""))[:80]
        need(set(said) == fields, f"{name}: {wrong}: is missing, or not known here")
        need(said["format"] == "exactformer check 1", f"{name}: format: is not known here")
        need(said["reading"] in ("ideal", "stored"), f"{name}: reading: is not known here")
        n = network(*read_model(folder, named_files(folder, said["files"], stack)))
        for key in ("ids", "claims"):
            good = type(said[key]) is list and 0 < len(said[key]) <= n.length
            need(good, f"{name}: {key}: are none, or more than the model has positions")
        ids = [natural(i, 0, n.vocabulary - 1, f"{name}: ids") for i in said["ids"]]
        bits = natural(said["bits"], FEWEST, MOST, f"{name}: bits")
        need(n.has_room(len(ids), bits), f"{name}: bits: are too many for so many ids")
        claims = []
        for claim in said["claims"]:
            good = type(claim) is dict and set(claim) == {"position", "token", "margin"}
            need(good and type(claim["margin"]) is str, f"{name}: claims[{len(claims)}]: is not a"
                 " position, a token and a margin in quotes")
            position = natural(claim["position"], 0, len(ids) - 1, f"{name}: position")
            token = natural(claim["token"], 0, n.vocabulary - 1, f"{name}: token")
            claims.append((position, token, claim["margin"]))
        claims.sort()
        positions, tokens, texts = zip(*claims)
        need(not any(text[:1] == "-" for text in texts), f"{name}: claims: a margin is negative")
        margins = [decimal(text, f"{name}: claims: ") for text in texts]
        need(len(set(positions)) == len(claims), f"{name}: claims: a position is there twice")
        if said is not document:
            consistent(document, ids, claims)
        n.witness, n.keep = None, keep
        if witness is not None:
            n.witness = stack.enter_context(opened(witness))
        n.work = Work(stack, processes)
        n.prepare(said["reading"], len(ids), bits)
        x = n.final_rows(ids, positions, bits, tell)
        need(not n.witness or not n.witness.read(1), "the witness goes on after its end", Refused)
        for (position, token, text), margin, lead in zip(
                claims, margins, n.leads(x, tokens, margins)):
            why = f"token {token} after position {position} is not shown to lead by {text}"
            known = math.floor(max(lead, -10**6) * 10**6) / 10**6
            why += f": what is shown is {known} or more" if lead > -10**6 else f" with {bits} bits"
            need(lead > 0 and lead >= margin, why, Refused)
        return claims

def consistent(document, ids, claims):
    """What the rest of a certificate says of ids and tokens is what is checked."""
    given, tokens = document.get("ids"), document.get("tokens")
    good = type(given) is list and type(tokens) is list
    good = good and all(type(entry) is dict and "token" in entry for entry in tokens)
    need(good, "the certificate: ids, tokens: are not as certificates have them")
    whole = given + [entry["token"] for entry in tokens]
    good = len(given) <= len(ids) and whole[: len(ids)] == ids
    good = good and all(whole[p + 1 : p + 2] == [token] for p, token, _ in claims)
    need(good and all(p + 1 >= len(given) for p, _, _ in claims),
         "the certificate: check: is about other ids or tokens than the rest of it", Refused)

class Progress:
    """Blocks that are done: on a terminal a bar, elsewhere a line every ten seconds."""

    def __init__(self):
        self.started = self.told = time.monotonic()

    def __call__(self, done, blocks):
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if terminal or (now - self.told > 10 and done < blocks):
            left = (now - self.started) * (blocks - done) / done
            rest = f"about {left:.0f} s left" if done < blocks else "then the logits"
            bar = f"[{'#' * (20 * done // blocks):.<20}] " if terminal else ""
            say(f"{bar}block {done} of {blocks}, {rest}", end="" if terminal else "\n")
            self.told = now

def say(line, end="\n"):
    """Beside the answer; on a terminal in the place of the last line of progress."""
    start = "\r\033[K" if sys.stderr.isatty() else ""
    with suppress(OSError):  # if it cannot be said, the status says enough
        print(start + line, end=end, file=sys.stderr, flush=True)

def main(arguments):
    parser = argparse.ArgumentParser("exactformer_check.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("certificate", help="a certificate, or its field check alone")
    parser.add_argument("folder", help="of the model: config.json and safetensors files")
    parser.add_argument("--witness", metavar="FILE", help="products of all matrices, to be tested")
    parser.add_argument("--processes", metavar="N", type=int, default=1, help="that compute")
    given = parser.parse_args(arguments)
    try:
        need(sys.version_info >= (3, 9), "this Python is too old")
        need(sys.byteorder == "little", "this machine is not little-endian")
        need(array("f", b"\1\0\0\0")[0] > 0, "this machine takes small numbers for 0")
        natural(given.processes, 1, 256, "--processes")
        with opened(given.certificate) as file:
            document = read_json(file.read(LONGEST + 1), "the certificate", LONGEST)
        claims = check(document, given.folder, given.witness, None, given.processes, Progress())
    except Exception as error:  # of whatever kind: what cannot be read is not accepted
        status = error.status if isinstance(error, Refused) else None
        how = {1: "refused", 2: "bad input"}.get(status, f"not checked: {type(error).__name__}")
        say("".join(c if c.isprintable() else "?" for c in f"{how}: {str(error)[:300]}"))
        return status or 2
    say("", end="")
    said = document.get("check", document)
    for name, digest in said["files"].items():
        print(f"{name}: SHA-256 {digest}")
    print(f"reading: {said['reading']}; ids:", *said["ids"])
    for position, token, margin in claims:
        print(f"after position {position}: token {token} leads all others by {margin} or more")
    print("These claims were checked; nothing else that the certificate says was.")
    tested = "by random tests, which a false certificate passes with probability 2^-96 at most"
    print("accepted:", tested if given.witness else "proved")
    return 0

if __name__ == "__main__":
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()  # if closed
    try:
        try:
            status = main(sys.argv[1:])
        except SystemExit as end:  # of argparse
            status = end.code
        sys.stdout.flush()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # a second one does not wait
        status = 130
        say("interrupted: nothing was shown")
    except BrokenPipeError:  # nobody reads any more
        status = 141
    except OSError as error:
        status = 2
        say(f"the answer cannot be written: {error.strerror}")
    os._exit(status)  # and waits for no process that was interrupted
