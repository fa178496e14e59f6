"""What commands read: an example, a worksheet, a folder, a built-in model, a model of the local cache; and what they do not."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from gpt2_files import safetensors_bytes, small_tensors, write_folder

from cli_runs import refused, run
from exactformer.worksheets import examples
from exactformer.worksheets.models import built_in

COMMIT = "0123456789abcdef0123456789abcdef01234567"
READERS = {
    "trace": ["trace"],
    "grad": ["grad", "--target", "0"],
    "generate": ["generate", "--max", "1"],
    "certify": ["certify"],
    "plan": ["certify", "--plan"],
    "prove": ["prove", "--length", "1"],
    "judge": ["judge", "--outputs", "no.npy"],
    "circuits": ["circuits"],
    "budget": ["budget"],
    "exercise": ["exercise"],
    "serve": ["serve", "--no-open", "--port", "0"],
}
every_command = pytest.mark.parametrize("command", list(READERS.values()), ids=list(READERS))
FILES = {
    "GGUF": (b"GGUF\x03\x00\x00\x00", "is a GGUF file of llama.cpp, which is not read; give the model that it was made of"),
    "zip of PyTorch": (b"PK\x03\x04" + bytes(26) + b"archive/data.pklFB", "is a pickle, which may run code when it is read"),
    "old pickle": (b"\x80\x02}q\x00.", "is a pickle, which may run code when it is read; convert it with: python -c"),
    "ONNX": (b"\x08\x0a\x12\x07pytorch", "is an ONNX file, which is not read; give the model that it was exported from"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "is an HDF5 file of Keras, which is not read; save the model as a folder with config.json"),
    "TensorFlow Lite": (b"\x1c\x00\x00\x00TFL3", "is a TensorFlow Lite file, which is not read"),
    "array": (b"\x93NUMPY\x01\x00", "is an archive or an array, not a model"),
    "other zip": (b"PK\x03\x04" + bytes(26) + b"a.npy", "is an archive or an array, not a model"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid", "is a pointer of Git LFS, not the file itself; fetch it"),
    "safetensors": (safetensors_bytes(small_tensors()), "is a safetensors file; call it model.safetensors, with its config.json"),
}  # fmt: skip


def asked(command: list[str], source: str) -> list[str]:
    return [command[0], source, *command[1:]]


@every_command
@pytest.mark.parametrize("kind", list(FILES))
def test_files_are_known_by_their_first_bytes(command: list[str], kind: str, tmp_path: Path) -> None:
    content, said = FILES[kind]
    path = tmp_path / "a model"
    path.write_bytes(content)
    assert refused(*asked(command, str(path))).startswith(f"{path}: {said}")


@pytest.mark.parametrize("ending", [".gguf", ".onnx", ".pt", ".bin", ".safetensors", ".toml"])
def test_the_ending_does_not_matter(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{ending}"
    path.write_bytes(FILES["GGUF"][0])
    assert refused("certify", str(path), "--ids", "0").startswith(f"{path}: is a GGUF file")


def test_a_folder_says_what_it_has_instead(tmp_path: Path) -> None:
    write_folder(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(FILES["pointer"][0])
    line = f"{weights}: is a pointer of Git LFS, not the file itself; fetch it with: git -C {tmp_path} lfs pull"
    assert refused("certify", str(tmp_path), "--ids", "0") == line
    weights.rename(tmp_path / "q4.gguf").write_bytes(FILES["GGUF"][0])
    assert refused("certify", str(tmp_path), "--ids", "0").startswith(f"{tmp_path / 'q4.gguf'}: is a GGUF file")


@pytest.mark.parametrize("content", [b"", b"\x80", b"PK", b"\x08\x0a", struct.pack("<Q", 2)])
def test_files_that_are_short_are_read_as_worksheets(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(content)
    assert not any(word in refused("trace", str(path)) for word in ("pickle", "ONNX", "GGUF", "archive"))


def cached(cache: Path, name: str, commit: str = COMMIT, ref: str | None = COMMIT) -> Path:
    """A model as the hub's programs keep it: blobs, and a snapshot of links to them."""
    folder = cache / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / commit
    write_folder(folder / "blobs")
    snapshot.mkdir(parents=True)
    for file in (folder / "blobs").iterdir():
        (snapshot / file.name).symlink_to(Path("../../blobs") / file.name)
    if ref is not None:
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text(ref)
    return snapshot


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.mark.parametrize("name", ["small", "org/small"])
def test_a_model_of_the_cache_is_found_by_name(cache: Path, name: str) -> None:
    snapshot = cached(cache, "org/small")
    found, by_path = (run("certify", source, "--ids", "0,1", "--format", "json") for source in (name, str(snapshot)))
    assert (found.returncode, found.stderr) == (0, "")
    one, other = json.loads(found.stdout), json.loads(by_path.stdout)
    assert one["model"] == other["model"]
    assert run("certify", name, "--ids", "0").stdout.startswith(f"{name}: what follows ")
    for command in (["trace", name, "--ids", "0"], ["budget", name], ["certify", name, "--plan"], ["circuits", name]):
        assert run(*command).returncode == 0, command


def test_many_prompts_and_the_checker_find_it_too(cache: Path, tmp_path: Path) -> None:
    cached(cache, "org/small")
    (tmp_path / "prompts.jsonl").write_text('{"ids": [0, 1]}\n')
    done = run("certify", "small", "--prompts", "prompts.jsonl", "--workers", "1")
    assert (done.returncode, "proved" in done.stdout) == (0, True)
    assert run("certify", "small", "--ids", "0", "--format", "json", "-o", "it.json").returncode == 0
    assert run("certify", "small", "--verify", "it.json", "--independent").returncode == 0


