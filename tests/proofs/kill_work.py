"""Cases for the tests of runs: each writes down that it was computed; and a program that runs them, to be killed."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from exactformer.proofs.runner import run


@dataclass(frozen=True)
class Logged:
    """The square of a number, after a while; every start of a computation is a line `number process` in the log."""

    log: Path
    seconds: float = 0.002
    deadly: int | None = None  # the number that kills its process
    lives: int = 10**6  # how often it does so
    most: int | None = None  # computations after which those that begin take a minute: whoever is to kill them may come late

    def __call__(self, number: int) -> dict[str, int]:
        handle = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{number} {os.getpid()}\n".encode())
        os.close(handle)
        held = self.most is not None and len(computed(self.log)) > self.most
        time.sleep(60 if held else self.seconds)
        if number == self.deadly and computed(self.log).count(number) <= self.lives:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"square": number * number}


_inside = 0


def alone(number: int) -> bool:
    """Whether no other case is computed in this process at the same time."""
    global _inside
    _inside += 1
    time.sleep(0.005)
    still = _inside == 1
    _inside -= 1
    return still


def entries(log: Path) -> list[tuple[int, int]]:
    """(number, process) of each computation whose line is whole."""
    if not log.exists():
        return []
    numbers = [line.split() for line in log.read_text().split("\n")[:-1]]
    return [(int(number), int(process)) for number, process in numbers]


def computed(log: Path) -> list[int]:
    return [number for number, _ in entries(log)]


def main(journal: str, log: str, cases: int, workers: int, most: int) -> None:
    for index, result in run(
        Logged(Path(log), most=most), range(cases), fingerprint="squares", journal=Path(journal), workers=workers
    ):
        print(index, result["square"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
