"""What the rows and columns of a step stand for, and the words beside and above its tables."""

from __future__ import annotations

from exactformer.trace import Step, Trace

HEAD, POSITION, TOKEN, DIMENSION, UNIT, NOTHING = "head", "position", "token", "dimension", "unit", ""
_BETWEEN_POSITIONS = ("qk", "scores", "masked", "shifted", "unmasked", "pattern")
_WEIGHTS = {
    "W_E": (TOKEN, DIMENSION),
    "W_pos": (POSITION, DIMENSION),
    "W_U": (DIMENSION, TOKEN),
    "b_U": (TOKEN,),
    "W_in": (DIMENSION, UNIT),
    "W_out": (UNIT, DIMENSION),
    "b_in": (UNIT,),
    "b_out": (DIMENSION,),
    "b_O": (DIMENSION,),
    "w": (DIMENSION,),
    "b": (DIMENSION,),
}


def axes(name: str, rank: int) -> tuple[str, ...]:
    """What each axis of a step, of a weight or of their gradients stands for.

    >>> axes("blocks.0.attn.pattern", 3), axes("grad.W_E", 2), axes("blocks.0.ln1.mean", 2)
    (('head', 'position', 'position'), ('token', 'dimension'), ('position', ''))
    """
    last = name.rpartition(".")[2]
    if last in _WEIGHTS:
        return _WEIGHTS[last]
    if last.startswith(("W_", "b_")):
        return (HEAD, *(DIMENSION,) * (rank - 1))
    if last in _BETWEEN_POSITIONS:
        return (HEAD, POSITION, POSITION)
    if last in ("logits", "probs"):
        return (POSITION, TOKEN)
    if last in ("mean", "var", "std", "token"):
        return (POSITION, NOTHING)
    if last in ("pre", "post"):
        return (POSITION, UNIT)
    return (HEAD, POSITION, DIMENSION) if rank == 3 else (POSITION, DIMENSION)


def directions(step: Step, trace: Trace) -> list[list[str]]:
    """Names of the columns where they have some, for each head: the directions of a circuit's stream."""
    named = step.labels
    if not named and step.name.startswith("grad."):
        named = next((each.labels for each in trace.steps if f"grad.{each.name}" == step.name), ())
    return [list(names) for names in named]
