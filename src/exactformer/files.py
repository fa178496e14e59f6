"""Files are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: str | bytes, mode: int) -> None:
    """Write a temporary file beside `path` with the permissions `mode`, then rename it."""
    with whole_file(path, mode) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def usual_mode() -> int:
    """The permissions of a new file of this user."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def whole_file(path: Path, mode: int) -> Iterator[BinaryIO]:
    """The same of a file that is written bit by bit: it has its name when all of it is written."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):  # interrupted when it had just got its name
            os.unlink(temporary)
        raise


@contextmanager
def whole_folder(folder: Path, mode: int) -> Iterator[Path]:
    """A folder beside it that gets its name, and the permissions `mode`, when all of it is written."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        yield made
        made.chmod(mode)
        made.replace(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def cache_folder(name: str) -> Path | None:
    """A folder of the user's cache, made where it is not there; None where it cannot be made, or not be written to."""
    try:
        folder = _cache() / "exactformer" / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the second: a user without a home
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return Path(home) if home else Path.home() / ".cache"
