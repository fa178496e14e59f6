"""Folders as they are found: what is opened without a copy, what is exact, what is refused and how."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpt2_files import safetensors_bytes, small_config, small_tensors, write_folder

from children import PATIENCE
from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.checkpoints.safetensors import read_tensors
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.model.taking import owner
from exactformer.model.weights import widened
from exactformer.numbers import Undefined
from exactformer.trace import run


def root(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base


def test_weights_are_views_of_the_mapped_file(tmp_path: Path) -> None:
    model = open_checkpoint(write_folder(tmp_path)).model
    places = set()
    for name, values in model.weights.named():
        assert not values.flags.writeable, name
        places.add(id(root(values).obj if isinstance(root(values), memoryview) else root(values)))
    assert len(places) == 1


def test_a_large_file_opens_without_being_read(tmp_path: Path) -> None:
    """64 MB of embedding, most of it a hole in the file: nothing is allocated for it."""
    vocabulary, dim = 4096, 4096
    config = small_config(n_layer=0, n_head=1, n_embd=dim, vocab_size=vocabulary)
    shapes = {"wpe.weight": [5, dim], "ln_f.weight": [dim], "ln_f.bias": [dim], "wte.weight": [vocabulary, dim]}
    header, reached = {}, 0
    for name, shape in shapes.items():
        end = reached + 4 * int(np.prod(shape))
        header[name], reached = {"dtype": "F32", "shape": shape, "data_offsets": [reached, end]}, end
    (tmp_path / "config.json").write_text(json.dumps(config))
    with (tmp_path / "model.safetensors").open("wb") as file:
        text = json.dumps(header).encode()
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + reached)
    tracemalloc.start()
    start = time.thread_time()
    open_checkpoint(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.thread_time() - start < 5
    assert peak < 4_000_000  # the names of 4,096 tokens


def test_weights_are_converted_once(tmp_path: Path) -> None:
    weights, ops = open_checkpoint(write_folder(tmp_path)).model.weights, FloatArithmetic("float64")
    W_Q = ops.load(weights.blocks[0].attn.W_Q)
    assert ops.load(weights.blocks[0].attn.W_Q) is W_Q
    assert np.shares_memory(ops.load(weights.W_E), ops.load(weights.W_E.T))
    np.testing.assert_array_equal(ops.load(weights.W_E.T), small_tensors()["wte.weight"].T)
    assert np.shares_memory(W_Q, W_Q.transpose(1, 0, 2).reshape(4, 4))  # one matrix for all heads, without a copy
    changed = weights.W_E.copy()
    first = ops.load(changed)
    changed *= 2
    np.testing.assert_array_equal(ops.load(changed), first * 2)  # what can be written to is not remembered
    assert FloatArithmetic("float32").load(weights.W_E) is weights.W_E


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16"])
def test_floats_are_the_rationals_that_they_are(dtype: str, tmp_path: Path) -> None:
    model = open_checkpoint(write_folder(tmp_path, dtype=dtype)).model
    stored = np.asarray(small_tensors()["wte.weight"], dtype={"F64": "f8", "F32": "f4", "F16": "f2"}[dtype])
    trace = run(model, "1", "exact")
    assert [Fraction(str(x)) for x in trace["embed"].values[0]] == [Fraction(float(x)) for x in stored[1]]


def test_tensors_need_not_be_aligned(tmp_path: Path) -> None:
    write_folder(tmp_path)
    path = tmp_path / "model.safetensors"
    aligned = run(open_checkpoint(tmp_path).model, "0 1", "float32").logits
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    (tmp_path / "odd.safetensors").write_bytes(
        (length + 1).to_bytes(8, "little") + data[8 : 8 + length] + b" " + data[8 + length :]
    )
    odd = open_checkpoint(tmp_path / "odd.safetensors").model
    assert not odd.weights.W_E.flags.aligned
    np.testing.assert_allclose(run(odd, "0 1", "float32").logits, aligned, rtol=1e-5)


def test_bfloat16(tmp_path: Path) -> None:
    bits = np.array([0x3F80, 0xC000, 0x0001, 0x7F7F, 0x8000, 0x3EAB], dtype=np.uint16)
    (tmp_path / "x.safetensors").write_bytes(safetensors_bytes({"x": bits}, "BF16"))
    values = read_tensors(tmp_path / "x.safetensors")["x"].array()
    expected = [1.0, -2.0, 2.0**-133, (2 - 2.0**-7) * 2.0**127, 0.0, 171 / 512]
    assert [float(v) for v in values] == expected
    assert np.signbit(values[4])
    assert not values.flags.writeable


def test_many_numbers_of_bfloat16_are_not_copied(tmp_path: Path) -> None:
    """All 65,536 patterns of bits and some more: a view of the file, whose numbers are what their bits say."""
    bits = np.arange(2**16 + 8, dtype=np.uint32).astype(np.uint16)
    (tmp_path / "x.safetensors").write_bytes(safetensors_bytes({"x": bits}, "BF16"))
    values = read_tensors(tmp_path / "x.safetensors")["x"].array()
    assert values.dtype.name == "bfloat16"
    assert not isinstance(owner(values), np.ndarray)
    expected = (bits.astype(np.uint32) << 16).view(np.float32)
    assert np.array_equal(widened(values), expected, equal_nan=True)
    finite = np.isfinite(expected)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(values.astype(np.float64), expected.astype(np.float64), equal_nan=True)
        assert np.array_equal(np.isfinite(values), finite)
    assert np.array_equal(np.signbit(widened(values)[finite]), np.signbit(expected[finite]))


def test_exact_agrees_with_float64(tmp_path: Path) -> None:
    tensors = small_tensors(layers=1, dim=2, inner=3)
    for activation in ("gelu_new", "relu"):
        config = small_config(n_layer=1, n_head=1, n_embd=2, n_inner=3, activation_function=activation)
        model = open_checkpoint(write_folder(tmp_path / activation, config, tensors)).model
        proved, floats = run(model, "0 2"), run(model, "0 2", "float64")
        assert model.config.epsilon == Fraction(1, 100000)
        for ours, theirs in zip(proved.steps, floats.steps, strict=True):
            assert ours.name == theirs.name
            if ours.op not in ("argmax", "mask"):
                assert not any(isinstance(x, Undefined) for x in ours.values.flat)
                expected = np.array([x.to_float() for x in ours.values.flat]).reshape(ours.values.shape)
                np.testing.assert_allclose(theirs.values, expected, rtol=1e-11, atol=1e-11, err_msg=ours.name)
        assert [out.token for out in proved.output] == [out.token for out in floats.output]
        assert all(out.proved for out in proved.output)


def test_names_of_tokens(tmp_path: Path) -> None:
    write_folder(tmp_path)
    assert open_checkpoint(tmp_path).model.config.vocabulary == ("0", "1", "2")
    assert open_checkpoint(tmp_path, ["a", "b"]).model.config.vocabulary == ("a", "b", "[2]")
    with pytest.raises(CheckpointError, match="vocab_size: is 3, but the tokenizer has 4 tokens"):
        open_checkpoint(tmp_path, "abcd")
    with pytest.raises(CheckpointError, match="has the token 'a' twice"):
        open_checkpoint(tmp_path, "aab")


def test_masks_of_older_versions_are_ignored(tmp_path: Path) -> None:
    plain = open_checkpoint(write_folder(tmp_path / "plain")).model
    masks = {f"h.{n}.attn.bias": np.tri(5)[None, None] for n in range(2)}
    masks |= {f"h.{n}.attn.masked_bias": np.array(-1e4) for n in range(2)}
    old = open_checkpoint(write_folder(tmp_path / "old", small_config(n_positions=None, n_ctx=5), small_tensors() | masks)).model
    np.testing.assert_array_equal(run(old, "0 1", "float64").logits, run(plain, "0 1", "float64").logits)


@pytest.mark.parametrize(
    "other",
    [
        {"h.0.attn.bias": np.ones((1, 1, 5, 5))},  # looks ahead
        {"h.1.attn.bias": np.tri(5, k=-1)[None, None]},
        {"h.1.attn.bias": 2 * np.tri(5)[None, None]},
        {"h.0.attn.bias": np.zeros(12)},
        {"h.1.attn.masked_bias": np.array(-1.0)},
        {"h.1.attn.masked_bias": np.array(np.nan)},
    ],
)
def test_a_mask_that_is_not_causal_is_refused(other: dict[str, Any], tmp_path: Path) -> None:
    [name] = other
    with pytest.raises(CheckpointError, match=f"tensor '{name}': is not the causal mask"):
        open_checkpoint(write_folder(tmp_path, None, small_tensors() | other))


def test_a_tied_head_may_be_saved_as_well(tmp_path: Path) -> None:
    tensors = small_tensors("transformer.")
    tied = tensors | {"lm_head.weight": tensors["transformer.wte.weight"]}
    assert open_checkpoint(write_folder(tmp_path, None, tied)).model.config.unembedding == "tied"
    with pytest.raises(CheckpointError, match=r"tensor 'lm_head.weight': differs from wte.weight"):
        open_checkpoint(write_folder(tmp_path, None, tied | {"lm_head.weight": tensors["transformer.wte.weight"] + 1}))


def test_a_file_by_its_own_name(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "other.safetensors")
    assert open_checkpoint(tmp_path / "other.safetensors").folder == tmp_path
    with pytest.raises(CheckpointError, match=r"has no model.safetensors$"):
        open_checkpoint(tmp_path)


def test_weights_that_are_no_numbers(tmp_path: Path) -> None:
    tensors = small_tensors()
    tensors["h.1.mlp.c_fc.bias"][3] = np.nan
    checkpoint = open_checkpoint(write_folder(tmp_path, None, tensors))
    with pytest.raises(CheckpointError, match=r"blocks.1.mlp.b_in: has an entry that is infinite or not a number"):
        checkpoint.check_finite()
    out = run(checkpoint.model, "0", "float64").output[0]
    assert (out.token, out.proved) == (None, False)


def test_a_pickle_is_refused_with_the_line_that_converts_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    tensors = {name: torch.tensor(values) for name, values in small_tensors("transformer.").items()}
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"]  # shared, as tied weights are
    expected = run(open_checkpoint(write_folder(tmp_path / "first")).model, "0 1", "float64").logits
    programs = []
    pickles = {"it's  a folder/pytorch_model.bin": tensors, "other/ckpt.pt": {"model": tensors, "iter_num": 3}}
    for name, content in pickles.items():
        path = tmp_path / name
        (write_folder(path.parent) / "model.safetensors").unlink()
        torch.save(content, path)
        with pytest.raises(CheckpointError, match="is a pickle") as refusal:
            open_checkpoint(path.parent)
        with pytest.raises(CheckpointError, match="is a pickle"):
            open_checkpoint(path)
        line = str(refusal.value)
        assert len(line.splitlines()) == 1
        python, option, program = shlex.split(line[line.index("python -c") :])
        assert (python, option) == ("python", "-c")
        programs.append(program)
    subprocess.run([sys.executable, "-c", "\n".join(programs)], check=True, timeout=PATIENCE)
    for name in pickles:
        folder = (tmp_path / name).parent
        np.testing.assert_array_equal(run(open_checkpoint(folder).model, "0 1", "float64").logits, expected)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match="is not a file"):
        open_checkpoint(tmp_path)
