"""Certificates as files: JSON that is written with one claim a line, and read as what a stranger may have sent."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exactformer.certificates.certificate import CLAIM, VERSION, Bound, Certificate, CertificateError, Claim, Layer
from exactformer.checkpoints.documents import open_regular, parse
from exactformer.checkpoints.errors import CheckpointError, shown

FORMATS = {f"exactformer certificate {version}": version for version in (2, VERSION)}
LARGEST = 8 << 20  # bytes: room for thousands of tokens
_MOST = 1 << 16  # entries of a list
_MOST_VERSIONS = 20
_LONGEST = 500  # characters
_HASH = re.compile(r"[0-9a-f]{64}")
_DECIMAL = re.compile(r"-?[0-9]{1,80}(\.[0-9]{1,160})?")
_RADIUS = re.compile(r"[0-9]{1,80}(\.[0-9]{1,160})?(e-?[0-9]{1,3})?|inf")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,\n]|[^\s{}\[\]:,"]+')


@dataclass(frozen=True)
class Written:
    """A certificate as it stands in a file: with what it says, where, and whether its checksum fits."""

    certificate: Certificate
    lines: dict[str, int]  # by place, such as tokens[0].margin[1]
    intact: bool

    def line(self, place: str) -> int:
        """Of a place, or of what it is part of."""
        while place and place not in self.lines:
            place = place[: max(place.rfind("."), place.rfind("["), 0)]
        return self.lines.get(place, 1)


def document(certificate: Certificate) -> dict[str, Any]:
    """What the file says, with a checksum over all the rest of it."""
    said: dict[str, Any] = {
        "format": f"exactformer certificate {certificate.version}",
        "claim": CLAIM,
        "model": {"sha256": certificate.model},
        "ids": list(certificate.ids),
        "cap": certificate.cap,
        "tokens": [asdict(claim) for claim in certificate.tokens],
        "versions": certificate.versions,
        "tables": {"sha256": certificate.tables},
    }
    said |= json.loads(json.dumps(said))  # tuples are lists
    return said | {"sha256": checksum(said)}


def checksum(said: dict[str, Any]) -> str:
    rest = {key: value for key, value in said.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def malformed(certificate: Certificate) -> str:
    """Why no file could say this, for one that was put together by hand; "" where one could."""
    try:
        _Reader(Path("certificate")).certificate(document(certificate))
    except CertificateError as error:
        return str(error).removeprefix("certificate: ")
    except (TypeError, ValueError, AttributeError, RecursionError, OverflowError):
        return "holds what no certificate holds"
    return ""


def dump(certificate: Certificate) -> str:
    return _written(document(certificate), "") + "\n"


def _written(value: Any, indent: str) -> str:
    """JSON in which lists of plain values, and tables of plain values in lists, stay on their line."""
    inner = indent + " "
    if isinstance(value, dict) and indent.count(" ") < 3:
        return "{\n" + ",\n".join(f"{inner}{json.dumps(k)}: {_written(v, inner)}" for k, v in value.items()) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(v, dict) for v in value):
        return "[\n" + ",\n".join(inner + _written(v, inner) for v in value) + f"\n{indent}]"
    return json.dumps(value)


def read(path: Path) -> Written:
    """Read a file, checked field by field. Every error is one line that names the file and the field."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST:
                raise CertificateError(f"{path}: has {size:,} bytes; a certificate may have {LARGEST:,}")
            data = file.read(LARGEST)
        said = parse(data, path)
    except CheckpointError as error:
        raise CertificateError(str(error)) from None
    reader = _Reader(path)
    return Written(reader.certificate(said), lines(data.decode("utf-8")), said["sha256"] == checksum(said))


def lines(text: str) -> dict[str, int]:
    """The line on which each value of a JSON text begins, by its place.

    >>> lines('{"ids": [5,\\n 6]}')
    {'': 1, 'ids': 1, 'ids[0]': 1, 'ids[1]': 2}
    """
    found: dict[str, int] = {}
    stack: list[tuple[str, int]] = []  # the place of a table or a list that is open, and the entry of the list that comes next
    place, line, key = "", 1, False
    for token in _TOKEN.findall(text):
        if token == "\n":
            line += 1
        elif token in "}]":
            stack.pop()
        elif token == ",":
            outer, entry = stack[-1]
            key = entry < 0
            if not key:
                stack[-1] = (outer, entry + 1)
                place = f"{outer}[{entry + 1}]"
        elif token == ":":
            key = False
        elif key:
            name = json.loads(token)
            place = f"{stack[-1][0]}.{name}".lstrip(".")
        else:
            found[place] = line
            if token in "{[":
                stack.append((place, -1 if token == "{" else 0))
                key = token == "{"
                place = place if key else f"{place}[0]"
    return found


