"""What a terminal shows: colours and marks, any width from 40 columns on, signs of life, help, completion, the manual page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.shell_completion import ShellComplete

import exactformer as xf
from children import PATIENCE
from cli_runs import refused, run
from exactformer import painting
from exactformer.cli import commands
from exactformer.progress import Progress
from exactformer.render import overview, text
from exactformer.render.tables import grid

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SHEET = """
[[claims]]
operation = "softmax"
of = [0, 0]
values = ["{}", "0.50"]
"""
JUDGED = {
    "trace": (["trace"], ""),
    "grad": (["grad", "--target", "a a"], ""),
    "check, right": (["check", "right.toml"], "✓ right.toml: "),
    "check, wrong": (["check", "wrong.toml"], "✗ wrong.toml:"),
    "certify": (["certify", "capstone"], "✓ token 1: "),
    "prove": (["prove", "induction", "--length", "2", "--workers", "1"], "✓ PROVED: "),
    "prove, refuted": (["prove", "induction", "--length", "2", "--workers", "1", "--set", "W_E[0,0]=5"], ""),
    "judge, right": (["judge", "capstone", "--outputs", "right.npz", "--dtype", "float32", "--workers", "1"], "✓ "),
    "judge, wrong": (["judge", "capstone", "--outputs", "wrong.npz", "--dtype", "float32", "--workers", "1"], "✗ wrong, prompt 0"),
    "schedule": (["prove", "length4", "--schedule", "flash"], "✓ flash against the plain pass: proved equal"),
    "schedule, refuted": (["prove", "length4", "--schedule", "flash", "--forget-rescaling"], "✗ flash against the plain pass"),
}  # fmt: skip
every_command = pytest.mark.parametrize(("command", "shown"), list(JUDGED.values()), ids=list(JUDGED))


@pytest.fixture(autouse=True)
def sheets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    Path("right.toml").write_text(SHEET.format("0.50"))
    Path("wrong.toml").write_text(SHEET.format("0.60"))
    for name, token in (("right", 0), ("wrong", 1)):
        np.savez(f"{name}.npz", ids=np.array([[0, 1]]), tokens=np.array([token]))


@every_command
def test_colours_change_nothing_but_colours_and_marks(command: list[str], shown: str) -> None:
    plain, never, always = run(*command), run(*command, "--color", "never"), run(*command, "--color", "always")
    assert plain.returncode == always.returncode
    assert not COLOUR.search(plain.stdout)
    assert timeless(plain.stdout) == timeless(never.stdout)
    assert COLOUR.search(always.stdout)
    assert shown in COLOUR.sub("", always.stdout)
    assert timeless(re.sub("[✓✗?] ", "", COLOUR.sub("", always.stdout))) == timeless(plain.stdout)


def timeless(shown: str) -> str:
    return re.sub(r"\d+\.\d s", "", shown)


@pytest.mark.parametrize("no_color", [True, False])
def test_no_color_is_heeded_on_a_terminal(no_color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1" if no_color else "")
    shown = on_a_terminal("check", "wrong.toml", columns=100)
    assert (COLOUR.search(shown) is None) == no_color
    assert ("✗" in shown) != no_color


def test_nothing_is_painted_into_a_file() -> None:
    assert run("trace", "--color", "always", "-o", "pass.txt").returncode == 0
    assert not COLOUR.search(Path("pass.txt").read_text(encoding="utf-8"))


def on_a_terminal(*args: str, columns: int) -> str:
    """What a process prints that believes to be on a terminal: it is on one."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [sys.executable, "-c", "from exactformer.cli import main; main()", *args]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65_536):
            shown += part
    except OSError:  # the other end is closed
        pass
    process.wait(PATIENCE)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [40, 60, 79, 80, 120])
@pytest.mark.parametrize("example", ["capstone", "length4"])
def test_lines_of_a_trace_fit(example: str, width: int) -> None:
    shown = text.render(xf.load(example).trace(), width=width)
    too_long = [line for line in shown.splitlines() if len(line) > width and breaks(line, width)]
    assert width >= 80 or too_long == []


def breaks(line: str, width: int) -> bool:
    """Could it have been broken? Not at a number or a name that is longer than the line."""
    return all(len(part) < width - 12 for part in line.split(", "))


@pytest.mark.parametrize("width", [40, 120])
def test_a_summary_and_the_names_of_steps(width: int) -> None:
    trace = xf.load("capstone").trace()
    shown = overview.summary(trace, width=width)
    assert all(step.name in shown for step in trace.steps)
    assert all(len(line) <= width for line in shown.splitlines())
    assert "position 1: a, " in shown
    listed = overview.steps(trace, width)
    assert re.findall(r"^(\S+)", listed, re.MULTILINE) == [step.name for step in trace.steps]


