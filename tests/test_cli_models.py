"""Model folders on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gpt2_files import small_config, small_tensors, write_folder

from test_cli import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "model")


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "float64", "float32"])
def test_a_folder_is_traced_in_every_arithmetic(folder: Path, arithmetic: str) -> None:
    done = run("trace", str(folder), "--tokens", "0 2 1", "--arithmetic", arithmetic)
    assert (done.returncode, done.stderr) == (0, "")
    reference = run("trace", str(folder), "--tokens", "0 2 1", "--arithmetic", "float64", "--format", "json")
    tokens = [out["token"] for out in json.loads(reference.stdout)["output"]]
    assert done.stdout.rstrip().endswith(" ".join(tokens))
    assert ("not proved" in done.stdout) == arithmetic.startswith("float")


def test_a_prompt_is_cut_by_gpt2s_tokenizer_where_the_vocabulary_is_its_own(tmp_path: Path) -> None:
    config, tensors = small_config(vocab_size=50257, n_layer=1), small_tensors(vocabulary=50257, layers=1)
    folder = write_folder(tmp_path / "wide", config, tensors)
    done = run("trace", str(folder), "--prompt", "hello my name is", "--arithmetic", "float64")
    assert done.returncode == 0, done.stderr
    assert "tokenization [31373, 616, 1438, 318]" in done.stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["trace", "{}"], "has no input of its own"),
        (["trace", "{}", "--tokens", "0 7"], "the token '7' is not in the vocabulary"),
        (["trace", "{}", "--tokens", "0 0 0 0 0 0"], "has no position"),
        (["trace", "{}", "--tokens", "0", "--prompt", "0"], "--tokens: does not go with --prompt"),
        (["prove", "{}", "--length", "2"], "give one: --rule sorted"),
        (["prove", "{}", "--length", "3", "--rule", "sorted", "--arithmetic", "float64"], "'float64' is not one of"),
        (["prove", "{}", "--length", "4", "--rule", "sorted"], "7 positions are needed, the model has 5"),
        (["trace", "{}/model.safetensors.gone"], "there is no such file"),
        (["trace", "{}/config.json"], "config.json: is JSON, not a worksheet; for a model, give its folder: "),
        (["generate", "{}", "--tokens", "0", "--arithmetic", "certified"], "exactformer certify proves tokens with it"),
    ],
)
def test_bad_input_is_one_line(folder: Path, args: list[str], problem: str) -> None:
    done = run(*(arg.format(folder) for arg in args))
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["trace"], ["trace", "--arithmetic", "float64"], ["generate", "--arithmetic", "float64"]])
def test_a_weight_that_is_no_number_is_named_before_any_work(tmp_path: Path, command: list[str]) -> None:
    tensors = small_tensors()
    tensors["h.1.ln_1.weight"][2] = float("nan")
    folder = write_folder(tmp_path / "nan", tensors=tensors)
    done = run(*command, str(folder), "--tokens", "0 1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "blocks.1.ln1.w: has an entry that is infinite or not a number" in done.stderr


def test_a_model_that_is_too_large_for_exact_numbers_is_refused_at_once(tmp_path: Path) -> None:
    config = small_config(n_layer=1, n_embd=512, n_inner=2048, vocab_size=3000)
    tensors = small_tensors(layers=1, dim=512, inner=2048, vocabulary=3000)
    folder = write_folder(tmp_path / "large", config, tensors)
    done = run("trace", str(folder), "--tokens", "0 1")
    assert done.returncode == 2
    assert "exact arithmetic takes up to 4,000,000" in done.stderr


def test_a_random_model_does_not_sort(folder: Path) -> None:
    done = run("prove", str(folder), "--length", "2", "--rule", "sorted")
    assert done.returncode == 1
    assert "REFUTED" in done.stdout
    assert "the last position looks at:" in done.stdout
    assert "--arithmetic arb --tokens" in done.stdout.splitlines()[-1]


# -- the arithmetic where none is asked for
@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """48 dimensions: an exact pass over 4 tokens takes some 113,000 multiplications."""
    config, tensors = small_config(n_embd=48, n_layer=1), small_tensors(dim=48, inner=192, layers=1)
    return write_folder(tmp_path / "wide", config, tensors)


def said(stderr: str) -> str:
    (line,) = [line for line in stderr.splitlines() if line.startswith("exactformer: arithmetic ")]
    return line


@pytest.mark.parametrize("options", [[], ["--seed", "3", "--top-p", "0.9"]])
def test_a_long_continuation_is_computed_in_balls_and_says_so(wide: Path, options: list[str]) -> None:
    command = ["generate", str(wide), "--tokens", "0 1", *options]
    short = run(*command, "--max", "2")  # 3 positions
    assert "exactformer: arithmetic" not in short.stderr
    assert "arithmetic exact" in short.stdout
    long = run(*command, "--max", "3")
    assert "arithmetic arb" in long.stdout
    assert said(long.stderr).endswith("and exact is the default up to 100,000; choose another with --arithmetic")
    chosen = run(*command, "--max", "3", "--arithmetic", "exact")
    assert "exactformer: arithmetic" not in chosen.stderr
    tokens = [[line.split()[0] for line in done.stdout.splitlines() if " proved " in line] for done in (long, chosen)]
    assert tokens[0] == tokens[1]
    assert len(tokens[0]) == 3


@pytest.mark.large
def test_proofs_follow_the_size_of_the_model(folder: Path, wide: Path) -> None:
    reports = {}
    for path, arithmetic in ((folder, "arb"), (wide, "certified")):
        done = run("prove", str(path), "--length", "2", "--rule", "sorted", "--format", "json")
        assert said(done.stderr).startswith(f"exactformer: arithmetic {arithmetic}: an exact pass over 3 tokens takes ")
        reports[path] = json.loads(done.stdout)
        assert reports[path]["arithmetic"] == arithmetic
    for path, others in ((folder, ("certified", "exact")), (wide, ("arb",))):
        report = reports[path]
        for arithmetic in others:
            done = run("prove", str(path), "--length", "2", "--rule", "sorted", "--format", "json", "--arithmetic", arithmetic)
            assert "exactformer: arithmetic" not in done.stderr
            asked = json.loads(done.stdout)
            assert asked["verdict"] == report["verdict"]
            assert asked["counts"] == report["counts"]


def test_a_circuit_is_proved_in_exact_numbers(tmp_path: Path) -> None:
    """Its logits may tie, which balls never prove."""
    done = run("prove", "induction", "--length", "2", "--journal", str(tmp_path / "own"))  # others may prove the same now
    assert "exactformer: arithmetic" not in done.stderr
    assert "arithmetic exact" in done.stdout


def test_options_of_exact_numbers_keep_them(wide: Path) -> None:
    done = run("generate", str(wide), "--tokens", "0 1", "--max", "3", "--digits", "5")
    assert done.returncode == 0
    assert "arithmetic exact" in done.stdout
