"""Files that lie: each is refused with one line that names what is wrong, or is read as what it says."""

from __future__ import annotations

import json
import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpt2_files import safetensors_bytes, small_config, small_tensors, write_folder

from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.checkpoints.safetensors import read_tensors
from exactformer.trace import run

SPARE = 200_000  # bytes that opening any model takes, however small its file


def opened_or_refused(folder: Path, size: int) -> str | None:
    """The one line of a refusal, or None for a model that then runs. Takes little memory and time either way."""
    tracemalloc.start()
    start = time.thread_time()
    try:
        checkpoint = open_checkpoint(folder)
        line = None
    except CheckpointError as error:
        line = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.thread_time() - start < 10
    assert peak <= 2 * size + SPARE, (peak, line)
    if line is not None:
        assert line.isprintable()
        assert str(folder) in line
        assert len(line) < (1500 if "is a pickle" in line else 500)  # with the program that converts it
        return line
    with np.errstate(all="ignore"):
        assert len(run(checkpoint.model, "0 1", "float64").output) in (0, 2)
    return None


def same_as_the_library(path: Path) -> None:
    """What is not refused is what the safetensors library reads."""
    library = pytest.importorskip("safetensors.numpy")
    expected = library.load_file(path)
    ours = read_tensors(path)
    assert set(ours) == set(expected)
    for name, tensor in ours.items():
        np.testing.assert_array_equal(tensor.array(), expected[name])


