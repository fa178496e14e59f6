"""A certificate says which network is meant where a library rounds inside its definition."""

from __future__ import annotations

from dataclasses import replace

from exactformer.certificates.certificate import certify
from exactformer.certificates.file import dump, read
from exactformer.model import Model
from exactformer.numbers import exact
from exactformer.worksheets import load


def llama(**changes: object) -> Model:
    model = load("llama").model
    return Model(replace(model.config, epsilon=exact("1e-6"), **changes), model.weights)


def test_ideal_and_given_angles_are_told_apart(tmp_path) -> None:
    ideal, given = llama(), llama(rotary_frequencies=(exact("1"),))
    certificates = [certify(model, [0, 1]) for model in (ideal, given)]
    assert [certificate.reading for certificate in certificates] == [
        "rotary angles: position times 10000^(-2i/2), over the reals",
        "rotary angles: position times frequencies that are the rationals that floats are",
    ]
    assert certificates[0].model != certificates[1].model
    for certificate, model in zip(certificates, (ideal, given), strict=True):
        path = tmp_path / "c.json"
        path.write_text(dump(certificate), encoding="utf-8")
        again = read(path).certificate
        assert again == certificate
        assert again.verify(model).confirmed


def test_another_reading_is_refused() -> None:
    model = llama()
    certificate = replace(certify(model, [0, 1]), reading="rotary angles: as somebody likes")
    (problem,) = certificate.verify(model).problems
    assert problem.place == "model.reading"


def test_models_of_one_reading_say_nothing() -> None:
    model = load("capstone").model
    assert certify(model, [0, 1]).reading == ""
    assert '"reading"' not in dump(certify(model, [0, 1]))
