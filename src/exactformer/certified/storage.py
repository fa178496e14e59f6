"""The one-off preparation of a model, kept in the user's cache folder.

What is kept are the verified norms: seconds of work for a few kilobytes. Slices are not: cutting the weights anew takes less time
than reading sixteen bytes for each of them from a disk. A file is named after the hash of the model and the version of this
program, is written whole, and carries a checksum; one that is not exactly as it was written is computed again. Two runs at once
each write the same file, and a run that is killed leaves at most a temporary one behind, which a later run removes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exactformer.certified.limbs import OutOfRangeError
from exactformer.checkpoints.documents import parse
from exactformer.checkpoints.errors import CheckpointError
from exactformer.files import cache_folder, write_whole
from exactformer.model import Model

if TYPE_CHECKING:
    from exactformer.certified import Prepared

FORMAT = "exactformer preparation 1"
_LARGEST = 1 << 20  # bytes
_ABANDONED = 3600.0  # seconds after which a temporary file has no writer any more


@contextlib.contextmanager
def prepared(model: Model, digest: str, folder: Path | None = None) -> Iterator[Prepared]:
    """A model prepared with the norms that are kept; what is computed besides is kept at the end, also of an interrupted run.

    >>> import tempfile
    >>> from exactformer.certified.model_hash import model_hash
    >>> from exactformer.worksheets import load
    >>> model, folder = load("capstone").model, Path(tempfile.mkdtemp())
    >>> with prepared(model, model_hash(model), folder=folder) as first:
    ...     first.prepare()
    >>> with prepared(model, model_hash(model), folder=folder) as second:
    ...     second.norms == first.norms != {}
    True
    """
    from exactformer.certified import Prepared

    path = place(digest, folder)
    kept = None if path is None else read(path, digest)
    result = Prepared(model, norms=dict(kept or {}))
    try:
        yield result
    finally:
        if path is not None and result.norms and result.norms != kept:
            write(path, digest, result.norms)


def prepare(ready: Prepared, progress: Callable[[str], None] = lambda step: None) -> None:
    """Compute the norms that are not there yet. A model that cannot be computed with at all is left for its pass to tell."""
    with contextlib.suppress(OutOfRangeError):
        ready.prepare(progress)


def place(digest: str, folder: Path | None = None) -> Path | None:
    """Where the norms of a model are kept; None where there is no folder to keep them in."""
    try:
        folder = cache_folder("certified") if folder is None else folder
    except OSError:
        return None
    from exactformer import __version__

    return folder / f"{digest}-{__version__}.json"


def write(path: Path, digest: str, norms: dict[str, float]) -> None:
    """Keep norms. Where they cannot be kept, they are computed again next time: that is no error."""
    said = {"format": FORMAT, "model": digest, "norms": {name: norm.hex() for name, norm in sorted(norms.items())}}
    with contextlib.suppress(OSError):
        write_whole(path, json.dumps(said | {"sha256": _checksum(said)}, indent=1) + "\n", 0o600)
        for left in path.parent.glob(f".{path.name}.*"):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                left.unlink(missing_ok=True)


def read(path: Path, digest: str) -> dict[str, float] | None:
    """The norms in a file that is ours and undamaged; else None."""
    try:
        said = parse(_content(path), path)
        norms = said["norms"]
        if said != {"format": FORMAT, "model": digest, "norms": norms, "sha256": _checksum(said)}:
            return None
        result = {name: float.fromhex(norm) for name, norm in norms.items()}
    except (OSError, CheckpointError, KeyError, AttributeError, TypeError, ValueError, OverflowError):
        return None
    return result if all(math.isfinite(norm) and norm >= 0 for norm in result.values()) else None


def _content(path: Path) -> bytes:
    """Of a plain file that belongs to the user: norms are believed, so nobody else may have written them."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if hasattr(os, "getuid") and found.st_uid != os.getuid():
            raise PermissionError(f"{path}: belongs to another user")
        if found.st_size > _LARGEST:
            raise ValueError(f"{path}: is too long")
        return file.read(_LARGEST)


def _checksum(said: dict[str, Any]) -> str:
    rest = {key: value for key, value in said.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
