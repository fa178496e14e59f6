"""What ONNX's operators mean, in terms of the oracle's operations; and how far expected outputs are from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactformer.messages import Refused
from exactformer.numbers import Undecided
from exactformer.oracle import attending, formulas, operations, products
from exactformer.oracle.checks import entrywise, rowwise
from exactformer.oracle.onnx_cases import Case, originals
from exactformer.oracle.taking import real, taken
from exactformer.oracle.truth import Operation, Part, Truth

COPY = Operation("copy", formulas.copied)
MEAN = Operation("mean", formulas.mean)
INVERSE_DEVIATION = Operation("inverse deviation", formulas.inverse_deviation)
_FOUR = 4  # axes of queries by heads


@dataclass(frozen=True)
class Verdict:
    """How far an expected output is from the truth; or why that is not said."""

    case: str
    operator: str
    output: str
    dtype: str = ""
    entries: int = 0
    most: float = 0.0
    median: float = 0.0
    where: tuple[int, ...] = ()
    expected: str = ""
    truth: str = ""
    reason: str = ""


def judged(cases: list[Case]) -> Iterator[Verdict]:
    """Of all cases of operators that are known."""
    for case, reason in originals(cases):
        meaning = OPERATORS.get(case.operator)
        if reason and any(case.name.startswith(f"test_{prefix}") for prefix in _PREFIXES):
            yield Verdict(case.name, "", "", reason=reason)
        if meaning is None or reason:
            continue
        try:
            truths = meaning(case)
        except (Refused, ValueError, IndexError, TypeError, KeyError, AttributeError) as error:
            yield Verdict(case.name, case.operator, "", reason=str(error))
            continue
        for (name, expected), truth in zip(case.outputs, truths, strict=False):
            if expected is not None:
                yield _verdict(case, name, expected, truth)


_PREFIXES = ("attention_", "layer_normalization_", "rms_normalization_", "softmax_", "logsoftmax_", "rotary_embedding", "gelu_")


def _verdict(case: Case, name: str, expected: Any, truth: Truth | str) -> Verdict:
    if isinstance(truth, str):
        return Verdict(case.name, case.operator, name, reason=truth)
    expected = _heads(expected, truth.shape[1]) if expected.ndim < len(truth.shape) else expected
    try:
        found = truth.ulps(expected)
    except (Refused, Undecided) as error:
        return Verdict(case.name, case.operator, name, reason=str(error))
    at = found.where
    shown = ("", "") if not found.low.size else (str(taken(expected, name)[0][at]), truth.digits(at, 12))
    return Verdict(case.name, case.operator, name, found.format, int(found.low.size), found.most, found.median, at, *shown)


def _heads(x: Any, count: Any) -> Any:
    """[B, T, H d] as [B, H, T, d]."""
    return np.ascontiguousarray(x.reshape(*x.shape[:2], int(count), -1).transpose(0, 2, 1, 3)) if x.ndim < _FOUR else x


def _attention(case: Case) -> list[Truth | str]:
    q, k, v, mask, past_key, past_value, lengths = (*case.inputs, *[None] * 7)[:7]
    query, key, value = (_heads(x, case.settings.get(n)) for x, n in ((q, "q_num_heads"), (k, "kv_num_heads"), (v, "kv_num_heads")))
    if past_key is not None:
        key, value = np.concatenate([past_key, key], axis=2), np.concatenate([past_value, value], axis=2)
    batch, (t, s) = len(query), (query.shape[2], key.shape[2])
    # how many keys precede each sequence of queries: [B, 1, 1, 1]
    before = np.full(batch, 0 if past_key is None else past_key.shape[2]) if lengths is None else lengths.reshape(-1) - t
    distance = np.arange(s) - (np.arange(t)[:, None] + before.reshape(-1, 1, 1, 1))
    seen = np.ones(distance.shape, dtype=bool)
    if case.settings.get("is_causal", 0):
        seen &= distance <= 0
    if (left := case.settings.get("left_window_size", -1)) >= 0:
        seen &= distance >= -left
    if (right := case.settings.get("right_window_size", -1)) >= 0:
        seen &= distance <= right
    if lengths is not None:
        seen &= np.arange(s) < lengths.reshape(-1, 1, 1, 1)
    if mask is not None and mask.shape[-1] < s:
        fill: Any = False if mask.dtype == bool else -np.inf
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, s - mask.shape[-1])], constant_values=fill)
    scale, cap = case.settings.get("scale"), case.settings.get("softcap") or None

    def part(operation: Operation, masks: list[Any], softcap: Any) -> Truth:
        return attending.attended(operation, query, key, value, masks, None, scale, softcap, "zero", None)

    mode = case.settings.get("qk_matmul_output_mode", 0)
    if mode == 3:
        inner: Truth | str = part(attending.WEIGHTS, [seen, mask], cap)
    else:
        additive = [np.where(seen, 0.0, -np.inf), np.where(mask, 0.0, -np.inf) if mask is not None and mask.dtype == bool else mask]
        inner = part(attending.SCORES, additive if mode == 2 else [], cap if mode else None)
    return [part(attending.ATTENTION, [seen, mask], cap), _copy(key), _copy(value), inner]


def _copy(x: Any) -> Truth:
    array, form = taken(x, "x")
    return entrywise(COPY, form, array.shape, (np.where(np.isfinite(array), array, 0.0),), (array, ~np.isfinite(array)))


def _layer_norm(case: Case) -> list[Truth | str]:
    x, scale, shift = (*case.inputs, None)[:3]
    axis, eps = case.settings.get("axis", -1), case.settings.get("epsilon", "1e-5")
    array, form = taken(x, "X")
    first = axis % array.ndim
    rows = array.reshape(int(np.prod(array.shape[:first])), -1)
    shape = (*array.shape[:first], *[1] * (array.ndim - first))

    def of_rows(operation: Operation, *more: Any) -> Truth:
        found = rowwise(operation, form, (len(rows), 1), 1, (Part(rows), *(Part(m, rows=False) for m in more)), None)
        return Truth(operation, form, shape, len(shape), 1, found.blocks, None, None)

    return [operations.layer_norm(x, scale, shift, eps, axis), of_rows(MEAN), of_rows(INVERSE_DEVIATION, real(eps, "epsilon"))]


def _rms_norm(case: Case) -> list[Truth | str]:
    x, scale = case.inputs
    return [operations.rms_norm(x, scale, case.settings.get("epsilon", "1e-5"), case.settings.get("axis", -1))]


def _softmax(operation: Callable[..., Truth]) -> Callable[[Case], list[Truth | str]]:
    return lambda case: [operation(case.inputs[0], case.settings.get("axis", -1))]


def _rotary(case: Case) -> list[Truth | str]:
    x, cos, sin, positions = (*case.inputs, None)[:4]
    heads = _heads(x, case.settings.get("num_heads"))
    cos, sin = (c if positions is None else c[positions] for c in (cos, sin))  # [B, T, r/2]
    style = "neighbours" if case.settings.get("interleaved", 0) else "halves"
    truth = products.rotary(heads, cos[:, None], sin[:, None], style=style, width=case.settings.get("rotary_embedding_dim") or None)
    return [truth]


def _gelu(case: Case) -> list[Truth | str]:
    tanh = case.settings.get("approximate", b"none") == b"tanh"
    return [(operations.gelu_tanh if tanh else operations.gelu)(case.inputs[0])]


def _gemm(case: Case) -> list[Truth | str]:
    a, b, c = (*case.inputs, None)[:3]
    a, b = (np.ascontiguousarray(x.T) if case.settings.get(n, 0) else x for x, n in ((a, "transA"), (b, "transB")))
    return [products.matmul(a, b, c, alpha=case.settings.get("alpha", 1), beta=case.settings.get("beta", 1))]


OPERATORS: dict[str, Callable[[Case], list[Truth | str]]] = {
    "Attention": _attention,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _rms_norm,
    "Softmax": _softmax(operations.softmax),
    "LogSoftmax": _softmax(operations.log_softmax),
    "RotaryEmbedding": _rotary,
    "Gelu": _gelu,
    "MatMul": lambda case: [products.matmul(*case.inputs)],
    "Gemm": _gemm,
}
