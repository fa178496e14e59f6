"""The process of the model that was given at the start: it prepares it, and then proves tokens, one question after the other."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from exactformer.certificates import Claim, prove_token
from exactformer.certificates.certificate import certificate_of
from exactformer.certificates.ends import proved_digits
from exactformer.certificates.hash import model_hash
from exactformer.certificates.memory import available, keeps, made_anew, needed
from exactformer.certificates.proving import CAP, token_by_token
from exactformer.certificates.question import check_question, texts
from exactformer.certificates.storage import prepared
from exactformer.certified import LimbSchedule
from exactformer.internal import internal_error
from exactformer.messages import Refused
from exactformer.model import InputError
from exactformer.model.cache import Cache
from exactformer.render.certificates import as_json as certificate_text
from exactformer.render.certificates import log2, verdict
from exactformer.trace import Trace
from exactformer.web.walking import Walks
from exactformer.web.worker import as_json
from exactformer.worksheets import Input, load, loads
from exactformer.worksheets.models import MODELS

STATE, ANSWER = b"s", b"a"  # what a message begins with
_OPTION = re.compile(r"(?:(?<=^)|(?<= ))--(?=[a-z])")  # fields here, options on the command line
_KEPT = 512  # proved tokens that are remembered
_PAUSE = 0.2  # seconds between two words of progress
_DIGITS = 12  # decimals of the logits of a pass that is walked through
_READING = 0.3  # of the preparation: the share of opening the model and taking its hash
Tell = Callable[[dict[str, Any]], None]


def serve(connection: Connection, source: str, text: str | None) -> None:
    """First what becomes of the model, again and again, until it is ready or refused; then an answer to each question."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server says when it is over
    with contextlib.suppress(EOFError, OSError):  # nobody listens any more
        try:
            prover = Prover(source, lambda state: connection.send_bytes(STATE + as_json(state)), text)
        except (Refused, MemoryError, OSError) as error:
            line = " ".join(str(error).split()) or "the machine has too little memory for it"
            connection.send_bytes(STATE + as_json({"state": "failed", "line": line}))
            return
        while True:
            name, arguments = json.loads(connection.recv_bytes())
            status, body = _answer(prover, name, arguments)
            connection.send_bytes(ANSWER + b"%d" % status + body)


def _answer(prover: Prover, name: str, arguments: dict[str, Any]) -> tuple[int, bytes]:
    try:
        return 200, as_json(_TASKS[name](prover, **arguments))
    except Refused as error:
        return 422, as_json({"error": _OPTION.sub("", " ".join(str(error).split()))})
    except MemoryError:
        return 507, as_json({"error": "the machine has too little memory for this prompt"})
    except Exception as error:
        print(f"exactformer: {internal_error(error)}", file=sys.stderr, flush=True)
        return 500, as_json({"error": "the server made a mistake; its terminal says which"})


