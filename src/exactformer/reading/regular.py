"""Regular files: a pipe or a device might never answer, and a size is looked at before memory is taken."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from exactformer.messages import Refused

_ABSENT = "there is no such file"


def open_regular(path: Path, refusal: type[Refused], own: bool = False, absent: str = _ABSENT) -> BinaryIO:
    """Open a file to read. One that is `own` belongs to this user, and no link leads to it."""
    wanted = ("O_NONBLOCK", "O_BINARY", "O_NOFOLLOW") if own else ("O_NONBLOCK", "O_BINARY")
    try:
        handle = os.open(path, sum((getattr(os, flag, 0) for flag in wanted), os.O_RDONLY))
    except FileNotFoundError:
        raise refusal(path, absent) from None
    except (OSError, ValueError) as error:  # the second: a name with a null character
        raise refusal(path, getattr(error, "strerror", None) or "cannot be read") from None
    found = os.fstat(handle)
    foreign = own and hasattr(os, "getuid") and found.st_uid != os.getuid()
    if foreign or not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise refusal(path, "belongs to another user" if foreign else "is not a file")
    return os.fdopen(handle, "rb")


def read_regular(path: Path, most: int, what: str, refusal: type[Refused], own: bool = False, absent: str = _ABSENT) -> bytes:
    """The content of a file: `what`, which may have `most` bytes."""
    with open_regular(path, refusal, own, absent) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(size + 1) if size <= most else b""
    if max(size, len(content)) > most:
        raise refusal(path, f"has {max(size, len(content)):,} bytes; {what} may have {most:,}")
    return content


def decoded(content: bytes, name: Path | str, refusal: type[Refused], encoding: str = "utf-8") -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise refusal(name, f"is not UTF-8 text (byte {error.start})") from None
