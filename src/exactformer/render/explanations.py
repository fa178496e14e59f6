"""Where an answer comes from, as text and as JSON: contributions with bars, the lens, and what a part does to a lead."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from exactformer.messages import printable
from exactformer.render import json as as_json
from exactformer.render.layout import verdict
from exactformer.render.values import midpoint, show
from exactformer.trace import Contribution, Explanation, Lens
from exactformer.trace.ablation import Ablation, sign

_BAR, _SHORTEST, _LONGEST = 24, 8, 40  # columns of the longest bar, if it can be, or at least; and of a number
_MOST = 5  # parts of a head or an MLP that are shown
PROOFS = {
    "equal": "proved: the contributions add up to it exactly",
    "enclosed": "proved: each contribution lies in its enclosure, and the enclosure of their sum holds it",
    "undecided": "undecided: whether the contributions add up to it exactly was neither proved nor refuted",
    "rounded": "not proved: floats are rounded",
}
Write = Callable[[Any, int], dict[str, Any]]  # a number to so many digits
LEADS = ("before", "after", "change")  # of an ablation
_CAPPED = "a soft cap follows, which keeps the order of logits: what is explained is the value before it"
LENS = "what the final norm and the unembedding make of the stream there"
_CHANGES = {1: "rises", 0: "stays the same", -1: "falls", None: "may rise or fall"}


def text(found: Explanation, digits: int = 12, most: int = _MOST, width: int | None = None) -> str:
    """The contributions in the order of the pass, each with a bar; of sources and units the `most` largest, and the others as one.

    Where there is room for no bar beside them, numbers and bars stand below the names.
    """
    lines = _heading(found)
    rows = [row for each in found for row in _rows(each, found, most)]
    longest = max((abs(midpoint(value)) for _, value in rows), default=0.0)
    cells = [_number(value, digits) for _, value in rows]
    names, numbers = (max(map(len, texts), default=0) for texts in ([name for name, _ in rows], cells))
    room = _BAR if width is None else min(_BAR, width - names - numbers - 4)
    below = "\n      "
    between = "  " if room >= _SHORTEST else below
    names, numbers, room = (names, numbers, room) if room >= _SHORTEST else (0, 0, _BAR)
    for (name, value), cell in zip(rows, cells, strict=True):
        bar = _bar(midpoint(value), longest, room)
        lines.append(f"  {name:<{names}}{between}{cell:>{numbers}}" + (f"{between}{bar}" if bar else ""))
    aside = between if len(what(found)) <= room else below
    lines += [
        f"  {'sum':<{names}}{between}{_number(found.value, digits):>{numbers}}{aside}{what(found)}",
        "",
        PROOFS[found.proof],
        *said(found),
    ]
    return "\n".join(lines) + "\n"


def _heading(found: Explanation | Lens | Ablation) -> list[str]:
    """What it is about, at the top of the text."""
    tokens = " ".join(map(printable, found.tokens))
    return [
        *([printable(found.title)] if found.title else []),
        f"tokens {tokens} · position {found.position} · arithmetic {found.arithmetic}",
        "",
    ]


def _about(form: str, found: Explanation | Lens | Ablation) -> dict[str, Any]:
    """The same in JSON."""
    return {
        "format": f"exactformer {form} 1",
        "title": found.title,
        "arithmetic": found.arithmetic,
        "tokens": list(found.tokens),
        "position": found.position,
    }


def what(found: Explanation) -> str:
    """What was explained."""
    if found.over is None:
        return f"the logit of {printable(found.token)}"
    return f"the lead of {printable(found.token)} over {printable(found.over)}"


def said(found: Explanation) -> list[str]:
    """What has to be said of norms and of a cap."""
    few = ", ".join(found.norms[:4]) + (", …" if len(found.norms) > 4 else "")
    norms = f"norms on the way ({few}) are divided by their true scales, those of this pass: other inputs have others"
    return [*([norms] if found.norms else []), *([_CAPPED] if found.step == "uncapped" else [])]


def _rows(each: Contribution, found: Explanation, most: int) -> list[tuple[str, Any]]:
    """A contribution, the largest of its parts, and the others."""
    shown, others = largest_parts(each, found, most)
    rows = [(each.name, each.value), *((f"  {part_name(part, found)}", part.value) for part in shown)]
    return rows if others is None else [*rows, (f"  {others.name}", others.value)]


def largest_parts(each: Contribution, found: Explanation, most: int) -> tuple[list[Contribution], Contribution | None]:
    """The `most` largest parts in their order, and all others as one, so that they add up; where none is asked for, neither."""
    by_size = sorted(range(len(each.parts)), key=lambda n: abs(midpoint(each.parts[n].value)), reverse=True)
    shown, left = ([each.parts[n] for n in sorted(places)] for places in (by_size[:most], by_size[most:]))
    if not shown or not left:
        return shown, None
    return shown, found.together(left, f"{len(left):,} other {left[0].name.split()[0]}{'s' * (len(left) != 1)}")


def part_name(part: Contribution, found: Explanation) -> str:
    """A source position with its token, or a unit."""
    kind, number = part.name.split()
    return f"{part.name} {printable(found.tokens[int(number)])}" if kind == "position" else part.name


def _number(value: Any, digits: int) -> str:
    shown = show(value, digits)
    text = f"{shown.text} ≈ {shown.digits}" if shown.digits and not shown.too_long else shown.text
    return text if len(text) <= _LONGEST or not shown.digits else f"≈ {shown.digits}"


def _bar(value: float, longest: float, room: int) -> str:
    """To scale, with its sign."""
    columns = 0 if not longest or value != value else round(room * abs(value) / longest)
    return ("-" if value < 0 else "+") * columns


def document(found: Explanation, digits: int = 12, write: Write = as_json.value, most: int = _MOST) -> dict[str, Any]:
    """docs/json.md describes it; the page writes numbers in its own way, and shows what is `shown`."""
    return {
        **_about("explanation", found),
        "token": found.token,
        "over": found.over,
        "step": found.step,
        "value": write(found.value, digits),
        "proof": found.proof,
        "norms": list(found.norms),
        "contributions": [_with_parts(each, found, digits, write, most) for each in found],
    }


def _with_parts(each: Contribution, found: Explanation, digits: int, write: Write, most: int) -> dict[str, Any]:
    """All parts; which of them are shown, and what the others are together."""
    result = _contribution(each, digits, write)
    if not each.parts:
        return result
    shown, others = largest_parts(each, found, most)
    result |= {"parts": [_contribution(part, digits, write) for part in each.parts], "shown": [part.name for part in shown]}
    return result if others is None else result | {"others": _contribution(others, digits, write)}


def _contribution(each: Contribution, digits: int, write: Write) -> dict[str, Any]:
    size = midpoint(each.value)
    return {"name": each.name, "value": write(each.value, digits), "size": size if math.isfinite(size) else None}


def json_text(found: Explanation, digits: int = 12, most: int = _MOST) -> str:
    return _dumped(document(found, digits, most=most))


def lens_text(found: Lens) -> str:
    """A line for each place."""
    lines = _heading(found)
    rows = lens_rows(found)
    steps, tokens = (max(map(len, column)) for column in list(zip(*rows, strict=True))[:2])
    lines += [f"  {step:<{steps}}  {token:<{tokens}}  {said}" for step, token, said in rows]
    return "\n".join([*lines, "", LENS]) + "\n"


def lens_rows(found: Lens) -> list[tuple[str, str, str]]:
    """The step, the token that it says, and by how much."""
    return [(look.step, printable(look.output.token or "none"), verdict(look.output, found.arithmetic)) for look in found]


def lens_document(found: Lens, digits: int = 12) -> dict[str, Any]:
    return {
        **_about("lens", found),
        "looks": [
            {"step": look.step, **as_json.output(look.output, None, digits), "verdict": verdict(look.output, found.arithmetic)}
            for look in found
        ],
    }


def lens_json(found: Lens, digits: int = 12) -> str:
    return _dumped(lens_document(found, digits))


def ablation_text(found: Ablation, digits: int = 12) -> str:
    """The lead before and after, and whether it is proved to rise or to fall."""
    lines = _heading(found)
    lines += [ablation_told(found), *(f"  {name:<7} {cell}" for name, cell in ablation_rows(found, digits))]
    return "\n".join(lines) + "\n"


def ablation_told(found: Ablation) -> str:
    lead = f"with {', '.join(map(printable, found.parts))}: the lead of {printable(found.token)} over {printable(found.over)}"
    if found.undefined is not None:
        return f"{lead} is undefined {found.undefined}"
    return f"{lead} {_CHANGES[sign(found.change)]}{_proved(found)}"


def ablation_rows(found: Ablation, digits: int = 12) -> list[tuple[str, str]]:
    """The lead before, after and their difference; the token, or both where it is another."""
    said = dict.fromkeys(printable(output.token or "none") for output in found.said)
    leads = [(name, _number(getattr(found, name), digits)) for name in LEADS]
    return [*leads, ("token", " → ".join(said))]


def _proved(found: Ablation) -> str:
    if found.arithmetic.startswith(("float", "bfloat")):
        return ", in floats"
    return ": undecided" if sign(found.change) is None else ", proved"


def ablation_document(found: Ablation, digits: int = 12, write: Write = as_json.value) -> dict[str, Any]:
    return {
        **_about("ablation", found),
        "parts": list(found.parts),
        "token": found.token,
        "over": found.over,
        **{name: write(getattr(found, name), digits) for name in LEADS},
        "sign": sign(found.change),
        "output": [as_json.output(output, None, digits) | {"verdict": verdict(output, found.arithmetic)} for output in found.said],
    }


def ablation_json(found: Ablation, digits: int = 12) -> str:
    return _dumped(ablation_document(found, digits))


def _dumped(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
