"""ONNX's node tests: one operator each, with inputs and expected outputs; those that come with the package, or a folder of files.

A case that is called `…_expanded` has the inputs and outputs of another one and the operator's function body in place of it.
What is true of the outputs is the same; so it is judged by the operator of the case that it was expanded from.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from exactformer.messages import quoted
from exactformer.oracle.formats import OracleError
from exactformer.reading import read_regular

_MOST = 64 * 2**20  # bytes of a model or of a tensor
_EXPANDED = re.compile(r"_expanded(_ver\d+)?$")


@dataclass(frozen=True, eq=False)
class Case:
    """`operator` is "" where the graph has several nodes."""

    name: str
    operator: str
    settings: dict[str, Any]
    inputs: tuple[Any, ...]  # by the operator's places; None: left out
    outputs: tuple[tuple[str, Any], ...]
    names: tuple[str, ...]  # of the inputs of the graph, with their values in `given`
    given: tuple[Any, ...]


def installed() -> list[Case]:
    """The cases that the package onnx makes."""
    onnx_package()
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other operators: overflow that is meant
        found = collect_testcases()
    return [_case(c.name, c.model, list(c.data_sets[0][0]), list(c.data_sets[0][1])) for c in found if c.data_sets]


def of_folder(folder: Path) -> list[Case]:
    """Folders with model.onnx and test_data_set_0, as onnx stores its node tests."""
    onnx_package()
    if not folder.is_dir():
        raise OracleError(folder, "is not a folder")
    places = [folder] if (folder / "model.onnx").exists() else sorted(p for p in folder.iterdir() if (p / "model.onnx").is_file())
    if not places:
        raise OracleError(folder, "holds no node tests: folders with model.onnx and test_data_set_0")
    return [_read(place) for place in places]


def onnx_package() -> Any:
    try:
        import onnx
    except ImportError:
        raise OracleError("onnx", "is not installed (pip install 'exactformer[onnx]')") from None
    return onnx


def _read(place: Path) -> Case:
    from google.protobuf.message import DecodeError

    onnx = onnx_package()
    try:
        model = onnx.ModelProto.FromString(read_regular(place / "model.onnx", _MOST, "a model", OracleError))
    except DecodeError:
        raise OracleError(place / "model.onnx", "is not a model of ONNX") from None
    tensors: list[list[Any]] = []
    for kind, count in (("input", len(model.graph.input)), ("output", len(model.graph.output))):
        if count > 64:
            raise OracleError(place / "model.onnx", f"has {count:,} {kind}s")
        tensors.append([_tensor(place / "test_data_set_0" / f"{kind}_{i}.pb") for i in range(count)])
    return _case(place.name, model, *tensors)


def _tensor(path: Path) -> Any:
    """A tensor whose sizes agree before memory is taken."""
    from google.protobuf.message import DecodeError

    onnx = onnx_package()
    try:
        tensor = onnx.TensorProto.FromString(read_regular(path, _MOST, "a tensor", OracleError))
    except DecodeError:
        raise OracleError(path, "is not a tensor of ONNX") from None
    if tensor.data_location != onnx.TensorProto.DEFAULT or tensor.external_data:
        raise OracleError(path, "keeps its numbers in another file")
    if any(n < 0 for n in tensor.dims) or math.prod(tensor.dims) > _MOST:
        raise OracleError(path, f"has the shape {quoted(list(tensor.dims))}")
    try:
        return onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # whatever the package says of broken tensors
        raise OracleError(path, f"cannot be read: {quoted(str(error))}") from None


def _case(name: str, model: Any, given: list[Any], outputs: list[Any]) -> Case:
    from onnx.helper import get_attribute_value

    graph = model.graph
    names = tuple(i.name for i in graph.input)
    values = dict(zip(names, given, strict=False))
    node = graph.node[0] if len(graph.node) == 1 else None
    if node is None or len(values) != len(names) or len(outputs) != len(graph.output):
        return Case(name, "", {}, (), tuple(zip((o.name for o in graph.output), outputs, strict=False)), names, tuple(given))
    places = tuple(values.get(i) for i in node.input)
    by_name = dict(zip((o.name for o in graph.output), outputs, strict=True))
    wanted = tuple((o, by_name.get(o)) for o in node.output)
    settings = {a.name: get_attribute_value(a) for a in node.attribute}
    return Case(name, node.op_type, settings, places, wanted, names, tuple(given))


def originals(cases: list[Case]) -> Iterator[tuple[Case, str]]:
    """Every case with its operator, expanded ones with that of the case that they came from; or why there is none."""
    by_name = {case.name: case for case in cases}
    for case in cases:
        if case.operator:
            yield case, ""
            continue
        before = by_name.get(_EXPANDED.sub("", case.name))
        if before is None or before is case or not before.operator:
            yield case, "a graph of several nodes, and not the expansion of a case that is there"
        elif not _same(case, before):
            yield case, f"its inputs are not those of {before.name}"
        else:
            expected = dict(zip(_present(before), (v for _, v in case.outputs), strict=True))
            outputs = tuple((name, expected.get(name)) for name, _ in before.outputs)
            yield replace(case, operator=before.operator, settings=before.settings, inputs=before.inputs, outputs=outputs), ""


def _present(case: Case) -> list[str]:
    return [name for name, value in case.outputs if value is not None]


def _same(a: Case, b: Case) -> bool:
    if a.names != b.names or len(a.given) != len(b.given) or len(a.outputs) != len(_present(b)):
        return False
    arrays = all(isinstance(x, np.ndarray) for x in (*a.given, *b.given))
    return arrays and all(
        (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()) for x, y in zip(a.given, b.given, strict=True)
    )
