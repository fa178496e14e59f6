"""Certificates as files: JSON that is written with one claim a line, and read as what a stranger may have sent."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exactformer.certificates.certificate import CHECKED, CLAIM, VERSION, Bound, Certificate, CertificateError, Claim, Layer
from exactformer.certificates.checkable import FORMAT, Check, Leads
from exactformer.hashing import checksum
from exactformer.reading import Table, described, json_table, read_regular

FORMATS = {f"exactformer certificate {version}": version for version in (2, VERSION, CHECKED)}
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
        "model": {"sha256": certificate.model} | ({"reading": certificate.reading} if certificate.reading else {}),
        "ids": list(certificate.ids),
        "cap": certificate.cap,
        "tokens": [asdict(claim) for claim in certificate.tokens],
        "versions": certificate.versions,
        "tables": {"sha256": certificate.tables},
    }
    if certificate.check is not None:
        said["check"] = {"format": FORMAT, **asdict(certificate.check)}
    said |= json.loads(json.dumps(said))  # tuples are lists
    return said | {"sha256": checksum(said)}


def malformed(certificate: Certificate) -> str:
    """Why no file could say this, for one that was put together by hand; "" where one could."""
    try:
        _Table(document(certificate), "certificate").certificate()
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
    data = read_regular(path, LARGEST, "a certificate", CertificateError)
    said = json_table(data, CertificateError, path)
    return Written(_Table(said, path).certificate(), lines(data.decode("utf-8")), said["sha256"] == checksum(said))


def parsed(said: Any) -> Certificate:
    """The certificate of a document, checked field by field, checksum included."""
    if not isinstance(said, dict) or said.get("sha256") != checksum(said):
        raise CertificateError("is not a certificate, or was changed after it was written")
    return _Table(said, "certificate").certificate()


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


class _Table(Table):
    """The tables of a certificate: fields of the kinds that they must be of, and no others."""

    refusal, kind, colon, entry = CertificateError, "a certificate", True, "{}[{}]"

    def certificate(self) -> Certificate:
        form = self.take("format", None)
        if not isinstance(form, str) or form not in FORMATS:
            raise self.error("format", f"is {described(form)}, not one of {', '.join(map(repr, FORMATS))}")
        checked = FORMATS[form] == CHECKED
        self.only(("format", "claim", "model", "ids", "cap", "tokens", "versions", "tables", "sha256", *["check"] * checked))
        if self.take("claim") != CLAIM:
            raise self.error("claim", "is not the sentence that certificates of this format claim")
        self.hash()
        return Certificate(
            model=self.table("model").hash(("sha256", "reading") if "reading" in self.table("model").raw else ("sha256",)),
            ids=self.counts("ids"),
            cap=self.count("cap"),
            tokens=tuple(table.claim() for table in self.tables("tokens")),
            versions=self.versions(),
            tables=self.table("tables").hash(("sha256",)),
            version=FORMATS[form],
            reading=self.table("model").text("reading") if "reading" in self.table("model").raw else "",
            check=self.table("check").check() if checked else None,
        )

    def check(self) -> Check:
        self.only(("format", *Check.__dataclass_fields__))
        if self.take("format") != FORMAT:
            raise self.error("format", f"is {described(self.take('format'))}, not {FORMAT!r}")
        files = self.table("files")
        return Check(
            files={self._printable("files", name): files._hash(name) for name in files.raw},
            reading=self.one_of("reading", ("ideal", "stored")),
            ids=self.counts("ids"),
            claims=tuple(table.leads() for table in self.tables("claims")),
            bits=self.count("bits"),
        )

    def leads(self) -> Leads:
        self.only(Leads.__dataclass_fields__)
        return Leads(self.count("position"), self.count("token"), self._decimal("margin", self.take("margin")))

    def claim(self) -> Claim:
        self.only(Claim.__dataclass_fields__)
        margin = self.take("margin")
        if margin is not None and (not isinstance(margin, list) or len(margin) != 2):
            raise self.error("margin", "is not a list of two decimals")
        return Claim(
            token=None if self.take("token") is None else self.count("token"),
            ties=self.counts("ties"),
            runner_up=None if self.take("runner_up") is None else self.count("runner_up"),
            margin=None if margin is None else (self._decimal("margin", margin[0]), self._decimal("margin", margin[1])),
            top=tuple(table.bound() for table in self.tables("top")),
            schedule=self.counts("schedule"),
            layers=tuple(table.layer() for table in self.tables("layers")),
            attempts=self.count("attempts"),
            why=self.text("why"),
        )

    def bound(self) -> Bound:
        self.only(Bound.__dataclass_fields__)
        return Bound(self.count("token"), self._decimal("low", self.take("low")), self._decimal("high", self.take("high")))

    def layer(self) -> Layer:
        self.only(Layer.__dataclass_fields__)
        return Layer(self.text("name"), self.count("bits"), self._matching("radius", self.take("radius"), _RADIUS, "a radius"))

    def versions(self) -> dict[str, str]:
        table = self.table("versions")
        if len(table.raw) > _MOST_VERSIONS:
            raise self.error("versions", f"has more than {_MOST_VERSIONS} entries")
        for name in table.raw:
            self._printable("versions", name)
        return {name: table.text(name) for name in table.raw}

    def hash(self, fields: Collection[str] = ()) -> str:
        """The field sha256, of a table that has these and no others."""
        self.only(fields or self.raw)
        return self._hash("sha256")

    def _hash(self, field: str) -> str:
        value = self.take(field)
        if not isinstance(value, str) or not _HASH.fullmatch(value):
            raise self.error(field, "is not a SHA-256 in hexadecimal")
        return value

    def text(self, field: str, default: Any = None) -> str:
        return self._printable(field, self.take(field))

    def items(self, field: str, default: Any = None) -> list[Any]:
        value = self.take(field)
        if not isinstance(value, list) or len(value) > _MOST:
            raise self.error(field, f"is not a list of at most {_MOST:,} entries")
        return value

    def counts(self, field: str) -> tuple[int, ...]:
        return tuple(self._count(self.entry.format(field, n), value) for n, value in enumerate(self.items(field)))

    def count(self, field: str) -> int:
        return self._count(field, self.take(field))

    def _count(self, field: str, value: Any) -> int:
        if type(value) is not int or not 0 <= value < 1 << 31:
            raise self.wrong(field, value, "a count")
        return value

    def _printable(self, field: str, value: Any) -> str:
        """What may be printed: no text of a file tells a terminal what to do."""
        if type(value) is not str or len(value) > _LONGEST or not value.isprintable():
            raise self.error(field, f"is not a text of at most {_LONGEST} printable characters")
        return value

    def _decimal(self, field: str, value: Any) -> str:
        return self._matching(field, value, _DECIMAL, "a decimal")

    def _matching(self, field: str, value: Any, pattern: re.Pattern[str], wanted: str) -> str:
        if type(value) is not str or not pattern.fullmatch(value):  # a bare number is no text
            raise self.wrong(field, value, wanted)
        return value
