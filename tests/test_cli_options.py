"""No option is silently ignored: with every arithmetic it changes what is said, or is refused in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import exactformer as xf
from cli_runs import refused, run
from exactformer.arithmetics import able
from exactformer.model.arithmetics.arb import ArbArithmetic
from exactformer.model.changing import with_norm
from exactformer.web.editing import edited

ARITHMETICS = ("exact", "arb", "certified", "float64", "float32")
PROVING = ("exact", "arb", "certified")
# command, option, and the arithmetics that it goes with; the first part of a command is what it is compared with
TABLE: list[tuple[list[str], list[str], tuple[str, ...]]] = [
    (["trace", "capstone"], ["--set", "W_E[0,0]=1/2"], ARITHMETICS),
    (["trace", "capstone"], ["--mask", "none"], ARITHMETICS),
    (["trace", "similar", "--tokens", "cat sat"], ["--norm", "pre"], ARITHMETICS),
    (["trace", "capstone"], ["--step", "logits"], ARITHMETICS),
    (["trace", "capstone"], ["--break", "no-mask"], ARITHMETICS),
    (["trace", "capstone"], ["--hard"], ("exact", "float64", "float32")),
    (["trace", "capstone"], ["--stable"], ("exact", "arb", "float64", "float32")),
    (["trace", "capstone", "--break", "no-mask"], ["--stable"], ("exact", "arb", "float64", "float32")),
    (["trace", "capstone", "--step", "blocks.0.attn.pattern"], ["--decimals", "3"], ("exact", "float64", "float32")),
    (["trace", "capstone"], ["--stop-at-named"], ("exact",)),
    (["trace", "capstone"], ["--digits", "5"], ("exact",)),
    (["generate", "capstone", "--tokens", "a"], ["--digits", "5"], ("exact",)),
    (["generate", "capstone", "--tokens", "a"], ["--max", "1"], ("exact", "arb", "float64", "float32")),
    (["grad", "capstone", "--target", "a a"], ["--digits", "5"], ("exact",)),
    (["grad", "capstone", "--target", "a a"], ["--step", "1/10"], ("exact", "float64", "float32")),
]  # fmt: skip


@pytest.mark.parametrize(("command", "option", "goes_with"), TABLE, ids=lambda part: " ".join(part))
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_an_option_has_an_effect_or_is_refused(
    arithmetic: str, command: list[str], option: list[str], goes_with: tuple[str, ...]
) -> None:
    command = [*command, "--arithmetic", arithmetic]
    if arithmetic not in goes_with:
        assert refused(*command, *option)
        return
    plain, changed = run(*command), run(*command, *option)
    assert {changed.returncode, plain.returncode} <= {0, 3}
    assert changed.stdout != plain.stdout


def test_the_choice_of_arithmetics_is_what_their_classes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = ["grad", "capstone", "--target", "a b", "--arithmetic"]
    for name in ARITHMETICS:
        assert (run(*gradients, name).returncode == 0) == (name in able(lambda kind: kind.differentiates))
        assert (run("prove", "induction", "--length", "1", "--arithmetic", name).returncode in (0, 3)) == (name in PROVING)
    assert run(*gradients, "arb").stdout.count("1.40760596444") == 1
    assert refused(*gradients, "arb", "--step", "1").endswith("it goes with exact, float64, float32, float16 and bfloat16")
    monkeypatch.setattr(ArbArithmetic, "differentiates", False)
    assert refused(*gradients, "arb").endswith("'arb' is not one of 'exact', 'float64', 'float32', 'float16', 'bfloat16'.")


def test_a_step_of_descent_needs_weights_that_are_numbers() -> None:
    gradient = xf.gradient(xf.load("capstone").trace(arithmetic="arb"), "a b")
    with pytest.raises(xf.InputError, match="arb: a step of descent would make balls of the weights"):
        xf.descend(gradient, xf.exact("1/10"))


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ["--stable"],
            "--stable: certified arithmetic has no such step; it goes with exact, arb, float64, float32, float16 and bfloat16",
        ),
        (
            ["--step", "logits", "--decimals", "3"],
            "--decimals: numbers of certified show the digits that are proved; it goes with exact, float64, float32, float16 "
            "and bfloat16",
        ),
    ],
)
def test_what_certified_arithmetic_has_not(args: list[str], problem: str) -> None:
    assert refused("trace", "--arithmetic", "certified", *args) == problem


@pytest.mark.parametrize("shown", [[], ["--step", "token"], ["--format", "json"]], ids=str)
@pytest.mark.parametrize("arithmetic", ["arb", "certified"])
def test_a_token_that_is_undecided_is_status_3_in_every_arithmetic_that_proves(arithmetic: str, shown: list[str]) -> None:
    """The first token sees nothing but itself, so that balls cannot tell which logits are the same number."""
    done = run("trace", "induction", "--tokens", "a", "--arithmetic", arithmetic, *shown)
    assert done.returncode == 3
    assert done.stderr.startswith("exactformer: position 0: undecided: ")
    assert done.stderr.count("\n") == 1
    assert run("trace", "induction", "--tokens", "a", *shown).returncode == 0


@pytest.mark.parametrize("change", [["--norm", "pre"], ["--set", "W_E[0,0]=1e30"]], ids=" ".join)
def test_what_is_out_of_the_range_of_certified_arithmetic_is_undecided(change: list[str]) -> None:
    for more in ([], ["--break", "no-mask"]):
        done = run("trace", "capstone", "--tokens", "a b", "--arithmetic", "certified", *change, *more)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("exactformer: undecided: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norms_that_are_added_are_the_same_on_the_command_line_and_on_the_page(norm: str) -> None:
    sheet = xf.load("similar")
    assert sheet.model.config.norm == "none"
    here, there = with_norm(sheet.model, norm), edited(sheet, [f"norm={norm}"]).model  # type: ignore[arg-type]
    assert here.config == there.config
    assert str(here.config.epsilon) == "1/100000"
    tokens = replace(sheet, model=here).trace(arithmetic="float64"), replace(sheet, model=there).trace(arithmetic="float64")
    assert (tokens[0].logits == tokens[1].logits).all()


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["grad", "capstone"], "--target: is missing: the loss is the cross-entropy of target tokens: give one for each position"),
        (["grad", "length4", "--target", "I"], "--target: the model has no logits, so it has no loss: give --upstream"),
        (["certify", "capstone", "--tolerance", "1"], "--tolerance: goes with --expect"),
        (["prove", "induction", "--length", "2", "--ids", "0"], "--ids: does not go with --length alone: it goes with --schedule"),
    ],
)
def test_one_line_says_what_to_give(args: list[str], problem: str) -> None:
    assert refused(*args) == problem


@pytest.mark.parametrize(
    ("asked", "ending", "begins"),
    [
        (("trace",), "json", "{"),
        (("trace",), "MD", "# "),
        (("trace",), "tex", "\\documentclass"),
        (("trace",), "htm", "<!doctype html>"),
        (("trace",), "out", "The whole transformer"),
        (("grad", "--target", "a a"), "md", "# "),
        (("explain",), "json", "{"),
        (("certify", "capstone"), "json", "{"),
        (("certify", "capstone"), "html", "<!doctype html>"),
        (("prove", "induction", "--length", "2"), "json", "{"),
        (("exercise", "capstone", "--count", "2"), "tex", "\\documentclass"),
        (("exercise", "capstone", "--count", "2"), "toml", "format = "),
        (("budget", "capstone"), "txt", "The whole transformer"),
        (("man",), "1", ".TH"),
        (("circuits", "induction", "--largest", "1"), "json", "{"),
        (("generate", "induction"), "json", "{"),
    ],
)
def test_the_ending_of_the_file_says_the_format(asked: tuple[str, ...], ending: str, begins: str, tmp_path: Path) -> None:
    file = tmp_path / f"found.{ending}"
    run(*asked, "-o", str(file))
    assert file.read_text(encoding="utf-8").startswith(begins)
    if asked == ("trace",):  # what is said outright holds, before the file and after it
        run(*asked, "-o", str(file), "--format", "text")
        assert file.read_text(encoding="utf-8").startswith("The whole transformer")
        run(*asked, "--format", "json", "-o", str(file))
        assert file.read_text(encoding="utf-8").startswith("{")


@pytest.mark.parametrize(
    ("asked", "ending", "written"),
    [
        (("trace",), "pdf", "text, markdown, latex, json or html"),
        (("trace",), "PNG", "text, markdown, latex, json or html"),
        (("explain",), "md", "text or json"),
        (("exercise",), "pdf", "markdown, latex, html, moodle, stack or key"),
        (("exercise",), "ipynb", "markdown, latex, html, moodle, stack or key"),
        (("budget", "capstone"), "json", "text"),
        (("man",), "pdf", "text"),
    ],
)
def test_an_ending_of_another_kind_of_file_is_refused(asked: tuple[str, ...], ending: str, written: str, tmp_path: Path) -> None:
    file = tmp_path / f"found.{ending}"
    more = "; --format says which, whatever the ending" if " or " in written else ""
    assert refused(*asked, "-o", str(file)) == f"{file}: this command writes {written}, not .{ending.lower()}{more}"
    assert not file.exists()


@pytest.mark.parametrize("name", ["found", "found.txt", "found.v2", "tmp.aBcDeFgHiJ", ".found"])
def test_other_endings_leave_the_usual_format(name: str, tmp_path: Path) -> None:
    assert run("trace", "-o", str(tmp_path / name)).returncode == 0
    assert (tmp_path / name).read_text(encoding="utf-8") == run("trace").stdout


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("trace", "-o", "-") == run("trace")
    assert run("budget", "capstone", "-o", "-") == run("budget", "capstone")
    assert not [*tmp_path.iterdir()]
