"""One way to say the input: --prompt, --ids and --tokens mean the same in every command that takes one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gpt2_files import write_folder

from cli_runs import refused, run
from exactformer.worksheets import Worksheet, example_text

COMMANDS = {
    "trace": ["trace", "capstone"],
    "grad": ["grad", "capstone", "--target", "a a"],
    "generate": ["generate", "capstone", "--max", "1", "--format", "json"],
    "certify": ["certify", "capstone"],
    "prove": ["prove", "capstone", "--schedule", "kv-cache"],
}
every_command = pytest.mark.parametrize("command", list(COMMANDS.values()), ids=list(COMMANDS))
HUGE = ",".join(["0"] * 70_000)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A model of three tokens with no tokenizer."""
    return str(write_folder(tmp_path / "small"))


@every_command
def test_all_spellings_say_the_same(command: list[str]) -> None:
    expected = run(*command, "--tokens", "b a")
    assert expected.returncode == 0
    assert expected.stdout != run(*command).stdout
    for spelling in (["--ids", "1,0"], ["--ids", " 1 0 "], ["--ids", "1, 0"], ["--prompt", "b  a"]):
        assert run(*command, *spelling) == expected
    assert run(*command, "--prompt", "-", stdin=b"b a\n") == expected


@every_command
@pytest.mark.parametrize(
    ("spelling", "problem"),
    [
        (["--ids", "0", "--tokens", "a"], "--tokens: does not go with --ids: the input is given in one way"),
        (["--ids", "0", "--prompt", "a"], "--ids: does not go with --prompt: the input is given in one way"),
        (["--tokens", "a", "--prompt", "a"], "--tokens: does not go with --prompt: the input is given in one way"),
        (["--ids", ""], "--ids: is empty: give at least one token"),
        (["--ids", "0,3"], "--ids: position 1: no token has the id 3: the vocabulary has 0 to 2"),
        (["--ids", "-1"], "--ids: '-1' is not the id of a token: ids are whole numbers such as 0,1,2"),
        (["--ids", "a,b"], "--ids: 'a' is not the id of a token: ids are whole numbers such as 0,1,2"),
        (["--ids", "１"], "--ids: '１' is not the id of a token: ids are whole numbers such as 0,1,2"),
        (["--ids", "1_0"], "--ids: '1_0' is not the id of a token: ids are whole numbers such as 0,1,2"),
        (["--ids", "0,,1"], "--ids: has a comma without a number before or after it"),
        (["--ids", "0,1,"], "--ids: has a comma without a number before or after it"),
        (["--ids", "1" * 5000], "--ids: position 0: no token has the id " + "1" * 40 + ": the vocabulary has 0 to 2"),
        (["--ids", "0,1,2"], "position 2: the token 'c' has no position: the model has 2, the input 3 tokens"),
        (["--ids", HUGE], "the input has 70,000 tokens; up to 65,536 are taken"),
        (["--prompt", " "], "the prompt is empty: give at least one token"),
        (["--tokens", "a d"], "position 1: the token 'd' is not in the vocabulary (a, b, c)"),
    ],
)  # fmt: skip
def test_what_is_no_input_is_one_line(command: list[str], spelling: list[str], problem: str) -> None:
    assert refused(*command, *spelling) == problem


@pytest.mark.parametrize(
    "command",
    [*COMMANDS.values(), ["circuits", "capstone"], ["budget", "capstone", "--lengths", "2"]],
    ids=lambda command: command[0],
)
def test_a_worksheet_is_read_from_standard_input(command: list[str]) -> None:
    name, source, *options = command
    expected = run(name, source, *options)
    assert expected.returncode == 0
    assert run(name, "-", *options, stdin=example_text(source).encode()) == expected
    assert refused(name, "-", *options, stdin=b"[[").startswith("standard input: is not TOML")
    assert refused(name, "-", *options, stdin=b"\xff") == "standard input: is not UTF-8 text (byte 0)"
    assert refused(name, "-", *options, stdin=b"#" * (8 * 2**20 + 1)) == "standard input: has more than 8,388,608 bytes"


