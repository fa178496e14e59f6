"""Names of steps as people say them: the last words of one, where they can mean only one, and those of TransformerLens' hooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from exactformer.messages import Refused, listed, quoted

_LISTED = 12  # names in a message
# Hooks that are not the step's own name with `hook_` before its last word: of these steps the first that is there.
_HOOKS = {
    "hook_scale": ("std", "rms"),
    "hook_normalized": ("out",),
    "hook_attn_scores": ("masked",),
    "hook_attn_out": ("ln1_post.out", "attn.out"),
    "hook_mlp_out": ("ln2_post.out", "mlp.out"),
}


class Ambiguous(Refused, KeyError):
    """A short name that several steps have."""


class UnknownStep(Refused, KeyError):
    """A name that no step has."""


def full_name(name: str, steps: Iterable[str]) -> str | None:
    """The step that is meant; None where there is none. Gradients are meant where it is said.

    >>> steps = ("blocks.0.attn.q", "blocks.0.attn.pattern", "blocks.0.attn.out", "blocks.0.mlp.out", "grad.blocks.0.attn.pattern")
    >>> [full_name(name, steps) for name in ("pattern", "attn.out", "grad.attn.pattern", "blocks.0.hook_mlp_out", "z")]
    ['blocks.0.attn.pattern', 'blocks.0.attn.out', 'grad.blocks.0.attn.pattern', 'blocks.0.mlp.out', None]
    >>> full_name("out", steps)
    Traceback (most recent call last):
    exactformer.trace.naming.Ambiguous: 'out' could be blocks.0.attn.out or blocks.0.mlp.out: say which
    """
    names = tuple(steps)
    if name in names:
        return name
    prefix = "grad." if name.startswith("grad.") else ""
    for bare in _meant(name.removeprefix("grad.")):
        if prefix + bare in names:
            return prefix + bare
        found = [each for each in names if each.endswith(f".{bare}") and each.startswith("grad.") == bool(prefix)]
        if len(found) > 1:
            more = found[:_LISTED] + [f"{len(found) - _LISTED:,} more"] * (len(found) > _LISTED)
            raise Ambiguous(f"{quoted(name)} could be {listed(more, 'or')}: say which")
        if found:
            return found[0]
    return None


def _meant(name: str) -> tuple[str, ...]:
    """What a name may mean that has the words of a hook: without them, or as the table says."""
    before, dot, last = name.rpartition(".")
    if not last.startswith("hook_"):
        return (name,)
    return tuple(before + dot + end for end in _HOOKS.get(last, (last.removeprefix("hook_"),)))


def unknown(name: object, kind: str, steps: Sequence[str]) -> UnknownStep:
    """The message about a name that no step has, with the names that are like it."""
    said = name if isinstance(name, str) else ""
    ends = {".".join(step.split(".")[-1 - said.count(".") :]): step for step in reversed(steps)}
    near = [ends[end] for end in get_close_matches(said, ends, 4, 0.7)]
    few = f"did you mean {listed(near, 'or')}?" if near else f"they are {', '.join(steps[:_LISTED])}, …"
    return UnknownStep(f"there is no {kind} {quoted(name)}; {few} (keys() has all {len(steps):,})")
