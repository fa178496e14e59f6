"""Certificates, witnesses and model files, forged for the checker that needs Python alone (`exactformer_check.py`).

Whatever it accepts is compared with the arithmetic `arb`, which shares nothing with it: every claim must be true of the model whose
files it was given. Some forgeries are true: a smaller margin, bits that still suffice, a flipped weight that changes no token. A
witness with a product that is not the product must be refused, whatever is claimed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

import exactformer_check
from benchmarks.result import Progress, Result
from benchmarks.trials.bounds import Tried, all_tried, report, tried
from benchmarks.trials.certificates import damaged
from exactformer.certificates.checkable import foreseen_bits
from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.model import InputError, forward
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.numbers.enclosure import precision

NUMBER = 4160
_BITS = 700  # of the balls that claims are compared with
_PRIMES = (2**61 - 1, 2**31 - 1, 2**89 - 1, 3)
Said = dict[str, Any]


@dataclass
class Subject:
    """A folder with a true certificate and its witness."""

    folder: Path
    said: Said
    witness: bytes = b""
    leads: dict[Any, Any] = field(default_factory=dict)


# -- folders
def safetensors(tensors: dict[str, Any]) -> bytes:
    header: dict[str, Any] = {}
    data = b""
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    said = json.dumps(header).encode()
    return len(said).to_bytes(8, "little") + said + data


def _gpt2(seed: int) -> tuple[Said, dict[str, Any]]:
    config = {
        "model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 6, "n_inner": 9, "n_positions": 8, "vocab_size": 7,
        "layer_norm_epsilon": 1e-05, "activation_function": ("gelu_new", "gelu", "relu")[seed % 3],
    }  # fmt: skip
    shapes = {"wte.weight": (7, 6), "wpe.weight": (8, 6), "ln_f.weight": (6,), "ln_f.bias": (6,)}
    for n in range(2):
        for name, shape in {"attn.c_attn": (6, 18), "attn.c_proj": (6, 6), "mlp.c_fc": (6, 9), "mlp.c_proj": (9, 6)}.items():
            shapes |= {f"h.{n}.{name}.weight": shape, f"h.{n}.{name}.bias": shape[1:]}
        shapes |= {f"h.{n}.{name}.{part}": (6,) for name in ("ln_1", "ln_2") for part in ("weight", "bias")}
    return config, _filled(shapes, seed)


def _llama(seed: int) -> tuple[Said, dict[str, Any]]:
    config = {
        "model_type": "llama", "hidden_size": 6, "intermediate_size": 7, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 8, "max_position_embeddings": 16, "rms_norm_eps": 1e-05,
        "rope_theta": 10000.0, "tie_word_embeddings": False, "attention_bias": bool(seed % 2),
    }  # fmt: skip
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (8, 6), "model.norm.weight": (6,), "lm_head.weight": (8, 6)}
    for n in range(2):
        at = f"model.layers.{n}."
        shapes |= {f"{at}input_layernorm.weight": (6,), f"{at}post_attention_layernorm.weight": (6,)}
        for letter, shape in zip("qkvo", ((8, 6), (4, 6), (4, 6), (6, 8)), strict=True):
            shapes[f"{at}self_attn.{letter}_proj.weight"] = shape
            shapes |= {f"{at}self_attn.{letter}_proj.bias": shape[:1]} if seed % 2 else {}
        shapes |= {f"{at}mlp.{name}_proj.weight": shape for name, shape in (("gate", (7, 6)), ("up", (7, 6)), ("down", (6, 7)))}
    return config, _filled(shapes, seed)


def _filled(shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(shape) * 0.7 for name, shape in shapes.items()}


def _hashes(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("config.json", "model.safetensors")}


def true_leads(folder: Path, ids: list[int], reading: str = "ideal") -> list[list[Any]]:
    """For each position, by how much each token leads all others, in balls."""
    model = open_checkpoint(folder, reading=reading).model  # type: ignore[arg-type]
    with precision(_BITS):
        rows = forward(model, ids, ArbArithmetic(_BITS), lambda step: step.values)
        return [[_lead(list(row), token) for token in range(len(row))] for row in rows]


def _lead(row: list[Any], token: int) -> Any:
    lead = row[token] - row[token - 1]
    for rival, logit in enumerate(row):
        if rival != token:
            lead = lead.min(row[token] - logit)
    return lead


def claims_of(leads: list[list[Any]], first: int) -> list[Said]:
    """What is true, with margins a little below."""
    said = []
    for position in range(first, len(leads)):
        token = max(range(len(leads[position])), key=lambda t: float(leads[position][t].mid()))
        said.append({"position": position, "token": token, "margin": f"{float(leads[position][token].lower()) * 0.999:.9f}"})
    return said


@cache
def subjects() -> list[Subject]:
    place = Path(tempfile.mkdtemp())
    found = []
    for n in range(6):
        folder = place / str(n)
        folder.mkdir()
        config, tensors = (_gpt2, _llama)[n % 2](n)
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "model.safetensors").write_bytes(safetensors(tensors))
        ids = [int(i) for i in np.random.default_rng(n).integers(0, config["vocab_size"], 5)]
        claims = claims_of(true_leads(folder, ids), 2)
        bits = foreseen_bits(open_checkpoint(folder).model, ids, min(float(claim["margin"]) for claim in claims) / 1000)
        said = {
            "format": "exactformer check 1",
            "files": _hashes(folder),
            "reading": "ideal",
            "ids": ids,
            "claims": claims,
            "bits": bits,
        }
        kept = bytearray()
        exactformer_check.check(said, str(folder), keep=kept.extend)
        found.append(Subject(folder, said, bytes(kept)))
    return found


# -- forgeries: each gives what is said, the folder if it is another, and the witness if there is one
Forged = tuple[Said | bytes, Path, bytes | None]


def _certificate(rng: random.Random, subject: Subject, place: Path) -> Forged:
    said = json.loads(json.dumps(subject.said))
    claim, size = rng.choice(said["claims"]), 6
    match rng.randrange(9):
        case 0:
            claim["token"] = rng.randrange(size)
        case 1:
            claim["margin"] = f"{float(claim['margin']) * (1 + 10 ** rng.uniform(-8, 1)):.12f}"
        case 2:
            said["ids"][rng.randrange(len(said["ids"]))] = rng.randrange(size)
        case 3:
            claim["position"] = rng.randrange(-1, len(said["ids"]) + 1)
        case 4:
            said["bits"] = rng.choice(
                [0, -1, 31, 32, 40, 48, 56, said["bits"] - 30, said["bits"] + 100, 4000, 10**30, True, "64", None]
            )
        case 5:
            one, other = rng.sample(said["claims"], 2)
            one["token"], other["token"] = other["token"], one["token"]
        case 6:
            said["claims"] = said["claims"] * rng.choice([0, 2, 10**4])
        case 7:
            said["ids"] = rng.choice([said["ids"][::-1], said["ids"] * 5, [], [10**9], said["ids"][:3], [[]] * 3, "012"])
        case _:
            said["reading"] = rng.choice(["stored", "Ideal", None, 1])
    return said, subject.folder, None


def _anywhere(rng: random.Random, subject: Subject, place: Path) -> Forged:
    said = json.loads(json.dumps(subject.said))
    inside, key = said, rng.choice(list(said))
    while isinstance(inside[key], dict | list) and inside[key] and rng.random() < 0.8:
        inside = inside[key]
        key = rng.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
    if rng.random() < 0.2:
        del inside[key]
    else:
        odd: list[Any] = [
            None,
            True,
            0,
            -1,
            7,
            10**30,
            1.5,
            "",
            "0",
            "-7",
            "1e999",
            "9" * 5000,
            "nan",
            [],
            {},
            [[]],
            "../x",
            "\x1b[2J",
        ]
        inside[key] = rng.choice(odd)
    return said, subject.folder, None


def _bytes(rng: random.Random, subject: Subject, place: Path) -> Forged:
    return damaged(rng, json.dumps(subject.said)), subject.folder, None


def _hostile(rng: random.Random, subject: Subject, place: Path) -> Forged:
    text = json.dumps(subject.said)
    return rng.choice([
        b"[" * 10**5, b"{}", b"", b"null", b'{"check": []}', b'{"check": {"format": 1}}', text.encode() * 2, b"\xff\xfe",
        text.replace('"bits": ', '"bits": 9' + "9" * 5000).encode(), text.replace('"bits": ', '"bits": 1, "bits": ').encode(),
        text.replace('"bits": ', '"bits": NaN, "x": ').encode(), text.replace('"ids": [', '"ids": [' + "0, " * 10**5).encode(),
        json.dumps({**subject.said, "files": {**subject.said["files"], "../../etc/passwd": "0" * 64}}).encode(),
        json.dumps({**subject.said, "files": {"config.json": subject.said["files"]["config.json"]}}).encode(),
    ]), subject.folder, None  # fmt: skip


def _copy(subject: Subject, place: Path) -> tuple[Path, Said]:
    folder = place / "model"
    shutil.copytree(subject.folder, folder)
    return folder, json.loads(json.dumps(subject.said))


def _flipped(rng: random.Random, subject: Subject, place: Path, renewed: bool) -> Forged:
    """One bit of a weight."""
    folder, said = _copy(subject, place)
    data = bytearray((folder / "model.safetensors").read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    data[rng.randrange(start, len(data))] ^= 1 << rng.randrange(8)
    (folder / "model.safetensors").write_bytes(data)
    return said | ({"files": _hashes(folder)} if renewed else {}), folder, None


def _mangled(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """A file of weights that is cut, padded or says what is not so, its hash renewed."""
    folder, said = _copy(subject, place)
    path = folder / "model.safetensors"
    header, rest = _header(path)
    entry = header[rng.choice(list(header))]
    match rng.randrange(9):
        case 0:
            rest = rest[: rng.randrange(len(rest))]
        case 1:
            rest += bytes(rng.randint(1, 9))
        case 2:
            entry["shape"] = rng.choice(
                [[2**62, 2**62], [10**12], [-1], [], [0], [entry["shape"][0], 1], [*entry["shape"][::-1], 1]]
            )
        case 3:
            entry["data_offsets"] = [n + rng.choice([-4, 4, 10**12]) for n in entry["data_offsets"]]
        case 4:
            entry["dtype"] = rng.choice(["F16", "F64", "BF16", "I32", "F8_E4M3", "", None, []])
        case 5:
            header["more.weight"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(rest), len(rest) + 4]}
            rest += bytes(4)
        case 6:
            header.pop(rng.choice(list(header)))
        case 7:
            one, other = rng.sample(list(header), 2)
            header[one], header[other] = header[other], header[one]
        case _:
            entry["shape"] = "x"
    said_header = json.dumps(header).encode()
    size = len(said_header) if rng.random() < 0.9 else rng.choice([0, 2**63, 10**9, len(said_header) - 1])
    path.write_bytes(size.to_bytes(8, "little") + said_header + rest)
    return said | {"files": _hashes(folder)}, folder, None


def _header(path: Path) -> tuple[Said, bytes]:
    """What a file of weights says of its tensors, and their bytes."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _laid(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """Tensors that overlap, are there twice or say a little more than they should, the hash renewed."""
    folder, said = _copy(subject, place)
    path = folder / "model.safetensors"
    header, rest = _header(path)
    first, *_, last = header
    begin, stop = header[first]["data_offsets"]
    same = json.dumps(header[last])
    twin = rng.choice(["transformer." + first, first.removeprefix("model."), "lm_head.weight", "lm_head.bias", "z"])
    text = json.dumps(header)
    changes: list[Said] = [
        {last: header[last] | {"data_offsets": [begin, begin + header[last]["data_offsets"][1] - header[last]["data_offsets"][0]]}},
        {first: header[first] | {"data_offsets": [False, stop]}}, {first: header[first] | {"data_offsets": [float(begin), stop]}},
        {first: header[first] | {"strides": [1]}}, {first: header[first] | {"dtype": "f32"}}, {"z": header[first]},
        {"z": {"dtype": "F32", "shape": [0], "data_offsets": [len(rest), len(rest)]}}, {"__metadata__": {"format": "pt"}},
        {"__metadata__": 7}, {"__metadata__": {"a": [1]}}, {"__metadata__": {"x": "y" * (1 << 20)}},
    ]  # fmt: skip
    match rng.randrange(3):
        case 0:
            text = json.dumps(header | rng.choice(changes))
        case 1:
            text = rng.choice(
                [f'{text[:-1]}, "{last}": {same}}}', text[:-1], text + " " * 9, text + "{}", " " + text, "\ufeff" + text]
            )
        case _:
            more = rng.choice([rest[begin:stop], bytes(stop - begin)])
            header[twin] = header[first] | {"data_offsets": [len(rest), len(rest) + stop - begin]}
            text, rest = json.dumps(header), rest + more
    path.write_bytes(len(text.encode()).to_bytes(8, "little") + text.encode() + rest)
    return said | {"files": _hashes(folder)}, folder, None


_ENDS = ("00000000", "00000080", "01000000", "ffff7f00", "00008000", "ffff7f7f", "0000807f", "0000c07f", "00007f7d0000803f")


def _extreme(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """One tensor of numbers at the ends of float32: zeros, subnormals, the largest, all exponents, infinities."""
    folder, said = _copy(subject, place)
    path = folder / "model.safetensors"
    header, rest = _header(path)
    begin, stop = header[rng.choice(list(header))]["data_offsets"]
    every = b"".join(((n % 2 << 31) + (n % 250 + 2 << 23) + n * 7919 % (1 << 23)).to_bytes(4, "little") for n in range(300))
    odd = rng.choice([every, *map(bytes.fromhex, _ENDS)]) * (stop - begin)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + rest[:begin] + odd[: stop - begin] + rest[stop:])
    return said | {"files": _hashes(folder)}, folder, None


def _typed(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """All tensors in another type, rounded to it or times a number."""
    folder, said = _copy(subject, place)
    header, rest = _header(folder / "model.safetensors")
    kind, code = rng.choice([("F16", "<f2"), ("F64", "<f8"), ("BF16", "<u2"), ("I32", "<i4"), ("F32", "<f4")])
    factor = rng.choice([1.0, 1.0, -1.0, 1.1] + ([1e300, 1e-300] if kind == "F64" else []))
    data = b""
    for entry in sorted(header.values(), key=lambda entry: entry["data_offsets"]):
        begin, stop = entry["data_offsets"]
        numbers = np.frombuffer(rest[begin:stop], "<f4") * np.float64(factor)
        with np.errstate(over="ignore"):  # infinities are refused
            raw = numbers.astype("<f4" if kind == "BF16" else code)
        raw = ((raw.view("<u4") >> 16).astype(code) if kind == "BF16" else raw).tobytes()
        entry |= {"dtype": kind, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return said | {"files": _hashes(folder)}, folder, None


def _spelled(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """config.json in other words, or with rotary settings that contradict each other, its hash renewed."""
    folder, said = _copy(subject, place)
    text = (folder / "config.json").read_text()
    theta, linear = {"rope_type": "default", "rope_theta": 5e5}, {"rope_type": "linear", "factor": 2.0}
    edges = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "original_max_position_embeddings": 16}
    more: list[Said] = [
        {"rope_parameters": theta}, {"rope_scaling": linear}, {"rope_scaling": linear, "rope_parameters": linear | {"factor": 3.0}},
        {"rope_scaling": edges | {"high_freq_factor": 4.0}}, {"rope_scaling": edges | {"high_freq_factor": 4.5}},
        {"rope_scaling": {"rope_type": "default", "mscale": 1}}, {"num_attention_h\u0435ads": 2}, {"head_dim ": 4},
        {"num_hidden_layers": rng.choice([0, 1, 3, 4097, 10**9])}, {"n_layer": 1}, {"n_ctx": 4},
        {"num_key_value_heads": rng.choice([2, 0, True, None])}, {"tie_word_embeddings": True}, {"block_size": 8},
        {"max_position_embeddings": rng.choice([3, 10**9])},
        {"id2label": {"0": "x" * rng.choice([9, 1 << 20])}}, {"architectures": ["LlamaForCausalLM"]}, {"architectures": []},
    ]  # fmt: skip
    old, new = rng.choice([
        ("{", '{"vocab_size": 8, '), ("{", '{"\\u0076ocab_size": 8, '), ("{", "\ufeff{"),
        ("{", '{"x": ' + "[" * 5000 + "]" * 5000 + ", "),
        ("_layers\": 2", "_layers\": 2.0"), ("1e-05", "1e400"), ("1e-05", "1e-999"), ("1e-05", "0." + "0" * 159 + "1"),
        ("1e-05", "Infinity"), ("1e-05", "NaN"), ("1e-05", "1" * 5000), ("1e-05", "00001"), ("}", "}}"), ("}", "} "),
    ])  # fmt: skip
    text = text.replace(old, new, 1) if rng.random() < 0.5 else json.dumps(json.loads(text) | rng.choice(more))
    (folder / "config.json").write_text(text, encoding="utf-8")
    return said | {"files": _hashes(folder)}, folder, None


def _margin(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """Margins and positions as nobody writes them, and as many bits as may be asked for."""
    said = json.loads(json.dumps(subject.said))
    claim = rng.choice(said["claims"])
    odd = [
        "0",
        "-0",
        "-5",
        "1e-9",
        "\u0661",
        "0.1\n",
        " 0.1",
        "1_0",
        "1/3",
        "+1",
        ".1",
        "1.",
        "0x1",
        "1e9999",
        "0e999",
        0.1,
        "0.1e-1",
    ]
    said |= {} if rng.random() < 0.9 else {"bits": 4000, "ids": (said["ids"] * 4)[: rng.choice([8, 16, 300])]}
    claim[rng.choice(["margin", "margin", "position", "token"])] = rng.choice([*odd, True, -1, 2.0, 10**30])
    return said, subject.folder, None


def _placed(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """Files that are no files, and names that lead elsewhere."""
    folder, said = _copy(subject, place)
    name = rng.choice(list(said["files"]))
    match rng.randrange(7):
        case 0:
            (folder / name).unlink()
            os.mkfifo(folder / name)
        case 1:
            (folder / name).unlink()
            (folder / name).symlink_to("/dev/zero")
        case 2:
            (folder / name).unlink()
            (folder / name).mkdir()
        case 3:
            (folder / name).unlink()
            (folder / name).symlink_to(folder / name)
        case 4:
            shutil.copy(folder / name, folder / "b.safetensors")
            said["files"]["b.safetensors"] = said["files"][name]
        case 5:
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {}}))
            said["files"] |= {"model.safetensors.index.json": hashlib.sha256(b'{"weight_map": {}}').hexdigest()}
        case _:
            said["files"][rng.choice(["..", ".", "", name + "\n", "./" + name, str(folder / name), name + "\0"])] = said["files"][
                name
            ]
    return said, folder, None


def _configured(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """Another configuration, its hash renewed."""
    folder, said = _copy(subject, place)
    config = json.loads((folder / "config.json").read_text())
    key = rng.choice(
        [*config, "attention_softcap", "auto_map", "rope_scaling", "n_ctx", "head_dim", "sliding_window", "scale_attn_weights"]
    )
    odd = [
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        6,
        8,
        10**9,
        1e-3,
        0.5,
        1e300,
        "silu",
        "gelu",
        "relu",
        "gpt2",
        "llama",
        [],
        {},
        {"rope_type": "x"},
    ]
    config[key] = rng.choice(odd)
    (folder / "config.json").write_text(json.dumps(config))
    return said | {"files": _hashes(folder)}, folder, None


def _witness(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """A witness that is not the one."""
    data = subject.witness
    at = rng.randrange(len(data))
    match rng.randrange(7):
        case 0:
            whole = int.from_bytes(data, "little") + rng.choice([1, -1]) * (1 << 8 * at)
            changed = (whole % (1 << 8 * len(data))).to_bytes(len(data), "little")
        case 1:
            whole = int.from_bytes(data, "little") + rng.choice(_PRIMES) * rng.choice([1, -1]) * (1 << 8 * at)
            changed = (whole % (1 << 8 * len(data))).to_bytes(len(data), "little")
        case 2:
            changed = data[:at]
        case 3:
            changed = data + bytes(rng.randint(1, 100))
        case 4:
            to = rng.randrange(len(data))
            first, second = sorted((at, to))
            changed = data[:first] + data[second:] + data[first:second]
        case 5:
            changed = rng.choice([rng.randbytes(len(data)), bytes(len(data)), b""])
        case _:
            other = subjects()[(subjects().index(subject) + 2) % 6]  # of the same shape, with other weights
            changed = other.witness
    return subject.said, subject.folder, None if changed == data else changed


class _Liar:
    """Does the work of the checker, but for one entry of one product; what follows is computed from the lie."""

    def __init__(self, rng: random.Random, last: int) -> None:
        self.rng, self.target, self.calls = rng, rng.randrange(last), 0

    def __call__(self, function: Any, tasks: Any) -> Any:
        for task in tasks:
            result = function(*task)
            if function is exactformer_check.multiplied:
                if self.calls == self.target:
                    result = self._changed(*task[:3], *result)
                self.calls += 1
            yield task, result

    def _changed(self, w: Any, rows: Any, width: int, digits: bytes, norms: Any) -> Any:
        """With one entry off by a multiple of a prime, towards 0 and no further than it has room."""
        products = exactformer_check.entries(digits, width)
        room = 8 * width - 2
        chosen = self.rng.randrange(len(products))
        prime = self.rng.choice([prime for prime in _PRIMES if prime.bit_length() <= room])
        lie = prime << max(0, room - prime.bit_length() - self.rng.randrange(0, 64))
        products[chosen] += -lie if products[chosen] > 0 else lie
        return b"".join((product + 2 * (1 << room)).to_bytes(width, "little") for product in products), norms


def _consistent(rng: random.Random, subject: Subject, place: Path) -> Forged:
    """A witness with one false product, all else computed from it, and claims that would follow."""
    with ExitStack() as stack:
        return _followed(rng, subject, stack)


def _followed(rng: random.Random, subject: Subject, stack: ExitStack) -> Forged:
    check, said = exactformer_check, json.loads(json.dumps(subject.said))
    n = check.network(*check.read_model(subject.folder, check.named_files(subject.folder, said["files"], stack)))
    n.prepare(said["reading"], len(said["ids"]), said["bits"])
    kept = bytearray()
    n.work, n.witness, n.keep = _Liar(rng, 2 * (7 if n.kind == "llama" else 4)), None, kept.extend
    try:
        x = n.final_rows(said["ids"], [claim["position"] for claim in said["claims"]], said["bits"])
    except check.Refused:
        return said, subject.folder, bytes(kept)
    for t, claim in enumerate(said["claims"]):
        leads = [n.leads(x.taken([t]), [token], [0])[0] for token in range(n.vocabulary)]
        claim["token"] = max(range(n.vocabulary), key=lambda token: leads[token])
        claim["margin"] = f"{max(0.0, float(max(leads))) * 0.9:.9f}"
    return said, subject.folder, bytes(kept)


KINDS: dict[str, Callable[[random.Random, Subject, Path], Forged]] = {
    "a claim, ids, bits or reading": _certificate,
    "any field": _anywhere,
    "bytes of the certificate": _bytes,
    "hostile certificates": _hostile,
    "a bit of a weight": partial(_flipped, renewed=False),
    "a bit of a weight, hash renewed": partial(_flipped, renewed=True),
    "the file of weights, hash renewed": _mangled,
    "config.json, hash renewed": _configured,
    "tensors that overlap or are there twice": _laid,
    "weights at the ends of float32": _extreme,
    "weights of another type": _typed,
    "config.json, spelled otherwise": _spelled,
    "margins and positions, spelled otherwise": _margin,
    "files that are none": _placed,
    "the witness": _witness,
    "one product, all else computed from it": _consistent,
}


def outcome(seed: int, n: int) -> str:
    """Forge the n-th and check it."""
    rng = random.Random(f"forgeries {seed} {n}")
    kind, subject = list(KINDS)[n % len(KINDS)], rng.choice(subjects())
    place = Path(tempfile.mkdtemp())
    try:
        said, folder, witness = KINDS[kind](rng, subject, place)
        return _judged(said, folder, witness, place, subject)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _judged(said: Said | bytes, folder: Path, witness: bytes | None, place: Path, subject: Subject) -> str:
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    (place / "certificate.json").write_bytes(data)
    arguments = [str(place / "certificate.json"), str(folder)]
    if witness is not None:
        (place / "witness").write_bytes(witness)
        arguments += ["--witness", str(place / "witness")]
    status = exactformer_check.main(arguments)
    assert status in (0, 1, 2), f"status {status}"
    if status:
        return "refused" if status == 1 else "bad input"
    honest = witness is None or witness == _honest(said, folder)
    assert honest, "accepted with products that are not the products"
    wrong = _untrue(json.loads(data), folder)
    assert not wrong, f"accepted though it is false: {wrong}"
    return "accepted, and true"


def _honest(said: Said | bytes, folder: Path) -> bytes:
    kept = bytearray()
    exactformer_check.check(json.loads(said) if isinstance(said, bytes) else said, str(folder), keep=kept.extend)
    return bytes(kept)


def _untrue(said: Said, folder: Path) -> str:
    """The first claim that is false of the model in the folder, or ""."""
    if said["files"] != _hashes(folder):
        return "it is about other files"
    try:
        leads = true_leads(folder, said["ids"], said["reading"])
    except (CheckpointError, InputError) as error:
        return f"exactformer refuses it: {error}"
    for claim in said["claims"]:
        lead, margin = leads[claim["position"]][claim["token"]], Fraction(claim["margin"])
        if not (lead > 0 and lead >= arb(fmpq(margin.numerator, margin.denominator))):
            return f"{claim}, where the lead is {lead.str(12)}"
    return ""


def sample(number: int, seed: int) -> list[Tried]:
    """Some in this very process, for the tests."""
    return [tried(partial(outcome, seed), n) for n in range(number)]


_TOLD = (
    f"{NUMBER:,} forgeries for the checker that needs Python alone, of six models of two families. What is accepted is compared "
    f"with balls of {_BITS} bits: every claim must be true of the files that were given. Some are: a smaller margin, bits that "
    "still suffice, a flip that no token notices. A witness that differs from the products in one bit must be refused."
)


def run(progress: Progress) -> Result:
    counts = {kind: Counter[str]() for kind in KINDS}
    failed: list[str] = []
    results: list[Tried] = []
    for n, result in enumerate(all_tried(partial(outcome, 0), NUMBER)):
        counts[list(KINDS)[n % len(KINDS)]][result.outcome] += 1
        results.append(result)
        if result.failed:
            failed.append(f"forgery {n}: {result.failed}")
            progress(failed[-1])
        if (n + 1) % 200 == 0:
            progress(f"{n + 1:,} of {NUMBER:,} forgeries, {len(failed)} failed")
    return report("forgeries", "certificates and witnesses", _TOLD, counts, results, failed)