class _Reader:
    """Fields of the kinds that they must be of, and no others."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, place: str, problem: str) -> CertificateError:
        return CertificateError(f"{self.path}: {place}: {problem}")

    def certificate(self, said: dict[str, Any]) -> Certificate:
        form = said.get("format")
        if not isinstance(form, str) or form not in FORMATS:
            raise self.error("format", f"is {shown(form)}, not one of {', '.join(map(repr, FORMATS))}")
        keys = {"format", "claim", "model", "ids", "cap", "tokens", "versions", "tables", "sha256"}
        self.table(said, "the certificate", keys)
        if said["claim"] != CLAIM:
            raise self.error("claim", "is not the sentence that certificates of this format claim")
        self.hash(said["sha256"], "sha256")
        versions = self.table(said["versions"], "versions", None)
        if len(versions) > _MOST_VERSIONS:
            raise self.error("versions", f"has more than {_MOST_VERSIONS} entries")
        for name, value in versions.items():
            self.text(name, "versions")
            self.text(value, f"versions.{name}")
        return Certificate(
            model=self.hash(self.table(said["model"], "model", {"sha256"})["sha256"], "model.sha256"),
            ids=self.counts(said["ids"], "ids"),
            cap=self.count(said["cap"], "cap"),
            tokens=tuple(self.entries(said["tokens"], "tokens", self.claim)),
            versions=versions,
            tables=self.hash(self.table(said["tables"], "tables", {"sha256"})["sha256"], "tables.sha256"),
            version=FORMATS[form],
        )

    def claim(self, said: Any, place: str) -> Claim:
        self.table(said, place, set(Claim.__dataclass_fields__))
        margin = said["margin"]
        if margin is not None and (not isinstance(margin, list) or len(margin) != 2):
            raise self.error(f"{place}.margin", "is not a list of two decimals")
        return Claim(
            token=None if said["token"] is None else self.count(said["token"], f"{place}.token"),
            ties=self.counts(said["ties"], f"{place}.ties"),
            runner_up=None if said["runner_up"] is None else self.count(said["runner_up"], f"{place}.runner_up"),
            margin=None if margin is None else self.ends(margin[0], margin[1], f"{place}.margin"),
            top=tuple(self.entries(said["top"], f"{place}.top", self.bound)),
            schedule=self.counts(said["schedule"], f"{place}.schedule"),
            layers=tuple(self.entries(said["layers"], f"{place}.layers", self.layer)),
            attempts=self.count(said["attempts"], f"{place}.attempts"),
            why=self.text(said["why"], f"{place}.why"),
        )

    def bound(self, said: Any, place: str) -> Bound:
        self.table(said, place, {"token", "low", "high"})
        return Bound(self.count(said["token"], f"{place}.token"), *self.ends(said["low"], said["high"], place))

    def layer(self, said: Any, place: str) -> Layer:
        self.table(said, place, {"name", "bits", "radius"})
        if not isinstance(said["radius"], str) or not _RADIUS.fullmatch(said["radius"]):
            raise self.error(f"{place}.radius", f"{shown(said['radius'])} is not a radius")
        return Layer(self.text(said["name"], f"{place}.name"), self.count(said["bits"], f"{place}.bits"), said["radius"])

    def text(self, said: Any, place: str) -> str:
        """What may be printed: no text of a file tells a terminal what to do."""
        if not isinstance(said, str) or len(said) > _LONGEST or not said.isprintable():
            raise self.error(place, f"is not a text of at most {_LONGEST} printable characters")
        return said

    def ends(self, low: Any, high: Any, place: str) -> tuple[str, str]:
        for end in (low, high):
            if not isinstance(end, str) or not _DECIMAL.fullmatch(end):
                raise self.error(place, f"{shown(end)} is not a decimal")
        return low, high

    def table(self, said: Any, place: str, keys: set[str] | None) -> dict[str, Any]:
        if not isinstance(said, dict):
            raise self.error(place, "is not a table")
        if keys is not None and set(said) != keys:
            wrong = min(set(said) ^ keys)
            raise self.error(place, f"has no {shown(wrong)}" if wrong in keys else f"{shown(wrong)} has no place in it")
        return said

    def entries(self, said: Any, place: str, entry: Callable[[Any, str], Any]) -> list[Any]:
        if not isinstance(said, list) or len(said) > _MOST:
            raise self.error(place, f"is not a list of at most {_MOST:,} entries")
        return [entry(value, f"{place}[{n}]") for n, value in enumerate(said)]

    def counts(self, said: Any, place: str) -> tuple[int, ...]:
        return tuple(self.entries(said, place, self.count))

    def count(self, said: Any, place: str) -> int:
        if type(said) is not int or not 0 <= said < 1 << 31:
            raise self.error(place, f"{shown(said)} is not a count")
        return said

    def hash(self, said: Any, place: str) -> str:
        if not isinstance(said, str) or not _HASH.fullmatch(said):
            raise self.error(place, "is not a SHA-256 in hexadecimal")
        return said
