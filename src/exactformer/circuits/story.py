"""What each step of a circuit does, in a sentence drawn from its numbers; and names for the dimensions that it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from exactformer.circuits.circuit import Circuit
from exactformer.model.arithmetics.exact import MASKED
from exactformer.model.step import Step
from exactformer.numbers import Exact, Named, Number, Undecided
from exactformer.numbers.digits import digits
from exactformer.numbers.nearness import nearly
from exactformer.numbers.order import ranking
from exactformer.trace.trace import Trace

_STREAM = ("embed", "pos_embed", "attn.out", "resid_pre", "resid_mid", "resid_post")
_VERBS = {"q": "looks for", "k": "offers", "v": "would hand over", "z": "collects"}


def narrated(trace: Trace, circuit: Circuit) -> Trace:
    """The trace with the circuit's names for dimensions, and a sentence for each step at each position."""
    steps = (replace(step, labels=_labels(step, circuit)) for step in trace.steps)
    if not trace.exact:
        return replace(trace, steps=tuple(steps))
    return replace(trace, steps=tuple(replace(s, remarks=(*s.remarks, *_sentences(s, trace, circuit))) for s in steps))


def _labels(step: Step, circuit: Circuit) -> tuple[tuple[str, ...], ...]:
    """Names for the columns of a step, for each head; () where they are positions or tokens."""
    kind = _kind(step)
    if kind in _STREAM:
        return (circuit.directions,)
    if kind.removeprefix("attn.") in _VERBS:
        block, letter = int(step.name.split(".")[1]), kind[-1]
        return tuple(circuit.inside(block, head, letter) for head in range(len(step.values)))
    return ()


def _kind(step: Step) -> str:
    return ".".join(step.name.split(".")[2:]) if step.name.startswith("blocks.") else step.name


def _sentences(step: Step, trace: Trace, circuit: Circuit) -> Iterator[tuple[int, str]]:
    kind = _kind(step)
    for position in range(len(trace.tokens)):
        for head, row in enumerate(step.at(position)):
            who = f"head {head} of position {position}" if step.by_head and len(step.values) > 1 else f"position {position}"
            sentence = _sentence(kind, step, head, list(row), position, trace)
            if sentence:
                yield position, f'{who} "{trace.tokens[position]}" {sentence}'


def _sentence(kind: str, step: Step, head: int, row: list[Any], position: int, trace: Trace) -> str:
    letter = kind.removeprefix("attn.")
    if letter in _VERBS:
        labels = step.labels[head]
        return f"{_VERBS[letter]} {_mixture(labels, row[: len(labels)]) or 'nothing'}" if labels else ""
    match letter:
        case "embed" | "pos_embed":
            return f"is {_mixture(step.labels[0], row) or 'nothing'}"
        case "out":
            return f"writes {_mixture(step.labels[0], row) or 'nothing'}"
        case "scores":
            return f"scores most with {_most(row, _places(trace))}" if any(_positive(x) for x in row) else "scores 0 with all"
        case "masked":
            hidden = [str(j) for j, value in enumerate(row) if value is MASKED]
            return (
                f"may not look at {'position' if len(hidden) == 1 else 'positions'} {', '.join(hidden)}"
                if hidden
                else "may look at all"
            )
        case "pattern":
            return _attention(row, trace)
        case "probs":
            return f"expects {_most(row, trace.model.config.spoken)}"
        case _:
            return ""


def _places(trace: Trace) -> tuple[str, ...]:
    return tuple(f'position {j} "{token}"' for j, token in enumerate(trace.tokens))


def _attention(row: list[Any], trace: Trace) -> str:
    """Where it looks, with which weight, and how much leaks elsewhere."""
    order = _ranked(row)
    if order is None or not _positive(row[order[0]]):
        return "looks nowhere"
    looked = [j for j in order if _comparable(row[j], row[order[0]])]
    leaks = [j for j in order if j not in looked and _positive(row[j])]
    places = _places(trace)
    sentence = "attends to " + " and ".join(f"{places[j]} with weight {_text(row[j])}" for j in sorted(looked))
    return sentence + (f"; the largest leak is {_text(row[leaks[0]])}, to {places[leaks[0]]}" if leaks else "; nothing leaks")


def _mixture(labels: tuple[str, ...], row: list[Any]) -> str:
    """The parts of a vector by name, the largest first; what is far smaller is summed up."""
    order = _ranked(row)
    if order is None or not _positive(row[order[0]]):
        return ""
    large = [n for n in order if _comparable(row[n], row[order[0]])]
    small = [n for n in order if n not in large and _positive(row[n])]
    parts = ", ".join(f"{labels[n]} ({_text(row[n])})" if _text(row[n]) != "1" else labels[n] for n in large)
    return parts + (f", and at most {_text(row[small[0]])} of anything else" if small else "")


def _most(row: list[Any], names: tuple[str, ...]) -> str:
    order = _ranked(row)
    if order is None:
        return "undecided"
    return " and ".join(f"{names[j]}: {_text(row[j])}" for j in sorted(j for j in order if _comparable(row[j], row[order[0]])))


def _ranked(row: list[Any]) -> list[int] | None:
    """The places of the numbers of a row, the largest first, proved; None where that is undecided."""
    numbers = [n for n, value in enumerate(row) if isinstance(value, Exact | Named)]
    try:
        return [numbers[k] for k in ranking([row[n] for n in numbers])] if numbers else None
    except Undecided:
        return None


def _positive(value: Any) -> bool:
    return isinstance(value, Number) and value > 0


def _comparable(value: Number, largest: Number) -> bool:
    """More than a thousandth of the largest: a part, not a leak."""
    return _positive(value) and value * 1000 > largest


def _text(value: Any) -> str:
    """Exact as it is; named by its distance from what it is next to, or by its first digits: so many that 0.9999 is not 1.00."""
    if not isinstance(value, Named):
        return str(value)
    text = nearly(value, 12)
    if " " in text:
        return text
    if "e" in text:
        return digits(value, 3)
    return next((short for n in range(3, 12) if Fraction(short := digits(value, n)).denominator > 1), text)
