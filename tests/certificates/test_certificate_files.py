"""Certificates as files: what is written can be read, and nothing else can."""

from __future__ import annotations

import json
import os
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certify_tools import small_model, write_model

from exactformer.certificates import Entry, certify, prove_token
from exactformer.certificates.certificate import Certificate, CertificateError, Claim
from exactformer.certificates.ends import ends, proved_digits
from exactformer.certificates.file import LARGEST, document, lines, read
from exactformer.certificates.hash import model_hash
from exactformer.checkpoints import open_checkpoint


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return certify(small_model(tmp_path_factory.mktemp("model") / "m"), [3, 4, 5], 2)


def test_what_is_saved_is_loaded(certificate: Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == certificate
    written = read(tmp_path / "c.json")
    assert written.intact
    text = (tmp_path / "c.json").read_text(encoding="utf-8").splitlines()
    assert f'"token": {certificate.tokens[1].token},' in text[written.lines["tokens[1].token"] - 1]
    assert certificate.tokens[1].top[2].high in text[written.lines["tokens[1].top[2].high"] - 1]
    assert certificate.tables in text[written.lines["tables.sha256"] - 1]


def test_a_changed_digit_does_not_fit_the_checksum(certificate: Certificate, tmp_path: Path) -> None:
    said = document(certificate)
    said["tokens"][0]["top"][0]["high"] += "1"  # wider, and so still true
    (tmp_path / "c.json").write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(CertificateError, match="sha256: the checksum does not fit"):
        Certificate.load(tmp_path / "c.json")


def test_enclosures_hold_those_of_the_pass(certificate: Certificate, tmp_path: Path) -> None:
    found = prove_token(small_model(tmp_path / "m"), [3, 4, 5])
    claim = certificate.tokens[0]
    assert claim.token == found.token
    for bound, entry in zip(claim.top, found.top, strict=True):
        assert isinstance(entry, Entry)
        assert Fraction(bound.low) < entry.low <= entry.high < Fraction(bound.high)
        assert Fraction(bound.high) - Fraction(bound.low) <= Fraction(3, 2) * (entry.high - entry.low)
    assert claim.margin is not None
    assert found.margin is not None
    assert 0 < Fraction(claim.margin[0]) < found.margin[0] <= found.margin[1] < Fraction(claim.margin[1])


def test_decimals_enclose_and_digits_are_proved() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        middle = Fraction(rng.randint(-(10**9), 10**9), rng.randint(1, 10**6))
        radius = Fraction(rng.randint(0, 1000), 2 ** rng.randint(0, 300))
        low, high = middle - radius, middle + radius
        below, above = map(Fraction, ends(low, high))
        assert below <= low <= high <= above
        assert radius == 0 or (below < low and high < above and above - below <= 2 * radius * Fraction(3, 2) + 2)
        assert low <= 0 or below > 0
        told = proved_digits(low, high)
        if not told.startswith("between"):
            digits = told.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
            unit = Fraction(10) ** (int(told.partition("e")[2] or 0) - len(told.partition("e")[0].partition(".")[2]))
            assert digits
            for end in (low, high):
                assert abs(end - Fraction(told)) <= unit / 2


def test_the_hash_is_of_every_weight_and_setting(tmp_path: Path) -> None:
    seen = {model_hash(small_model(tmp_path / "m"))}
    assert seen == {model_hash(small_model(tmp_path / "again"))}
    rng = np.random.default_rng(1)
    for name, shape in (
        ("wte.weight", (40, 8)),
        ("h.1.mlp.c_fc.weight", (8, 32)),
        ("h.0.attn.c_attn.bias", (24,)),
        ("ln_f.bias", (8,)),
    ):
        changed = small_model(tmp_path / name, tensors={name: rng.standard_normal(shape).astype(np.float32)})
        seen.add(model_hash(changed))
    folder = write_model(tmp_path / "epsilon")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"layer_norm_epsilon": 2e-5}), encoding="utf-8")
    seen.add(model_hash(open_checkpoint(folder).model))
    assert len(seen) == 6


def test_what_tokens_are_called_does_not_change_the_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    assert model_hash(open_checkpoint(folder, [f"<{n}>" for n in range(40)]).model) == model_hash(open_checkpoint(folder).model)