@pytest.mark.parametrize(
    ("variable", "inside"),
    [("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub"), ("HOME", ".cache/huggingface/hub")]
)  # fmt: skip
def test_where_the_cache_is(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, inside: str) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv(variable, str(tmp_path / "there"))
    cached(tmp_path / "there" / inside, "small")
    assert run("budget", "small").returncode == 0


def test_which_snapshot(cache: Path) -> None:
    cached(cache, "a/one", "a" * 40, None)  # without a ref, the only one
    assert run("budget", "a/one").returncode == 0
    cached(cache, "a/one", "b" * 40, None)  # which of the two is not known
    assert "hf download a/one" in refused("budget", "a/one")
    cached(cache, "a/one", "c" * 40, "a" * 40)
    assert run("budget", "a/one").returncode == 0


def test_a_ref_leads_nowhere_else(cache: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "elsewhere")
    cached(cache, "a/one", "a" * 40, "../../../elsewhere")
    cached(cache, "a/one", "b" * 40, "../../../elsewhere")
    assert "hf download a/one" in refused("budget", "a/one")


def test_a_name_of_several_models(cache: Path) -> None:
    cached(cache, "a/small")
    cached(cache, "b/small")
    assert refused("budget", "small") == "small: is the name of several models in the cache: give one of 'a/small' and 'b/small'"
    cached(cache, "small")
    assert run("budget", "small").returncode == 0


def test_a_folder_goes_before_the_cache(cache: Path, tmp_path: Path) -> None:
    cached(cache, "small")
    (tmp_path / "small").mkdir()
    assert refused("budget", "small") == "small: has no model.safetensors"


@every_command
def test_a_model_that_is_nowhere(command: list[str], cache: Path) -> None:
    line = refused(*asked(command, "openai-community/gpt2"))
    assert line == (
        "openai-community/gpt2: there is no such file, nor a built-in example of that name, nor a model in the Hugging Face cache; "
        "fetch it with: hf download openai-community/gpt2 (this program uses no network)"
    )


def test_names_that_are_nearly_ours(cache: Path) -> None:
    assert refused("trace", "capstne").endswith("; did you mean capstone?")
    assert refused("trace", "Large").endswith("; did you mean largest?")
    assert refused("trace", "nonsense").endswith("that name (" + ", ".join((*examples(), *built_in())) + ")")
    for name in ("gpt2", "distilgpt2", "TinyLlama-1.1B", "owner/nonsense"):
        assert f"hf download {name} " in refused("trace", name)
    assert "hf download" not in refused("trace", "mine.toml")
    assert "hf download" not in refused("trace", "a/b/c")


def test_a_built_in_model_by_name() -> None:
    for command in (["certify", "stories", "--plan"], ["budget", "stories"]):
        assert run(*command).returncode == 0, command


NAMESAKES = {
    "trace": ["trace", "llama"],
    "certify": ["certify", "llama", "--ids", "1"],
    "plan": ["certify", "llama", "--plan"],
    "judge": ["judge", "llama", "--golden", "gold.npz", "--ids", "1"],
    "exercise": ["exercise", "llama"],
    "prove": ["prove", "sorter", "--length", "1", "--schedule", "flash"],
    "stories": ["budget", "stories"],
    "program": ["budget", "reverse"],
    "plan of a program": ["certify", "reverse", "--plan"],
    "check": ["check", "attention"],
}


@pytest.mark.parametrize("there", ["file", "folder"])
@pytest.mark.parametrize("command", list(NAMESAKES.values()), ids=list(NAMESAKES))
def test_what_is_built_in_goes_before_what_is_here_and_says_so(
    command: list[str], there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    without = run(*command)
    name = command[1]
    (tmp_path / name).mkdir() if there == "folder" else (tmp_path / name).write_text("not a worksheet")
    done = run(*command)
    kind = {"stories": "model", "sorter": "model", "reverse": "program", "attention": "lesson"}.get(name, "example")
    note = f"exactformer: {name} is the built-in {kind}; there is a {there} {name} here, too: ./{name}\n"
    assert (done.returncode, done.stderr) == (without.returncode, note + without.stderr)
    assert done.stdout.splitlines()[:2] == without.stdout.splitlines()[:2]  # plans have measured times further down
    assert "built-in" not in run(command[0], f"./{name}", *command[2:]).stderr.replace(" nor a built-in", "")


def test_what_is_not_built_in_to_a_command_is_no_namesake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a name that nobody gave."""
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "reverse")
    assert run("judge", "reverse", "--golden", "gold.npz", "--ids", "1") == run(
        "judge", "./reverse", "--golden", "gold.npz", "--ids", "1"
    )
    (tmp_path / "capstone").mkdir()
    assert run("trace").stderr == ""
    assert run("check", "capstone").stderr == refused("check", "capstone").join(["exactformer: ", "\n"])


def test_a_folder_of_another_network_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stories").mkdir()
    asked = ["judge", "capstone", "--outputs", "q4.npy", "--quantised", "q4", "--dequantised", "q4=stories"]
    assert run(*asked).stderr.startswith(
        "exactformer: stories is the built-in model; there is a folder stories here, too: ./stories\n"
    )
