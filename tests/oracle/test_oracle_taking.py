"""What is taken, from whom, and what is refused in one line."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import exactformer as xf
from exactformer import oracle

X = np.float32([[1, 2], [3, 4]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_are_taken_through_dlpack(dtype: Any) -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(1)).to(dtype)
    numpy = {torch.bfloat16: ml_dtypes.bfloat16}.get(dtype) or str(dtype).removeprefix("torch.")
    same = x.double().numpy().astype(numpy)
    truth = oracle.softmax(x)
    assert np.array_equal(truth.rounded(), oracle.softmax(same).rounded())
    assert truth.rounded().dtype == np.dtype(numpy)
    assert truth.ulps(torch.softmax(x, -1)).most < 4
    assert oracle.softmax(x.t()).ulps(torch.softmax(x.t(), -1)).most < 4  # not contiguous
    assert oracle.softmax(x.requires_grad_()).ulps(truth.rounded()).most <= 0.5
    mask = torch.tensor([[True, False, True, True]] * 4)
    assert oracle.attention(x, x, x, mask=mask).ulps(torch.nn.functional.scaled_dot_product_attention(x, x, x, mask)).most < 1e4
    assert oracle.softmax(X, dtype=dtype).rounded().dtype == np.dtype(numpy)


def test_the_package_is_at_hand() -> None:
    assert xf.oracle is oracle
    assert "oracle" in dir(xf)


def test_numbers_by_themselves() -> None:
    a, b = (oracle.layer_norm(np.float64([1, 2, 4]), eps=e).rounded() for e in (1e-5, "1e-5"))
    assert np.abs(a - b).max() < 1e-15


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: oracle.softmax([1.0, 2.0]), "x: list is not supported: give a NumPy array or a tensor that speaks DLPack"),
        (lambda: oracle.softmax(np.array([1, 2])), "x: 'int64' is not one of float16, bfloat16, float32, float64"),
        (lambda: oracle.softmax(np.array([1, 2], dtype=np.longdouble)), "x: 'float128' is not one of float16"),
        (lambda: oracle.softmax(np.array([1j])), "x: 'complex128' is not one of float16"),
        (lambda: oracle.softmax(np.array(["a"])), "x: 'str32' is not one of float16"),
        (lambda: oracle.softmax(np.array([None])), "x: 'object' is not one of float16"),
        (lambda: oracle.softmax(np.ma.array([1.0])), "x: a masked array is not supported"),
        (lambda: oracle.softmax(torch.tensor([1, 2])), "x: 'int64' is not one of float16"),
        (lambda: oracle.softmax(X, axis=2), "axis: 2 is not an axis of an array of 2 dimensions"),
        (lambda: oracle.softmax(X, axis=10**30), "axis: 1000000000000000000000000000000 is not an axis"),
        (lambda: oracle.softmax(np.float32(1)), "axis: -1 is not an axis of an array of 0 dimensions"),
        (lambda: oracle.softmax(X, dtype="float8"), "dtype: 'float8' is not one of float16"),
        (lambda: oracle.softmax(np.broadcast_to(np.float32(0), (2**15, 2**15))), "x: has 1,073,741,824 entries"),
        (lambda: oracle.softmax(X).ulps(X[0]), "y: has the shape (2,); softmax has (2, 2) here"),
        (lambda: oracle.softmax(X).ulps(X.astype(float)), "y: is float64, the truth was asked for in float32"),
        (lambda: oracle.layer_norm(X, eps=-1), "eps: is negative"),
        (lambda: oracle.layer_norm(X, eps=float("nan")), "eps: nan is not a finite number"),
        (lambda: oracle.layer_norm(X, eps="1e999999999"), "eps: '1e999999999' is not a finite number"),
        (lambda: oracle.layer_norm(X, np.float32([1, 2, 3])), "weight: has the shape (3,), which does not fit (2,)"),
        (lambda: oracle.layer_norm(X, np.float32([1, np.inf])), "weight: has an infinite entry"),
        (lambda: oracle.matmul(X, np.float32([[1, 2]])), "b: has 1 rows for 2 columns of a"),
        (lambda: oracle.matmul(X, np.float64([1, 2])), "b: is float64, a is float32: say the output's dtype"),
        (lambda: oracle.matmul(X, X, np.float32([1, 2, 3])), "bias: has the shape (3,), which does not fit (2, 2)"),
        (lambda: oracle.rotary(X), "positions: give either positions, or cos and sin"),
        (lambda: oracle.rotary(X, positions=[0, 1], style="thirds"), "style: 'thirds' is neither halves nor neighbours"),
        (lambda: oracle.rotary(X, positions=[0.5, 1]), "positions: are not whole numbers"),
        (lambda: oracle.attention(X, X, X[:1]), "k: has the shape (2, 2); q and v ask for [..., 1, 2]"),
        (lambda: oracle.attention(X, X, X, softcap=0), "softcap: is not positive"),
        (lambda: oracle.attention(X, X, X, mask=np.float32([1, 2, 3])), "mask: has the shape (3,), which does not fit (2, 2)"),
        (lambda: oracle.cross_entropy(X, np.array([0, 2])), "targets: name a class that is not among the 2"),
        (lambda: oracle.cross_entropy(X, np.array([0])), "targets: have the shape (1,); the logits ask for (2,)"),
        (lambda: oracle.swiglu(X, np.float32([1, 2, 3])), "up: has the shape (3,), which does not fit (2, 2)"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(oracle.OracleError) as refused:
        call()
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_nothing_is_fine(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, dtype=np.float32)
    for operation in (oracle.softmax, oracle.log_softmax, oracle.gelu, oracle.silu, oracle.layer_norm, oracle.rms_norm):
        truth = operation(x)
        assert truth.rounded().shape == shape
        assert truth.ulps(x).most == 0
    assert oracle.matmul(np.zeros((2, 0), dtype=np.float32), np.zeros((0, 3), dtype=np.float32)).rounded().tolist() == [[0] * 3] * 2
    assert oracle.matmul(np.zeros((0, 2), dtype=np.float32), np.zeros((2, 3), dtype=np.float32)).rounded().shape == (0, 3)