def _set(said: dict[str, Any], place: list[Any], value: Any) -> dict[str, Any]:
    inner: Any = said
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return said


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (["format"], "exactformer certificate 5", "format: is 'exactformer certificate 5'"),
        (["format"], None, "format: is null"),
        (["claim"], "All is well.", "claim: is not the sentence"),
        (["model"], "abc", "model: 'abc' is not a table"),
        (["model", "sha256"], "abc", "model.sha256: is not a SHA-256"),
        (["model", "more"], 1, "model.more: is not a field of a certificate (known here: sha256)"),
        (["ids"], [-1], "ids[0]: -1 is not a count"),
        (["ids"], [True], "ids[0]: true is not a count"),
        (["ids"], [0] * 70_000, "ids: is not a list of at most 65,536 entries"),
        (["cap"], "14", "cap: '14' is not a count"),
        (["tokens", 0, "token"], 1.5, "tokens[0].token: "),
        (["tokens", 0, "margin"], ["1"], "tokens[0].margin: is not a list of two decimals"),
        (["tokens", 0, "margin", 0], "1e999999999", "tokens[0].margin: '1e999999999' is not a decimal"),
        (["tokens", 0, "margin", 0], "1/3", "tokens[0].margin: '1/3' is not a decimal"),
        (["tokens", 0, "margin", 0], "٣", "is not a decimal"),
        (["tokens", 0, "margin", 0], 0.5, "tokens[0].margin: 0.5 is not a decimal"),
        (["tokens", 0, "top", 1, "low"], 1, "tokens[0].top[1].low: 1 is not a decimal"),
        (["tokens", 0, "layers", 0, "radius"], "1e-99999", "tokens[0].layers[0].radius: "),
        (["tokens", 0, "why"], "x" * 2000, "tokens[0].why: is not a text of at most 500"),
        (["tokens", 0, "layers", 1, "name"], "\x1b[2J", "tokens[0].layers[1].name: is not a text of"),
        (["tokens", 0, "why"], "\ud800", "tokens[0].why: is not a text of"),
        (["versions", "\x07"], "2", "versions: is not a text of"),
        (["versions"], {str(n): "" for n in range(99)}, "versions: has more than 20 entries"),
        (["versions", "NumPy"], 2, "versions.NumPy: is not a text of"),
        (["tables", "sha256"], "ABC", "tables.sha256: is not a SHA-256"),
    ],
)  # fmt: skip
def test_what_is_no_certificate_is_one_line(
    certificate: Certificate, tmp_path: Path, place: list[Any], value: Any, problem: str
) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(_set(document(certificate), place, value)), encoding="utf-8")
    with pytest.raises(CertificateError) as caught:
        Certificate.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"\xff", b'{"format": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"],
)
def test_hostile_files_are_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "c.json").write_bytes(data)
    with pytest.raises(CertificateError) as caught:
        Certificate.load(tmp_path / "c.json")
    assert "\n" not in str(caught.value)


def test_size_is_looked_at_before_the_content(tmp_path: Path) -> None:
    with (tmp_path / "c.json").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    with pytest.raises(CertificateError, match=f"a certificate may have {LARGEST:,}"):
        Certificate.load(tmp_path / "c.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CertificateError, match="is not a file"):
        Certificate.load(tmp_path / "pipe")


def test_lines_of_nested_json() -> None:
    text = '{\n "a": [\n  {"b\\"c": [1, "x"]},\n  []\n ],\n "d": {"e": "}"}}'
    found = lines(text)
    assert found == {
        "": 1, "a": 2, "a[0]": 3, 'a[0].b"c': 3, 'a[0].b"c[0]': 3, 'a[0].b"c[1]': 3, "a[1]": 4, "d": 6, "d.e": 6,
    }  # fmt: skip


def test_an_undecided_claim_says_why(tmp_path: Path) -> None:
    claim = Claim(None, (), None, None, (), (4, 4, 4), (), 3, "undecided: too wide")
    certificate = Certificate("0" * 64, (1,), 4, (claim,), {}, "1" * 64)
    certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == certificate
    assert (certificate.proved, certificate.continuation) == (False, ())
