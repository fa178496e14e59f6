"""exactformer generate as a user meets it: what it prints, how it ends, what it refuses."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from children import PATIENCE, interruptible
from cli_runs import quiet
from exactformer.cli import main
from exactformer.decoding import Chosen
from exactformer.decoding.generating import _Passes
from exactformer.messages import printable

UNIFORM = """
title = "Three tokens, all alike"
[model]
vocabulary = ["a", "b", "c"]
dim = 1
blocks = 0
norm = "none"
mask = "causal"
scale = "none"
positions = "none"
unembedding = "own"
[weights]
W_E = [[1], [1], [1]]
W_U = [["1/3", "1/3", "1/3"]]
[input]
tokens = "a"
"""


class Done(NamedTuple):
    returncode: object
    stdout: str
    stderr: str


def run(*args: str) -> Done:
    """The command in this process: starting another takes far longer than most of what is asked here."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with patch.object(sys, "argv", ["exactformer", "generate", *args]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            status = end.code
    return Done(status, out.getvalue(), quiet(err.getvalue()))


@pytest.fixture
def uniform(tmp_path: Path) -> str:
    path = tmp_path / "uniform.toml"
    path.write_text(UNIFORM, encoding="utf-8")
    return str(path)


def test_greedy_with_a_table() -> None:
    done = run("capstone", "--tokens", "a")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == ["a a", "", "greedy, arithmetic exact"]
    assert lines[5].split() == ["a", "e^2/(1+e+e^2)", "≈", "0.665240955775", "proved", "1", "c", "1"]
    assert lines[-1] == "end: the model has 2 positions"


def test_named_probabilities_of_the_two_most_likely() -> None:
    done = run("capstone", "--tokens", "a", "--top-k", "2", "--seed", "3", "--max", "1", "--digits", "5")
    assert done.stdout.startswith("a\n\ntemperature 1, top-k 2, seed 3, arithmetic exact\n")
    assert "e/(1+e) ≈ 0.73106" in done.stdout


@pytest.mark.parametrize("arithmetic", ["arb", "float64", "float32"])
def test_arithmetics_say_whether_they_prove(arithmetic: str) -> None:
    done = run("induction", "--tokens", "! a b a", "--max", "2", "--arithmetic", arithmetic)
    assert done.returncode == 0
    assert done.stdout.startswith("b a\n")
    assert ("not proved" in done.stdout) == arithmetic.startswith("float")


