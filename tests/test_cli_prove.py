"""Theorems, circuits and tables on the command line: statuses, one line for what is wrong, and options that mean something."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from cli_runs import quiet
from exactformer.cli import main
from exactformer.proofs.journal import _seal
from exactformer.worksheets.worksheet import example_text

DAMAGE = "blocks.1.attn.W_V[0,1,1]=0"


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


class Run(Protocol):
    def __call__(self, *args: str) -> Done: ...


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """The program in this process: starting dozens of others would take longer than their work."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*args: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["exactformer", *args])
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        out, err = capsys.readouterr()
        return Done(status, out, quiet(err))

    return run


@pytest.fixture
def prove(run: Run) -> Run:
    return lambda *args: run("prove", *args, "--workers", "1")


def test_proved_is_status_0_and_leaves_nothing_behind(prove: Run, tmp_path: Path) -> None:
    done = prove("induction", "--length", "3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "PROVED: 84 sequences proved" in done.stdout
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_refuted_is_status_1_with_a_counterexample_and_the_command_that_traces_it(run: Run, prove: Run) -> None:
    done = prove("induction", "--length", "2", "--set", DAMAGE)
    assert (done.returncode, done.stderr) == (1, "")
    assert "REFUTED: 16 sequences proved, 4 sequences refuted, 0 sequences undecided" in done.stdout
    assert "  refuted: after a ! it says ! (tied with a, b, c), where a is demanded" in done.stdout
    *_, title, header, first, second, _, command = done.stdout.splitlines()
    assert title == "After a ! the last position looks at:"
    assert [line.split() for line in (header, first, second)] == [
        ["a", "!"], ["blocks.0,", "head", "0", "1", "0"], ["blocks.1,", "head", "0", "1", "0"],
    ]  # fmt: skip
    assert command == f"Its trace: exactformer trace induction --set '{DAMAGE}' --tokens 'a !'"
    traced = run(*shlex.split(command)[3:])
    assert (traced.returncode, traced.stderr) == (0, "")
    assert traced.stdout.rstrip().endswith("a !  →  ! !")


def test_the_command_of_a_counterexample_has_the_options_that_the_proof_had(run: Run, prove: Run, tmp_path: Path) -> None:
    sheet = tmp_path / "a short one.toml"
    sheet.write_text(example_text("induction").replace("length = 6", "length = 2").replace("! a b a c b", "a b"))
    command = prove(str(sheet), "--length", "4", "--strength", "0", "--mask", "causal").stdout.splitlines()[-1]
    assert command.endswith("--mask causal --strength 0 --length 4 --tokens '! ! a a'")
    assert run(*shlex.split(command)[3:]).stdout.rstrip().splitlines()[-1].startswith("! ! a a  →  ")


def test_undecided_is_status_3(prove: Run) -> None:
    done = prove("induction", "--length", "1", "--arithmetic", "arb")
    assert done.returncode == 3
    assert "UNDECIDED: 0 sequences proved, 0 sequences refuted, 4 sequences undecided" in done.stdout


def test_a_report_for_other_programs_in_a_file(prove: Run, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    done = prove("induction", "--length", "3", "--hard", "--mask", "causal", "--format", "json", "-o", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    document = json.loads(target.read_text(encoding="utf-8"))
    assert (document["verdict"], document["sequences"]) == ("proved", 84)
    assert "so far" in document["statement"]


def test_strengths(prove: Run) -> None:
    # Heads that are too weak are refuted, and the search says how strong they must be.
    assert prove("induction", "--length", "3", "--strength", "1/100000").returncode == 0
    assert prove("induction", "--length", "3", "--strength", "0").returncode == 1
    done = prove("induction", "--length", "3", "--strength", "search")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].split()[:2] == ["3", "1"]


def test_longer_than_the_worksheet(prove: Run, tmp_path: Path) -> None:
    sheet = tmp_path / "short.toml"
    sheet.write_text(example_text("induction").replace("length = 6", "length = 2").replace("! a b a c b", "a b"))
    done = prove(str(sheet), "--length", "3")
    assert done.returncode == 0
    assert "8 cases computed, which stand for 84 sequences" in done.stdout


NOTE = "exactformer: the cache folder cannot be written to, so finished cases are not kept; --journal FILE keeps them\n"


@pytest.mark.parametrize("home", ["below a file", "read-only", "nowhere"])
@pytest.mark.parametrize("strength", ["100", "search"])
def test_without_a_cache_folder_a_proof_goes_on_without_a_journal(
    prove: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, strength: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    if home == "below a file":
        monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    elif home == "read-only":  # which the superuser can write to all the same: so the question is answered for him
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setattr("os.access", lambda path, mode: False)
    else:
        monkeypatch.delenv("HOME")
        monkeypatch.setattr("pathlib.Path.home", homeless)
    done = prove("induction", "--length", "2", "--strength", strength)
    assert (done.returncode, done.stderr) == (0, NOTE)
    assert done.stdout
    kept = prove("induction", "--length", "2", "--strength", strength, "--journal", str(tmp_path / "journal"))
    assert (kept.returncode, kept.stderr) == (0, "")
    assert list(tmp_path.glob("journal*")) != []


def homeless() -> Path:
    raise RuntimeError("Could not determine home directory.")


def interrupt(*args: object, **options: object) -> None:
    raise KeyboardInterrupt


def test_interrupted_with_nothing_done_there_is_nothing_to_go_on_from(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactformer.proofs.cases.Case.__call__", interrupt)
    done = run("prove", "induction", "--length", "2", "--workers", "1")
    assert (done.returncode, done.stderr) == (130, "exactformer: interrupted after 0 of 3 cases\n")
    monkeypatch.setattr("exactformer.proofs.prove", interrupt)
    done = run("prove", "induction", "--length", "2", "--workers", "1")
    assert (done.returncode, done.stderr) == (130, "exactformer: interrupted before the first case\n")


def test_interrupted_without_a_journal_it_says_that_nothing_is_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    monkeypatch.setattr("exactformer.proofs.cases.Case.__call__", interrupt)
    done = run("prove", "induction", "--length", "2", "--workers", "1")
    assert done.returncode == 130
    assert done.stderr == f"{NOTE}exactformer: interrupted after 0 of 3 cases; nothing of it is kept; --journal FILE does that\n"


def test_a_forged_journal_is_one_line_and_status_2(run: Run, prove: Run, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    assert prove("induction", "--length", "2", "--set", DAMAGE, "--journal", str(journal)).returncode == 1
    header, *lines = journal.read_bytes().splitlines(keepends=True)
    checksum, text = json.loads(header)[0].encode(), [header]
    for line in lines:
        checksum, line = _seal(checksum, b"%d,[]" % json.loads(line)[1])
        text.append(line)
    journal.write_bytes(b"".join(text))
    done = prove("induction", "--length", "2", "--set", DAMAGE, "--journal", str(journal))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"exactformer: {journal}: line 2, case 0: is not a list of 1 answer; delete it, or give another --journal\n"
    )


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["prove", "induction"], "--length: is missing"),
        (["prove", "induction", "--length", "0"], "--length"),
        (
            ["prove", "induction", "--length", "64"],
            "--length: there are 453,709,822,561,251,284,617,832,809",
        ),
        (["prove", "induction", "--length", "2", "--strength", "strong"], "--strength: 'strong' is not"),
        (["prove", "induction", "--length", "2", "--strength", "search", "--hard"], "--hard: does not go with --strength search"),
        (
            ["prove", "induction", "--length", "2", "--strength", "search", "--format", "json"],
            "does not go with --strength search",
        ),
        (
            ["prove", "induction", "--length", "2", "--strength", "search", "--rule", "sorted"],
            "does not go with --strength search",
        ),
        (
            ["prove", "induction", "--length", "2", "--workers", "1", "--cluster", "tcp://x:1"],
            "--workers: does not go with --cluster",
        ),
        (["prove", "length4", "--length", "2", "--rule", "sorted"], "length4: the model has no logits"),
        (["prove", "induction", "--length", "2", "--tokens", "a b"], "--tokens: does not go with --length"),
        (["prove", "induction", "--length", "2", "--digits", "3"], "--digits: does not go with --length"),
        (["prove", "induction", "--schedule", "flash", "--strength", "3"], "--strength: does not go with --schedule"),
        (["prove", "induction", "--length", "2", "--arithmetic", "float64"], "'float64' is not one of"),
        (["prove", "induction", "--length", "2", "--set", "W_E[9,9]=1"], "W_E[9,9]: is not an entry: W_E is 4 × 18"),
        (["prove", "induction", "--length", "2", "--journal", "/"], "/: cannot be opened"),
        (["prove", "capstone", "--length", "2"], "capstone: has no circuit"),
        (["prove", "capstone", "--length", "2", "--strength", "2"], "has no circuit, whose strength"),
        (["circuits", "induction", "--head", "2.0"], "--head: there is no head '2.0' (0.0, 1.0)"),
        (["circuits", "induction", "--hard"], "No such option"),
        (["circuits", "no-such.toml"], "no-such.toml: there is no such file"),
        (["trace", "induction", "--step", "blocks.7.attn.q"], "--step: there is no step 'blocks.7.attn.q' (embed, pos_embed,"),
        (["trace", "induction", "--decimals", "1"], "--decimals: goes with --step"),
        (
            ["trace", "induction", "--step", "logits", "--decimals", "1", "--arithmetic", "arb"],
            "--decimals: numbers of arb show",
        ),
        (["trace", "induction", "--step", "logits", "--format", "json"], "--step: goes with --format text"),
        (["trace", "induction", "--tokens", "a b c a b c a"], "position 6: the token 'a' has no position"),
        (["trace", "capstone", "--strength", "3"], "has no circuit, whose strength"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(run: Run, args: list[str], problem: str) -> None:
    done = run(*args)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("exactformer: ")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('key = "previous"', 'key = "prevoius"'),
        ('to = "output"', 'to = "previous"'),
        ('"b", "c"]', '"b", "b"]'),
        ("length = 6", "length = -1"),
    ],
)
def test_a_bad_worksheet_is_one_line_that_names_it(run: Run, tmp_path: Path, old: str, new: str) -> None:
    sheet = tmp_path / "mine.toml"
    sheet.write_text(example_text("induction").replace(old, new))
    done = run("prove", str(sheet), "--length", "2")
    assert done.returncode == 2
    assert done.stderr.startswith(f"exactformer: {sheet}: circuit")
    assert done.stderr.count("\n") == 1


def test_circuits_on_the_command_line(run: Run, tmp_path: Path) -> None:
    done = run("circuits", "similar", "--head", "1.0")
    assert done.returncode == 0
    assert done.stdout.startswith("block 1, head 0: matches meaning with previous, strength 100; copies token to output\n")
    assert "  cat     100      80    0    0    0\n" in done.stdout
    assert "block 0" not in done.stdout.replace("brought by block 0", "")
    changed = run("circuits", "induction", "--head", "1.0", "--set", DAMAGE, "--decimals", "1", "-o", str(tmp_path / "out"))
    assert changed.returncode == 0
    rows = [line.split() for line in (tmp_path / "out").read_text().splitlines()]
    assert ["a", "0.0", "0.0", "0.0", "0.0"] in rows


def test_traces_of_variants(run: Run) -> None:
    hard = run("trace", "induction", "--hard", "--step", "blocks.1.attn.pattern")
    assert hard.stdout.splitlines()[-1].split() == ["b", "0", "0", "0", "1", "0", "0"]
    causal = run("trace", "induction", "--mask", "causal", "--step", "blocks.1.attn.scores", "--decimals", "1")
    assert causal.stdout.splitlines()[2].split() == ["!", "100.0", "100.0", "0.0", "0.0", "0.0", "0.0"]
    weak = run("trace", "induction", "--strength", "1/2", "--tokens", "a b a", "--step", "blocks.0.attn.scores")
    assert weak.stdout.splitlines()[-1].split() == ["a", "0", "1/2", "0"]


def test_the_cost_of_a_circuit_is_counted_where_a_position_may_look_nowhere(run: Run) -> None:
    done = run("budget", "induction", "--lengths", "1,4")
    assert (done.returncode, done.stderr) == (0, "")
    assert "attn.pattern" in done.stdout