def test_summaries_by_the_command() -> None:
    assert "formulas" in run("trace", "--summary").stdout
    assert run("trace", "--list-steps").stdout.startswith("embed")
    assert run("trace", "stories", "--arithmetic", "float64", "--summary").returncode == 0
    assert refused("trace", "--summary", "--format", "json") == "--summary: does not go with --format, --step or --break"
    assert refused("trace", "--list-steps", "--step", "embed") == "--list-steps: does not go with --format, --step or --break"
    assert refused("trace", "--list-steps", "--summary") == "--list-steps: does not go with --summary"


def test_a_table_that_is_too_wide_is_a_list() -> None:
    assert grid(["row"], ["one", "two"], [["1", ""]], 10) == ["row", "  one: 1"]
    assert grid(["row"], ["one", "two"], [["1", ""]], 20)[0].split() == ["one", "two"]


def test_time_that_is_left() -> None:
    progress = Progress()
    progress.start = start = 100.0
    progress.cases(100, 1000)  # by an earlier run
    assert progress.line(start + 3) == "exactformer: 3 s, 100 of 1,000 cases"
    assert progress._begun is not None
    progress._begun = (start, progress._begun[1])
    progress.cases(400, 1000)
    assert progress.line(start + 30) == "exactformer: 30 s, 400 of 1,000 cases, about 1 min left"
    assert progress.line(start + 30, 100).startswith("exactformer: 30 s, [#########...............] 400 of 1,000 cases, about ")
    assert "[" not in progress.line(start + 30, 70)
    assert len(progress.line(start + 30, 40)) < 40


def test_blocks_tell_how_far_a_pass_is() -> None:
    progress = Progress()
    progress.blocks = 4
    progress("embed")
    assert progress._left(progress.start + 1) is None
    progress("blocks.0.attn.q")
    progress("blocks.3.mlp.out")
    assert progress._left(progress.start + 1) is not None


