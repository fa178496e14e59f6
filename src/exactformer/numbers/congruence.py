"""Numbers that are equal because the same operation was applied to equal numbers.

Two passes over the same weights build two graphs. Where a number of one was proved equal to a number of the other, by whatever
proof, they are put into one class; and nodes that apply the same operation to members of the same classes are in one class as well.
No algebra is needed for that, and every node is looked at once.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from exactformer.numbers.nodes import Exact, Named

_Sum = dict[tuple[int, ...], fmpq]  # coefficients of classes (c,), of products of two (c, d), and the constant ()


class Congruence:
    """Classes of numbers that are proved equal, by their names.

    >>> from exactformer.numbers import exact, exp, sqrt
    >>> classes = Congruence()
    >>> classes.same(exp(1) + exp(2), exp(2) + exp(1)), classes.same(sqrt(8), exp(1))
    (True, False)
    >>> x, y = 1 / (1 + exp(1)), exp(-1) / (exp(-1) + 1)
    >>> x == y, classes.same(x, y)
    (True, False)
    >>> classes.join(x, y)  # as algebra proves them equal
    >>> classes.same(exp(3 * x), exp(3 * y))
    True
    """

    def __init__(self) -> None:
        self._names: dict[int, int] = {}  # by identity
        self._kept: list[Named] = []  # the nodes behind those identities, which must not be given to other nodes
        self._keys: dict[Any, int] = {}
        self._values: dict[int, fmpq] = {}  # of the classes that hold a rational
        self._joined: dict[int, int] = {}  # a class that became part of another

    def same(self, a: Exact | Named, b: Exact | Named) -> bool:
        """Are they in one class? Then they are equal; if not, nothing is said."""
        return self.name(a) == self.name(b)

    def join(self, a: Exact | Named, b: Exact | Named) -> None:
        """They were proved equal. Nodes that were named before keep their names."""
        one, other = self.name(a), self.name(b)
        if one != other:
            if other in self._values:  # the class of a rational stays
                one, other = other, one
            self._joined[other] = one

    def name(self, root: Exact | Named) -> int:
        """The name of its class."""
        if type(root) is Exact:
            return self._rational(root.value)
        assert type(root) is Named
        names, stack = self._names, [root]
        while stack:
            node = stack[-1]
            if id(node) in names:
                stack.pop()
                continue
            missing = [arg for arg in node.args if type(arg) is Named and id(arg) not in names]
            if missing and node.exact is None:
                stack.extend(missing)
                continue
            names[id(node)] = self._rational(node.exact.value) if node.exact is not None else self._class(node)
            self._kept.append(node)
        return self._found(names[id(root)])

    def _found(self, name: int) -> int:
        while name in self._joined:
            name = self._joined[name]
        return name

    def _of_key(self, key: Any) -> int:
        return self._found(self._keys.setdefault(key, len(self._keys)))

    def _rational(self, value: fmpq) -> int:
        name = self._of_key(("value", int(value.p), int(value.q)))
        self._values[name] = value
        return name

    def _class(self, node: Named) -> int:
        args = [self.name(arg) for arg in node.args]
        if node.op == "lin":
            integers, constant, denominator = node.data
            total: _Sum = {(): fmpq(constant, denominator)}
            for c, arg in zip(integers, args, strict=True):
                self._add(total, (arg,), fmpq(c, denominator))
            return self._sum(total)
        if node.op == "dot":
            half = len(args) // 2
            total = {(): fmpq(0)}
            for pair in zip(args[:half], args[half:], strict=True):
                self._add(total, pair, fmpq(1))
            return self._sum(total)
        if node.op == "div" and args[1] in self._values:  # as `field.divide` has it where the divisor is a rational
            total = {(): fmpq(0)}
            self._add(total, args[:1], 1 / self._values[args[1]])
            return self._sum(total)
        return self._of_key((node.op, *args, None if node.data is None else (int(node.data.p), int(node.data.q))))

    def _add(self, total: _Sum, factors: Any, c: fmpq) -> None:
        """c times one or two factors, those that are rationals multiplied out."""
        rest = []
        for factor in factors:
            if factor in self._values:
                c = c * self._values[factor]
            else:
                rest.append(factor)
        place = tuple(sorted(rest))
        total[place] = total.get(place, fmpq(0)) + c

    def _sum(self, total: _Sum) -> int:
        """The class of a sum; where only one number is left of it, that number's."""
        terms = {place: c for place, c in total.items() if c != 0}
        if not terms or terms.keys() == {()}:
            return self._rational(terms.get((), fmpq(0)))
        if len(terms) == 1:
            ((place, c),) = terms.items()
            if len(place) == 1 and c == 1:
                return place[0]
        return self._of_key(("sum", tuple(sorted((place, int(c.p), int(c.q)) for place, c in terms.items()))))
