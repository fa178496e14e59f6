"""What a proof costs: the forward pass with 50 proved digits a logit, against peers that prove less or finish less often."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil, log10
from statistics import median
from typing import Any

from benchmarks.models import Problem, Size, problems
from benchmarks.peers import ARB, DIGITS, EXACTFORMER, IN_FULL, MPMATH, SYMPY, Answer
from benchmarks.result import Progress, Result, Table
from benchmarks.timing import timed, timed_within

SIZES = tuple(Size(*s) for s in ((2, 4, 1), (4, 4, 1), (8, 8, 1), (16, 16, 1), (4, 2, 2), (4, 4, 2), (16, 16, 2)))
SEEDS = 3  # models a size
ROUNDS = 15  # of all peers in turn
LIMIT = 60.0  # seconds for SymPy
AGREE = 45  # digits to which every peer must agree, or there is nothing to compare
_PEERS = (EXACTFORMER, IN_FULL, MPMATH, ARB)


@dataclass
class Measured:
    """One size. Ratios are processor time of exactformer / of the peer, one a seed."""

    size: Size
    seeds: list[int] = field(default_factory=list)
    mpmath: list[float] = field(default_factory=list)
    in_full: list[float] = field(default_factory=list)  # with every closed form, of mpmath
    arb: list[float] = field(default_factory=list)
    sympy: list[float] = field(default_factory=list)  # with every closed form, of the seeds that SymPy finished
    sympy_below: list[float] = field(default_factory=list)  # of those where it was cut off: the ratio is below this
    logits: int = 0
    mpmath_differing: int = 0  # logits whose 50 printed digits are not the proved ones
    arb_differing: int = 0
    undecided: int = 0  # by exactformer
    arb_undecided: int = 0


def run(progress: Progress) -> Result:
    measured: list[Measured] = []
    for size in SIZES:
        try_sympy = not any(size.covers(m.size) and m.sympy_below for m in measured)
        measured.append(_measure(size, try_sympy, progress))
    return _result(measured)


def _measure(size: Size, try_sympy: bool, progress: Progress) -> Measured:
    m = Measured(size)
    for problem in problems(size, SEEDS):
        m.seeds.append(problem.seed)
        ours = _measure_problem(problem, m)
        progress(f"forward {size}, seed {problem.seed}: {m.mpmath[-1]:.3g} × mpmath, {m.in_full[-1]:.3g} in full")
        if try_sympy and not m.sympy_below:
            _measure_sympy(problem, *ours, m, progress)
    return m


def _measure_problem(problem: Problem, m: Measured) -> tuple[float, Answer]:
    """Time the peers in turn, so that a slow moment hits all alike; the median time of ours in full, and its answer."""
    answers = {peer.name: timed(peer, problem).answer for peer in _PEERS}  # not counted: the first run of anything is slow
    proved, in_full, rounded, balls = (answers[peer.name] for peer in _PEERS)
    if proved != in_full:
        raise AssertionError(f"exactformer says two things of {problem.size}, seed {problem.seed}")
    rounds = []
    for n in range(ROUNDS):
        turn = n % len(_PEERS)
        rounds.append({peer.name: timed(peer, problem).seconds for peer in (*_PEERS[turn:], *_PEERS[:turn])})
    m.mpmath.append(median(r[EXACTFORMER.name] / r[MPMATH.name] for r in rounds))
    m.in_full.append(median(r[IN_FULL.name] / r[MPMATH.name] for r in rounds))
    m.arb.append(median(r[EXACTFORMER.name] / r[ARB.name] for r in rounds))
    m.logits += sum(map(len, proved.logits))
    m.mpmath_differing += _differing(proved, rounded, MPMATH.name, problem)
    m.arb_differing += _differing(proved, balls, ARB.name, problem)
    m.undecided += proved.undecided
    m.arb_undecided += balls.undecided
    return median(r[IN_FULL.name] for r in rounds), proved


def _measure_sympy(problem: Problem, ours: float, proved: Answer, m: Measured, progress: Progress) -> None:
    """Once only, and not in turn: a factor of hundreds needs no finer measure."""
    found = timed_within(SYMPY, problem, LIMIT)
    if found is None:
        m.sympy_below.append(ours / LIMIT)
        progress(f"forward {problem.size}, seed {problem.seed}: SymPy cut off after {LIMIT:.0f} s")
        return
    _differing(proved, found.answer, SYMPY.name, problem)
    m.sympy.append(ours / found.seconds)
    progress(f"forward {problem.size}, seed {problem.seed}: {m.sympy[-1]:.3g} × SymPy")


def _differing(proved: Answer, other: Answer, name: str, problem: Problem) -> int:
    """How many printed logits are not the proved ones. One that differs within the first digits stops the benchmark."""
    count = 0
    for row, others in zip(proved.logits, other.logits, strict=True):
        for ours, theirs in zip(row, others, strict=True):
            if ours is None or theirs is None:
                continue
            a, b = Decimal(ours), Decimal(theirs)
            if abs(a - b) > (abs(a) or 1) * Decimal(10) ** -AGREE:
                raise AssertionError(f"{name} prints {theirs} for {ours} ({problem.size}, seed {problem.seed})")
            count += a != b and a != 0  # of a proved zero, the others print the rounding error
    return count


# -- the result
def _result(measured: list[Measured]) -> Result:
    data = {
        "digits": DIGITS,
        "repetitions": ROUNDS,
        "sympy": {"repetitions": 1, "cut_off_seconds": LIMIT},
        "sizes": [_data(m) for m in measured],
    }
    return Result("forward", f"The forward pass with {DIGITS} digits", (*_ratios(measured), *_agreement(measured)), data)


def _ratios(measured: list[Measured]) -> tuple[str | Table, ...]:
    rows = tuple((*_columns(m.size), _spread(m.mpmath), _spread(m.arb), _spread(m.in_full), _sympy_cell(m)) for m in measured)
    return (
        f"Processor time of exactformer divided by that of a peer (below 1: exactformer is faster) for the forward pass, the "
        f"largest logit of every row and {DIGITS} digits of every logit. exactformer proves them: by balls, and by closed forms "
        "where balls do not tell, as for a 0 or a tie. (A ball goes through a ReLU whole: its side is decided where one asks.) "
        "*In full* it builds a closed form for every number of the pass, and decides every sign before a ReLU, as a trace does. "
        "mpmath proves nothing; plain Arb proves what its balls happen to show; SymPy keeps closed forms, so it is compared with "
        "ours in full.",
        Table(("d", "T", "blocks", "/ mpmath", "/ plain Arb", "in full / mpmath", "in full / SymPy"), rows),
        f"Median (least–largest) over {SEEDS} random models a size; for each, the median ratio of {ROUNDS} rounds in which the "
        "peers take turns, every time from fresh numbers. Making the numbers of the weights is not timed. Weights are drawn from "
        "−1, −1/2, 0, 1/2, 1; post-norm with ε = 0 (seeds with a variance of 0 are left out), one head, causal, scores not "
        "scaled, ReLU MLP of width d, table positions, tied unembedding, 4 tokens. SymPy runs once a model and is cut off after "
        f"{LIMIT:.0f} s; where a model no larger was cut off, it is not tried. (Its evalf evaluates a shared subexpression again "
        "wherever it stands.)",
    )


def _agreement(measured: list[Measured]) -> tuple[str | Table, ...]:
    counts = [(m.logits, m.mpmath_differing, m.arb_differing, m.undecided, m.arb_undecided) for m in measured]
    rows = [(*_columns(m.size), *map(str, numbers)) for m, numbers in zip(measured, counts, strict=True)]
    logits, differing, *_ = totals = [sum(column) for column in zip(*counts, strict=True)]
    rows.append(("all", "", "", *map(str, totals)))
    columns = ("d", "T", "blocks", "logits", "mpmath differs", "Arb differs", "exactformer undecided", "Arb undecided")
    return (
        "## What the digits are worth",
        f"Where they finished, all peers agree with the proved digits to {AGREE} digits (checked in this run). Of mpmath's "
        f"{logits} logits, {differing} differ from the proved ones in the last {DIGITS - AGREE} of the {DIGITS} digits that it "
        "prints. *Differs* counts such logits (a proved 0 is not counted: the others print a rounding error there); *undecided* "
        "counts argmaxes, and by plain Arb signs before a ReLU, that could not be decided, such as that of an exact zero.",
        Table(columns, tuple(rows)),
    )


def _columns(size: Size) -> tuple[str, str, str]:
    return str(size.dim), str(size.length), str(size.blocks)


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.3g} ({min(ratios):.3g}–{max(ratios):.3g})"


def _sympy_cell(m: Measured) -> str:
    cells = [_spread(m.sympy)] if m.sympy else []
    cells += [f"< {10.0 ** ceil(log10(bound)):g}, cut off" for bound in m.sympy_below]  # rounded up: the limit is no processor time
    return "; ".join(cells) or "not tried"


def _data(m: Measured) -> dict[str, Any]:
    return {
        "dim": m.size.dim,
        "length": m.size.length,
        "blocks": m.size.blocks,
        "seeds": m.seeds,
        "ratios": {"mpmath": m.mpmath, "arb": m.arb, "in_full": m.in_full, "sympy": m.sympy, "sympy_cut_off_below": m.sympy_below},
        "logits": m.logits,
        "differing": {"mpmath": m.mpmath_differing, "arb": m.arb_differing},
        "undecided": {"exactformer": m.undecided, "arb": m.arb_undecided},
    }
