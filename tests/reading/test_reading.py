"""Files of strangers: what is no regular file, too long, or no plain JSON or TOML is refused in one line that names it."""

from __future__ import annotations

import os
import pickle
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import exactformer
from exactformer.messages import Refused
from exactformer.model import ConfigError
from exactformer.reading import Decimal, Table, json_table, open_regular, read_regular, toml_table


def refused(call: object, *args: object, **options: object) -> str:
    with pytest.raises(Refused) as caught:
        call(*args, **options)  # type: ignore[operator]
    line = str(caught.value)
    assert line.isprintable()
    return line


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name, problem in (("pipe", "is not a file"), (".", "is not a file"), ("none", "there is no such file")):
        assert refused(open_regular, tmp_path / name, Refused) == f"{tmp_path / name}: {problem}"
    assert refused(open_regular, Path("a\0b"), Refused) == "a\\x00b: cannot be read"
    assert open_regular(tmp_path / "link", Refused).read() == b"x"
    assert open_regular(tmp_path / "file", Refused, own=True).read() == b"x"
    assert refused(open_regular, tmp_path / "link", Refused, own=True).startswith(f"{tmp_path / 'link'}: ")


def test_a_size_is_looked_at_first(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5, "a list", Refused) == b"12345"
    assert refused(read_regular, tmp_path / "file", 4, "a list", Refused).endswith("file: has 5 bytes; a list may have 4")
    os.truncate(tmp_path / "file", 1 << 40)
    assert refused(read_regular, tmp_path / "file", 4, "a list", Refused).endswith("has 1,099,511,627,776 bytes; a list may have 4")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not JSON: Expecting value (line 1, column 1)"),
        (b"[]", "is not a table"),
        (b'{"a":\n1,}', "is not JSON: "),
        (b'{"a": {"b": 1, "c": 2, "b": 3}}', "has 'b' twice"),
        (b'{"a": NaN}', "NaN is not a number to compute with"),
        (b'{"a": -Infinity}', "-Infinity is not a number to compute with"),
        (b'{"a": ' + b"9" * 5000 + b"}", "has an integer of more than 4,300 digits"),
        (b'{"a":' * 100_000, "is nested too deeply"),
        (b'{"a": "\xff"}', "is not UTF-8 text (byte 7)"),
        (b'{"\\u001b": 1, "\\u001b": 1}', "has '\\x1b' twice"),
    ],
)
def test_json_that_is_refused(data: bytes, problem: str) -> None:
    assert refused(json_table, data, Refused, "x.json", "header").startswith(f"x.json: header: {problem}")


def test_decimals_stay_as_they_are_written() -> None:
    for document in (json_table(b'{"a": 1.50e-3}', Refused, "x"), toml_table("a = 1.50e-3", "x", Refused)):
        assert document == {"a": "1.50e-3"}
        assert type(document["a"]) is Decimal
        assert str(Table(document, "x").number("a")) == "3/2000"
        assert refused(Table(document, "x").text, "a") == "x: a is 1.50e-3, not a text"


def test_fields_are_of_their_kinds_and_none_is_left() -> None:
    raw = {"n": 3, "t": "x", "f": True, "list": [{"n": 1.5}], "null": None}
    table = Table(raw, "x.json")
    assert (table.whole("n"), table.text("t"), table.flag("f", False), table.one_of("t", ("x", "y"))) == (3, "x", True, "x")
    assert (table.whole("m", 7), table.text("u", "z"), table.tables("none", [])) == (7, "z", [])
    for call, field, problem in (
        (table.whole, "f", "f is true, not a whole number"),
        (table.whole, "null", "null is null, not a whole number"),
        (table.flag, "n", "n is 3, not true or false"),
        (table.text, "list", "list is a list of 1, not a text"),
        (table.table, "n", "n is 3, not a table"),
        (table.text, "lists", "lists is missing (list is there: did you mean that?)"),
    ):
        assert refused(call, field, *([False] if call == table.flag else [])) == f"x.json: {problem}"
    (inner,) = table.tables("list")
    assert refused(inner.whole, "n") == "x.json: list.0.n is 1.5, not a whole number"
    assert refused(Table({"n": 1 << 70}, "x").whole, "n").endswith("n is 1180591620717411303424, which is too large")
    table.finish()
    assert refused(Table({"siez": 1}, "x", "a.").only, {"size"}) == "x: a.siez is not a field of this file (did you mean size?)"


def test_all_refused_input_is_of_one_kind() -> None:
    """So that the command line, the page and users' programs catch one class. What is left is caught where it is raised."""
    for module in pkgutil.walk_packages(exactformer.__path__, "exactformer."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    others = {kind.__name__ for kind in ValueError.__subclasses__() if kind.__module__.startswith("exactformer")}
    assert others == {"Refused", "OperandError", "DirectiveError", "SpotError", "_Problem"}
    assert issubclass(exactformer.Refused, ValueError)


def test_errors_come_whole_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(ConfigError("n_head", "is 0")))  # noqa: S301 - our own
    assert (error.field, error.problem, str(error)) == ("n_head", "is 0", "n_head: is 0")
