"""From a configuration to what a proof is expected to take. It is a plan: nothing of it is proved, and proofs use nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from exactformer.certificates import memory
from exactformer.certificates.question import check_question
from exactformer.certified import CertifiedArithmetic, Outlook, OutOfRangeError
from exactformer.certified.ball import FLOAT
from exactformer.certified.limbs import MOST, check_terms
from exactformer.certified.moving import check_length
from exactformer.certified.normalising import check_norm
from exactformer.model import Config, Model
from exactformer.planning.probing import WALL, Clock
from exactformer.planning.timing import Calibration, Seconds, Sizes, half_seconds, preparation_seconds
from exactformer.planning.typical import kind_of, typical
from exactformer.trace.costs import forward_costs

Basis = Literal["derived", "estimated", "calibrated"]
LENGTH = 8  # tokens, where nobody says how many
_HELD = {"BF16": 2, "F16": 2, "F32": 4, "F64": 8, "exact": 100}  # bytes for each weight itself: worksheets have objects
PROGRAM = 70 << 20  # bytes of the program, with its libraries
_LINK = 1.25e9  # bytes a second between workers: 10 Gbit/s
_LATENCY = 2e-4  # seconds for a message


@dataclass(frozen=True)
class HalfPlan:
    """A half of a block, or what follows the blocks."""

    name: str
    bits: float  # by which it is expected to multiply a radius
    limbs: int  # 0: float64
    seconds: float


@dataclass(frozen=True)
class Memory:
    """In bytes."""

    weights: int  # as they are in memory
    made: int  # of what is made of them
    computed: int  # of a pass, and the program
    free: int | None  # on this machine; None: it does not say

    @property
    def total(self) -> int:
        return self.weights + self.made + self.computed

    def each(self, workers: int) -> int:
        """Of each of several workers, who share the weights."""
        return -(-(self.weights + self.made) // workers) + self.computed


@dataclass(frozen=True)
class Time:
    """In seconds."""

    preparation: float  # norms and scout, once a model; 0 where they are kept
    first: float  # what the first pass takes besides: slices of the weights, tables
    passes: float  # the pass over the prompt
    token: float  # each further token
    total: float


@dataclass(frozen=True)
class Plan:
    """What the proof of `tokens` tokens after `length` others is expected to take."""

    title: str
    config: Config
    weights: int
    kind: str  # of the floats
    length: int
    tokens: int
    row: str  # of the table of typical growth; empty where growth is derived
    lead: float
    halves: tuple[HalfPlan, ...]
    multiplications: int  # of a pass in plain floats
    slices: int
    memory: Memory
    time: Time
    workers: int
    spread: Time
    obstacles: tuple[str, ...]

    @property
    def growth(self) -> Basis:
        return "estimated" if self.row else "derived"

    @property
    def bits(self) -> float:
        return sum(half.bits for half in self.halves)

    @property
    def limbs(self) -> int:
        return max(half.limbs for half in self.halves)


def plan(
    model: Model, title: str, kind: str, length: int = LENGTH, tokens: int = 1, workers: int = 1, outlook: Outlook | None = None,
    clock: Clock = WALL, progress: Callable[[str], None] = lambda step: None,
) -> Plan:  # fmt: skip
    """The plan of a model, of whose weights the shapes alone are looked at. `kind` is that of its floats, as safetensors call it.

    With the `outlook` of a scout, growth is derived from it, and the preparation is done; without, it is that of the table.
    """
    config = model.config
    check_question(model, title, range(length), tokens)
    CertifiedArithmetic().check(config)
    expected = typical(config) if outlook is None else outlook
    schedule = expected.schedule(length, expected.lead)
    growth = next((each for each in expected.growths if each.length >= length), expected.growths[-1])
    counted = forward_costs(model, length)
    sizes, calibration = Sizes.of(config, counted, length), Calibration(model, kind, clock, progress)
    halves = half_seconds(calibration, sizes, schedule, length)
    past = min(length + tokens // 2, 128) if config.keeps_past else 0
    following = half_seconds(calibration, sizes, schedule, 1, past) if tokens > 1 and past else halves
    ready = Seconds() if outlook is not None else preparation_seconds(calibration, sizes)
    built = calibration.built if outlook is not None else 0.0
    exchanged = [2 * config.dim * (limbs + 1) * 8 for limbs in schedule]  # bytes for a token: sums of parts, there and back
    taken = _memory(model, kind, length, tokens, schedule, calibration.product.slices, outlook is not None)
    cut = sizes.in_limbs(schedule)
    new = max(0, 8 * calibration.product.slices * cut - taken.computed)  # what was computed with is used again
    made = calibration.product.cut * cut + calibration.memory * new
    shape = (ready, Seconds(built + calibration.tables(schedule), made), halves, following if tokens > 1 else [])
    names = [f"blocks.{n // 2}.{('attn', 'mlp')[n % 2]}" for n in range(len(schedule) - 1)] + ["head"]
    return Plan(
        title, config, sum(int(values.size) for _, values in model.weights.named()), kind, length, tokens,
        kind_of(config) if outlook is None else "", expected.lead,
        tuple(HalfPlan(*each) for each in zip(names, growth.halves, schedule, (s.over(1) for s in halves), strict=True)),
        sum(counts["multiplications"] for counts in counted.values()), calibration.product.slices, taken,
        _time(*shape, tokens, 1, [0] * len(schedule), length), workers, _time(*shape, tokens, workers, exchanged, length),
        tuple(_obstacles(config, max(schedule), length + tokens, taken)),
    )  # fmt: skip


def _time(
    ready: Seconds, first: Seconds, halves: list[Seconds], following: list[Seconds], tokens: int, workers: int,
    exchanged: list[int], length: int,
) -> Time:  # fmt: skip
    """Over some workers: what can be spread is, and after each half they send each other what they have."""

    def whole(parts: list[Seconds], rows: int) -> float:
        links = sum(bytes * rows / _LINK + 2 * _LATENCY for bytes in exchanged) if workers > 1 else 0.0
        return sum(part.over(workers) for part in parts) + links

    passed, token = whole(halves, length), whole(following, 1) if following else 0.0
    before, once = ready.over(workers), first.over(workers)
    return Time(before, once, passed, token, before + once + passed + (tokens - 1) * token)


def _memory(model: Model, kind: str, length: int, tokens: int, schedule: tuple[int, ...], slices: int, prepared: bool) -> Memory:
    in_limbs = sum(limbs != FLOAT for limbs in schedule) / len(schedule)
    made = memory.for_weights(model, 8 * (slices * in_limbs + 1 - in_limbs))
    held = sum(int(values.size) for _, values in model.weights.named()) * _HELD[kind]
    computed = memory.for_pass(model, length, max(schedule), tokens)
    if not prepared:
        computed = max(computed, memory.for_scout(model))
    return Memory(held, made, computed + PROGRAM, memory.available())


def _obstacles(config: Config, limbs: int, positions: int, taken: Memory) -> list[str]:
    """What stands in the way of such a proof, as this program is."""
    found = []
    if limbs > MOST:
        found.append(f"{limbs} limbs are wanted, and there are at most {MOST}: the pass would end undecided")
    width = config.heads * config.head_dim
    outputs = [width, config.mlp * (2 if config.mlp_kind == "gated" else 1)]
    checks: list[Callable[[], None]] = [
        *(lambda n=n: check_terms(config.dim, n) for n in outputs),
        lambda: check_length(positions, config.head_dim, config.heads),
    ]
    if config.epsilon is not None:
        epsilon, name = config.epsilon.fraction, "RMSNorm" if config.norm_kind == "rms" else "LayerNorm"
        checks.append(lambda: check_norm(name, config.dim, epsilon))
    for check in checks:
        try:
            check()
        except OutOfRangeError as error:
            found.append(f"{error.question}: the pass would end undecided")
    if taken.free is not None and taken.total > taken.free:
        found.append(f"{memory.shown(taken.total)} of memory are wanted, and {memory.shown(taken.free)} are free on this machine")
    return found
