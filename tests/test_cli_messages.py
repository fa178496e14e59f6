"""What goes wrong is told in one line that helps: what is too large and what to use instead, what was misspelt, what went on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from gpt2_files import small_config, small_tensors, write_folder

import exactformer as xf
from children import PATIENCE, unread
from cli_runs import quiet
from exactformer import progress
from exactformer.trace.costs import costs
from exactformer.worksheets import cost
from exactformer.worksheets.worksheet import example_text
from test_cli import EXACTFORMER, run


def refused(*args: str) -> str:
    """The one line that bad input gets; on a slow machine, signs of life may stand before it."""
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not re.match(r"exactformer: \d+ s, ", line)]
    assert line.startswith("exactformer: ")
    return line.removeprefix("exactformer: ")


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """48 dimensions, as gpt-nano-sort has them."""
    config, tensors = small_config(n_embd=48, n_layer=1), small_tensors(dim=48, inner=192, layers=1)
    return str(write_folder(tmp_path_factory.mktemp("wide"), config, tensors))


@pytest.mark.parametrize("schedule", ["flash", "kv-cache"])
def test_formulas_that_are_too_long_to_be_proved_equal_are_refused(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = xf.load("capstone").trace()
    steps = [step for step in trace.computed if schedule == "kv-cache" or step.op == "mix"]
    needed = cost.parts(value for step in steps for value in step.values.flat)
    cost.check_equalities(steps, f"--schedule {schedule}")
    monkeypatch.setattr(cost, "MOST_PARTS", needed - 1)
    with pytest.raises(
        xf.InputError, match=rf"^--schedule {schedule}: the formulas .* {needed:,} parts, up to {needed - 1:,} are tried"
    ):
        cost.check_equalities(steps, f"--schedule {schedule}")


@pytest.mark.parametrize("schedule", [pytest.param("flash", marks=pytest.mark.large), "kv-cache"])
def test_schedules_of_a_model_of_48_dimensions_are_proved(wide: str, schedule: str) -> None:
    done = run("prove", wide, "--schedule", schedule, "--tokens", "0 1 2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{schedule} against the plain pass: proved equal, entry by entry\n")


def test_balls_are_not_refuted() -> None:
    """The logits of a large vocabulary are balls: that two of them are not the same object says nothing."""
    assert refused("prove", "poster", "--schedule", "kv-cache").startswith("--schedule kv-cache: logits is made of balls")
    assert run("prove", "poster", "--schedule", "flash").returncode == 0


def test_an_exact_pass_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = xf.load("induction")
    needed = cost.multiplications(sheet.model.config, 6)
    monkeypatch.setattr(cost, "MOST_MULTIPLICATIONS", needed - 1)
    with pytest.raises(xf.InputError, match=rf"over 6 tokens takes {needed:,} multiplications; .* --arithmetic arb or certified"):
        sheet.trace()
    assert sheet.trace("a b").token(1) == "a"  # the only one that it may look at
    assert sheet.trace(arithmetic="arb").token(5) == "a"
    monkeypatch.setattr(cost, "MOST_MULTIPLICATIONS", needed)
    assert sheet.trace().token(5) == "a"


@pytest.mark.parametrize("example", ["capstone", "context", "length4", "induction"])
def test_the_estimate_is_that_of_a_counted_pass(example: str) -> None:
    """Norms, scales and softmax multiply once for an entry, where a product does for a row; what is masked is not multiplied."""
    model = xf.load(example).model
    forward = costs(model, (1, 4), 2)[0]
    for length in (1, 4):
        counted = forward.total(length)["multiplications"]
        assert 0.8 * counted <= cost.multiplications(model.config, length) <= 1.2 * counted


def test_long_work_shows_that_it_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    text = ""
    with progress.Progress("proving 7 numbers equal"):
        while not text:
            text = capsys.readouterr().err
    assert re.match(r"exactformer: \d+ s, proving 7 numbers equal\n", text)
    monkeypatch.setattr(progress, "_PATIENCE", 60)
    capsys.readouterr()
    with progress.Progress("nothing to wait for"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('step = "embed"\nrwo = 0\nvalues = [1, 0]', "claims.0.rwo is not a field of a worksheet (did you mean row?)"),
        ('step = "embed"\nrow = 0\nvaleus = [1, 0]', "claims.0.valeus is not a field of a worksheet (did you mean values?)"),
        ('operation = "softmax"\noff = [0, 1]\nvalues = [1, 0]', "claims.0.off is not a field of a worksheet (did you mean of?)"),
        (
            'operation = "softmax"\nof = [0, 1]\nleft = [1]\nvalues = [1, 0]',
            "claims.0.left is not a field of a worksheet (known here: ",
        ),
        ('stpe = "embed"\nvalues = [1, 0]', "claims.0.stpe is not a field of a worksheet (did you mean step?)"),
        ('step = "embed"\nrow = 0\nvalues = [1]', "claims.0.values is 1, but embed[0] is 2"),
    ],
)
def test_a_misspelt_field_of_a_claim_is_told_before_what_follows_from_it(tmp_path: Path, written: str, problem: str) -> None:
    sheet = tmp_path / "claims.toml"
    sheet.write_text(f"{example_text('capstone')}\n[[claims]]\n{written}\n", encoding="utf-8")
    assert re.match(re.escape(f"{sheet}:") + "[0-9]+: " + re.escape(problem), refused("check", str(sheet)))


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("n_embd", 10**30, f"config.json: n_embd: {10**30} is not a whole number from 1 to 2,147,483,647"),
        ("n_embd", 10**9, "'wte.weight': has the shape 3 × 4, where config.json asks for 3 × 1000000000 (vocab_size × n_embd)"),
        (
            "n_positions",
            10**9,
            "'wpe.weight': has the shape 5 × 4, where config.json asks for 1000000000 × 4 (n_positions × n_embd)",
        ),
    ],
)
def test_a_huge_setting_is_named(tmp_path: Path, field: str, value: int, problem: str) -> None:
    assert problem in refused("trace", str(write_folder(tmp_path / "huge", small_config(**{field: value}))), "--tokens", "0")


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["budget", "length4", "--lengths", "4,0"], "--lengths: 0 is not between 1 and 1,000,000,000"),
        (["budget", "length4", "--lengths", "1" * 5000], "--lengths: 1111111111111111111111111111111111111111 is not between"),
        (["budget", "length4", "--lengths", "4,,8"], "--lengths: '' is not a whole number; give some such as 4,32,2048"),
        (["trace", ""], "the name of the worksheet is empty (built-in examples: capstone, "),
        (["check", ""], "the name of a file is empty (built-in lessons: attention-exactly, "),
        (["trace", "-o", "/proc/pass.txt"], "/proc/pass.txt: cannot be written: "),
        (["trace", "\x1b[2J"], "\\x1b[2J: there is no such file"),
        (["circuits", "poster"], "poster: its circuits are 8 tables of 10,103,466,380 numbers; "),
    ],
)
def test_one_line_that_names_what_is_wrong(args: list[str], problem: str) -> None:
    assert refused(*args).startswith(problem)


def test_a_closed_standard_error_is_no_error() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *EXACTFORMER, "trace"], capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0
    assert done.stdout.endswith("a b  →  a a\n".encode())


@pytest.mark.parametrize("args", [["trace"], ["examples"], ["check", "attention"]])
def test_where_nobody_reads_the_status_is_neither_proved_nor_refuted(args: list[str]) -> None:
    with unread() as pipe:
        done = subprocess.run([*EXACTFORMER, *args], stdout=pipe, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert (done.returncode, quiet(done.stderr.decode())) == (141, "")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('title = "a\\u001b[31m"', "title has the control character '\\x1b'"),
        ('"t\\u0007" = 1', "the field 't\\x07' has a control character in its name"),
    ],
)
def test_a_worksheet_commands_no_terminal(line: str, told: str) -> None:
    from exactformer.worksheets import WorksheetError
    from exactformer.worksheets.worksheet import parse

    with pytest.raises(WorksheetError) as refused:
        parse(line, "sheet.toml")
    assert str(refused.value) == f"sheet.toml: {told}"
    assert parse('title = "a\\tb\\nc"', "sheet.toml") == {"title": "a\tb\nc"}


def test_an_interruption_while_modules_are_read_is_one_line() -> None:
    program = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "exactformer.cli.trace":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from exactformer.__main__ import run
run()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "exactformer: interrupted\n")
