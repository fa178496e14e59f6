"""Journals of proofs, changed at random: half of them as they lie on a disk, half with their checksums renewed as a forger would.

Every theorem that is asked about is false at one sequence, so PROVED is wrong whatever a journal says. A journal is no defence
against a forger who knows what to write: an answer that is possible is believed. What is tried here is that nothing else is.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import exactformer as xf
from benchmarks.result import Progress, Result, Table
from exactformer.model import Config, Model, Weights
from exactformer.proofs import Sequences, prove
from exactformer.proofs.cases import Case
from exactformer.proofs.chunks import RunError
from exactformer.proofs.journal import JournalError, _seal

NUMBER = 1000
SECONDS = 20.0  # that one journal may take
MEGABYTES = 1024
Tokens = tuple[str, ...]
Lines = list[tuple[Any, Any]]  # of a journal: the case and its answers


@dataclass(frozen=True)
class Book:
    """A proof with its journal: the model, the inputs, what the model says after each sequence, and what was kept."""

    name: str
    prove: Callable[..., Any]
    vocabulary: Tokens
    said: dict[Tokens, frozenset[str]]
    kept: bytes

    def false_rule(self, rng: random.Random) -> Callable[[Tokens], frozenset[str]]:
        """What the model says, but for one sequence, of which another token is demanded."""
        odd = rng.choice(list(self.said))
        wrong = rng.choice([frozenset([token]) for token in self.vocabulary if frozenset([token]) != self.said[odd]])
        return (self.said | {odd: wrong}).__getitem__


def books() -> list[Book]:
    sheet = xf.load("induction")
    hard = sheet.changed(hard=True)
    capstone = xf.load("capstone").model
    wide = _wide()
    some = [(token,) for token in wide.config.vocabulary[:12]]
    return [
        _book("induction, exact, by symmetry", sheet.model, Sequences(("!", "a", "b", "c"), 3), circuit=sheet.circuit),
        _book("induction, hard, case by case", hard.model, Sequences(("!", "a", "b"), 2)),
        _book("induction, hard, three tokens fed back", hard.model, Sequences(("!", "a", "b"), 2), steps=3),
        _book("capstone, of which one output is undefined", capstone, [("a",), ("b",), ("c",), ("a", "b")]),
        _book("capstone in floats, which prove nothing", capstone, [("a",), ("b",), ("a", "b")], arithmetic_name="float64"),
        _book("70 tokens, balls, leads instead of logits", wide, some, arithmetic_name="arb"),
    ]


def _wide() -> Model:
    rng = random.Random(70)
    weights = xf.array([[rng.randint(-9, 9) for _ in range(4)] for _ in range(70)])
    config = Config(vocabulary=tuple(f"t{n}" for n in range(70)), dim=4, blocks=0, norm="none", mask="causal", scale="none")
    return Model(config, Weights(W_E=weights))


def _book(name: str, model: Model, domain: Any, **options: Any) -> Book:
    case = Case(model, options.get("arithmetic_name", "exact"), options.get("steps", 1))
    said: dict[Tokens, frozenset[str]] = {}
    for tokens in domain:
        sequence = tokens
        for answer in case(tokens):
            if answer["token"] is None:
                said[sequence] = frozenset(model.config.vocabulary)
                break
            said[sequence] = frozenset([answer["token"], *answer["ties"]])
            sequence = (*sequence, answer["token"])
    asked = partial(prove, model, domain, workers=1, **options)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        asked(said.__getitem__, journal=journal)
        return Book(name, asked, model.config.vocabulary, said, journal.read_bytes())


# -- as they lie on a disk
def damaged(rng: random.Random, data: bytes, other: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at, to = sorted(rng.sample(range(len(data)), 2))
    kind = rng.randrange(9)
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + data[to:]
    if kind == 2:
        return data[:at] + rng.randbytes(rng.randint(1, 40)) + data[at:]
    if kind == 3:
        return data[:at]
    if kind == 4:
        return data[:at] + data[at:to] * 2 + data[to:]
    if kind == 5:
        rng.shuffle(lines)
        return b"".join(lines)
    if kind == 6:
        return b"".join([*lines, rng.choice(lines)])
    if kind == 7:
        return b"".join([lines[0], *other.splitlines(keepends=True)[1:]])
    return data[:at] + bytes(rng.randrange(256) for _ in range(to - at)) + data[to:]


# -- as a forger renews them
def forged(rng: random.Random, data: bytes, vocabulary: Tokens) -> bytes:
    header, *rest = [json.loads(line)[1:] for line in data.splitlines()]
    lines: Lines = [(index, answers) for index, answers in rest]
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(12)
        n = rng.randrange(len(lines)) if lines else 0
        if kind == 0:
            header[0][rng.choice(list(header[0]))] = rng.choice([1, 2, 3, None, "", "exactformer proof", [], True])
        elif not lines:
            lines.append((0, []))
        elif kind == 1:
            lines[n] = (rng.choice([-1, len(lines), True, 1.0, "0", None, 10**30, []]), lines[n][1])
        elif kind == 2:
            lines.insert(rng.randrange(len(lines) + 1), lines[n])
        elif kind == 3:
            del lines[n]
        elif kind == 4:
            lines[n] = (lines[n][0], rng.choice([[], {}, None, [[]], [{}], True, 0, "", [lines[n][1]]]))
        elif kind == 5:
            lines = [(index, []) for index, _ in lines]
        else:
            holder = [json.loads(json.dumps(lines[n][1]))]
            _change(rng, holder, vocabulary)
            lines[n] = (lines[n][0], holder[0])
    return _sealed(header[0], lines)


def _sealed(header: Any, lines: Lines) -> bytes:
    checksum, line = _seal(b"", json.dumps(header, separators=(",", ":")).encode())
    text = [line]
    for index, answers in lines:
        body = f"{json.dumps(index)},{json.dumps(answers, separators=(',', ':'))}"
        checksum, line = _seal(checksum, body.encode())
        text.append(line)
    return b"".join(text)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place inside of a JSON value: what holds it, and under which key."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _change(rng: random.Random, holder: list[Any], vocabulary: Tokens) -> None:
    """One place of an answer, changed."""
    inside, key = rng.choice(list(_places(holder)))
    odd = [
        None, True, False, 0, -1, 1.5, 10**30, "", "0", "-7", "nan", "inf", "1e99999999999", "1e999999", "1/0", "x" * 1000,
        "\x1b[2J\n", [], {}, [[]], ["1", "0"], ["0", "1", "2"], [1, 2], rng.choice(vocabulary), list(vocabulary[:2]), "proved",
    ]  # fmt: skip
    kind = rng.randrange(4)
    if kind == 0 and inside is not holder:
        del inside[key]
    elif kind == 1 and isinstance(inside, list):
        inside.insert(key, inside[key])
    elif kind == 2 and isinstance(inside, dict):
        inside[rng.choice(["token", "proved", "ties", "logits", "lead", "why", "verdict", *vocabulary[:3]])] = inside[key]
    else:
        inside[key] = rng.choice(odd)


@dataclass(frozen=True)
class Tried:
    """What became of one journal: refused, or a verdict; or why that must not be."""

    outcome: str
    seconds: float
    failed: str = ""


class _TooLongError(Exception):
    pass


def tried(book: Book, data: bytes, rng: random.Random, folder: Path) -> Tried:
    """Ask for a false theorem with this journal."""
    path = folder / "journal"
    path.write_bytes(data)

    def over(number: int, frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    start = time.monotonic()
    try:
        verdict, failed = book.prove(book.false_rule(rng), journal=path).verdict, ""
        failed = "a false theorem is PROVED" if verdict == "proved" else ""
    except (JournalError, RunError) as error:
        told = str(error)
        verdict = "refused"
        failed = "" if told.startswith(f"{path}: ") and "\n" not in told else f"refused in other words: {told[:100]!r}"
    except _TooLongError:
        verdict, failed = "hang", f"more than {SECONDS:.0f} s"
    except BaseException as error:
        verdict, failed = "traceback", f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return Tried(verdict, time.monotonic() - start, failed)


def trials(number: int, seed: int = 0) -> Iterator[tuple[str, Book, Tried]]:
    """So many journals, half of them with renewed checksums, each changed in its own way."""
    shelf = books()
    with tempfile.TemporaryDirectory() as folder:
        for n in range(number):
            rng = random.Random(f"{seed} {n}")
            book, other = rng.choice(shelf), rng.choice(shelf)
            renewed = n % 2 == 1
            data = forged(rng, book.kept, book.vocabulary) if renewed else damaged(rng, book.kept, other.kept)
            result = tried(book, data, rng, Path(folder))
            if result.failed:
                result = replace(result, failed=f"journal {n} of seed {seed} ({book.name}): {result.failed}")
            yield "checksums renewed" if renewed else "damaged", book, result


def run(progress: Progress) -> Result:
    counts: dict[str, Counter[str]] = {"damaged": Counter(), "checksums renewed": Counter()}
    failed: list[str] = []
    slowest = 0.0
    for n, (kind, _, result) in enumerate(trials(NUMBER), 1):
        counts[kind][result.outcome] += 1
        slowest = max(slowest, result.seconds)
        failed += [result.failed] if result.failed else []
        if n % 100 == 0:
            progress(f"{n} of {NUMBER} journals, {len(failed)} failed")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if most > MEGABYTES:
        failed.append(f"{most:,} MB of memory")
    outcomes = ("refused", "refuted", "undecided", "proved", "traceback", "hang")
    rows = [(kind, str(sum(found.values())), *(str(found[outcome]) for outcome in outcomes)) for kind, found in counts.items()]
    data = {"journals": NUMBER, "outcomes": counts, "failed": failed, "seconds": round(slowest, 2), "megabytes": most}
    told = (
        f"{NUMBER:,} journals of six proofs, changed at random; half as a fault of a disk would, half with one to three places "
        "changed and all checksums renewed. Each is then used for a theorem that is false at one sequence: REFUTED and undecided "
        "are right, a journal that cannot be one is refused in a line that names it, PROVED would be wrong."
    )
    return Result(
        "trials_journals",
        "Changed journals of proofs",
        (
            told,
            Table(("journals", "number", *outcomes), tuple(rows)),
            f"{len(failed)} failed. The slowest took {slowest:.1f} s, all together {most:,} MB of memory.",
            "An answer that is possible is believed: whoever can write to a journal can write a proof. See docs/trust.md.",
        ),
        data,
    )
