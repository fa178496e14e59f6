"""certify --expect: logits that the author's own run saved tell whether a folder holds the network that was meant."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certify_tools import run, write_model

from exactformer.arithmetics import arithmetic
from exactformer.certificates.expected import expect, read_logits
from exactformer.checkpoints import open_checkpoint
from exactformer.model import InputError, forward

IDS = [3, 4, 5]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "m")


def logits_of(folder: Path, kind: str) -> Any:
    """A run of one's own, in floats: [3, 40]."""
    return forward(open_checkpoint(folder).model, IDS, arithmetic(kind), lambda step: step.values)


def certified(folder: Path, path: Path, *options: str) -> Any:
    return run(str(folder), "--ids", "3,4,5", "--expect", str(path), *options)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("last", [True, False])
def test_logits_of_the_same_network_agree(folder: Path, tmp_path: Path, kind: str, last: bool) -> None:
    logits = logits_of(folder, kind)
    path = tmp_path / "logits.npy"
    np.save(path, logits[-1] if last else logits)
    done = certified(folder, path)
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()[-1]
    assert told.startswith(f"{path}: the logits agree within ")
    assert told.endswith(" is allowed)")
    within = float(told.split(" within ")[1].split(" ")[0])
    assert within < (1e-5 if kind == "float32" else 1e-11)


def test_floats_of_all_kinds_and_orders(folder: Path, tmp_path: Path) -> None:
    logits = logits_of(folder, "float32")
    path = tmp_path / "logits.npy"
    for saved, kind in (
        (logits.astype(np.float16), "float16"),
        (logits.astype(">f4"), "float32"),
        (np.asfortranarray(logits), "float32"),
        (logits.astype(np.float64), "float32"),  # a float64 file of float32 numbers
        (logits_of(folder, "float64"), "float64"),
    ):
        np.save(path, saved)
        found = read_logits(path, 3, 40)
        assert (found.kind, found.values.shape) == (kind, (3, 40))
        assert (found.values == saved).all()
        assert expect(open_checkpoint(folder).model, IDS, found).agrees


def test_a_network_that_applies_another_norm_is_not_the_one_that_was_meant(folder: Path, tmp_path: Path) -> None:
    """The author's code never applies ln_f: its logits are those of a folder whose ln_f does nothing to them."""
    meant = write_model(tmp_path / "meant", tensors={"ln_f.weight": np.full(8, 0.5, dtype=np.float32)})
    path = tmp_path / "logits.npy"
    np.save(path, logits_of(meant, "float32"))
    assert certified(meant, path).returncode == 0
    done = certified(folder, path)
    assert done.returncode == 1
    line = done.stdout.splitlines()[-1]
    assert done.stderr == f"exactformer: {line}\n"
    assert line.startswith(f"{path}: logit #")
    assert ", the proved value is " in line
    assert ": this is not the network that wrote it (up to " in line


@pytest.mark.parametrize(("dtype", "kind"), [("BF16", "bfloat16"), ("F16", "float16")])  # float16 does well here
def test_a_run_in_the_16_bits_of_the_weights_is_told_of_the_tolerance(tmp_path: Path, dtype: str, kind: str) -> None:
    folder = write_model(tmp_path / "m", dtype=dtype)
    path, written = tmp_path / "logits.npy", tmp_path / "out"
    logits = logits_of(folder, kind).astype(np.float32)
    logits[0, 7] += 0.01 * np.abs(logits).max() if kind == "float16" else 0
    np.save(path, logits)
    done = certified(folder, path)
    assert done.returncode == 1
    line = done.stdout.splitlines()[-1]
    assert done.stderr == f"exactformer: {line}\n"
    assert ": too far off for a run in float32 (up to " in line
    assert f" is allowed); the weights are {kind}, and a run in {kind} may be as far off: if yours was, give --tolerance " in line
    tolerance = line.split("--tolerance ")[1].split(",")[0]
    assert certified(folder, path, "--tolerance", tolerance).returncode == 0
    certified(folder, path, "--format", "html", "-o", str(written))
    assert f"give --tolerance {tolerance}, or run it in float32" in written.read_text(encoding="utf-8")
    np.save(path, logits_of(folder, "float32"))  # the same weights, run in float32
    assert certified(folder, path).returncode == 0


def test_what_16_bits_do_not_explain_is_another_network(folder: Path, tmp_path: Path) -> None:
    short = write_model(tmp_path / "m", dtype="BF16")
    path = tmp_path / "logits.npy"
    for model, by, options in ((short, 0.06, ()), (folder, 0.01, ()), (short, 0.01, ("--tolerance", "0.001"))):
        logits = logits_of(model, "float32")
        logits[1, 17] += by * np.abs(logits).max()
        np.save(path, logits)
        done = certified(model, path, *options)
        assert done.returncode == 1
        assert ": this is not the network that wrote it (up to " in done.stderr
        assert "--tolerance" not in done.stderr


def test_the_entry_that_is_furthest_off_is_named(folder: Path, tmp_path: Path) -> None:
    logits = logits_of(folder, "float32")
    logits[1, 17] += 2
    path = tmp_path / "logits.npy"
    np.save(path, logits)
    done = certified(folder, path)
    assert done.returncode == 1
    assert f"logit #17 after position 1 is {logits[1, 17]:.6g}, the proved value is " in done.stderr
    assert certified(folder, path, "--tolerance", "2.001").returncode == 0
    assert certified(folder, path, "--tolerance", "19/10").returncode == 1


