"""A trace as JSON, for other programs. docs/json.md describes it; what is here is kept stable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flint import arb

from exactformer.numbers import Exact, Named, Undecided
from exactformer.numbers.digits import ball_bounds, decimal_bounds
from exactformer.render.values import largest, show
from exactformer.trace import Output, Step, Trace

_WIDEST, _LARGEST = 4096, 20  # of a row longer than this, so many of the largest entries are written, with their columns
_MOST_WEIGHTS = 100_000  # entries of a weight; larger ones are null


def render(trace: Trace, digits: int = 12) -> str:
    return json.dumps(document(trace, digits), ensure_ascii=False, indent=1) + "\n"


def document(trace: Trace, digits: int = 12) -> dict[str, Any]:
    return {
        "format": "exactformer trace 1",
        "title": trace.title,
        "arithmetic": trace.arithmetic,
        "model": _model(trace, digits),
        "tokens": list(trace.tokens),
        **({"tokenization": [_piece(piece) for piece in trace.pieces]} if trace.pieces else {}),
        "steps": [step(each, digits, _reached(each, trace)) for each in trace.steps],
        "output": [output(each, trace.stopped[each.position], digits) for each in trace.output],
    }


def value(x: Any, digits: int = 12) -> dict[str, Any]:
    """One number.

    >>> from exactformer.numbers import exact, exp
    >>> value(exact("1/2"))
    {'status': 'exact', 'text': '1/2', 'recovered': False}
    >>> value(exp(1) / (exp(1) + exp(2)), 6)["low"]
    '0.268941'
    """
    shown = show(x, digits)
    result: dict[str, Any] = {"status": shown.status, "text": shown.text}
    if isinstance(x, Exact):
        result["recovered"] = shown.recovered
        if shown.written:
            result["written"] = shown.written
    elif isinstance(x, Named | arb) and shown.status != "undefined":
        if isinstance(x, Named):
            result["written"] = shown.written
        try:
            result["low"], result["high"] = decimal_bounds(x, digits) if isinstance(x, Named) else ball_bounds(x, digits)
        except Undecided as undecided:
            result["low"] = result["high"] = None
            result["why"] = str(undecided)
    elif x is None:
        result["text"] = None
    elif shown.why:
        result["why"] = shown.why
    return result


def step(step: Step, digits: int = 12, reached: Sequence[bool] | None = None) -> dict[str, Any]:
    """One step; the rows of positions that are not `reached` are null."""

    def nested(array: Any, axis: int) -> Any:
        if array.ndim == 0:
            return value(array.item() if array.dtype == object else array[()], digits)
        if array.ndim == 1 and len(array) > _WIDEST:
            return [{"column": n} | nested(array[n, ...], axis + 1) for n in largest(array, _LARGEST)]
        over_positions = reached is not None and axis == (1 if step.by_head else 0)
        return [None if over_positions and not reached[i] else nested(array[i, ...], axis + 1) for i in range(len(array))]  # type: ignore[index]

    result = {
        "name": step.name,
        "op": step.op,
        "title": step.title,
        "formula": step.formula,
        "reads": list(step.reads),
        "shape": list(step.values.shape),
        "values": nested(step.values, 0),
    }
    return result | ({"remarks": [text for _, text in step.remarks]} if step.remarks else {})


def _piece(piece: Any) -> dict[str, Any]:
    merges = [{"rank": merge.rank, "left": merge.left.hex(), "right": merge.right.hex()} for merge in piece.merges]
    return {"id": piece.id, "name": piece.name, "text": piece.text, "bytes": piece.bytes.hex(), "merges": merges}


def _reached(step: Step, trace: Trace) -> list[bool]:
    return [any(shown.name == step.name for shown in trace.shown(position)) for position in range(len(trace.tokens))]


def output(output: Output, stopped: str | None, digits: int = 12) -> dict[str, Any]:
    """The token at a position, which may have `stopped` before it."""
    result: dict[str, Any] = {"position": output.position, "token": output.token, "proved": output.proved}
    if output.token is None:
        return result | ({"stopped": stopped} if stopped else {"why": output.why})
    result["runner_up"] = output.runner_up
    result["margin"] = None if output.margin is None else value(output.margin, digits)
    return result | ({"ties": list(output.ties)} if output.ties else {})


def _model(trace: Trace, digits: int) -> dict[str, Any]:
    config, weights = trace.model.config, trace.model.weights
    scale = config.scale_factor
    result = {
        "vocabulary": list(config.vocabulary),
        "dim": config.dim,
        "heads": config.heads,
        "head_dim": config.head_dim,
        "blocks": config.blocks,
        "norm": config.norm,
        "epsilon": None if config.epsilon is None else str(config.epsilon),
        "final_norm": config.final_norm,
        "positions": config.positions,
        "length": config.length,
        "mask": config.mask,
        "scale_by_block": config.scale_by_block,
        "hard": config.hard,
        "scale": str(scale),
        "mlp": config.mlp,
        "activation": config.activation,
        "unembedding": config.unembedding,
        "residual": config.residual,
    }
    more = {name: setting(value) for name, value in config.changed().items() if name not in result}
    listed = {name: _plain(array) if array.size <= _MOST_WEIGHTS else None for name, array in weights.named()}
    return result | more | {"weights": listed}


def setting(value: Any) -> Any:
    """A field of a configuration as JSON has it; numbers are texts."""
    if isinstance(value, tuple):
        return [setting(item) for item in value]
    return value if isinstance(value, (bool, int, str)) else str(value)


def _plain(array: Any) -> Any:
    """Weights are exact: their texts say all."""
    return str(array) if not getattr(array, "ndim", 0) else [_plain(item) for item in array]
