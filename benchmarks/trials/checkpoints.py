"""Model folders changed at random: settings, headers and offsets of tensors, weights, and the files of a tokenizer. Each is opened
as `exactformer trace MODEL_DIR` opens it, and what can be opened is run in floats: a pass or one line, within 20 s and 1 GB.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import exactformer as xf
from benchmarks.result import Progress, Result
from benchmarks.trials.bounds import Tried, all_tried, report, tried
from exactformer.tokenizers.byte_pairs import spelled

NUMBER = 1000
Files = dict[str, bytes]
_REFUSALS = (xf.CheckpointError, xf.TokenizerError, xf.WorksheetError, xf.InputError, xf.ConfigError)
_LONGEST = 1000  # characters of a refusal

_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**40, 10**4000, 1.5, 1e-5, 1e300, 5e-324, "", "x", "gpt2", "\ud800",
    "x" * 5000, "１２", [], {}, [[]], [1], ["GPT2Model"], ["GPT2LMHeadModel"], {"a": 1}, "relu", "gelu", "float16",
)  # fmt: skip
_EXTRA = (
    "attention_softcap", "auto_map", "quantization_config", "rope_theta", "block_size", "bias", "n_ctx", "is_decoder",
    "hidden_size", "add_bos_token", "pad_token", "x" * 5000, "", "\u0000",
)  # fmt: skip


@cache
def folder() -> Files:
    """A GPT-2 of two blocks, written without the library that is tried, with a tokenizer of a few merges."""
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he")]
    names = ["<|endoftext|>", *(spelled(bytes([byte])) for byte in range(256)), *(a + b for a, b in merges)]
    config = {
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2, "n_head": 2, "n_embd": 4, "n_inner": None,
        "n_positions": 9, "vocab_size": len(names), "layer_norm_epsilon": 1e-05, "activation_function": "gelu_new",
        "use_cache": True, "tie_word_embeddings": True, "scale_attn_weights": True, "add_cross_attention": False, "attn_pdrop": 0.1,
    }  # fmt: skip
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    end = {
        "id": 0,
        "content": names[0],
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [end], "normalizer": None,
        "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "vocab": {name: n for n, name in enumerate(names)}, "merges": merges},
    }  # fmt: skip
    settings = {"tokenizer_class": "GPT2Tokenizer", "bos_token": names[0], "add_prefix_space": False, "model_max_length": 9}
    return {
        "config.json": json.dumps(config).encode(),
        "model.safetensors": _safetensors(_tensors(config)),
        "tokenizer.json": json.dumps(tokenizer).encode(),
        "tokenizer_config.json": json.dumps(settings).encode(),
    }


def _tensors(config: dict[str, Any]) -> dict[str, Any]:
    dim = config["n_embd"]
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (config["vocab_size"], dim), "wpe.weight": (config["n_positions"], dim)}
    for n in range(config["n_layer"]):
        for name, shape in (
            ("attn.c_attn", (dim, 3 * dim)), ("attn.c_proj", (dim, dim)), ("mlp.c_fc", (dim, 4 * dim)),
            ("mlp.c_proj", (4 * dim, dim)),
        ):  # fmt: skip
            shapes |= {f"h.{n}.{name}.weight": shape, f"h.{n}.{name}.bias": shape[1:]}
        shapes |= {f"h.{n}.{norm}.{part}": (dim,) for norm in ("ln_1", "ln_2") for part in ("weight", "bias")}
    shapes |= {"ln_f.weight": (dim,), "ln_f.bias": (dim,)}
    rng = np.random.default_rng(7)
    return {name: rng.standard_normal(shape).astype("<f4") for name, shape in shapes.items()}


def _safetensors(tensors: dict[str, Any]) -> bytes:
    header: dict[str, Any] = {}
    data = b""
    for name, values in tensors.items():
        raw = values.tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    return _joined(header, data)


def _joined(header: Any, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _parts(file: bytes) -> tuple[dict[str, Any], bytes]:
    end = 8 + int.from_bytes(file[:8], "little")
    return json.loads(file[8:end]), file[end:]


# -- the kinds of changes
def _document(rng: random.Random, data: bytes, extra: tuple[str, ...] = _EXTRA) -> bytes:
    """A JSON file with one to three places changed."""
    holder = [json.loads(data)]
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_places(holder))
        inside, key = rng.choice(places[:1] if rng.random() < 0.02 else places[1:] or places)
        match rng.randrange(4):
            case 0 if inside is not holder:
                del inside[key]
            case 1 if isinstance(inside, dict):
                inside[rng.choice(extra)] = rng.choice(_ODD)
            case 2 if isinstance(inside, dict):
                inside[rng.choice(extra)] = inside[key]
            case _:
                inside[key] = deepcopy(rng.choice(_ODD))
    return _written(holder[0])


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Every place of a JSON value; of a long table only some."""
    if isinstance(value, dict | list):
        for key in list(value)[:40] if isinstance(value, dict) else range(min(len(value), 40)):
            yield value, key
            yield from _places(value[key], depth + 1)


def settings(rng: random.Random, files: Files) -> None:
    files["config.json"] = _document(rng, files["config.json"])


def tokenizer(rng: random.Random, files: Files) -> None:
    name = rng.choice(("tokenizer.json", "tokenizer.json", "tokenizer_config.json"))
    files[name] = _document(rng, files[name])


