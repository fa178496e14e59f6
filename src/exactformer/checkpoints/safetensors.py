"""The safetensors format, read strictly and without copying: a tensor is a read-only view of the mapped file.

A file is eight bytes (the length of the header), the header (JSON: for every tensor its dtype, its shape, and where its bytes
begin and end) and the bytes of all tensors, one after the other, with nothing between them and nothing left over.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.checkpoints.errors import CheckpointError
from exactformer.messages import quoted
from exactformer.numbers.formats import brain_floats
from exactformer.reading import described, json_table, open_regular, read_regular

LARGEST = 1 << 20  # bytes of JSON: three times what a GPT-2 of 200 blocks needs, and too little to fill memory with
_FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}  # of bfloat16 the bits
_MASKS = {"BOOL": "u1", "U8": "u1"}
_WHOLE = {"U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "I64": "<i8"}
_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8, "C64": 8,
}  # fmt: skip
_KINDS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64"}  # that are written
_MOST_AXES = 8
_LONGEST_AXIS = 1 << 40
_FEW = 1 << 16  # numbers
_WEIGHT = np.frombuffer(bytes(4), dtype="<f4").reshape(())  # stands for every weight of which the shape alone is known


def read_document(path: Path) -> dict[str, Any]:
    """The table that a JSON file of a model folder holds."""
    return json_table(read_regular(path, LARGEST, "JSON of a model", CheckpointError), CheckpointError, path)


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file: what the header says of it. Its values are looked at when they are asked for."""

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int  # in the file
    mapped: mmap.mmap

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * _BYTES[self.dtype]

    def array(self, mask: bool = False) -> Any:
        """The values, read-only: a view of the file. Where they are few, BF16 is widened: NumPy is at home in float32.

        A `mask` may have bytes or truth values instead of floats.
        """
        kinds = _FLOATS | _MASKS if mask else _FLOATS
        if self.dtype not in kinds:
            raise self.error(f"has the dtype {self.dtype}; floats are read: {', '.join(_FLOATS)}")
        count = math.prod(self.shape)
        if not count:
            return np.zeros(self.shape, dtype=np.float32)
        values = np.frombuffer(self.mapped, dtype=kinds[self.dtype], count=count, offset=self.start).reshape(self.shape)
        if self.dtype != "BF16":
            return values
        if count > _FEW:
            from ml_dtypes import bfloat16

            return values.view(bfloat16)
        wide = brain_floats(values)
        wide.base.flags.writeable = wide.flags.writeable = False
        return wide

    def whole_numbers(self) -> Any:
        """The values where they are integers, read-only."""
        if self.dtype not in _WHOLE:
            raise self.error(f"has the dtype {self.dtype}; whole numbers are read: {', '.join(_WHOLE)}")
        count = math.prod(self.shape)
        return np.frombuffer(self.mapped, _WHOLE[self.dtype], count, self.start if count else 0).reshape(self.shape)

    def error(self, problem: str) -> CheckpointError:
        return CheckpointError(self.path, f"tensor {quoted(self.name)}", problem)