def test_json_and_files(tmp_path: Path) -> None:
    target = tmp_path / "told.json"
    options = ["induction", "--tokens", "! a b a", "--stop", "a", "--format", "json"]
    shown, written = run(*options), run(*options, "-o", str(target))
    assert (shown.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert target.read_text(encoding="utf-8") == shown.stdout
    told = json.loads(shown.stdout)
    assert told["format"] == "exactformer continuation 1"
    assert told["tokens"] == ["!", "a", "b", "a"]
    assert told["text"] == "b"
    assert told["strategy"] == {"temperature": "0", "top_k": None, "top_p": None}
    assert told["seed"] is None
    assert [(each["position"], each["token"], each["proved"], each["rank"]) for each in told["chosen"]] == [
        (4, "b", True, 1),
        (5, "a", True, 1),
    ]
    assert told["chosen"][0]["probability"]["status"] == "named"
    assert told["end"] == {"kind": "stop", "text": "the stop token a"}


def test_text_in_a_file_is_what_is_shown(tmp_path: Path) -> None:
    target = tmp_path / "told.txt"
    shown, written = run("capstone"), run("capstone", "-o", str(target))
    assert written.stdout == ""
    assert target.read_text(encoding="utf-8") == shown.stdout


def test_a_seed_repeats_what_it_drew(uniform: str) -> None:
    fresh = json.loads(run(uniform, "--temperature", "1/2", "--format", "json").stdout)
    again = run(uniform, "--temperature", "1/2", "--seed", str(fresh["seed"]))
    assert again.stdout.splitlines()[0] == fresh["text"]
    assert f"seed {fresh['seed']}," in again.stdout
    assert len(fresh["chosen"]) == 20
    assert fresh["chosen"][0]["probability"] == {
        "status": "exact",
        "text": "1/3",
        "recovered": True,
        "written": "e^(2/3)/(e^(2/3)+e^(2/3)+e^(2/3))",
    }


def test_undecided_is_status_3_and_says_where(uniform: str) -> None:
    done = run(uniform, "--arithmetic", "arb")
    assert done.returncode == 3
    assert done.stderr.startswith("exactformer: undecided: position 1: which of the tokens")
    assert "(looked to 4096 bits)" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("end: undecided: position 1")
    assert run(uniform, "--arithmetic", "arb", "--top-p", "2/3", "--seed", "1").returncode == 3
    assert run(uniform, "--arithmetic", "arb", "--seed", "1").returncode == 0  # no border to be decided


def test_undefined_is_an_answer() -> None:
    done = run("capstone", "--tokens", "c b")
    assert done.returncode == 0
    assert "end: undefined: position 2: blocks.0.ln1 at position 1: the variance is 0" in done.stdout


def test_a_prompt_is_cut_up_by_the_tokenizer() -> None:
    assert run("capstone", "--prompt", "a  b").stdout == run("capstone", "--tokens", "a b").stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["capstone", "--prompt", "a", "--tokens", "a"], "--tokens: does not go with --prompt"),
        (["capstone", "--tokens", "a d"], "position 1: the token 'd' is not in the vocabulary (a, b, c)"),
        (["capstone", "--tokens", "a b c"], "position 2: the token 'c' has no position"),
        (["capstone", "--tokens", ""], "the input is empty"),
        (["capstone", "--prompt", " "], "the prompt is empty"),
        (["capstone", "--temperature", "-1/2"], "--temperature: -1/2 is negative"),
        (["capstone", "--temperature", "warm"], "--temperature: 'warm' is not a number"),
        (["capstone", "--temperature", "0", "--seed", "1"], "--seed: does not go with --temperature 0"),
        (["capstone", "--temperature", "0", "--top-k", "1"], "--top-k: does not go with --temperature 0"),
        (["capstone", "--temperature", "0", "--top-p", "1"], "--top-p: does not go with --temperature 0"),
        (["capstone", "--top-p", "0"], "--top-p: 0 is not above 0"),
        (["capstone", "--top-k", "0"], "--top-k"),
        (["capstone", "--max", "0"], "--max"),
        (["capstone", "--seed", "x"], "--seed"),
        (["capstone", "--stop", "z"], "--stop: the token 'z' is not in the vocabulary"),
        (["capstone", "--arithmetic", "arb", "--digits", "5"], "--digits"),
        (["length4"], "the model has no logits"),
        (["no-such-file.toml"], "no-such-file.toml: there is no such file"),
    ],
)
def test_what_does_not_fit_is_one_line(args: list[str], problem: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exactformer: ")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_text_streams_and_an_interruption_keeps_what_there_was(uniform: str, tmp_path: Path) -> None:
    output = tmp_path / "told.json"
    for more, streamed in ([], True), (["--format", "json", "-o", str(output)], False):
        command = [
            sys.executable,
            "-c",
            "from exactformer.cli import main; main()",
            "generate",
            uniform,
            "--seed",
            "1",
            "--max",
            "1000000",
            "--arithmetic",
            "float64",
            *more,
        ]
        with interruptible(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as running:
            first = os.read(running.stdout.fileno(), 1) if streamed else b""  # long before the end
            while not streamed and b" steps done" not in running.stderr.readline():  # a sign of life
                assert running.poll() is None
            running.send_signal(signal.SIGINT)
            rest, problem = running.communicate(timeout=PATIENCE)
        assert running.returncode == 130
        where = "shown" if streamed else f"in {output}"
        told = re.fullmatch(
            rf"exactformer: interrupted after ([\d,]+) tokens?, which (?:is|are) {where}", problem.decode().splitlines()[-1]
        )
        assert told, problem
        shown = (first + rest).decode()
        assert ("temperature 1, seed 1, arithmetic float64" in shown) == streamed
        if streamed:
            assert shown.endswith("\n")
        else:
            assert len(json.loads(output.read_text(encoding="utf-8"))["chosen"]) == int(told[1].replace(",", ""))


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """An interruption when so many tokens are there."""

    def after(tokens: int) -> None:
        choice = _Passes.choice

        def chosen(passes: _Passes, ids: list[int], *how: Any) -> Chosen:
            if len(ids) > tokens:  # the input is one more
                raise KeyboardInterrupt
            return choice(passes, ids, *how)

        monkeypatch.setattr(_Passes, "choice", chosen)

    return after


@pytest.mark.parametrize(("count", "tokens"), [(1, "1 token, which is"), (3, "3 tokens, which are")])
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_an_interruption_leaves(
    uniform: str, tmp_path: Path, interrupted: Callable[[int], None], form: str, count: int, tokens: str
) -> None:
    interrupted(count)
    output = tmp_path / "told"
    shown, written = run(uniform, "--format", form), run(uniform, "--format", form, "-o", str(output))
    assert (shown.returncode, shown.stderr) == (130, f"exactformer: interrupted after {tokens} shown\n")
    said = f"exactformer: interrupted after {tokens} in {output}\n"
    assert written == (130, "", said)
    text = output.read_text(encoding="utf-8")
    assert text == shown.stdout
    end = f"interrupted after {count} token{'s' * (count > 1)}"
    if form == "text":
        assert text.startswith(" ".join("a" * count) + "\n\ngreedy")
        assert text.endswith(f"\n\nend: {end}\n")
    else:
        told = json.loads(text)
        assert (len(told["chosen"]), told["end"]) == (count, {"kind": "interrupted", "text": end})


@pytest.mark.parametrize("form", ["text", "json"])
def test_without_a_token_nothing_is_written(uniform: str, tmp_path: Path, interrupted: Callable[[int], None], form: str) -> None:
    interrupted(0)
    output = tmp_path / "told"
    for options in ([], ["-o", str(output)]):
        said = "exactformer: interrupted before the first token; nothing was written\n"
        assert run(uniform, "--format", form, *options) == (130, "", said)
    with patch("exactformer.worksheets.load", side_effect=KeyboardInterrupt):  # while the model is read
        assert run(uniform, "--format", form, *options) == (130, "", said)
    assert not output.exists()


def test_tokens_are_called_as_certify_calls_them() -> None:
    lines = run("stories", "--max", "2", "--arithmetic", "float64").stdout.splitlines()
    assert [line.split()[:2] for line in lines[5:7]] == [['","', "12"], ['"', 'there"']]
    assert lines[6].startswith('" there" 404 ')
    assert '" up" 334' in lines[5]
    assert "Ġ" not in "".join(lines)


def test_commands_to_a_terminal_are_not_let_through() -> None:
    assert printable("one\ttwo\n\x1b]0;title\x07\u009b2J", besides="\n\t") == "one\ttwo\n\\x1b]0;title\\x07\\x9b2J"