def test_the_bounds_are_bounds(folder: Path, tmp_path: Path) -> None:
    """The largest difference from a pass in float64, whose own error is far below, lies between the two."""
    logits = logits_of(folder, "float32")
    np.save(tmp_path / "l.npy", logits)
    found = expect(open_checkpoint(folder).model, IDS, read_logits(tmp_path / "l.npy", 3, 40))
    apart = float(np.abs(logits.astype(np.float64) - logits_of(folder, "float64")).max())
    assert found.low - 1e-12 <= apart <= found.high + 1e-12
    assert 0 < found.low <= found.high < 1.01 * found.low


def test_reports_carry_the_result(folder: Path, tmp_path: Path) -> None:
    path, written = tmp_path / "logits.npy", tmp_path / "r.json"
    np.save(path, logits_of(folder, "float32"))
    assert certified(folder, path, "--format", "json", "-o", str(written)) == (0, "", "")
    report = json.loads(written.read_text(encoding="utf-8"))
    assert report["format"] == "exactformer certified report 1"
    expected = report["expected"]
    assert (expected["agrees"], expected["type"], expected["logits"]) == (True, "float32", 120)
    assert 0 < float(expected["largest_difference"][0]) <= float(expected["largest_difference"][1]) < 1e-5
    assert float(expected["proved"][0]) < expected["saved"] + 1e-5
    (tmp_path / "c.json").write_text(json.dumps(report["certificate"]), encoding="utf-8")
    assert run(str(folder), "--verify", str(tmp_path / "c.json")).returncode == 0
    page = certified(folder, path, "--format", "html").stdout
    assert "the logits agree within" in page


def test_what_is_not_proved_either_way_is_undecided(tmp_path: Path) -> None:
    """A LayerNorm of variance 0 with ε = 0: nothing is proved of any logit."""
    path = tmp_path / "l.npy"
    np.save(path, np.zeros(3, dtype=np.float32))
    done = run("capstone", "--prompt", "c b", "--expect", str(path))
    assert done.returncode == 3
    assert f"{path}: undecided: the pass proves nothing of these logits" in done.stderr


def npy(header: bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    size = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + header + data


def header(descr: str = "'<f4'", shape: str = "(40,)", order: str = "False") -> bytes:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is not a file of numbers as numpy.save writes it"),
        (b"PK\x03\x04" + b"\0" * 100, "is not a file of numbers as numpy.save writes it"),
        (npy(header(), bytes(160), b"\x09\x00"), "is not a file of numbers as numpy.save writes it"),
        (npy(b"(" * 900 + b")" * 90), "is not a file of numbers as numpy.save writes it"),
        (npy(b"{'descr': __import__('os').system('true')}"), "is not a file of numbers as numpy.save writes it"),
        (npy(header()[:-9]), "is not a file of numbers as numpy.save writes it"),
        (npy(header(), bytes(160)).replace(b"Y\x01\x00", b"Y\x02\x00"), "is not a file of numbers as numpy.save writes it"),
        (npy(b" " * 60_000), "is not a file of numbers as numpy.save writes it"),
        (npy(header("'|O'"), bytes(160)), "holds object; logits are float16, float32, float64"),
        (npy(header("'<f16'"), bytes(640)), "; logits are float16, float32, float64"),
        (npy(header("'<i8'"), bytes(320)), "holds int64; logits are float16, float32, float64"),
        (npy(header("'<c8'"), bytes(320)), "holds complex64; logits are float16, float32, float64"),
        (npy(header("[('a', '<f4')]"), bytes(160)), "; logits are float16, float32, float64"),
        (npy(header(shape="(41,)"), bytes(164)), "has the shape 41, where the logits are 40 (after the last token) or 3 × 40"),
        (npy(header(shape="(1000000000000000000000, 40)")), "has the shape 1,000,000,000,000,000,000,000 × 40, where"),
        (npy(header(shape="(-40,)"), bytes(160)), "has the shape -40, where"),
        (npy(header(shape="()"), bytes(4)), "has the shape of a single number, where"),
        (npy(header(), bytes(156)), "has 156 bytes after its header, where 40 numbers of float32 take 160"),
        (npy(header(), bytes(164)), "has 164 bytes after its header, where 40 numbers of float32 take 160"),
        (npy(header(), np.array([0] * 17 + [np.nan] * 23, "<f4").tobytes()), "entry [17] is nan, which is not a logit"),
        (npy(header(shape="(3, 40)"), np.full((3, 40), -np.inf, "<f4").tobytes()), "entry [0, 0] is -inf, which is not a logit"),
    ],
)  # fmt: skip
def test_hostile_files_are_one_line(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_logits(path, 3, 40)
    assert str(error.value).startswith(f"{path}: ")
    assert problem in str(error.value)
    assert len(str(error.value)) < 400


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "x.npy").write_bytes(stream.getvalue())
    with pytest.raises(InputError, match="holds object"):
        read_logits(tmp_path / "x.npy", 3, 40)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, problem in (("pipe", "is not a file"), ("none", "there is no such file"), (".", "is not a file")):
        with pytest.raises(InputError, match=problem):
            read_logits(tmp_path / name, 3, 40)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--tolerance", "-1"], "--tolerance: -1 is negative"),
        (["--tolerance", "x"], "--tolerance: 'x' is not a number"),
        ([], "there is no such file"),
    ],
)
def test_bad_usage_is_one_line(folder: Path, options: list[str], problem: str) -> None:
    done = certified(folder, Path("none.npy"), *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