def shape_alone(shape: tuple[int, ...]) -> Any:
    """An array that takes no memory, whatever its shape: nobody may compute with it."""
    return np.broadcast_to(_WEIGHT, shape)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name. The whole header is checked; the values are not touched."""
    with open_regular(path, CheckpointError) as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise CheckpointError(path, f"is cut short: a safetensors file begins with 8 bytes, this one has {size}")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:8], "little")
    if mapped[:8] == b"version ":
        raise CheckpointError(path, "is a Git LFS pointer, not the file that it points to: fetch that with git lfs pull")
    if length > size - 8:
        raise CheckpointError(path, f"the header is said to have {length:,} bytes, but the file has {size - 8:,} after its length")
    if length > LARGEST:
        raise CheckpointError(path, f"the header has {length:,} bytes; at most {LARGEST:,} are read")
    if mapped[8:9] != b"{":
        raise CheckpointError(path, "header", "does not begin with '{'")
    header = json_table(mapped[8 : 8 + length], CheckpointError, path, "header")
    _check_metadata(header.pop("__metadata__", {}), path)
    found = [(_tensor(path, name, entry, 8 + length, mapped), entry["data_offsets"]) for name, entry in header.items()]
    _check_layout(path, found, size - 8 - length)
    return {tensor.name: tensor for tensor, _ in found}


def tensors_as_bytes(arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> bytes:
    """The file that holds these arrays of floats and of int64.

    >>> len(tensors_as_bytes({"x": np.zeros(3)}, {"made by": "us"})) % 8
    0
    """
    return b"".join(tensors_as_parts(arrays, metadata))


def tensors_as_parts(arrays: Mapping[str, Any], metadata: Mapping[str, str]) -> Iterator[bytes]:
    """The same piece by piece: the header, then each array."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    reached = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": _KINDS[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [reached, reached + array.nbytes],
        }
        reached += array.nbytes
    said = json.dumps(header, separators=(",", ":")).encode()
    said += b" " * (-len(said) % 8)
    yield len(said).to_bytes(8, "little") + said
    for array in arrays.values():
        yield np.ascontiguousarray(array).tobytes()


def read_shards(index: Path) -> dict[str, Tensor]:
    """The tensors of all files that an index (`model.safetensors.index.json`) names."""
    places = read_document(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(index, "weight_map", "is missing, or not a table of file names")
    for name, file in places.items():
        if not isinstance(file, str) or not _plain_name(file):
            raise CheckpointError(
                index, "weight_map", f"{quoted(name)} is in {described(file)}, which is not a safetensors file of this folder"
            )
    shards = {file: read_tensors(index.parent / file) for file in sorted(set(places.values()))}
    for file, tensors in shards.items():
        for tensor in tensors.values():
            if places.get(tensor.name) != file:
                raise tensor.error(f"{index.name} does not say that it is in this file")
    for name, file in places.items():
        if name not in shards[file]:
            raise CheckpointError(
                index.parent / file, f"tensor {quoted(name)}", f"is missing, though {index.name} says that it is here"
            )
    return {name: shards[file][name] for name, file in places.items()}


def _plain_name(file: str) -> bool:
    return file.endswith(".safetensors") and not any(c in '/\\:"' or not c.isprintable() for c in file)


def _check_metadata(metadata: Any, path: Path) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(path, "header", "__metadata__ is not a table of texts")


def _tensor(path: Path, name: str, entry: Any, data: int, mapped: mmap.mmap) -> Tensor:
    where = (path, f"tensor {quoted(name)}")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(*where, "is not a table of dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _BYTES:
        raise CheckpointError(*where, f"dtype {described(dtype)} is unknown")
    if not _counts(shape) or len(shape) > _MOST_AXES or any(axis > _LONGEST_AXIS for axis in shape):
        raise CheckpointError(*where, f"shape {described(shape)} is not a list of at most {_MOST_AXES} lengths")
    if not _counts(offsets) or len(offsets) != 2:
        raise CheckpointError(*where, "data_offsets is not a list of two places in the file")
    needed = math.prod(shape) * _BYTES[dtype]
    if offsets[1] - offsets[0] != needed:
        raise CheckpointError(
            *where, f"{' × '.join(map(str, shape)) or 'a number'} of {dtype} are {needed:,} bytes, not {offsets[1] - offsets[0]:,}"
        )
    return Tensor(path, name, dtype, tuple(shape), data + offsets[0], mapped)


def _counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 63 for value in values)


def _check_layout(path: Path, found: list[tuple[Tensor, list[int]]], available: int) -> None:
    """Every byte belongs to one tensor: so none can be read twice, and nothing is hidden between them."""
    reached = 0
    for tensor, (begin, end) in sorted(found, key=lambda item: item[1]):
        if end > available:
            raise tensor.error(f"ends at byte {end:,} of {available:,}: the file is cut short, or its header is wrong")
        if begin != reached:
            raise tensor.error(f"begins at byte {begin:,}, where the tensor before it ends at {reached:,}")
        reached = end
    if reached != available:
        raise CheckpointError(path, f"{available - reached:,} bytes after the last tensor belong to none")