def _flip(data: bytes, rng: random.Random, low: int, high: int) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 3))):
        changed[rng.randrange(low, high)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _header(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")


def _edited(data: bytes, rng: random.Random) -> bytes:
    """The header with one thing changed, so that it is still JSON."""
    end = _header(data)
    header = json.loads(data[8:end])
    name = rng.choice([name for name in header if name != "__metadata__"])
    entry = header[name]
    match rng.randrange(10):
        case 0:
            entry["shape"] = entry["shape"][::-1] + [1] * rng.randrange(2)
        case 1:
            entry["data_offsets"][rng.randrange(2)] += rng.choice((-4, 4, 1 << 40, -(1 << 40)))
        case 2:
            entry["dtype"] = rng.choice(("F16", "F64", "I32", "BF16", "BOOL", "F99", 3, None, ["F32"]))
        case 3:
            del header[name]
        case 4:
            header[name + rng.choice(("x", "\n", "\ud800", "é"))] = header.pop(name)
        case 5:
            entry["shape"] = rng.choice(([-1], [2**62, 2**62], [1.5], "x", None, [0], [True, 4], [[4]], [1] * 5000, {}))
        case 6:
            entry["data_offsets"] = rng.choice(([0], [0, 0], [4, 0], None, "ab", [0.0, 4.0], [0, 2**70]))
        case 7:
            header["__metadata__"] = rng.choice((3, {"a": 1}, [], {"format": "pt"}))
        case 8:
            entry["more"] = 1
        case 9:
            other = rng.choice([n for n in header if n != "__metadata__"])
            header[name]["data_offsets"], header[other]["data_offsets"] = header[other]["data_offsets"], entry["data_offsets"]
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[end:]


MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "a bit of the header": lambda data, rng: _flip(data, rng, 8, _header(data)),
    "a bit of its length": lambda data, rng: _flip(data, rng, 0, 8),
    "a bit of the weights": lambda data, rng: _flip(data, rng, _header(data), len(data)),
    "the header edited": _edited,
    "cut short": lambda data, rng: data[: rng.randrange(len(data))],
    "too long": lambda data, rng: data + bytes(rng.randrange(1, 20)),
    "a piece taken out": lambda data, rng: data[: (cut := rng.randrange(len(data)))] + data[cut + rng.randrange(1, 9) :],
}
OFTEN = {"a bit of the header": 100, "the header edited": 140, "cut short": 60, "a bit of the weights": 20}


@pytest.mark.parametrize("kind", MUTATIONS)
def test_mutated_weights(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    write_folder(tmp_path, small_config(n_embd=64), small_tensors(dim=64, inner=256))  # 400 kB, so that copies would show
    whole = (tmp_path / "model.safetensors").read_bytes()
    refused = 0
    times = OFTEN.get(kind, 30)
    for _ in range(times):
        changed = MUTATIONS[kind](whole, rng)
        (tmp_path / "model.safetensors").write_bytes(changed)
        if opened_or_refused(tmp_path, len(changed)) is not None:
            refused += 1
        else:
            same_as_the_library(tmp_path / "model.safetensors")
    if kind == "a bit of the weights":
        assert refused == 0
    elif kind in ("cut short", "too long", "a bit of its length", "a piece taken out"):
        assert refused == times
    else:
        assert times / 2 < refused


def test_mutated_settings(tmp_path: Path) -> None:
    rng = random.Random("settings")
    write_folder(tmp_path, small_config(n_inner=16, tie_word_embeddings=True, scale_attn_weights=True))
    path = tmp_path / "config.json"
    whole = path.read_text()
    values = (0, -1, 5, 10**9, 10**30, 1.5, "x", None, True, [], {}, [1], "gpt2", 1e-320, 1e300)
    refused = 0
    for n in range(120):
        config = json.loads(whole)
        config[rng.choice(list(config))] = rng.choice(values)
        path.write_text(json.dumps(config) if n % 2 else _flip(whole.encode(), rng, 0, len(whole)).decode("latin-1"))
        refused += opened_or_refused(tmp_path, len(whole) + 1500) is not None
    assert 60 < refused < 120


def test_mutated_index(tmp_path: Path) -> None:
    rng = random.Random("index")
    names = sorted(small_tensors())
    halves = {"model-1.safetensors": names[:9], "model-2.safetensors": names[9:]}
    index = tmp_path / "model.safetensors.index.json"

    def write(weight_map: dict[str, Any]) -> None:
        index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))

    places = {name: file for file, held in halves.items() for name in held}
    (tmp_path / "config.json").write_text(json.dumps(small_config()))
    for file, held in halves.items():
        (tmp_path / file).write_bytes(safetensors_bytes({name: small_tensors()[name] for name in held}))
    write(places)
    assert opened_or_refused(tmp_path, 4000) is None
    outside = tmp_path.parent / "outside.safetensors"
    outside.write_bytes(safetensors_bytes(small_tensors()))
    for file in (
        "../outside.safetensors",
        str(outside),
        "a/../model-1.safetensors",
        "..",
        "",
        "model-3.safetensors",
        7,
        None,
        "x\0.safetensors",
    ):
        write(places | {rng.choice(names): file})
        line = opened_or_refused(tmp_path, 4000)
        assert line is not None
        assert "weight_map" in line or "model-3.safetensors" in line
    for name in names:
        write({other: file for other, file in places.items() if other != name})
        assert f"tensor '{name}'" in (opened_or_refused(tmp_path, 4000) or "")
        write(places | {name: "model-2.safetensors" if places[name] == "model-1.safetensors" else "model-1.safetensors"})
        assert f"tensor '{name}'" in (opened_or_refused(tmp_path, 4000) or "")
    for text in ("", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": "b", "a": "c"}}', "[" * 50_000, "\xff"):
        index.write_text(text, encoding="latin-1")
        assert "model.safetensors.index.json" in (opened_or_refused(tmp_path, 60_000) or "")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "is cut short"),
        (b"\x80\x04\x95 a pickle, under another name", "is a pickle, which may run code"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "is a pointer of Git LFS"),
        ((2**63).to_bytes(8, "little") + b"{}", "the header is said to have 9,223,372,036,854,775,808 bytes"),
        ((2).to_bytes(8, "little") + b"[]", "does not begin with '{'"),
        ((2).to_bytes(8, "little") + b"{}", "tensor 'wte.weight': is missing"),
        ((2).to_bytes(8, "little") + b"{}" + b"x", "1 bytes after the last tensor belong to none"),
        ((4 << 20).to_bytes(8, "little") + b"{" + b" " * (4 << 20), "the header has 4,194,304 bytes"),
    ],
)
def test_what_is_said(content: bytes, line: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(content)
    assert line in (opened_or_refused(tmp_path, len(content)) or "")


def test_nested_and_repeated_headers(tmp_path: Path) -> None:
    write_folder(tmp_path)
    entry = '{"dtype":"F32","shape":[],"data_offsets":[0,4]}'
    for text, line in (
        ('{"a":' * 100_000, "nested too deeply"),
        (f'{{"a":{entry},"a":{entry}}}', "has 'a' twice"),
        ('{"a":NaN}', "NaN is not a number"),
        ('{"a":1' + "0" * 5000 + "}", "header"),
    ):
        (tmp_path / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text.encode() + bytes(4))
        assert line in (opened_or_refused(tmp_path, 20 * len(text)) or "")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"model_type": "bert"}, "model_type: 'bert' is not supported; supported: gpt2"),
        ({"model_type": None}, "model_type: is missing"),
        ({"architectures": ["GPT2ForSequenceClassification"]}, "architectures: 'GPT2ForSequenceClassification' is not supported"),
        ({"add_cross_attention": True}, "add_cross_attention: true is not supported; supported: false"),
        ({"quantization_config": {}}, "quantization_config: {} is not supported; supported: null"),
        ({"is_encoder_decoder": 0}, "is_encoder_decoder: 0 is not supported; supported: false"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads: a table of 1 is not supported; supported: {}, null"),
        ({"scale_attn_weights": None}, "scale_attn_weights: null is not true or false"),
        ({"layer_norm_epsilon": None}, "layer_norm_epsilon: null is not a number"),
        ({"activation_function": None}, "activation_function: null is not one of gelu_new"),
        ({"attention_softcap": 3.0}, "'attention_softcap' is not a known key of gpt2: it may change the network"),
        ({"auto_map": {}, "rope_theta": 1}, "'auto_map' and 'rope_theta' are not known keys of gpt2: they may change the network"),
        ({f"k{n}": 0 for n in range(9)}, "'k0', 'k1', 'k2' and 6 more are not known keys"),
        ({"x" * 20_000: 0}, f"'{'x' * 39}…' is not a known key"),
        ({"bias": False}, "'bias' is not a known key of gpt2"),
        ({"n_head": 3}, "n_head: 3 heads do not divide n_embd, which is 4"),
        ({"n_layer": 3}, "tensor 'h.2.attn.c_attn.weight': is missing"),
        ({"n_layer": 1}, "tensor 'h.1.attn.c_attn.bias': has no place in the model that config.json describes"),
        ({"n_layer": 10**9}, "tensor 'h.2.attn.c_attn.weight': is missing"),
        ({"n_embd": 8}, "tensor 'wte.weight': has the shape 3 × 4, where config.json asks for 3 × 8"),
        ({"vocab_size": 10**9}, "tensor 'wte.weight': has the shape 3 × 4, where config.json asks for 1000000000 × 4"),
        ({"n_positions": 6}, "tensor 'wpe.weight': has the shape 5 × 4, where config.json asks for 6 × 4"),
        ({"n_inner": 3}, "tensor 'h.0.mlp.c_fc.weight': has the shape 4 × 16, where config.json asks for 4 × 3"),
        ({"activation_function": "silu"}, "activation_function: 'silu' is not one of gelu_new, gelu_pytorch_tanh, gelu, relu"),
        ({"layer_norm_epsilon": -1}, "layer_norm_epsilon: -1 is not between 0 and 1"),
        ({"tie_word_embeddings": False}, "tensor 'lm_head.weight': is missing"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings: 'no' is not true or false"),
    ],
)
def test_settings_that_do_not_fit(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    write_folder(tmp_path, small_config(**changes))
    size = (tmp_path / "model.safetensors").stat().st_size
    assert line in (opened_or_refused(tmp_path, size) or "")


def test_integer_weights_are_refused_by_name(tmp_path: Path) -> None:
    data = safetensors_bytes(small_tensors()).replace(b'"wpe.weight": {"dtype": "F32"', b'"wpe.weight": {"dtype": "I32"')
    write_folder(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(data)
    assert "tensor 'wpe.weight': has the dtype I32; floats are read" in (opened_or_refused(tmp_path, len(data)) or "")