def test_a_theorem_about_a_worksheet_on_standard_input() -> None:
    """Longer than the circuit of the worksheet, which is made anew; standard input is read once."""
    sheet = example_text("induction").replace("length = 6", "length = 2").replace("! a b a c b", "a b").encode()
    done = run("prove", "-", "--length", "3", "--workers", "1", stdin=sheet)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PROVED: 84 sequences proved" in done.stdout


def test_standard_input_is_one_thing() -> None:
    assert refused("trace", "-", "--prompt", "-", stdin=b"a b") == "--prompt -: standard input is the worksheet already"


def test_one_line_feed_at_the_end_is_no_part_of_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    pieces = Worksheet.pieces
    monkeypatch.setattr(Worksheet, "pieces", lambda sheet, prompt: read.append(prompt) or pieces(sheet, prompt))  # type: ignore[func-returns-value]
    for text in (b"a b", b"a b\n", b"a b\n\n"):
        assert run("trace", "--prompt", "-", stdin=text).returncode == 0
    assert read == ["a b", "a b", "a b\n"]


@pytest.mark.parametrize("count", ["5", " 5 ", "1" * 50])
def test_a_count_is_not_taken_for_tokens(folder: str, count: str) -> None:
    """Also where the vocabulary has a token of that name: what was meant cannot be known."""
    for source in ("capstone", folder):
        line = refused("certify", source, "--tokens", count)
        shown = count.strip()[:40]
        assert (
            line == f"--tokens: {shown} is not a count any more: --max {shown} proves that many tokens (one token as input: --ids)"
        )


def test_names_that_are_numbers_are_names(folder: str) -> None:
    expected = run("certify", folder, "--ids", "1,2")
    assert (expected.returncode, expected.stderr) == (0, "")
    assert run("certify", folder, "--tokens", "1 2") == expected
    assert run("generate", folder, "--tokens", "1", "--max", "1", "--arithmetic", "arb").returncode == 0


def test_a_folder_without_tokenizer_points_to_ids(folder: str) -> None:
    assert refused("certify", folder) == "small: has no input of its own: give --ids, as it has no tokenizer"
    for command in ("certify", "trace", "generate"):
        line = refused(command, folder, "--prompt", "hello there")
        assert line == "--prompt: small has no tokenizer, which would cut a text into tokens: give --ids"


def test_numbers_in_a_prompt_are_an_old_spelling_of_ids(folder: str) -> None:
    """It goes on for one version, and says so."""
    for command in (["certify"], ["trace", "--arithmetic", "float64"]):
        old, new = (run(*command, folder, *spelling) for spelling in (["--prompt", "1 2"], ["--ids", "1,2"]))
        assert (old.returncode, old.stdout, new.stderr) == (0, new.stdout, "")
        assert old.stderr == (
            "exactformer: --prompt: small has no tokenizer, so the numbers are taken for ids; "
            "the next version refuses this: give --ids\n"
        )


@pytest.mark.parametrize("number", ["１２", "1_0", "0x1", "", "1.0", "1" * 5000])
def test_numbers_of_options_have_the_digits_0_to_9(number: str) -> None:
    assert refused("generate", "capstone", "--max", number).startswith("--max: ")
    assert len(refused("trace", "--digits", number)) < 100


def test_an_input_that_is_too_long_for_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = re.findall(
        r"```toml\n(.*?)```", (Path(__file__).parent.parent / "docs" / "commands.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("exactformer.certificates.memory.available", lambda: 2**30)
    for arithmetic, needed in (("float64", "115.2"), ("arb", "1,440.0")):
        ids = ",".join("01" * 30_000)
        line = refused("trace", str(tmp_path / "mine.toml"), "--ids", ids, "--arithmetic", arithmetic)
        assert line.endswith(f": attention over 60,000 tokens takes about {needed} GB of memory; 1.1 GB are free")