def test_signs_of_life_inside_of_a_step(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody says anything to it, and it goes on telling."""
    monkeypatch.setattr("exactformer.progress._PATIENCE", 0.01)
    monkeypatch.setitem(__import__("exactformer.progress").progress._PAUSE, False, 0.01)
    told: list[str] = []
    with Progress("a long step") as progress:
        while len(told) < 3:
            told += capsys.readouterr().err.splitlines()
        progress.clear()
        capsys.readouterr()
    assert capsys.readouterr().err == ""
    assert all(re.fullmatch(r"exactformer: \d+ s, a long step", line) for line in told)


def every(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = command.commands if isinstance(command, click.Group) else {}
    return [path, *(found for name, each in inner.items() for found in every(each, (*path, name)))]


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_help_is_whole_and_fits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for path in every(commands):
        shown = run(*path, "--help").stdout
        assert "..." not in re.sub(r"[]A-Z-]\.\.\.", "", shown), path
        assert not [line for line in shown.splitlines() if len(line) > min(columns, 80) and " " in line.strip()], path
    assert "Prove the next tokens of a model: each the argmax of the exact network" in " ".join(run("--help").stdout.split())


def completed(*args: str) -> list[str]:
    *before, begun = args
    shell: Any = ShellComplete(commands, {}, "exactformer", "_EXACTFORMER_COMPLETE")
    return [item.value if item.type == "plain" else item.type for item in shell.get_completions(list(before), begun)]


def test_what_is_completed() -> None:
    assert completed("tra") == ["trace"]
    assert completed("trace", "cap") == ["capstone"]
    assert {"capstone", "stories"} <= set(completed("certify", ""))
    assert completed("certify", "my-") == ["file"]
    assert "--list-steps" in completed("trace", "--li")
    assert completed("trace", "--mask", "ca") == ["causal"]
    assert "certified" in completed("trace", "--arithmetic", "c")
    assert completed("trace", "capstone", "--step", "blocks.0.attn.p") == ["blocks.0.attn.pattern"]
    assert completed("trace", "capstone", "--step", "patt") == ["pattern"]
    assert completed("trace", "capstone", "--step", "attn.patt") == ["attn.pattern"]
    assert completed("trace", "induction", "--step", "patt") == []
    assert completed("trace", "induction", "--step", "1.attn.patt") == ["1.attn.pattern"]
    for name in completed("trace", "induction", "--step", "1."):
        assert run("trace", "induction", "--arithmetic", "float64", "--step", name).returncode == 0
    assert "blocks.1.attn.pattern" in completed("trace", "induction", "--step", "blocks.1.")
    assert completed("trace", "no such", "--step", "b") == []
    assert completed("examples", "cap") == ["capstone"]
    assert "attention" in completed("check", "att")


@pytest.mark.parametrize(
    ("shell", "variable", "file"),
    [
        ("bash", "XDG_DATA_HOME", "bash-completion/completions/exactformer"),
        ("zsh", "ZDOTDIR", ".zfunc/_exactformer"),
        ("fish", "XDG_CONFIG_HOME", "fish/completions/exactformer.fish"),
    ],
)
def test_completion_is_installed(shell: str, variable: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "there"))
    printed = run("completion", shell)
    assert (printed.returncode, printed.stderr) == (0, "")
    assert "_EXACTFORMER_COMPLETE" in printed.stdout
    done = run("completion", shell, "--install")
    assert (done.returncode, (tmp_path / "there" / file).read_text()) == (0, printed.stdout)
    assert str(tmp_path / "there" / file) in done.stdout


@pytest.mark.parametrize(
    ("shell", "variable", "said"),
    [
        ("bash", "XDG_DATA_HOME", "if the package bash-completion is installed\nwithout it, ~/.bashrc needs the line: source "),
        ("zsh", "ZDOTDIR", "if ~/.zshrc has the line: fpath+=('"),
    ],
)
def test_the_line_that_a_shell_needs_is_told(
    shell: str, variable: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "a place"))
    assert said in run("completion", shell, "--install").stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_the_line_for_bash_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "a place"))
    line = run("completion", "bash", "--install").stdout.splitlines()[-1].partition("the line: ")[2]
    command = ["bash", "--norc", "-c", f"{line}\ncomplete -p exactformer"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" exactformer\n")


def test_a_place_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").write_text("a file")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "there"))
    assert "cannot be made" in refused("completion", "fish", "--install")


def test_the_manual_page_has_every_command_and_option() -> None:
    page = run("man").stdout.replace("\\-", "-")
    for path in every(commands):
        command: click.Command = commands
        for name in path:
            assert isinstance(command, click.Group)
            command = command.commands[name]
        assert not path or f".SS {' '.join(path)}" in page
        if path:
            for param in command.params:
                assert isinstance(param, click.Argument) or param.opts[-1] in page
    for line in page.splitlines():
        assert not line.startswith("'")
        assert not line.startswith(".") or re.match(r"\.(TH|SH|SS|PP|TP|B)\b", line), line


def test_marks() -> None:
    shown = [painting.judged("x", verdict, painting.coloured) for verdict in (True, False, None)]
    assert [COLOUR.sub("", each) for each in shown] == ["✓ x", "✗ x", "? x"]
    assert painting.judged("x", False, painting.plain) == "x"


NARROW = [
    ("trace",),
    ("trace", "--tokens", "c"),
    ("grad", "capstone", "--target", "a a", "--step", "1/10"),
    ("budget", "length4"),
    ("generate", "induction"),
    ("circuits", "induction"),
    ("circuits", "induction", "--largest", "2"),
    ("explain", "induction", "--tokens", "a b a", "--lead", "b", "a"),
    ("explain", "induction", "--tokens", "a b a", "--lens"),
    ("explain", "induction", "--tokens", "a b a", "--ablate", "blocks.0.attn.head.0=zero"),
    ("trace", "length4", "--break", "no-scale"),
    ("trace", "--step", "pattern"),
    ("certify", "capstone"),
    ("prove", "induction", "--length", "1"),
]


@pytest.mark.parametrize("asked", NARROW, ids=" ".join)
def test_every_command_fits_where_columns_are_few(asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for width in (40, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run(*asked, *(("--journal", str(tmp_path / "journal")) if asked[0] == "prove" else ())).stdout.splitlines()
        assert lines
        assert [line for line in lines if len(line) > width] == []


def test_other_formats_are_never_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for asked in (("trace",), ("explain",), ("grad", "--target", "a a"), ("circuits", "--largest", "1")):
        json.loads(run(*asked, "--format", "json").stdout)


@pytest.mark.parametrize("width", [40, 60])
def test_a_judgement_fits(width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    np.save(tmp_path / "engine.npy", xf.load("capstone").trace("a b", "float32").logits)
    monkeypatch.setenv("COLUMNS", str(width))
    kept = str(tmp_path / "journal")
    done = run("judge", "capstone", "--outputs", str(tmp_path / "engine.npy"), "--tokens", "a b", "--journal", kept)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= width
