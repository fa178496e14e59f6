"""Arrays as NumPy saves them, in a .npy file or in a .npz archive. Their headers are believed in nothing."""

from __future__ import annotations

import io
import math
import os
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.messages import Refused, quoted
from exactformer.reading.regular import open_regular

_LONGEST_HEADER = 1000  # bytes: NumPy writes 128
_MOST_MEMBERS = 10_000


@dataclass(frozen=True)
class Saved:
    """What the header of an array says. The values are read when they are asked for, and their size is held against it first."""

    where: str  # the file, and in an archive the name
    shape: tuple[int, ...]
    dtype: Any
    fortran: bool
    left: int  # bytes after the header
    read: Callable[[], bytes]
    refusal: type[Refused]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * int(self.dtype.itemsize)

    def array(self) -> Any:
        """The values, read-only."""
        if self.dtype.hasobject or self.dtype.fields is not None or self.dtype.subdtype is not None:
            raise self.refusal(f"{self.where}: holds {str(self.dtype)[:40]}, not plain numbers")
        if self.left != self.bytes or min(self.shape, default=0) < 0:
            count = f"{math.prod(self.shape):,} numbers of {self.dtype.newbyteorder('=').name}"
            raise self.refusal(f"{self.where}: has {self.left:,} bytes after its header, where {count} take {self.bytes:,}")
        return np.frombuffer(self.read(), self.dtype).reshape(self.shape, order="F" if self.fortran else "C")


def saved_array(path: Path, refusal: type[Refused]) -> Saved:
    """The array of a .npy file."""
    with open_regular(path, refusal) as file:
        size = os.fstat(file.fileno()).st_size
        start = io.BytesIO(file.read(_LONGEST_HEADER))

    def read(begin: int, count: int) -> bytes:
        with open_regular(path, refusal) as file:
            file.seek(begin)
            return file.read(count)

    return _saved(str(path), start, size, read, refusal)


def saved_arrays(path: Path, refusal: type[Refused]) -> dict[str, Saved]:
    """The arrays of a .npz archive by name."""
    try:
        with open_regular(path, refusal) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS:
                raise refusal(f"{path}: has {len(members):,} arrays; at most {_MOST_MEMBERS:,} are read")
            return {member.filename.removesuffix(".npy"): _member(path, archive, member, refusal) for member in members}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError):
        raise refusal(f"{path}: is not an archive of arrays as numpy.savez writes it, or is damaged") from None


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, refusal: type[Refused]) -> Saved:
    with archive.open(member) as file:
        start = io.BytesIO(file.read(_LONGEST_HEADER))

    def read(begin: int, count: int) -> bytes:
        try:
            with open_regular(path, refusal) as outer, zipfile.ZipFile(outer) as opened, opened.open(member) as file:
                file.read(begin)
                return file.read(count)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError):
            raise refusal(f"{path}: {quoted(member.filename)} is damaged") from None

    return _saved(f"{path}: {quoted(member.filename.removesuffix('.npy'))}", start, member.file_size, read, refusal)


def _saved(where: str, start: io.BytesIO, size: int, read: Callable[[int, int], bytes], refusal: type[Refused]) -> Saved:
    readers: Any = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        reader = readers.get(np.lib.format.read_magic(start))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shape, fortran, dtype = reader(start, max_header_size=_LONGEST_HEADER)
    except Exception:  # a header is a Python literal to NumPy, which fails in as many ways as Python's reader has
        raise refusal(f"{where}: is not a file of numbers as numpy.save writes it") from None
    begin = start.tell()
    return Saved(where, tuple(shape), dtype, fortran, size - begin, lambda: read(begin, size - begin), refusal)


def times(shape: Sequence[int]) -> str:
    """A shape in a message.

    >>> times((2, 3000)), times(())
    ('2 × 3,000', 'of a single number')
    """
    return " × ".join(f"{n:,}"[:40] for n in shape[:8]) or "of a single number"