def header(rng: random.Random, files: Files) -> None:
    """Names, dtypes, shapes and offsets of tensors."""
    table, data = _parts(files["model.safetensors"])
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(table))
        entry = table[name]
        match rng.randrange(8):
            case 0:
                entry["dtype"] = rng.choice(("F16", "F64", "BF16", "BOOL", "I64", "F8_E4M3", "F99", "", None, 3, ["F32"]))
            case 1:
                entry["shape"] = rng.choice(
                    (entry["shape"][::-1], [*entry["shape"], 1], [2**40, 2**40], [-1], [0], [], "x", [1] * 9)
                )
            case 2:
                entry["data_offsets"] = [at + rng.choice((-4, 0, 4, 2**40)) for at in entry["data_offsets"]]
            case 3:
                entry["data_offsets"] = rng.choice(([0, 0], [4, 0], [0, 2**63], [0, 10**30], [0], "x", None, [0.0, 4.0]))
            case 4:
                table[
                    rng.choice(("lm_head.weight", "h.0.attn.bias", "h.9.attn.masked_bias", "transformer.wte.weight", "x" * 5000))
                ] = entry
            case 5:
                table["__metadata__"] = rng.choice(_ODD)
            case 6:
                del table[name]
                table = table or {"x": {}}
            case _:
                entry[rng.choice(("strides", "shape", "dtype"))] = rng.choice(_ODD)
        table = {key: value if isinstance(value, dict) else {"data_offsets": [0, 0], "shape": []} for key, value in table.items()}
    files["model.safetensors"] = _joined(table, data)


def weights(rng: random.Random, files: Files) -> None:
    """The values of tensors: anything that four bytes can be."""
    table, data = _parts(files["model.safetensors"])
    values = bytearray(data)
    for _ in range(rng.choice((1, 5, 100))):
        at = 4 * rng.randrange(len(values) // 4)
        values[at : at + 4] = rng.choice(
            (rng.randbytes(4), b"\x00\x00\x80\x7f", b"\x00\x00\xc0\x7f", b"\xff\xff\x7f\x7f", b"\x01\x00\x00\x00")
        )
    files["model.safetensors"] = _joined(table, bytes(values))


def damage(rng: random.Random, files: Files) -> None:
    """Bytes of any file: flipped, cut, put in, the rest missing, or the file gone."""
    name = rng.choice(list(files))
    data = bytearray(files[name])
    at = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 200))
    match rng.randrange(6):
        case 0:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            del data[at : at + rng.choice((1, 4, 50))]
        case 2:
            data[at:at] = rng.choice((b"[" * 5000, b'{"a":' * 5000, b"9" * 5000, b"\xff", b"NaN", b'"', bytes(8)))
        case 3:
            del data[at:]
        case 4:
            data += rng.randbytes(rng.choice((1, 8, 1000)))
        case _:
            del files[name]
            return
    files[name] = bytes(data)


KINDS: dict[str, Callable[[random.Random, Files], None]] = {
    "settings": settings,
    "tensor headers": header,
    "weights": weights,
    "tokenizer files": tokenizer,
    "bytes of any file": damage,
}


def changed(seed: int, n: int) -> tuple[str, Files]:
    rng = random.Random(f"checkpoints {seed} {n}")
    kind = tuple(KINDS)[n % len(KINDS)]
    files = dict(folder())
    KINDS[kind](rng, files)
    return kind, files


def outcome(seed: int, n: int) -> str:
    """Open the n-th folder, and run a few tokens in floats, now and then without rounding."""
    _, files = changed(seed, n)
    place = Path(tempfile.mkdtemp())
    try:
        for name, data in files.items():
            (place / name).write_bytes(data)
        worksheet = xf.load(place)
        if n % 3 == 0 and worksheet.tokenizer is not None:
            assert worksheet.tokenizer.decode(worksheet.tokenizer.encode(" the hé\n")) == " the hé\n"
        tokens = worksheet.model.config.vocabulary[:3]
        worksheet.trace(tokens, arithmetic=("float64", "float32", "arb")[n % 3])
    except _REFUSALS as error:
        line = str(error)
        assert len(line) <= _LONGEST, f"a refusal of {len(line):,} characters"
        assert line.isprintable(), f"a refusal of several lines, or worse: {line[:100]!r}"
        return "refused"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return "run"


def trials(number: int, seed: int = 0) -> Iterator[tuple[str, Tried]]:
    """So many folders in a process of their own: how each was changed, and what became of it."""
    for n, result in enumerate(all_tried(partial(outcome, seed), number)):
        yield tuple(KINDS)[n % len(KINDS)], result


def sample(number: int, seed: int) -> list[Tried]:
    """Some in this very process, for the tests."""
    return [tried(partial(outcome, seed), n) for n in range(number)]


_TOLD = (
    f"{NUMBER:,} folders of a small GPT-2 with its tokenizer, each changed at random: values and keys of config.json; names, "
    "dtypes, shapes and offsets in the header of model.safetensors; weights; the files of the tokenizer; or bytes of any file. "
    "They are opened as `exactformer trace MODEL_DIR` opens them, and what can be opened is run on three tokens."
)


def run(progress: Progress) -> Result:
    counts = {kind: Counter[str]() for kind in KINDS}
    failed: list[str] = []
    results: list[Tried] = []
    for n, (kind, result) in enumerate(trials(NUMBER)):
        counts[kind][result.outcome] += 1
        results.append(result)
        if result.failed:
            failed.append(f"folder {n} ({kind}): {result.failed}")
            progress(failed[-1])
        if (n + 1) % 100 == 0:
            progress(f"{n + 1:,} of {NUMBER:,} folders, {len(failed)} failed")
    return report("checkpoints", "model folders", _TOLD, counts, results, failed)
