"""The one-off preparation of a model, kept in the user's cache folder.

What is kept are the verified norms and the outlook of the scout: seconds of work for a few kilobytes. Slices are not: cutting the
weights anew takes less time than reading sixteen bytes for each of them from a disk. A file is named after the hash of the model
and the version of this program, is written whole, and carries a checksum; one that is not exactly as it was written is computed
again. Two runs at once each write the same file, and a run that is killed leaves at most a temporary one behind, which a later run
removes.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from exactformer.certificates.hash import model_hash
from exactformer.certificates.preparation import Prepared
from exactformer.certified.scheduling import Growth, Outlook, schedule_length
from exactformer.files import cache_folder, write_whole
from exactformer.hashing import checksum
from exactformer.messages import Refused
from exactformer.model import Model
from exactformer.reading import json_table, read_regular

FORMAT = "exactformer preparation 4"
_LARGEST = 1 << 20  # bytes
_ABANDONED = 3600.0  # seconds after which a temporary file has no writer any more


@contextlib.contextmanager
def prepared(model: Model, folder: Path | None = None, keep: bool = True) -> Iterator[Prepared]:
    """A model prepared with what is kept under its hash; what is computed besides is kept at the end, also of an interrupted run.

    >>> import tempfile
    >>> from exactformer.worksheets import load
    >>> model, folder = load("capstone").model, Path(tempfile.mkdtemp())
    >>> with prepared(model, folder=folder) as first:
    ...     first.prepare()
    >>> with prepared(model, folder=folder) as second:
    ...     second.norms == first.norms != {}, second.outlook == first.outlook
    (True, True)
    """
    digest = model_hash(model)
    path = place(digest, folder)
    result = Prepared(model, keep)
    norms, outlook = kept = (None if path is None else read(path, digest)) or ({}, None)
    if outlook is None or outlook.fits(schedule_length(model.config)):
        result.store.verified._believe(norms)  # of these weights, by their hash, from a file of this user
        result.outlook = outlook
    try:
        yield result
    finally:
        if path is not None and (result.norms, result.outlook) != kept:
            write(path, digest, result.norms, result.outlook)


def kept(model: Model, folder: Path | None = None) -> Outlook | None:
    """What a scout saw of a model in an earlier run, if that is kept."""
    digest = model_hash(model)
    path = place(digest, folder)
    _, outlook = (None if path is None else read(path, digest)) or ({}, None)
    return outlook if outlook is not None and outlook.fits(schedule_length(model.config)) else None


def any_kept(folder: Path | None = None) -> bool:
    """Is there a preparation of any model? The hash of one takes a while."""
    path = place("*", folder)
    return path is not None and any(path.parent.glob(path.name))


def place(digest: str, folder: Path | None = None) -> Path | None:
    """Where the preparation of a model is kept; None where there is no folder to keep it in."""
    folder = cache_folder("certified") if folder is None else folder
    if folder is None:
        return None
    from exactformer import __version__

    return folder / f"{digest}-{__version__}.json"


def write(path: Path, digest: str, norms: dict[str, float], outlook: Outlook | None = None) -> None:
    """Keep norms and the outlook. Where they cannot be kept, they are computed again next time: that is no error."""
    hexes = {name: norm.hex() for name, norm in sorted(norms.items())}
    said = {"format": FORMAT, "model": digest, "norms": hexes, "outlook": _said(outlook)}
    with contextlib.suppress(OSError):
        write_whole(path, json.dumps(said | {"sha256": checksum(said)}, indent=1) + "\n", 0o600)
        for left in path.parent.glob(f".{path.name}.*"):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                left.unlink(missing_ok=True)


def read(path: Path, digest: str) -> tuple[dict[str, float], Outlook | None] | None:
    """The norms and the outlook in a file that is undamaged and this user's own, as they are believed; else None."""
    try:
        said = json_table(read_regular(path, _LARGEST, "a preparation", Refused, own=True), Refused, path)
        norms, expected = said["norms"], said["outlook"]
        if said != {"format": FORMAT, "model": digest, "norms": norms, "outlook": expected, "sha256": checksum(said)}:
            return None
        found = {name: float.fromhex(norm) for name, norm in norms.items()}
        outlook = None if expected is None else _outlook(expected)
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError):
        return None
    return (found, outlook) if all(math.isfinite(norm) and norm >= 0 for norm in found.values()) else None


def _said(outlook: Outlook | None) -> dict[str, Any] | None:
    if outlook is None:
        return None
    growths = [
        {"length": each.length, "halves": [x.hex() for x in each.halves], "sizes": [x.hex() for x in each.sizes]}
        for each in outlook.growths
    ]
    return {"growths": growths, "lead": outlook.lead.hex()}


def _outlook(said: dict[str, Any]) -> Outlook:
    return Outlook(
        tuple(Growth(each["length"], _numbers(each["halves"]), _numbers(each["sizes"])) for each in said["growths"]),
        *_numbers([said["lead"]]),
    )


def _numbers(hexes: list[str]) -> tuple[float, ...]:
    found = tuple(map(float.fromhex, hexes))
    if not all(map(math.isfinite, found)):
        raise ValueError("not a finite number")
    return found
