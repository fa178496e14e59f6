"""The process that computes: it reads a task, answers, and reads the next, within the memory that it was given."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from exactformer.internal import internal_error

_TASKS = 2000  # after so many, a fresh process takes over


def serve(connection: Connection, memory: int) -> None:
    """Answers are a byte that says whether this was the last one, three digits of status, and JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server says when it is over
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from exactformer.web import tasks

    _limit(memory)
    for count in range(1, _TASKS + 1):
        try:
            name, arguments = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        status, body = _answer(tasks, name, arguments, memory)
        last = count == _TASKS or _resident() > memory // 2
        connection.send_bytes(b"%d%d" % (last, status) + body)
        if last:
            return


def _answer(tasks: Any, name: str, arguments: dict[str, Any], memory: int) -> tuple[int, bytes]:
    try:
        return 200, as_json(tasks.run(name, arguments))
    except tasks.REFUSED as error:
        return 422, as_json({"error": " ".join(str(error).split())})
    except MemoryError:
        return 507, as_json({"error": f"the computation needs more than {memory >> 20} MB"})
    except RecursionError:
        return 422, as_json({"error": "the numbers of this pass are nested too deeply"})
    except Exception as error:
        print(f"exactformer: {internal_error(error)}", file=sys.stderr, flush=True)
        return 500, as_json({"error": "the server made a mistake; its terminal says which"})


def as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _limit(memory: int) -> None:
    """No more than `memory` bytes of addresses beyond those of the libraries, where the system can see to that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory,) * 2)


def _resident() -> int:
    """Bytes in use now; 0 where the system does not tell."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0
