"""Every operation that a claim can name, against NumPy on random numbers; shapes that go together, and those that do not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np
import pytest

from exactformer.checking import check_text
from exactformer.checking.operations import OPERATIONS
from exactformer.worksheets import WorksheetError

EPS = 0.25


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def causal(x: Any) -> Any:
    return np.where(np.tri(len(x)) > 0, x, -np.inf)


def layer_norm(x: Any, ddof: int = 0, outside: bool = False) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    variance = x.var(-1, ddof=ddof, keepdims=True)
    return centered / (np.sqrt(variance) + EPS if outside else np.sqrt(variance + EPS))


def rotary(x: Any, neighbours: bool = False, position: int = 0) -> Any:
    n = x.shape[-1] // 2
    angles = (np.arange(len(x)) + position)[:, None] * 10000.0 ** (-np.arange(n) / n)
    first, second = (x[:, 0::2], x[:, 1::2]) if neighbours else (x[:, :n], x[:, n:])
    turned = first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles)
    return np.stack(turned, -1).reshape(x.shape) if neighbours else np.concatenate(turned, -1)


Case = tuple[str, dict[str, Any], Callable[..., Any]]
CASES: list[Case] = [
    ("matmul", {}, lambda a, b: a @ b),
    ("scores", {}, lambda a, b: a @ b.T),
    ("transpose", {}, lambda x: x.T),
    ("add", {}, lambda a, b: a + b),
    ("subtract", {}, lambda a, b: a - b),
    ("multiply", {}, lambda a, b: a * b),
    ("divide", {}, lambda a, b: a / b),
    ("scale", {"factor": "1/sqrt(3)"}, lambda x: x / np.sqrt(3)),
    ("exp", {}, np.exp),
    ("log", {}, lambda x: np.log(x)),
    ("sqrt", {}, np.sqrt),
    ("tanh", {}, np.tanh),
    ("sigmoid", {}, lambda x: 1 / (1 + np.exp(-x))),
    ("relu", {}, lambda x: np.maximum(x, 0)),
    ("silu", {}, lambda x: x / (1 + np.exp(-x))),
    ("gelu", {}, lambda x: x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))),
    ("gelu_tanh", {}, lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ("shift", {}, lambda x: x - x.max(-1, keepdims=True)),
    ("softmax", {}, softmax),
    ("softmax", {"temperature": "0.5"}, lambda x: softmax(x * 2)),
    ("softmax", {"by": "columns"}, lambda x: softmax(x.T).T),
    ("sum", {}, lambda x: x.sum(-1)),
    ("sum", {"by": "columns"}, lambda x: x.sum(0)),
    ("mean", {}, lambda x: x.mean(-1)),
    ("max", {}, lambda x: x.max(-1)),
    ("norm", {}, lambda x: np.sqrt((x * x).sum(-1))),
    ("variance", {}, lambda x: x.var(-1)),
    ("variance", {"ddof": 1}, lambda x: x.var(-1, ddof=1)),
    ("std", {}, lambda x: x.std(-1)),
    ("std", {"ddof": 1, "by": "columns"}, lambda x: x.std(0, ddof=1)),
    ("std", {"epsilon": EPS}, lambda x: np.sqrt(x.var(-1) + EPS)),
    ("std", {"epsilon": EPS, "epsilon_at": "outside"}, lambda x: x.std(-1) + EPS),
    ("layer_norm", {"epsilon": EPS}, layer_norm),
    ("layer_norm", {"epsilon": EPS, "ddof": 1}, lambda x: layer_norm(x, 1)),
    ("layer_norm", {"epsilon": EPS, "epsilon_at": "outside"}, lambda x: layer_norm(x, 0, True)),
    ("layer_norm", {"epsilon": EPS, "gamma": [2, 1, 3], "beta": [1, 0, 1]}, lambda x: layer_norm(x) * [2, 1, 3] + [1, 0, 1]),
    ("rms_norm", {"epsilon": EPS}, lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)),
    ("rms_norm", {"epsilon": EPS, "epsilon_at": "outside"}, lambda x: x / (np.sqrt((x * x).mean(-1, keepdims=True)) + EPS)),
    ("cross_entropy", {"correct": [2, 0, 1]}, lambda x: -np.log(softmax(x)[range(3), [2, 0, 1]])),
    ("attention", {}, lambda q, k, v: softmax(q @ k.T / np.sqrt(3)) @ v),
    ("attention", {"mask": "causal", "scale": "none"}, lambda q, k, v: softmax(causal(q @ k.T)) @ v),
    ("attention", {"scale": "0.125"}, lambda q, k, v: softmax(q @ k.T / 8) @ v),
]  # fmt: skip
WIDE: list[Case] = [
    ("rotary", {}, rotary),
    ("rotary", {"pairs": "neighbours", "position": 3}, lambda x: rotary(x, True, 3)),
]


def drawn(draw: random.Random, name: str, wide: int) -> list[list[list[str]]]:
    positive = name in ("log", "sqrt", "divide")
    numbers = lambda: f"{(abs if positive else float)(draw.choice([-1, 1]) * draw.randint(1, 300)) / 100:.2f}"  # noqa: E731
    return [[[numbers() for _ in range(wide)] for _ in range(3)] for _ in OPERATIONS[name].operands]


def claim(name: str, operands: Any, said: dict[str, Any], printed: Any) -> str:
    fields = {"operation": name, **dict(zip(OPERATIONS[name].operands, operands, strict=True)), **said}
    field = "value" if isinstance(printed, str) else "values"
    return "[[claims]]\n" + "".join(f"{field} = {json.dumps(value)}\n" for field, value in (fields | {field: printed}).items())


@pytest.mark.parametrize(("name", "said", "known"), CASES + WIDE, ids=lambda case: str(case)[:40] if not callable(case) else "")
def test_against_numpy(name: str, said: dict[str, Any], known: Callable[..., Any]) -> None:
    draw = random.Random(name + str(said))
    operands = drawn(draw, name, 4 if (name, said, known) in WIDE else 3)
    found = np.asarray(known(*(np.array(operand, dtype=float) for operand in operands)))
    printed = np.vectorize(lambda x: f"{x:.7f}")(found)
    assert check_text(claim(name, operands, said, printed.tolist())).status == 0
    place = tuple(draw.randrange(n) for n in printed.shape)
    printed[place] = f"{found[place] + draw.choice([-3e-7, 3e-7]):.7f}"
    report = check_text(claim(name, operands, said, printed.tolist()))
    assert [finding.index for finding in report.findings if finding.bad] == [place]


def test_every_operation_is_tried() -> None:
    assert {name for name, *_ in CASES + WIDE} | {"mask"} == set(OPERATIONS)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('operation = "divide"\nleft = [2, 3]\nright = 4\nvalues = ["0.50", "0.75"]', 0),
        ('operation = "divide"\nleft = 1\nright = [4, "1/3"]\nvalues = ["0.25", "3"]', 0),
        ('operation = "multiply"\nleft = "sqrt(2)"\nright = "sqrt(2)"\nvalue = "2"', 0),
        ('operation = "add"\nleft = [[1, 2, 3], [4, 5, 6]]\nright = [10, 20]\nvalues = [[11, 12, 13], [24, 25, 26]]', 0),
        ('operation = "add"\nleft = [[1, 2, 3], [4, 5, 6]]\nright = [10, 20, 30]\nvalues = [[11, 22, 33], [14, 25, 36]]', 0),
        ('operation = "add"\nleft = [[1, 2], [4, 5]]\nright = [10, 20]\nby = "rows"\nvalues = [[11, 12], [24, 25]]', 0),
        ('operation = "add"\nleft = [[1, 2], [4, 5]]\nright = [[10], [20]]\nvalues = [[11, 12], [24, 25]]', 0),
        ('operation = "exp"\nof = "1/2"\nvalue = "1.649"', 0),
        ('operation = "divide"\nleft = 1\nright = 0\nvalue = "0"', 1),
        ('operation = "log"\nof = [0, 1]\nvalues = ["0", "0"]', 1),
        ('operation = "cross_entropy"\nof = [2, 1, 0]\ncorrect = 1\nvalue = "1.4076"', 0),
        ('operation = "transpose"\nof = [[1, 2, 3]]\nvalues = [[1], [2], [3]]', 0),
    ],
)
def test_shapes(text: str, status: int) -> None:
    assert check_text(f"[[claims]]\n{text}\n").status == status


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('operation = "add"\nleft = [[1, 2], [4, 5]]\nright = [10, 20]\nvalues = []', "claims.0.by is missing"),
        ('operation = "add"\nleft = [1, 2]\nright = [1, 2, 3]\nvalues = []', "claims.0.right is 3, which does not fit left (2)"),
        ('operation = "softmax"\nof = 3\nvalue = 1', "claims.0.of is a single number"),
        ('operation = "softmax"\nof = [1]\ntemperature = 0\nvalues = [1]', "claims.0.temperature is 0, which is not positive"),
        ('operation = "sum"\nof = [1, 2]\nby = "columns"\nvalue = 1', "claims.0.by is columns, but there is one row"),
        ('operation = "sum"\nof = [1, 2]\nby = "column"\nvalue = 1', "claims.0.by is 'column', not one of rows, columns"),
        ('operation = "std"\nof = [1]\nddof = 1\nvalue = 1', "claims.0.ddof is 1, but there is one number"),
        ('operation = "std"\nof = [1, 2]\nddof = 2\nvalue = 1', "claims.0.ddof is 2, neither 0 nor 1"),
        ('operation = "cross_entropy"\nof = [1, 2]\ncorrect = 2\nvalue = 1', "claims.0.correct is not 1 place in a row of 2"),
        ('operation = "cross_entropy"\nof = [1, 2]\ncorrect = "a"\nvalue = 1', "claims.0.correct is 'a', not places"),
        ('operation = "rotary"\nof = [[1, 2, 3]]\nvalues = []', "claims.0.of has rows of 3 numbers, which are not pairs"),
        ('operation = "attention"\nq = [[1]]\nk = [[1, 2]]\nv = [[1]]\nvalues = []', "claims.0.k is 1 × 2"),
        ('operation = "scale"\nof = [1]\nfactor = "sqrt(0-1)"\nvalues = [1]', "claims.0.factor:"),
        ('operation = "exp"\nof = "embd"\nvalue = 1', "claims.0.of is 'embd', which is neither a step nor"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(WorksheetError) as refused:
        check_text(f"[[claims]]\n{text}\n", "mine.toml")
    assert said in str(refused.value)


def test_a_slip_is_followed_through_attention() -> None:
    text = """
[[claims]]
operation = "attention"
name = "head"
q = [[1, 0]]
k = [[1, 0], [0, 1]]
v = [[10, 0], [0, 10]]
scale = "none"

[[claims]]
step = "head.pattern"
values = [["0.70", "0.30"]]

[[claims]]
step = "head"
values = [["7.0", "3.0"]]
"""
    assert [finding.carried_on for finding in check_text(text).findings] == [False, False, True, True]
