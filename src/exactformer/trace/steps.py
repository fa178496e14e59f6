"""Steps by name: what traces and gradients are, looked at from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exactformer.model import Step
from exactformer.trace.naming import full_name, unknown


class Steps(Mapping[str, Step]):
    """A mapping from names to steps, in the order of the pass. The last words of a name will do where they mean one step, and so
    do the names of TransformerLens' hooks.

    >>> from exactformer.worksheets import load
    >>> t = load("capstone").trace("a b")
    >>> len(t), list(t)[:2], "attn.pattern" in t, t["pattern"] is t["blocks.0.attn.hook_pattern"]
    (29, ['embed', 'pos_embed'], True, True)
    >>> t["pattern"].to_numpy()[0]
    array([[1.        , 0.        ],
           [0.26894142, 0.73105858]])
    """

    steps: tuple[Step, ...]
    _kind, _prefix = "step", ""

    def __getitem__(self, name: str) -> Step:
        names = [step.name for step in self.steps]
        full = full_name(name, names) if isinstance(name, str) else None
        if full is None and isinstance(name, str) and self._prefix and not name.startswith(self._prefix):
            full = full_name(self._prefix + name, names)
        if full is None:
            raise unknown(name, self._kind, names)
        return self.steps[names.index(full)]

    def __iter__(self) -> Iterator[str]:
        return (step.name for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def to_numpy(self) -> dict[str, Any]:
        """Every step that has numbers, as an array of the float64 nearest to each, proved."""
        return {step.name: step.to_numpy() for step in self.steps if step.op != "argmax"}
