"""A model takes arrays of numbers that every arithmetic takes exactly, and nobody can write to them afterwards."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactformer.arithmetics import arithmetic
from exactformer.model import Config, ConfigError, Model, Weights, forward
from exactformer.numbers import array, exact, sqrt

SETTINGS: dict[str, Any] = {"vocabulary": ("a", "b"), "dim": 2, "blocks": 0, "norm": "none", "mask": "causal", "scale": "none"}
TABLE = [[1.0, 0.5], [-2.0, 0.25]]


def model_of(table: Any, **more: Any) -> Model:
    return Model(Config(**SETTINGS), Weights(W_E=table, **more))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_short_and_long_floats_are_taken_as_they_are(dtype: str) -> None:
    assert model_of(np.array(TABLE, dtype=dtype)).weights.W_E.dtype == dtype


@pytest.mark.parametrize("dtype", ["longdouble", "complex64", "complex128", "int8", "int64", "uint64", "bool", ">f4", ">f8", "U3"])
def test_every_other_dtype_is_refused_by_name(dtype: str) -> None:
    with pytest.raises(ConfigError, match=rf"^W_E: has the dtype .*{np.dtype(dtype).name if dtype[0] != '>' else dtype}"):
        model_of(np.array(TABLE).astype(dtype))
    with pytest.raises(ConfigError, match=r"^b_U: has the dtype"):
        model_of(np.array(TABLE), b_U=np.zeros(2).astype(dtype))


@pytest.mark.parametrize(
    "entry", [0.5, 1, True, Decimal("0.1"), Fraction(1, 3), np.float64(0.5), np.longdouble(0.5), "1", None, 1j, [1], object()]
)
def test_objects_that_are_no_numbers_of_ours_are_refused_by_place(entry: Any) -> None:
    table = array([["1", "1/2"], ["-2", "1/4"]])
    table[1, 0] = entry
    with pytest.raises(ConfigError, match=rf"^W_E\[1,0\]: is a {type(entry).__name__}, not an exact number"):
        model_of(table)


def test_exact_numbers_and_closed_forms_are_taken() -> None:
    table = array([["1", "1/3"], ["-2", "1/4"]])
    table[1, 1] = sqrt(2)
    assert model_of(table).weights.W_E[1, 1] is table[1, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_is_not_finite_is_refused_by_place(value: float, dtype: str) -> None:
    table = np.array(TABLE, dtype=dtype)
    table[0, 1] = value
    with pytest.raises(ConfigError, match=r"^W_E\[0,1\]: is infinite or not a number"):
        model_of(table)
    table.flags.writeable = False
    with pytest.raises(ConfigError, match=r"^W_E\[0,1\]: is infinite or not a number"):
        model_of(table)


def test_subclasses_of_arrays_are_refused(tmp_path: Any) -> None:
    np.save(tmp_path / "w.npy", np.array(TABLE))
    for table in (np.ma.masked_less(TABLE, 0), np.array(TABLE).view(np.recarray), np.load(tmp_path / "w.npy", mmap_mode="r")):
        with pytest.raises(ConfigError, match=rf"^W_E: is of the class {type(table).__name__}"):
            model_of(table)
    with pytest.warns(PendingDeprecationWarning), pytest.raises(ConfigError, match=r"^W_E: is of the class matrix"):
        model_of(np.matrix(TABLE))


def test_lists_are_no_arrays() -> None:
    with pytest.raises(ConfigError, match=r"^W_E: is not an array of numbers"):
        model_of(TABLE)


def test_classes_that_could_hold_weights_back_are_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Quiet(Weights):
        def named(self) -> Any:
            return iter(())

    with pytest.raises(ConfigError, match=r"^weights: is of the class Quiet"):
        Model(Config(**SETTINGS), Quiet(W_E=np.array(TABLE)))
    with pytest.raises(ConfigError, match=r"^blocks: is not a tuple"):
        model_of(np.array(TABLE), blocks=[])
    with pytest.raises(ConfigError, match=r"^blocks\.0: is of the class dict"):
        model_of(np.array(TABLE), blocks=({},))
    with pytest.raises(ConfigError, match=r"^ln_final: is of the class tuple"):
        model_of(np.array(TABLE), ln_final=())

    class Sly(Config):
        pass

    with pytest.raises(ConfigError, match=r"^config: is of the class Sly"):
        Model(Sly(**SETTINGS), Weights(W_E=np.array(TABLE)))


def _views(table: Any) -> dict[str, Any]:
    frozen = table.view()
    frozen.flags.writeable = False
    return {
        "itself": table,
        "view": table[:],
        "read-only view of a writable array": frozen,
        "broadcast": np.broadcast_to(table, (2, 2)),
    }


@pytest.mark.parametrize("kind", ["itself", "view", "read-only view of a writable array", "broadcast"])
@pytest.mark.parametrize("numbers", ["floats", "exact"])
def test_what_is_written_to_an_array_afterwards_does_not_reach_the_model(kind: str, numbers: str) -> None:
    table = np.array(TABLE) if numbers == "floats" else array([["1", "1/2"], ["-2", "1/4"]])
    model = model_of(_views(table)[kind])
    before = list(model.weights.W_E.flat)
    table[0, 0] = 7 if numbers == "floats" else exact(7)
    assert table[0, 0] == 7  # users' arrays stay theirs
    assert list(model.weights.W_E.flat) == before
    with pytest.raises(ValueError, match="read-only"):
        model.weights.W_E[0, 0] = table[0, 0]


def test_a_read_only_base_of_a_writable_base_is_seen_through() -> None:
    table = np.array(TABLE)
    middle = table.view()
    middle.flags.writeable = False
    model = model_of(middle[:])
    table[0, 0] = 7
    assert model.weights.W_E[0, 0] == 1


def test_arrays_that_nobody_can_write_to_are_not_copied() -> None:
    for table in (np.frombuffer(np.array(TABLE).tobytes()).reshape(2, 2), model_of(np.array(TABLE)).weights.W_E):
        assert model_of(table).weights.W_E is table
    writable = np.frombuffer(bytearray(np.array(TABLE).tobytes())).reshape(2, 2)
    assert model_of(writable).weights.W_E is not writable


def test_models_from_other_processes_cannot_be_written_to_either() -> None:
    model = model_of(np.array(TABLE))
    for other in (
        pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own
        copy.deepcopy(model),
        copy.copy(model),
        replace(model),
    ):
        assert not other.weights.W_E.flags.writeable
        assert np.array_equal(other.weights.W_E, TABLE)


def test_the_same_model_is_told_from_an_equal_one() -> None:
    model = model_of(np.array(TABLE))
    assert model.same_as(model)
    assert model.same_as(replace(model))
    assert not model.same_as(model_of(np.array(TABLE)))
    assert not model.same_as(replace(model, config=replace(model.config, mask="strict")))
    assert not model.same_as(model_of(model.weights.W_E, b_U=np.zeros(2)))


@pytest.mark.parametrize(
    "ids", [[True], [0.0], [np.bool_(True)], ["0"], [None], [-1], [2], [np.int8(-1)], [np.uint64(2**63)], [], 5, "0"]
)
@pytest.mark.parametrize("name", ["exact", "arb", "certified", "float64"])
def test_what_is_no_id_is_refused(ids: Any, name: str) -> None:
    from exactformer.model import InputError

    with pytest.raises(InputError):
        forward(model_of(np.array(TABLE)), ids, arithmetic(name), lambda n, op, value, *reads, remarks=(): value)


def test_integers_of_numpy_are_ids() -> None:
    assert model_of(np.array(TABLE)).checked(np.array([1, 0], dtype=np.int8)) == [1, 0]


@pytest.mark.parametrize("length", [8.0, True, -1, "8"])
def test_a_length_is_a_whole_number(length: Any) -> None:
    """A length of 8.0 was taken, and certify ended in an AttributeError."""
    with pytest.raises(ConfigError, match=r"^length: .* is not a whole number of at least 0$"):
        Config(**SETTINGS, length=length)
