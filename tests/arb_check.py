"""An evaluation of a number that believes nothing the library found out: plain Arb, node by node, 600 bits."""

from __future__ import annotations

import flint
from flint import arb

from exactformer.numbers import Exact, Named

BITS = 600


def independent_ball(root: Exact | Named, done: dict[int, arb] | None = None, bits: int = BITS) -> arb:
    """A ball around `root` from its graph alone: proved rationals, cached balls and known signs are not looked at.

    `done` carries balls from one question to the next, for as long as the numbers are kept alive.
    """
    done = {} if done is None else done
    before, flint.ctx.prec = flint.ctx.prec, bits
    try:
        if isinstance(root, Exact):
            return arb(root.value)
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if isinstance(a, Named) and id(a) not in done]
            if id(node) in done or not missing:
                args = [done[id(a)] if isinstance(a, Named) else arb(a.value) for a in node.args]
                done.setdefault(id(node), _apply(node, args))
                stack.pop()
            stack.extend(missing)
        return done[id(root)]
    finally:
        flint.ctx.prec = before


def _apply(node: Named, args: list[arb]) -> arb:
    if node.op == "lin":
        integers, constant, denominator = node.data
        return sum((c * x for c, x in zip(integers, args, strict=True)), arb(constant)) / denominator
    if node.op == "dot":
        half = len(args) // 2
        return sum((x * y for x, y in zip(args[:half], args[half:], strict=True)), arb(0))
    if node.op == "div":
        return args[0] / args[1]
    if node.op == "pow":
        p, q = int(node.data.p), int(node.data.q)
        return (args[0] if q == 1 else args[0].root(q)) ** p
    return arb.pi() if node.op == "pi" else getattr(args[0], node.op)()


def confirms(ball: arb, claimed: object) -> bool:
    """Does a 600-bit ball confirm a rational: hold it, and be narrow?"""
    before, flint.ctx.prec = flint.ctx.prec, 2 * BITS
    try:
        return bool(ball.rad() < arb(2) ** -300 and (ball - arb(claimed)).contains(0))
    finally:
        flint.ctx.prec = before
