"""Names of steps as people say them: the last words of one, where they can mean only one."""

from __future__ import annotations

from collections.abc import Iterable

from exactformer.messages import Refused


class Ambiguous(Refused):
    """A short name that several steps have."""


def full_name(name: str, steps: Iterable[str]) -> str | None:
    """The step that is meant; None where there is none. Gradients are meant where it is said.

    >>> steps = ("blocks.0.attn.q", "blocks.0.attn.pattern", "blocks.0.attn.out", "blocks.0.mlp.out", "grad.blocks.0.attn.pattern")
    >>> [full_name(name, steps) for name in ("pattern", "attn.out", "grad.attn.pattern", "z")]
    ['blocks.0.attn.pattern', 'blocks.0.attn.out', 'grad.blocks.0.attn.pattern', None]
    >>> full_name("out", steps)
    Traceback (most recent call last):
    exactformer.trace.naming.Ambiguous: 'out' could be blocks.0.attn.out or blocks.0.mlp.out: say which
    """
    names = tuple(steps)
    if name in names:
        return name
    gradient, bare = name.startswith("grad."), name.removeprefix("grad.")
    found = [each for each in names if each.endswith(f".{bare}") and each.startswith("grad.") == gradient]
    if len(found) > 1:
        few = f"{found[0]} or {found[1]}" if len(found) == 2 else f"{found[0]}, {found[1]}, …"
        raise Ambiguous(f"'{name}' could be {few}: say which")
    return found[0] if found else None
