"""The hash of a model is of its values, however they are held; certificates of earlier formats keep verifying."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_models import STORED, folder, forms, sheet

from exactformer.certificates import Certificate
from exactformer.certificates.file import checksum
from exactformer.certificates.first_hash import _described, first_model_hash
from exactformer.certificates.hash import ALWAYS, USUAL, model_hash, unusual
from exactformer.model import Config, Model, Weights
from exactformer.numbers import array, exact, exp, from_float, sqrt
from exactformer.worksheets import loads

HASHES = {
    "sheet": "748941e3e422c8549a0b2a5da3040dd7edea5cd896721ed6cea07d3d7635fcc0",
    "forms": "a80da8ee6fe90e6bff1e3ab398bbe4101146793cd90f0f84546fb7b8ef17d1ba",
    "folder": "6f5ad0824ce04f6aca270cb64975c4cc9eae4e731a8478790a728bcf160e9c81",
}
MODELS: dict[str, Callable[[Path], Model]] = {"sheet": lambda path: sheet(), "forms": lambda path: forms(), "folder": folder}
VALUES = [[0.5, -0.25], [3.0, 0.0], [-1.5, 2.0**-14]]  # a float16 holds each
CONFIG = Config(vocabulary=("a", "b", "c"), dim=2, blocks=0, norm="none", mask="causal", scale="none")


def table(values: Any) -> Model:
    return Model(CONFIG, Weights(W_E=values))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_a_stored_certificate_is_confirmed_and_written_as_it_was(name: str, version: int, tmp_path: Path) -> None:
    path = STORED / f"{name}-{version}.json"
    certificate = Certificate.load(path)
    assert certificate.version == version
    assert certificate.text() == path.read_text(encoding="utf-8")
    assert certificate.verify(MODELS[name](tmp_path)).problems == ()


@pytest.mark.parametrize("name", MODELS)
def test_the_hash_of_a_model_stays(name: str, tmp_path: Path) -> None:
    """Whatever settings there are besides by now: their defaults change nothing. See `USUAL` where this fails."""
    assert model_hash(MODELS[name](tmp_path)) == HASHES[name]


@pytest.mark.parametrize("version", [2, 3])
def test_a_certificate_of_one_format_is_none_of_the_other(version: int, tmp_path: Path) -> None:
    said = json.loads((STORED / f"sheet-{version}.json").read_text(encoding="utf-8"))
    said["format"] = f"exactformer certificate {5 - version}"
    (tmp_path / "c.json").write_text(json.dumps(said | {"sha256": checksum(said)}), encoding="utf-8")
    found = Certificate.load(tmp_path / "c.json").verify(sheet())
    assert [problem.place for problem in found.problems] == ["model.sha256"]


def test_the_same_values_have_one_hash_however_they_are_held() -> None:
    floats = np.array(VALUES)
    zero = np.where(floats == 0, -0.0, floats)
    held = [
        *(values.astype(kind) for kind in (np.float16, np.float32, np.float64) for values in (floats, zero)),
        np.asfortranarray(floats),
        array([[from_float(x) for x in row] for row in VALUES]),
        array([[exact("1/2"), exact("-0.25")], [exact(3), exact(0)], [exact("-3/2"), exact(Fraction(1, 2**14))]]),
    ]
    assert len({model_hash(table(values)) for values in held}) == 1
    assert len({first_model_hash(table(values)) for values in held}) > 1


def test_a_worksheet_a_folder_and_python_are_one_model(tmp_path: Path) -> None:
    from_file = folder(tmp_path)
    text = """
        [model]
        vocabulary = ["a", "b", "c"]
        dim = 2
        blocks = 0
        norm = "none"
        mask = "causal"
        scale = "none"
        positions = "none"
        unembedding = "tied"
        [weights]
        W_E = [["1/2", "-0.25"], ["3", "0"], ["-3/2", "1/16384"]]
        [input]
        tokens = "a"
        """
    assert model_hash(loads(text, "x").model) == model_hash(table(np.array(VALUES, dtype=np.float32)))

    def rational(part: Any) -> Any:
        if isinstance(part, np.ndarray):
            return array([from_float(float(x)) for x in part.flat]).reshape(part.shape)
        if isinstance(part, tuple):
            return tuple(map(rational, part))
        return (
            None if part is None else replace(part, **{field.name: rational(getattr(part, field.name)) for field in fields(part)})
        )

    assert model_hash(Model(from_file.config, rational(from_file.weights))) == model_hash(from_file)


def test_different_values_have_different_hashes() -> None:
    base = np.array(VALUES)

    def changed(place: tuple[int, int], value: Any) -> Any:
        numbers = array([[from_float(x) for x in row] for row in VALUES])
        numbers[place] = value
        return numbers

    tables = [
        base,
        -base,
        base[::-1],
        base[:, ::-1],
        changed((1, 1), from_float(2.0**-1074)),
        changed((1, 1), from_float(-(2.0**-1074))),
        changed((1, 1), exact(Fraction(1, 2**1075))),  # below every float
        changed((1, 0), exact(2**1024)),  # above them
        changed((1, 0), exact(2**53)),
        changed((1, 0), exact(2**53 + 1)),
        changed((1, 0), exact("1/3")),
        changed((1, 0), from_float(1 / 3)),
        changed((1, 0), sqrt(2)),
        changed((1, 0), sqrt(2) + exact("1e-90")),
        changed((1, 0), exp(sqrt(2))),
        changed((0, 0), sqrt(2)),
    ]
    assert len({model_hash(table(values)) for values in tables}) == len(tables)


def test_closed_forms_count_whole_and_by_how_they_are_built() -> None:
    """Version 1 took 60 digits of a long one."""

    def tower(last: Any) -> Any:
        x = last
        for _ in range(60):
            x = exp(-x) + sqrt(x + 2)
        return x

    def model(x: Any, y: Any) -> Model:
        return table(array([[x, y], [exact(1), exact(2)], [exact(3), exact(4)]]))

    one = tower(exp(exact(1)))
    other = tower(exp(exact(1)) + exact("1e-99"))
    assert model_hash(model(one, one)) == model_hash(model(one, tower(exp(exact(1)))))  # computed once, or twice
    assert len({model_hash(model(*pair)) for pair in ((one, one), (one, other), (other, one))}) == 3


def test_pieces_are_no_part_of_the_hash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("exactformer.model.weights._PIECE", 7)
    assert model_hash(folder(tmp_path)) == HASHES["folder"]


@dataclass(frozen=True, kw_only=True)
class Later(Config):
    """A configuration of a later version."""

    kind: str = "plain"
    groups: int = 0  # as many as heads

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.groups:
            object.__setattr__(self, "groups", self.heads)


@pytest.mark.parametrize("described", [unusual, _described])
def test_a_setting_that_comes_later_counts_where_it_is_not_the_default(described: Callable[[Config], Any]) -> None:
    said = {field.name: getattr(CONFIG, field.name) for field in fields(CONFIG)}
    assert described(Later(**said)) == described(Later(**said, groups=1)) == described(CONFIG)
    changes = [described(Later(**said, kind="other")), described(Later(**said, groups=2)), described(CONFIG)]
    assert len(set(map(str, changes))) == 3


def test_every_setting_has_a_value_for_models_of_before() -> None:
    known = {*USUAL, *ALWAYS, "vocabulary"}
    assert [field.name for field in fields(Config) if field.name not in known and field.default is MISSING] == []
    assert known <= {field.name for field in fields(Config)}
