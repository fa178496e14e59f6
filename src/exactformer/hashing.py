"""One way to hash several things: each goes in with its type and its length, so that no two lists of things look alike.

Joined by a separator, ("a", "b") and ("a,b",) would be one text as soon as a token may hold the separator. With lengths nothing has
to be escaped: what was hashed could be read back from the bytes that went in, so different things are different bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

Field: TypeAlias = Sequence["Field"] | memoryview | bytes | str | int | bool | None


class Digest:
    """The SHA-256 of what is added, which begins with what it is for.

    >>> Digest("inputs").add(("a", "b")).hexdigest() == Digest("inputs").add(("a\\0b",)).hexdigest()
    False
    >>> Digest("inputs").add("1").hexdigest() == Digest("inputs").add(1).hexdigest()
    False
    """

    def __init__(self, purpose: str) -> None:
        self._digest = sha256()
        self.add(purpose)

    def add(self, *fields: Field) -> Digest:
        for field in fields:
            if isinstance(field, str):
                self._put(b"text", field.encode("utf-8", "surrogatepass"))
            elif isinstance(field, bytes | memoryview):
                self._put(b"bytes", field)
            elif field is None or isinstance(field, bool):
                self._put(b"constant", str(field).encode())
            elif isinstance(field, int):
                self._put(b"integer", b"%x" % field)  # hexadecimal, of which Python writes any number of digits
            elif isinstance(field, list | tuple):
                self._digest.update(b"list %d:" % len(field))
                self.add(*field)
            else:
                raise TypeError(f"{type(field).__name__}: is not hashed here")
        return self

    def add_bytes(self, size: int, parts: Iterable[bytes | memoryview]) -> Digest:
        """The same as `add` of all parts put together, which have so many bytes: nobody has to put together what is large.

        >>> Digest("file").add_bytes(3, [b"a", b"bc"]).hexdigest() == Digest("file").add(b"abc").hexdigest()
        True
        """
        self._digest.update(b"bytes %d:" % size)
        for part in parts:
            self._digest.update(part)
            size -= len(memoryview(part).cast("B"))
        if size:
            raise ValueError(f"{-size:+} bytes to what was said")
        return self

    def _put(self, kind: bytes, content: bytes | memoryview) -> None:
        size = content.nbytes if isinstance(content, memoryview) else len(content)
        self._digest.update(b"%s %d:" % (kind, size))
        self._digest.update(content)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def checksum(said: Mapping[str, Any]) -> str:
    """The SHA-256 of a document in canonical JSON, without the field `sha256` that holds it.

    >>> checksum({"b": [1, "x"], "a": None}) == checksum({"a": None, "sha256": "...", "b": [1, "x"]})
    True
    """
    rest = {key: value for key, value in said.items() if key != "sha256"}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
