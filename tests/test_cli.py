"""The command line as a user meets it: output, exit status, one line for what is wrong, nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from children import PATIENCE, unread
from cli_runs import quiet
from exactformer.numbers import sin

EXACTFORMER = [sys.executable, "-c", "from exactformer.cli import main; main()"]


def run(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A command, and what it says: without signs of life, which it gives on a slow machine."""
    done = subprocess.run([*EXACTFORMER, *args], capture_output=True, text=True, timeout=PATIENCE, check=False, **options)  # type: ignore[call-overload]
    done.stderr = quiet(done.stderr)
    return done  # type: ignore[no-any-return]


def test_trace_alone_traces_the_capstone() -> None:
    done = run("trace")
    assert done.returncode == 0
    assert done.stdout.startswith("The whole transformer, by hand")
    assert done.stdout.rstrip().endswith("a b  →  a a")
    assert done.stderr == ""


def test_a_proved_undefined_is_an_answer() -> None:
    done = run("trace", "--tokens", "c b")
    assert done.returncode == 0
    assert "the variance is 0" in done.stdout


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "json", "html"])
def test_formats_to_the_screen_and_to_a_file(form: str, tmp_path: Path) -> None:
    target = tmp_path / "pass.out"
    shown = run("trace", "capstone", "--format", form, "--digits", "20")
    written = run("trace", "capstone", "--format", form, "--digits", "20", "-o", str(target))
    assert (shown.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert target.read_text(encoding="utf-8") == shown.stdout
    assert os.listdir(tmp_path) == ["pass.out"]
    if form == "json":
        json.loads(shown.stdout)


def test_float_arithmetics() -> None:
    assert "in float64, not proved" in run("trace", "--arithmetic", "float64").stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["trace", "--tokens", "a b c"], "position 2: the token 'c' has no position"),
        (["trace", "--tokens", "a d"], "the token 'd' is not in the vocabulary (a, b, c)"),
        (["trace", "--tokens", ""], "the input is empty"),
        (["trace", "no-such-file.toml"], "no-such-file.toml: there is no such file"),
        (["trace", "--digits", "0"], "--digits"),
        (["trace", "--digits", "many"], "--digits"),
        (["trace", "--arithmetic", "int8"], "int8"),
        (["trace", "--format", "pdf"], "pdf"),
        (["trace", "-o", "no/such/folder/x"], "no/such/folder/x: there is no such folder"),
        (["trace", "--no-such-option"], "--no-such-option"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(args: list[str], problem: str) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.startswith("exactformer: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_failed_run_leaves_an_older_file_alone(tmp_path: Path) -> None:
    target = tmp_path / "pass.txt"
    target.write_text("old")
    assert run("trace", "--tokens", "a d", "-o", str(target)).returncode == 2
    assert target.read_text() == "old"


def test_examples_lists_what_is_built_in() -> None:
    done = run("examples")
    assert done.returncode == 0
    assert "capstone" in done.stdout


def test_help_and_import_load_nothing_heavy() -> None:
    code = "import sys, exactformer, exactformer.cli; print([m for m in ('numpy', 'flint') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert run("--help").returncode == 0
    assert run().returncode == 0


def test_a_reader_that_goes_away_is_no_error() -> None:
    with unread() as pipe:
        done = subprocess.run([*EXACTFORMER, "trace"], stdout=pipe, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert quiet(done.stderr.decode()) == ""


def test_undecided_is_status_3(tmp_path: Path) -> None:
    """ReLU of sin 1 minus its first 700 decimals: the sign lies beyond every budget, and the trace is shown all the same."""
    sheet = tmp_path / "close.toml"
    sheet.write_text(
        f"""
title = "A difference beyond every budget"
[model]
vocabulary = ["a"]
dim = 2
blocks = 1
norm = "none"
mask = "causal"
scale = "none"
positions = "sinusoidal"
mlp = 1
activation = "relu"
unembedding = "tied"
[weights]
W_E = [[0, 0]]
[[weights.blocks]]
attn = {{ W_Q = "0 identity", W_K = "0 identity", W_V = "0 identity" }}
mlp = {{ W_in = [[1], [0]], W_out = [[1, 1]], b_in = [-{sin(1).digits(700)}] }}
[input]
tokens = "a a"
"""
    )
    done = run("trace", str(sheet))
    assert done.returncode == 3
    assert "undecided: the sign of" in done.stdout
    assert done.stderr.startswith("exactformer: position 1: undecided: the sign of")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "json", "latex", "markdown"])
@pytest.mark.parametrize("args", [["length4"], ["capstone", "--target", "a a"]])
def test_gradients_in_every_format(args: list[str], form: str) -> None:
    done = run("grad", *args, "--format", form, "--digits", "6")
    assert done.returncode == 0, done.stderr
    for weight in ("W_E", "blocks.0.attn.W_Q"):
        assert f"grad.{weight}" in done.stdout.replace("\\_", "_")
    if form == "json":
        assert json.loads(done.stdout)["format"] == "exactformer gradient 1"


def test_a_step_of_descent_is_proved_to_help() -> None:
    done = run("grad", "capstone", "--target", "a a", "--step", "1/10")
    assert "the loss falls, proved" in done.stdout


def test_schedules_and_their_negative_control() -> None:
    assert run("prove", "length4", "--schedule", "flash", "--tile", "3").returncode == 0
    assert run("prove", "capstone", "--schedule", "kv-cache").returncode == 0
    refuted = run("prove", "length4", "--schedule", "flash", "--forget-rescaling")
    assert refuted.returncode == 1
    assert "refuted" in refuted.stdout


def test_a_mistake_side_by_side() -> None:
    done = run("trace", "length4", "--break", "no-scale")
    assert done.returncode == 0
    assert "the first step that differs is blocks.0.attn.scores" in done.stdout
    assert "grad.blocks.0.attn.q" in done.stdout


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize(
    ("args", "first"),
    [(["length4", "--break", "no-scale"], "scores"), (["capstone", "--break", "no-norm", "--target", "a a"], "mlp.pre")],
)
def test_a_mistake_in_every_format(form: str, args: list[str], first: str, tmp_path: Path) -> None:
    shown = run("trace", *args, "--format", form, "--digits", "6")
    target = tmp_path / "broken.out"
    assert (shown.returncode, shown.stderr) == (0, "")
    assert first in shown.stdout
    assert run("trace", *args, "--format", form, "--digits", "6", "-o", str(target)).stdout == ""
    assert target.read_text(encoding="utf-8") == shown.stdout
    if form == "json":
        document = json.loads(shown.stdout)
        assert document["format"] == "exactformer comparison 1"
        assert document["pass"]["first"].endswith(first)
        assert document["gradient"]["first"].startswith("grad.")


def test_the_budget_of_the_lesson() -> None:
    assert "268,435,456" in run("budget", "length4", "--lengths", "2048", "--head-dim", "64").stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["grad", "capstone"], "give one for each position"),
        (["grad", "capstone", "--target", "a z"], "'z' is not in the vocabulary"),
        (["grad", "length4", "--target", "I I I I"], "the model has no logits"),
        (["grad", "length4", "--upstream", "1 2; 3"], "--upstream: its rows differ in length"),
        (["grad", "length4", "--upstream", "1 2"], "has the shape 1 × 2, not 4 × 4"),
        (["grad", "capstone", "--target", "a a", "--step", "fast"], "--step: 'fast' is not a number"),
        (["trace", "capstone", "--break", "no-scale"], "no-scale does not apply"),
        (["budget", "length4", "--lengths", "four"], "--lengths"),
        (["prove", "length4", "--schedule", "magic"], "magic"),
        (["grad", "capstone", "--target", "a a", "--upstream", "0 0; 1 1"], "--upstream: the model has logits"),
        (["grad", "capstone", "--upstream", "0 0; 1 1"], "--upstream: the model has logits"),
        (["grad", "length4", "--step", "1/10"], "--step: the model has no loss"),
        (["grad", "capstone", "--target", "a a", "--step", "1/10", "--format", "json"], "--step: goes with --format text"),
        (["grad", "length4", "--arithmetic", "float64", "--digits", "12"], "--digits: numbers of float64"),
        (["trace", "capstone", "--target", "a a"], "--target: goes with --break"),
        (["trace", "capstone", "--target", ""], "--target: goes with --break"),
        (["trace", "length4", "--break", "no-scale", "--target", "I I I I"], "the model has no logits"),
        (["trace", "length4", "--break", "no-scale", "--format", "latex"], "--format latex: a comparison is written as text"),
        (["trace", "length4", "--break", "no-scale", "--format", "html"], "--format html: a comparison is written as text"),
        (["trace", "length4", "--break", "no-scale", "--stop-at-named"], "--stop-at-named: does not go with --break"),
        (["trace", "--arithmetic", "float32", "--stop-at-named"], "--stop-at-named: no number of float32 is named"),
        (["trace", "--arithmetic", "float32", "--digits", "20"], "--digits: numbers of float32"),
        (["prove", "length4", "--schedule", "kv-cache", "--tile", "2"], "--tile: goes with --schedule flash"),
        (["prove", "length4", "--schedule", "kv-cache", "--forget-rescaling"], "--forget-rescaling: goes with --schedule flash"),
    ],
)
def test_bad_usage_of_the_lesson(args: list[str], problem: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["trace", "grad"])
def test_a_worksheet_is_not_overwritten(command: str, tmp_path: Path) -> None:
    sheet = tmp_path / "mine.toml"
    sheet.write_text(run("examples", "length4").stdout, encoding="utf-8")
    done = run(command, str(sheet), "--format", "text", "-o", str(sheet))
    assert (done.returncode, done.stderr) == (2, f"exactformer: {sheet}: is the worksheet itself; write to another file\n")
    assert sheet.read_text(encoding="utf-8") == run("examples", "length4").stdout


