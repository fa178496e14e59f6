"""What work without rounding costs, asked before it is begun: what would not end is refused, with what to use instead.

Exact numbers and balls are objects, one for each weight. A named number moreover keeps the formula that it is, so that every
multiplication of an exact pass stays in memory; and to prove two of them equal, a proof walks over both formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flint import arb

from exactformer.arithmetics import able, kind
from exactformer.messages import listed
from exactformer.model import Config, InputError, Model, Values
from exactformer.numbers import Named
from exactformer.trace import Step

Limits = Mapping[str, int | None]
MOST_WEIGHTS = 4_000_000  # as objects: about 130 bytes each
MOST_MULTIPLICATIONS = 100_000_000  # of an exact pass: about 2 µs and 40 bytes each, minutes and gigabytes together
_FLOAT, _OBJECT = 8, 100  # bytes of a number
_LITTLE = 2**28  # bytes that every machine has
MOST_PARTS = 5_000_000  # of formulas that are proved equal: about 20 µs each

# What is computed with where nobody says it: arithmetics, and up to how many multiplications of a pass each is taken. On one core
# an exact pass takes about 10 µs for each of them, and balls 0.2 µs; certified arrays take milliseconds whatever the size, and more
# than balls where a model is small. A trace is read, and worth waiting for; a proof has thousands of passes.
TRACING: Limits = {"exact": MOST_MULTIPLICATIONS, "arb": None}
EXPLAINING: Limits = {"exact": 100_000, "arb": None}  # sums are proved equal, not only computed
GENERATING: Limits = {"exact": 100_000, "arb": None}  # all tokens together
MOST_OF_THE_LAST = 20_000  # of an exact pass over an input that batches and limbs leave undecided
PROVING: Limits = {"exact": 1_000, "arb": 20_000, "certified": None}  # one case


def default_arithmetic(model: Model, length: int, limits: Limits) -> tuple[str, str]:
    """The arithmetic for passes over `length` tokens by the size of the model; and why, where it is not `exact`.

    >>> from exactformer import load
    >>> default_arithmetic(load("capstone").model, 2, PROVING)
    ('exact', '')
    >>> default_arithmetic(load("induction").model, 6, PROVING)
    ('arb', 'an exact pass over 6 tokens takes 6,480 multiplications, and exact is the default up to 1,000')
    """
    needed = multiplications(model.config, length)
    first, *others = limits
    possible = [first, *(name for name in others if kind(name).takes(model.config) and _fits(name, model))]
    name = next((name for name in possible if needed <= (limits[name] or needed)), possible[-1])
    if name == first:
        return name, ""
    taken = f"an {first} pass over {length:,} token{'s' * (length != 1)} takes {needed:,} multiplications"
    return name, f"{taken}, and {first} is the default up to {limits[first]:,}"


def last_arithmetic(model: Model, length: int) -> str | None:
    """For single inputs of which balls prove nothing, such as ties: `exact`, where a pass takes little time."""
    return "exact" if multiplications(model.config, length) <= MOST_OF_THE_LAST and kind("exact").takes(model.config) else None


def one_by_one(model: Model, length: int) -> tuple[str, ...]:
    """For single inputs that floats leave open: balls, and then exact numbers, where a pass takes little time."""
    last = last_arithmetic(model, length)
    balls = ("arb",) if kind("arb").takes(model.config) and _fits("arb", model) else ()
    return balls if last is None and balls else (*balls, last or "exact")


def _fits(arithmetic: str, model: Model) -> bool:
    """Whole layers are arrays, which take any number of weights; single operations are done on objects."""
    return not kind(arithmetic).stepwise or _weights(model) <= MOST_WEIGHTS


def _weights(model: Model) -> int:
    return sum(weight.size for _, weight in model.weights.named())


def multiplications(config: Config, length: int) -> int:
    """Those of the matrix products of a pass over `length` tokens: nearly all that there are.

    >>> config = Config(vocabulary=("a", "b", "c"), dim=2, blocks=1, norm="none", mask="none", scale="none", unembedding="tied")
    >>> multiplications(config, 2)  # for each token 4 · 2² in attention, 2 · 2 · 2 for scores and mix, 2 · 3 for the logits
    60
    """
    width = config.heads * config.head_dim
    projections = 2 * config.dim * (width + config.key_heads * config.head_dim)
    block = projections + (3 if config.mlp_kind == "gated" else 2) * config.dim * config.mlp + 2 * length * width
    unembedding = 0 if config.unembedding == "none" else config.dim * len(config.spoken)
    return length * (config.blocks * block + unembedding)


def parts(values: Iterable[object]) -> int:
    """How long the formulas of numbers are together, what they share counted once.

    >>> from exactformer.numbers import exp
    >>> e = exp(1)
    >>> parts([e]), parts([1 / (1 + e), e])
    (1, 4)
    """
    found: set[int] = set()
    total, waiting = 0, [value for value in values if type(value) is Named]
    while waiting:
        value = waiting.pop()
        if id(value) not in found:
            found.add(id(value))
            total += len(value.args)
            waiting += [arg for arg in value.args if type(arg) is Named]
    return total


def _rounds(kind: type[Values]) -> bool:
    return kind.numbers == "floats"


def _encloses(kind: type[Values]) -> bool:
    return kind.numbers == "balls"


def check_pass(model: Model, name: str, arithmetic: str, length: int) -> None:
    """Refuse a pass over `length` tokens that is too large for numbers that are objects."""
    if _rounds(kind(arithmetic)):
        return
    weights = _weights(model)
    if weights > MOST_WEIGHTS:
        raise InputError(
            f"{name}: has {weights:,} weights; {arithmetic} arithmetic takes up to {MOST_WEIGHTS:,} "
            f"({listed(able(_rounds))} take any number, and exactformer certify proves the next token)"
        )
    needed = multiplications(model.config, length)
    if kind(arithmetic).numbers == "exact" and needed > MOST_MULTIPLICATIONS:
        raise InputError(
            f"{name}: an exact pass over {length:,} tokens takes {needed:,} multiplications; up to {MOST_MULTIPLICATIONS:,} "
            f"are done: give fewer tokens, or --arithmetic {listed(able(_encloses), 'or')}, which prove tokens with balls"
        )


def check_patterns(config: Config, name: str, arithmetic: str, length: int) -> None:
    """Refuse an input so long that the attention patterns of its steps, which a trace keeps, take more memory than is free."""
    entry = _FLOAT if _rounds(kind(arithmetic)) else _OBJECT
    needed = 4 * config.blocks * config.heads * length**2 * entry  # products, scores, the mask, the softmax
    if needed < _LITTLE:
        return
    from exactformer.certificates.memory import available

    free = available()
    if free is not None and needed > free:
        raise InputError(
            f"{name}: attention over {length:,} tokens takes about {needed / 1e9:,.1f} GB of memory; {free / 1e9:,.1f} GB are free"
        )


def check_equalities(steps: Sequence[Step], what: str) -> None:
    """Refuse to prove steps equal to those of another pass where their formulas are too long for it."""
    for step in steps:
        if any(isinstance(value, arb) for value in step.values.flat):
            raise InputError(f"{what}: {step.name} is made of balls, as the vocabulary is large: balls are never proved equal")
    length = parts(value for step in steps for value in step.values.flat)
    if length > MOST_PARTS:
        raise InputError(
            f"{what}: the formulas that are to be proved equal have {length:,} parts, up to {MOST_PARTS:,} are tried: give fewer "
            "tokens or a smaller model (exactformer certify proves the next token of a model of any size)"
        )
