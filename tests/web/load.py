"""A load on a running server: many clients, each stepping and editing for a while, each checking that its own edits are kept.

exactformer serve --no-open --port 8642 &
python tests/web/load.py http://127.0.0.1:8642 --clients 100 --own 20 --seconds 60

With --own, so many of the clients work on worksheets of their own, which no other client has.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from dataclasses import dataclass, field
from fractions import Fraction

import httpx

from exactformer.worksheets import example_text

EXAMPLES = ("capstone", "length4")
ENTRIES = {"capstone": ("W_E[0,0]", "W_E[1,1]", "blocks.0.attn.W_V[0,0,1]"), "length4": ("W_E[0,0]", "W_E[2,3]")}


@dataclass
class Tally:
    requests: int = 0
    errors: list[str] = field(default_factory=list)
    lost: int = 0  # edits that an answer does not show
    times: list[float] = field(default_factory=list)

    def quantile(self, q: float) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(q * len(self.times)))]

    def __str__(self) -> str:
        half, most = self.quantile(0.5), self.quantile(0.99)
        return (
            f"{self.requests:,} requests, {len(self.errors)} errors, {self.lost} lost edits, "
            f"median {half * 1000:.0f} ms, 99 % below {most * 1000:.0f} ms"
        )


def _own(example: str, seed: int) -> str:
    """The text of an example in which the first number of the embedding is another one."""
    text = example_text(example)
    first = {"capstone": "[[1, 0]", "length4": "[0.50, 0.30"}[example]
    changed = text.replace(first, first.replace("[1,", f"[{seed + 2},").replace("[0.50,", f"[0.50{seed + 1},"), 1)
    assert changed != text
    return changed


async def client(address: str, seed: int, until: float, tally: Tally, pause: float, own: bool = False) -> None:
    rng = random.Random(seed)
    example = rng.choice(EXAMPLES)
    source = {"worksheet": _own(example, seed)} if own else {"example": example}
    edits: list[str] = []
    async with httpx.AsyncClient(base_url=address, timeout=600) as http:

        async def ask(task: str, **body: object) -> dict[str, object]:
            start = time.monotonic()
            answer = await http.post(f"/api/{task}", json={"source": {**source, "edits": edits}, **body})
            tally.times.append(time.monotonic() - start)
            tally.requests += 1
            if answer.status_code != 200:
                tally.errors.append(f"{answer.status_code} {answer.text[:200]}")
                return {}
            found: dict[str, object] = answer.json()
            return found

        rounds = 0
        while not rounds or time.monotonic() < until:  # one at least, however long it takes until all have come
            rounds += 1
            entry, value = rng.choice(ENTRIES[example]), f"{rng.randint(1, 99)}/{rng.choice((7, 11, 13))}"
            edits = [*edits[-3:], f"{entry}={value}"] if rng.random() < 0.3 else edits
            found = await ask("pass")
            wanted = _wanted(edits)
            if wanted:
                there = await ask("values", steps=sorted({name for name, _, _ in wanted}))
                tally.lost += sum(bool(there) and _at(there, name, place) != text for name, place, text in wanted)
            steps = found.get("steps", [])
            for step in rng.sample(steps, min(3, len(steps))):  # type: ignore[arg-type]
                index = [rng.randrange(n) for n in step["shape"]]
                await ask("number", step=step["name"], index=index, digits=rng.randint(10, 40))
                await asyncio.sleep(pause)


def _wanted(edits: list[str]) -> list[tuple[str, tuple[int, ...], str]]:
    last = {edit.partition("=")[0]: edit.partition("=")[2] for edit in edits}
    return [(entry.partition("[")[0], _place(entry), _reduced(value)) for entry, value in last.items()]


def _place(entry: str) -> tuple[int, ...]:
    return tuple(int(n) for n in entry.partition("[")[2].rstrip("]").split(","))


def _reduced(text: str) -> str:
    return str(Fraction(text))


def _at(found: dict[str, object], name: str, place: tuple[int, ...]) -> object:
    value: object = found["values"][name]  # type: ignore[index]
    for n in place:
        value = value[n]  # type: ignore[index]
    return value["text"]  # type: ignore[index]


async def load(address: str, clients: int, seconds: float, pause: float = 0.2, own: int = 0) -> tuple[Tally, Tally]:
    """What the clients on examples met, and what `own` others met on worksheets of their own, at the same time."""
    shipped, theirs, until = Tally(), Tally(), time.monotonic() + seconds
    await asyncio.gather(
        *(client(address, seed, until, theirs if seed < own else shipped, pause, seed < own) for seed in range(clients))
    )
    return shipped, theirs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--own", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds for which a number is looked at")
    given = parser.parse_args()
    for title, found in zip(
        ("examples", "own worksheets"),
        asyncio.run(load(given.address, given.clients, given.seconds, given.pause, given.own)),
        strict=True,
    ):
        if found.requests:
            print(f"{title}: {found}", *found.errors[:5], sep="\n")
