"""Decisions that are proofs: signs, and the recovery of rationals.

An enclosure that excludes zero proves a sign; only algebra proves that two numbers are equal. So the order is: look at balls
of growing precision, and ask algebra once a ball is narrow and still holds the value in question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Any

from flint import arb, fmpq

from exactformer.numbers.algebra import normal_form
from exactformer.numbers.as_written import brief
from exactformer.numbers.budget import DEFAULT, WORKING_BITS, Budget
from exactformer.numbers.enclosure import ball, integer_multiples, may_be
from exactformer.numbers.errors import Undecided
from exactformer.numbers.nodes import Exact, Named, Number, refuse_undefined
from exactformer.numbers.parse import required
from exactformer.numbers.ratios import Stuck
from exactformer.numbers.structure import Structure

_NARROW = arb(2) ** -60  # a ball this narrow around a simple rational is worth a proof
# Rationals are looked for whose denominator divides this: prime powers that weights are made of, and the primes up to 127.
_DENOMINATORS = 2**12 * 3**5 * 5**8 * 7**3 * 11**2 * 13**2 * prod(p for p in range(17, 128) if all(p % d for d in range(2, 12)))
_CLOSER_BITS = 4 * WORKING_BITS  # the precision at which an equality must still look true before a proof is tried
_NEARBY = 4  # how deep the first, cheapest proof looks into the graph
_LEAST_WORK = 5_000  # of the cheapest proof: a LayerNorm of two entries fits


def sign(x: Number, budget: Budget = DEFAULT) -> int:
    """-1, 0 or 1, proved, or `Undecided`."""
    if type(x) is Exact:
        return int(x.value > 0) - int(x.value < 0)
    refuse_undefined(x)
    if type(x) is not Named:
        return sign(required(x), budget)
    if x.known:
        return x.known
    if x.exact is not None:
        return sign(x.exact)
    asked = False
    for bits in () if x.undecided == budget else budget.ladder:
        b = ball(x, bits)
        if b > 0:
            x.known = 1
            return 1
        if b < 0:
            x.known = -1
            return -1
        if not asked and b.rad() < _NARROW * _scale(x):
            asked = True
            if _near(x, fmpq(0), budget):
                if prove_equal(x, fmpq(0), budget):
                    x.exact = Exact(fmpq(0), True, x)
                    return 0
                x.known = _sign_of_form(x, budget)
                if x.known:
                    return x.known
    x.undecided = budget
    raise Undecided(f"the sign of {brief(x)}", budget.ladder[-1])


def _scale(x: Named) -> arb:
    """The size of the terms of a sum, at least 1: its ball is narrow or wide in proportion to it."""
    largest = arb(1)
    for arg in x.args if x.op == "lin" else ():
        size = ball(arg, WORKING_BITS).abs_upper()
        if size > largest:
            largest = size
    return largest


def _sign_of_form(x: Named, budget: Budget) -> int:
    """The sign of the normal form, 0 where enclosures do not show it: (1 + e^-3000) - 1 is e^-3000, and positive."""
    try:
        algebra, form = normal_form(x, budget)
        return algebra.sign(form.num) * algebra.sign(form.den)
    except Stuck:
        return 0


def recover(x: Number, budget: Budget = DEFAULT) -> Number:
    """`x`, or the rational that it is proved to be: guessed from an enclosure, proved by algebra.

    >>> from exactformer.numbers import exp, sqrt
    >>> x = recover(sqrt(2) * sqrt(2))
    >>> x, x.recovered
    (exact('2'), True)
    """
    return x if type(x) is not Named else recover_all([x], budget)[0]


def recover_all(values: Sequence[Any], budget: Budget = DEFAULT, structure: Structure | None = None) -> list[Any]:
    """`recover` for each of many values; what is not a number is handed back.

    Values of one array are alike: where some of them could not be proved, the rest are not tried.
    """
    failures, structure = 0, structure or Structure()
    open_questions = [x for x in values if type(x) is Named and x.exact is None and not x.settled]
    for x, integer in zip(open_questions, integer_multiples(open_questions, _DENOMINATORS), strict=True):
        x.settled = True
        if integer is not None:
            guess = fmpq(integer, _DENOMINATORS)
            if failures < budget.failures and _near(x, guess, budget):
                if prove_equal(x, guess, budget, structure):
                    x.exact = Exact(guess, True, x)
                else:
                    failures += 1
    return [x if type(x) is not Named or x.exact is None else x.exact for x in values]


def _near(x: Named, q: fmpq, budget: Budget) -> bool:
    """Is `q` not excluded by a sign or a far narrower ball? Proofs are expensive, and a saturated softmax is next to 0 or 1."""
    if x.known * int(q.p) < 0 or (x.known and q == 0):
        return False
    return may_be(x, q, min(_CLOSER_BITS, budget.ladder[-1]))


def prove_equal(x: Named, q: fmpq, budget: Budget = DEFAULT, structure: Structure | None = None) -> bool:
    """True where algebra proves x = q. False says nothing. Questions about one graph may share a `structure`."""
    if x.exact is not None:
        return bool(x.exact.value == q)
    whole = False
    for n, (opaque, allowed) in enumerate(islice(_cuts(x, budget, structure or Structure()), budget.cuts)):
        if whole and n > 1:
            break  # nothing was left out before, nor will be
        try:
            algebra, form = normal_form(x, allowed, opaque)
            if algebra.vanishes(form.num * int(q.q) - form.den * int(q.p)):
                return True
            whole = whole or not algebra.cut
        except Stuck:
            continue
    return _turns(x, budget) and _vanishes_by_multiples(x, q, budget)


def prove_zero(x: Number, atoms: Iterable[Number], budget: Budget = DEFAULT) -> bool:
    """True where algebra proves x = 0 whatever numbers the atoms are, by how x was computed from them. False says nothing.

    >>> from exactformer.numbers import exp
    >>> a, b = exp(2), exp(3)
    >>> prove_zero((a + b) / b - a / b - 1, [a, b]), prove_zero(a**3 - b**2, [a, b])
    (True, False)
    """
    x = x.origin if type(x) is Exact and x.origin is not None else x
    if type(x) is not Named:
        return type(x) is Exact and x.value == 0
    names = {id(atom.origin if type(atom) is Exact else atom) for atom in atoms}
    try:
        algebra, form = normal_form(x, budget, lambda node: id(node) if id(node) in names else None)
        return algebra.vanishes(form.num)
    except Stuck:
        return False


def _vanishes_by_multiples(x: Named, q: fmpq, budget: Budget) -> bool:
    """The same, where several sines and cosines may be of multiples of one angle."""
    try:
        algebra, form = normal_form(x, budget, multiples=True)
        return algebra.vanishes(form.num * int(q.q) - form.den * int(q.p))
    except Stuck:
        return False


def _turns(root: Named, budget: Budget) -> bool:
    """Do sines or cosines of two arguments stand in a graph that is not too large to look at?"""
    arguments: set[int] = set()
    seen, stack = {id(root)}, [root]
    while stack and len(seen) <= budget.nodes:
        node = stack.pop()
        if node.op in ("sin", "cos"):
            arguments.add(id(node.args[0]))
        new = [arg for arg in node.args if type(arg) is Named and id(arg) not in seen]
        seen.update(map(id, new))
        stack.extend(new)
    return not stack and len(arguments) > 1


def _cuts(root: Named, budget: Budget, structure: Structure) -> Iterator[tuple[Callable[[Named], Any] | None, Budget]]:
    """Which nodes a proof takes for atoms, the cheapest proof first.

    What lies behind the nearest landmarks, distinguished by identity and on a small budget; then, with nodes that are built alike
    taken for the same atom: what lies deep; behind the nearest landmarks; behind the second on every way down; nothing.
    """
    least = replace(budget, work=max(budget.work // 40, min(budget.work, _LEAST_WORK)), nodes=budget.nodes // 8 + 1)
    yield lambda node: id(node) if node.landmark else None, least
    near = _within(root, _NEARBY)
    yield lambda node: None if id(node) in near else structure.name(node), budget
    yield lambda node: structure.name(node) if node.landmark else None, budget
    behind = _distances(root, lambda node: int(node.landmark and node is not root))
    yield lambda node: structure.name(node) if node.landmark and behind[id(node)] else None, budget
    if len(behind) <= budget.nodes:
        yield None, budget


def _within(root: Named, depth: int) -> set[int]:
    """The nodes less than `depth` steps below the root."""
    found, level = {id(root)}, [root]
    for _ in range(depth - 1):
        level = [arg for node in level for arg in node.args if type(arg) is Named and id(arg) not in found]
        found.update(map(id, level))
    return found


def _distances(root: Named, step: Callable[[Named], int]) -> dict[int, int]:
    """For every node, the least sum of `step` over the nodes above it."""
    distance = {id(root): 0}
    level, here = 0, [root]
    later: list[Named] = []
    while here or later:
        if not here:
            level, here, later = level + 1, later, []
            here = [node for node in here if distance[id(node)] == level]
        while here:
            node = here.pop()
            if distance[id(node)] < level:
                continue
            cost = level + step(node)
            for arg in node.args:
                if type(arg) is Named and distance.get(id(arg), cost + 1) > cost:
                    distance[id(arg)] = cost
                    (here if cost == level else later).append(arg)
    return distance
