"""Files of weights that are not read, known by their first bytes: what each of them is, and what to do with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_LOOKED_AT = 256  # bytes
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
FOREIGN = (".gguf", ".onnx", ".h5", ".tflite", ".npz", ".npy")  # endings of other files of weights in a folder
_FOLDER = "a folder with config.json and model.safetensors"


@dataclass(frozen=True)
class Kind:
    """How files of a kind begin, and what is said of one."""

    begins: Callable[[bytes], bool]
    said: Callable[[Path], str]


def converted(path: Path) -> str:
    """With the command that converts it."""
    return f"is a pickle, which may run code when it is read; convert it with: python -c {shlex.quote(conversion(path))}"


def conversion(path: Path) -> str:
    """A program that converts a pickle: `weights_only` loads tensors and runs no code; tied tensors are saved twice.

    The weights are a table of tensors, at the top or inside. A configuration is a table inside that says how wide the model is; it
    becomes config.json where there is none. Wrappers of PyTorch put words before the names of tensors, which are taken off.
    """
    target, config = str(path.with_name("model.safetensors")), str(path.with_name("config.json"))
    return (
        "import json, os, torch, safetensors.torch as s; "
        f"d = torch.load({str(path)!r}, map_location='cpu', weights_only=True); "
        "inside = lambda x: [x] + [z for y in x.values() if isinstance(y, dict) for z in inside(y)]; "
        "w = next(x for x in inside(d) if any('.' in str(k) and torch.is_tensor(v) for k, v in x.items())); "
        "w = {k.removeprefix('module.').removeprefix('_orig_mod.'): v.clone().contiguous() "
        "for k, v in w.items() if torch.is_tensor(v)}; "
        f"s.save_file(w, {target!r}, {{'format': 'pt'}}); "
        "c = [x for x in inside(d) if {'n_embd', 'd_model', 'hidden_size'} & x.keys()]; "
        f"c and not os.path.exists({config!r}) and json.dump("
        "{k: v for k, v in c[0].items() if isinstance(v, (int, float, str, list, type(None)))}, "
        f"open({config!r}, 'w'))"
    )


def _starts(*beginnings: bytes) -> Callable[[bytes], bool]:
    return lambda content: content.startswith(beginnings)


def _pickle(content: bytes) -> bool:
    """The zip of PyTorch has the pickle first; older files are one, of protocol 2 or later."""
    zipped = content.startswith(b"PK\x03\x04") and b"/data.pkl" in content
    return zipped or (content[:1] == b"\x80" and 2 <= content[1] <= 5 if len(content) > 1 else False)


def _onnx(content: bytes) -> bool:
    """A message of protocol buffers: the version of the format, then the name of a producer, a domain, a graph or the opsets."""
    return len(content) > 2 and content[0] == 0x08 and 3 <= content[1] <= 20 and content[2] in (0x12, 0x1A, 0x22, 0x3A, 0x42)


def _safetensors(content: bytes) -> bool:
    """The length of a header of at most 100 MB, and the header."""
    return content[4:8] == bytes(4) and content[8:9] == b"{" and content[9:10] in b'" }'


_KINDS = (
    Kind(
        _starts(b"GGUF", b"tjgg", b"lmgg", b"fmgg"),
        lambda path: (
            f"is a GGUF file of llama.cpp, which is not read; give the model that it was made of, {_FOLDER} (judge takes "
            "what llama.cpp computes, by --outputs)"
        ),
    ),
    Kind(_pickle, converted),
    Kind(
        _starts(b"\x89HDF\r\n\x1a\n"),
        lambda path: f"is an HDF5 file of Keras, which is not read; save the model as {_FOLDER} (save_pretrained does)",
    ),
    Kind(
        lambda content: content[4:8] == b"TFL3",
        lambda path: f"is a TensorFlow Lite file, which is not read; give the model that it was made of, {_FOLDER}",
    ),
    Kind(
        _starts(b"version https://git-lfs"),
        lambda path: (
            f"is a pointer of Git LFS, not the file itself; fetch it with: git -C {shlex.quote(str(path.parent))} lfs pull"
        ),
    ),
    Kind(
        _starts(b"\x93NUMPY", b"PK\x03\x04"),
        lambda path: f"is an archive or an array, not a model, which is {_FOLDER}",
    ),
    Kind(
        _onnx,
        lambda path: (
            f"is an ONNX file, which is not read; give the model that it was exported from, {_FOLDER} (judge takes what a "
            "runtime computes, by --outputs; oracle onnx judges single operators)"
        ),
    ),
)


def refusal(path: Path) -> str | None:
    """What is said of a file that is of a known kind and not read; None of any other.

    >>> refusal(Path("no such file"))
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LOOKED_AT)
    except OSError:  # whoever reads it says so
        return None
    if _safetensors(content):  # whose first bytes, a length, may look like anything
        if path.suffix == ".safetensors":
            return None
        return "is a safetensors file; call it model.safetensors, with its config.json beside it, and give the folder"
    return next((kind.said(path) for kind in _KINDS if kind.begins(content)), None)