class Prover:
    """A model that is prepared, and what was proved of it lately."""

    def __init__(self, source: str, tell: Tell, text: str | None = None) -> None:
        tell({"state": "loading", "share": 0})
        self.source, self.worksheet = source, load(source) if text is None else loads(text, source)
        self.model, self.text = self.worksheet.model, texts(self.worksheet, said=True)
        tell({"state": "loading", "share": 0, **self._described()})
        self.worksheet.checked()
        progress = _Progress(self.model, tell)
        self.digest = model_hash(self.model, progress.hashed)
        self.keep = keeps(self.model, 1, CAP)
        if not self.keep:
            print(f"exactformer: {made_anew(self.source)}", file=sys.stderr, flush=True)
        with prepared(self.model, keep=self.keep) as self.ready:
            self.ready.prepare(progress.prepared)
        self.claims: OrderedDict[tuple[Any, ...], Claim] = OrderedDict()
        self.past = _Past()
        self.walks = Walks(self.model, self.worksheet.title or self.source, self.ready.store, texts(self.worksheet), self.text)
        tell({"state": "ready", "share": 1, "sha256": self.digest})

    def _described(self) -> dict[str, Any]:
        config, sheet = self.model.config, self.worksheet
        return {
            "name": sheet.title or self.source,
            "text": sheet.takes_text,  # else a prompt is the ids of its tokens
            "tokenizer": sheet.tokenizer is not None,
            "vocabulary": len(config.vocabulary),
            "positions": config.length,
            "blocks": config.blocks,
            "dim": config.dim,
            "weights": sum(int(weights.size) for _, weights in self.model.weights.named()),
            "input": MODELS[self.source].prompt if self.source in MODELS else "" if sheet.tokenizer else " ".join(sheet.tokens),
        }

    def token(
        self, prompt: str | None = None, ids: str | None = None, tokens: int = 1, number: int = 1, top: int = 5, cap: int = CAP,
        digits: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """One of the tokens that follow: those before it are remembered, or proved again."""
        given = self._given(prompt, ids, tokens, cap)
        if number > tokens:
            raise InputError(f"number: {number} is not one of {tokens} tokens")
        claims = self._claims(given, number, top, cap, digits)
        if len(claims) < number:
            raise InputError(f"token {len(claims)}: {claims[-1].why}, so none follows it")
        return self._shown(claims[-1], digits) | {"number": number, "given": list(map(self._named, given))}

    def certificate(
        self, prompt: str | None = None, ids: str | None = None, tokens: int = 1, top: int = 5, cap: int = CAP, digits: int = 0
    ) -> dict[str, Any]:
        """The certificate of the tokens that follow, as a file."""
        given = self._given(prompt, ids, tokens, cap)
        claims = self._claims(given, tokens, top, cap, digits)
        certificate = certificate_of(self.worksheet.model, given, cap, claims, origin=self.worksheet.origin)
        text = certificate_text(certificate, None, ())
        return {"name": "certificate.json", "type": "application/json", "text": text}

    def passed(self, prompt: str | None = None, ids: str | None = None) -> dict[str, Any]:
        """A pass over the prompt, to be walked through: its steps, without their numbers."""
        return self.walks.outline(self._trace(prompt, ids))

    def values(self, steps: list[str], prompt: str | None = None, ids: str | None = None, **window: int) -> dict[str, Any]:
        return self.walks.values(self._trace(prompt, ids), steps, **window)

    def number(
        self, step: str, index: list[int], digits: int = 15, prompt: str | None = None, ids: str | None = None
    ) -> dict[str, Any]:
        return self.walks.number(self._trace(prompt, ids), step, index, digits)

    def shades(self, step: str, head: int = 0, prompt: str | None = None, ids: str | None = None) -> dict[str, Any]:
        return self.walks.shades(self._trace(prompt, ids), step, head)

    def distribution(
        self, position: int, temperature: str = "1", top_k: int | None = None, top_p: str | None = None,
        prompt: str | None = None, ids: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        return self.walks.distribution(self._trace(prompt, ids), position, temperature, top_k, top_p)

    def _trace(self, prompt: str | None, ids: str | None) -> Trace:
        """With as many limbs as give the logits after the prompt digits that fill a table."""
        given = self._given(prompt, ids, 1, CAP)
        return self.walks.trace(given, lambda: self._claim(given, 5, CAP, _DIGITS).schedule)

    def _given(self, prompt: str | None, ids: str | None, tokens: int, cap: int) -> list[int]:
        given = Input(prompt, ids).of(self.worksheet)
        check_question(self.model, self.source, given, tokens)
        wanted, left = needed(self.model, len(given), cap, tokens, kept=self.keep) - _taken(), available()
        if left is not None and wanted > left:
            raise InputError(f"{len(given):,} tokens need about {wanted / 1e9:.1f} GB more of memory; {left / 1e9:.1f} GB are free")
        return given

    def _claims(self, given: list[int], tokens: int, top: int, cap: int, digits: int) -> list[Claim]:
        """Up to as many as asked for: none follows one that is undecided."""
        return list(token_by_token(given, tokens, lambda prefix: self._claim(prefix, top, cap, digits), self.model.fed_back))

    def _claim(self, prefix: list[int], top: int, cap: int, digits: int) -> Claim:
        key = (tuple(prefix), top, cap, digits)
        if key not in self.claims:
            past = self.past if self.past.leads_to(prefix, cap) else _Past(cap=cap)
            self.past = _Past()  # what fails on its way is not gone on from
            cache = past.cache if self.model.config.keeps_past else None
            found = prove_token(
                self.model, prefix, prepared=self.ready, top=top, cap=cap, digits=digits, schedule=past.schedule, cache=cache
            )
            if found.token is not None and cache is not None:
                self.past = _Past(tuple(prefix), cap, cache, found.schedule)
            self.claims[key] = Claim.of(found)
        self.claims.move_to_end(key)
        if len(self.claims) > _KEPT:
            self.claims.popitem(last=False)
        return self.claims[key]

    def _named(self, token: int) -> dict[str, Any]:
        return {"id": token, "text": self.text(token)}

    def _shown(self, claim: Claim, digits: int) -> dict[str, Any]:
        """A claim with its tokens named and the digits that it proves, which may fall short of those asked for."""
        widest = Fraction(1, 10**digits)
        said = asdict(claim) | {
            "token": None if claim.token is None else self._named(claim.token),
            "ties": list(map(self._named, claim.ties)),
            "runner_up": None if claim.runner_up is None else self._named(claim.runner_up),
            "margin": None if claim.margin is None else _enclosed(*claim.margin),
            "top": [{"token": self._named(bound.token)} | _enclosed(bound.low, bound.high) for bound in claim.top],
            "short": digits > 0 and any(Fraction(bound.high) - Fraction(bound.low) > widest for bound in claim.top),
            "verdict": verdict(claim, self.text),
        }
        for layer, shown in zip(claim.layers, said["layers"], strict=True):
            shown["log2"] = log2(layer.radius) if abs(log2(layer.radius)) < 2000 else None
        return said


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "certify": Prover.token, "certificate": Prover.certificate, "model_pass": Prover.passed, "model_values": Prover.values,
    "model_number": Prover.number, "model_shades": Prover.shades, "model_distribution": Prover.distribution,
}  # fmt: skip


class _Past:
    """Keys and values of positions that are done, and how they were computed."""

    def __init__(
        self, ids: tuple[int, ...] = (), cap: int = 0, cache: Cache | None = None, schedule: LimbSchedule | None = None
    ) -> None:
        self.ids, self.cap, self.cache, self.schedule = ids, cap, Cache() if cache is None else cache, schedule

    def leads_to(self, prefix: list[int], cap: int) -> bool:
        return 0 < len(self.ids) < len(prefix) and tuple(prefix[: len(self.ids)]) == self.ids and self.cap == cap


class _Progress:
    """Tells how much of the preparation is done, now and then."""

    def __init__(self, model: Any, tell: Tell) -> None:
        self.tell, self.blocks, self.next = tell, model.config.blocks, 0.0
        self.left = [name for name, _ in model.weights.named()]
        self.count = len(self.left)

    def hashed(self, name: str) -> None:
        self.left.pop()
        self._say("loading", name, _READING * (1 - len(self.left) / self.count))

    def prepared(self, name: str) -> None:
        part = name.split(".")
        done = int(part[1]) if part[0] == "blocks" else self.blocks if name.startswith(("ln_final", "logits")) else 0
        self._say("preparing", name, _READING + (1 - _READING) * done / (self.blocks + 1))

    def _say(self, state: str, step: str, share: float) -> None:
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + _PAUSE
            self.tell({"state": state, "step": step, "share": round(share, 3)})


def _enclosed(low: str, high: str) -> dict[str, str]:
    return {"digits": proved_digits(Fraction(low), Fraction(high)), "low": low, "high": high}


def _taken() -> int:
    """Bytes that this process holds already, files aside; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) * 1024
    return 0
