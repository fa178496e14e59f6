"""ONNX's node tests: what operators mean, folders of files, and files that are not what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

from exactformer import oracle
from exactformer.cli import commands
from exactformer.oracle.onnx_cases import installed, of_folder
from exactformer.oracle.onnx_judge import judged

RANDOM = np.random.default_rng(1)


def write(folder: Path, name: str, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> Path:
    """A node test as onnx stores it."""
    place = folder / name
    data = place / "test_data_set_0"
    data.mkdir(parents=True)

    def infos(arrays: dict[str, Any]) -> list[Any]:
        return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()]

    graph = helper.make_graph(nodes, name, infos(inputs), infos(outputs))
    (place / "model.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, (n, a) in enumerate(arrays.items()):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(a, n).SerializeToString())
    return place


def attention_case(folder: Path, name: str, y: Any = None, **settings: Any) -> Any:
    q, k, v = (RANDOM.normal(size=s).astype(np.float32) for s in ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 8)))
    truth = oracle.attention(q, k, v, causal=bool(settings.get("is_causal")), softcap=settings.get("softcap"))
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], **settings)
    write(folder, name, [node], {"q": q, "k": k, "v": v}, {"y": truth.rounded() if y is None else y})
    return truth


def test_a_folder_is_judged(tmp_path: Path) -> None:
    attention_case(tmp_path, "test_attention_a")
    attention_case(tmp_path, "test_attention_b", is_causal=1, softcap=2.0)
    x = RANDOM.normal(size=(3, 4)).astype(ml_dtypes.bfloat16)
    right = oracle.softmax(x, axis=0).rounded()
    node = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    write(tmp_path, "test_softmax_a", [node], {"x": x}, {"y": right})
    write(tmp_path, "test_softmax_a_expanded", [helper.make_node("Identity", ["x"], ["z"]), node], {"x": x}, {"y": right})
    write(tmp_path, "test_softmax_b_expanded", [helper.make_node("Identity", ["x"], ["z"]), node], {"x": x}, {"y": right})
    write(tmp_path, "test_softmax_wrong", [helper.make_node("Softmax", ["x"], ["y"])], {"x": x}, {"y": right})
    found = {v.case: v for v in judged(of_folder(tmp_path))}
    assert len(found) == 6
    for name in ("test_attention_a", "test_attention_b", "test_softmax_a", "test_softmax_a_expanded"):
        assert not found[name].reason
        assert 0 < found[name].most <= 0.501
    assert found["test_softmax_b_expanded"].reason == "a graph of several nodes, and not the expansion of a case that is there"
    assert found["test_softmax_wrong"].most > 10


def test_the_command(tmp_path: Path) -> None:
    attention_case(tmp_path, "test_attention_a")
    done = CliRunner().invoke(commands, ["oracle", "onnx", str(tmp_path), "--format", "json"], standalone_mode=False)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.output)["onnx"]
    assert row["operator"] == "Attention"
    assert row["most"] <= 0.501
    done = CliRunner().invoke(commands, ["oracle", "onnx", str(tmp_path)])
    assert "every case was judged" in done.output


def test_files_that_are_not_what_they_say(tmp_path: Path) -> None:
    def place(name: str) -> Path:
        return write(tmp_path, name, [helper.make_node("Gelu", ["x"], ["y"])], {"x": np.float32([1])}, {"y": np.float32([1])})

    def message(where: Path) -> str:
        with pytest.raises(oracle.OracleError) as refused:
            of_folder(where)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    assert "is not a folder" in message(tmp_path / "nowhere")
    assert "holds no node tests" in message(tmp_path)
    broken = place("broken")
    (broken / "model.onnx").write_bytes(b"\xff" * 100)
    assert "is not a model of ONNX" in message(broken)
    missing = place("missing")
    (missing / "test_data_set_0" / "input_0.pb").unlink()
    assert "there is no such file" in message(missing)
    torn = place("torn")
    (torn / "test_data_set_0" / "input_0.pb").write_bytes(b"\x08\xff")
    assert "is not a tensor of ONNX" in message(torn)
    for name, tensor, expected in (
        ("huge", TensorProto(dims=[2**40], data_type=1), "has the shape"),
        ("short", TensorProto(dims=[4], data_type=1, raw_data=b"abc"), "cannot be read"),
        ("outside", TensorProto(dims=[1], data_type=1, data_location=TensorProto.EXTERNAL), "keeps its numbers in another file"),
    ):
        where = place(name)
        (where / "test_data_set_0" / "input_0.pb").write_bytes(tensor.SerializeToString())
        assert expected in message(where)
    large = place("large")
    with (large / "model.onnx").open("wb") as file:
        file.truncate(2**30)
    assert "a model may have" in message(large)


def test_an_operator_that_cannot_be_expressed_is_listed(tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    write(tmp_path, "integers", [node], {n: np.array([[1]]) for n in "ab"}, {"y": np.array([[1]])})
    (found,) = judged(of_folder(tmp_path))
    assert found.reason.startswith("a: 'int64' is not one of float16")


@pytest.mark.large
def test_every_case_that_is_installed_is_judged() -> None:
    found = list(judged(installed()))
    assert onnx.__version__
    assert not [v for v in found if v.reason]
    assert sum(v.operator == "Attention" and v.output == "Y" for v in found) >= 150
    assert max(v.most for v in found) < 1000