def test_gradients_are_broken_at_the_same_width_as_a_trace() -> None:
    lines = run("grad", "capstone", "--target", "a a", "--digits", "100").stdout.splitlines()
    assert max(len(line) for line in lines if ", " in line.strip()) <= 120
    assert any(line.endswith(",") for line in lines)


CLAIM = '[[claims]]\noperation = "exp"\nof = [1]\nvalues = ["{}"]\n'


def checked(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A right file, one that is no worksheet, one that is not there, and a wrong one."""
    for name, text in (("right", CLAIM.format("2.72")), ("broken", "[["), ("wrong", CLAIM.format("2.8"))):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return run("check", "right.toml", "broken.toml", "absent.toml", "wrong.toml", *args, cwd=folder)


def test_check_says_what_is_bad_input_on_standard_error(tmp_path: Path) -> None:
    done = checked(tmp_path)
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "right.toml: 1 number: 1 right",
        "wrong.toml:4: exp[0]: 2.8 is last digit off: 2.7 (2.718); a new error",
        "wrong.toml: 1 number: 1 last digit off; 1 new error; first wrong: exp[0], line 4",
        "4 files, 2 numbers: 1 fine, 3 not",
    ]
    broken, absent = done.stderr.splitlines()
    assert broken.startswith("exactformer: broken.toml:1: is not TOML")
    assert absent.startswith("exactformer: absent.toml: there is no such file")


def test_check_as_json_says_all_in_its_document(tmp_path: Path) -> None:
    done = checked(tmp_path, "--format", "json")
    assert (done.returncode, done.stderr) == (2, "")
    assert [file["status"] for file in json.loads(done.stdout)["files"]] == [0, 2, 2, 1]


def test_check_fixes_good_files_beside_bad_ones(tmp_path: Path) -> None:
    assert checked(tmp_path, "--fix").returncode == 2
    assert (tmp_path / "wrong.toml").read_text(encoding="utf-8") == CLAIM.format("2.7")
    assert (tmp_path / "broken.toml").read_text(encoding="utf-8") == "[["
