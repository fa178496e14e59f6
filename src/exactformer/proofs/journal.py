"""The journal of a proof: finished cases in a file that survives a kill at any moment.

Each line is JSON and carries a checksum that covers the line and the checksum before it, so lines cannot be changed, swapped,
doubled or brought in from another journal without notice:

    ["5f0c…",{"journal":"exactformer proof","version":2,"theorem":"a fingerprint","cases":5460}]
    ["91ab…",17,{"verdict":"proved"}]

That is a defence against accidents, not against forgers: whoever can write the file can renew its checksums, and what it then says
of a case is believed as far as it can be true.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

from exactformer.messages import Refused
from exactformer.reading import json_value

_KIND, _VERSION = "exactformer proof", 2
LONGEST = 1 << 26  # bytes of a line, unless more is asked for: more is never read into memory
_START = len('["0123456789abcdef",')  # of what a line says, after its checksum
# Each line is handed to the operating system as soon as its case is done: from then on a kill of this process cannot lose it. Only
# a crash of the whole machine can, so now and then the disk is waited for: often enough to lose seconds, seldom enough to be free.
_SYNC = 5.0  # seconds
_INSTEAD = "delete it, or give another --journal"
_ELSEWHERE = "give a --journal that can be"


class JournalError(Refused):
    """Why a journal is refused, in one line that names the file."""


def _seal(before: bytes, body: bytes) -> tuple[bytes, bytes]:
    """The checksum of a line that says `body` after a line with the checksum `before`, and the line."""
    checksum = blake2b(body, digest_size=8, key=before).hexdigest().encode()
    return checksum, b'["%s",%s]\n' % (checksum, body)


class Journal:
    """The finished cases of one theorem; the file is locked against other processes until `close`.

    `check` is asked about every result in the file, and raises ValueError with a few words where it cannot be one.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "proof.journal"
    >>> with Journal(path, "a theorem", 3) as journal:
    ...     journal.append([(2, '"proved"')])
    >>> with Journal(path, "a theorem", 3) as journal:
    ...     list(journal.finished()), list(journal.done)
    ([(2, 'proved')], [0, 0, 1])
    >>> Journal(path, "another theorem", 3)
    Traceback (most recent call last):
    exactformer.proofs.journal.JournalError: ...: is the journal of another proof: 3 cases, fingerprint "a theorem", not 3...
    """

    def __init__(
        self,
        path: Path,
        fingerprint: str,
        cases: int,
        check: Callable[[Any], object] = lambda result: None,
        longest: int = LONGEST,
    ) -> None:
        self.path, self.cases, self._longest = path, cases, longest
        header = {"journal": _KIND, "version": _VERSION, "theorem": fingerprint, "cases": cases}
        self._header = json.dumps(header, separators=(",", ":")).encode()
        try:
            # O_NONBLOCK, because opening a pipe without a reader would wait for one before it can be refused.
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o666)
        except OSError as error:
            raise JournalError(f"{path}: cannot be opened: {error.strerror}; {_ELSEWHERE}") from error
        try:
            self._lock()
            self.done, end, self._checksum = bytearray(cases), 0, b""
            for number, (index, result, size, checksum) in enumerate(self._lines(), 1):
                end, self._checksum = size, checksum
                if index >= 0:
                    self.done[index] = 1
                    try:
                        check(result)
                    except ValueError as error:
                        raise JournalError(f"{path}: line {number}, case {index}: {error}; {_INSTEAD}") from error
            os.ftruncate(self._file, end)  # a torn last line
            self._synced = time.monotonic()
            if not end:
                self._say(self._header)
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        """`flock`, because the system drops it when the process ends, however it ends."""
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            raise JournalError(f"{self.path}: not a plain file")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            moved = not os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except BlockingIOError as error:
            raise JournalError(f"{self.path}: in use by another run; wait for it, or give another --journal") from error
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be locked: {error.strerror}") from error
        if moved:
            raise JournalError(f"{self.path}: replaced by another run while it was opened")

    def _lines(self) -> Iterator[tuple[int, Any, int, bytes]]:
        """Of the header (case -1) and of each whole line: the case, its result, where the line ends, its checksum."""
        seen = bytearray(self.cases)
        with self.path.open("rb") as file:
            checksum, header = _seal(b"", self._header)
            line = file.readline(self._longest)
            if line != header:
                if header.startswith(line):  # killed before the header was written
                    return
                raise JournalError(self._foreign(line))
            end = len(header)
            yield -1, None, end, checksum
            for number, line in enumerate(iter(lambda: file.readline(self._longest + 1), b""), 2):
                if not line.endswith(b"\n") and len(line) <= self._longest:  # killed while it was written
                    return
                body = line[_START:-2]
                checksum, sealed = _seal(checksum, body)
                try:
                    index, result = json_value(b"[%s]" % body, JournalError, real=float) if sealed == line else (None, None)
                except ValueError:
                    index = None
                if type(index) is not int or not 0 <= index < self.cases or seen[index]:
                    raise JournalError(f"{self.path}: line {number} is damaged; {_INSTEAD}")
                seen[index] = 1
                end += len(line)
                yield index, result, end, checksum

    def _foreign(self, line: bytes) -> str:
        body = line[_START:-2]
        with contextlib.suppress(JournalError):
            there = json_value(body, JournalError) if _seal(b"", body)[1] == line else None
            if isinstance(there, dict) and there.get("journal") == _KIND:
                if there.get("version") != _VERSION:
                    return (
                        f"{self.path}: is a journal of version {json.dumps(there.get('version'))[:20]}, not {_VERSION}; {_INSTEAD}"
                    )
                theirs, ours = (json.dumps(str(held.get("theorem"))[:12]) for held in (there, json.loads(self._header)))
                return (
                    f"{self.path}: is the journal of another proof: {json.dumps(there.get('cases'))[:20]} cases, fingerprint "
                    f"{theirs}, not {self.cases} cases, {ours} (another model, domain, arithmetic or version); {_INSTEAD}"
                )
        return f"{self.path}: is not the journal of a proof, or its first line is damaged; give another --journal"

    def finished(self) -> Iterator[tuple[int, Any]]:
        """Every case in the file with its result, in the order in which they were finished."""
        return ((index, result) for index, result, _, _ in self._lines() if index >= 0)

    def append(self, results: Iterable[tuple[int, str]]) -> None:
        """Write down finished cases, each with the JSON of its result (one line, no line breaks)."""
        for index, result in results:
            self._say(b"%d,%s" % (index, result.encode()), f" (case {index})")
            self.done[index] = 1

    def _say(self, body: bytes, what: str = "") -> None:
        checksum, line = _seal(self._checksum, body)
        if len(line) > self._longest:
            raise JournalError(f"{self.path}: a line of {len(line):,} bytes{what}; a journal takes {self._longest:,}")
        try:
            while line:
                line = line[os.write(self._file, line) :]
            if time.monotonic() > self._synced + _SYNC:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be written: {error.strerror}; {_ELSEWHERE}") from error
        self._checksum = checksum

    def close(self) -> None:
        with contextlib.suppress(OSError):  # every line is written already; a full disk was reported when a line did not fit
            os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
