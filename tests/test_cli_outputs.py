"""Models that say other tokens than they read, on the command line and on the page: names, statuses, one line for a mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runs import run
from exactformer.model import InputError
from exactformer.trace import usual_gradient
from exactformer.web import document
from exactformer.worksheets import loads
from own_outputs import small, sums


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    path = tmp_path / "sums.toml"
    path.write_text(sums())
    return str(path)


@pytest.fixture
def mute(tmp_path: Path) -> str:
    path = tmp_path / "mute.toml"
    small(("yes", "no")).save(path)
    return str(path)


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified"])
def test_a_theorem_of_a_worksheet(sheet: str, arithmetic: str) -> None:
    how = [] if arithmetic == "certified" else ["--arithmetic", arithmetic]
    assert run("prove", sheet, "--workers", "1", *how).returncode == 0
    wrong = run("prove", sheet, "--rule", "(a + c + 1) mod 5", "--workers", "1", *how)
    assert wrong.returncode == 1


def test_what_is_counted_and_listed(sheet: str, tmp_path: Path) -> None:
    table = tmp_path / "wrong.csv"
    counted = run("prove", sheet, "--rule", "a", "--count", "--wrong", str(table), "--workers", "1")
    assert counted.returncode == 0
    assert "20" in counted.stdout
    assert len(table.read_text().splitlines()) == 21


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("prove", "--rule", "last", "--workers", "1"), "rule 'last': the answer '=' is not a token that the model says"),
        (
            ("grad",),
            "--target: is missing: the loss is the cross-entropy of target tokens: give one for each position, "
            "of the outputs 0, 1, 2, 3, 4",
        ),
        (("grad", "--target", "0 0 0 ="), "position 3: the token '=' is not among the outputs (0, 1, 2, 3, 4)"),
        (("explain", "--logit", "+"), "the token '+' is not among the outputs (0, 1, 2, 3, 4)"),
        (("explain", "--lead", "2", "="), "the token '=' is not among the outputs (0, 1, 2, 3, 4)"),
        (("generate", "--max", "1", "--stop", "="), "stop: the token '=' is not among the outputs"),
        (("trace", "--tokens", "3 - 4"), "position 1: the token '-' is not in the vocabulary (0, 1, 2, 3, 4, +, =)"),
    ],
)
def test_one_line_for_a_token_that_is_not_said(sheet: str, args: tuple[str, ...], problem: str) -> None:
    name, *rest = args
    done = run(name, sheet, *rest)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["certify", "generate"])
def test_more_than_one_token_is_refused_where_none_is_fed_back(mute: str, command: str) -> None:
    done = run(command, mute, "--tokens", "a b", "--max", "2")
    assert done.returncode == 2
    assert "the output 'yes' is not in the vocabulary (a, b, c, =): it cannot be fed back" in done.stderr
    assert done.stderr.count("\n") == 1
    one = run(command, mute, "--tokens", "a b", "--max", "1")
    assert one.returncode == 0
    assert "yes" in one.stdout or "no" in one.stdout


def test_certificates_name_outputs_and_inputs(sheet: str) -> None:
    done = run("certify", sheet)
    assert "what follows #3 + #4 = (4 tokens)" in done.stdout
    assert "token 1: #2, proved" in done.stdout


def test_the_page_has_names_of_both() -> None:
    outline = document.outline(loads(sums()).trace())
    assert outline["model"]["outputs"] == ["0", "1", "2", "3", "4"]
    axes = {step["name"]: step["axes"] for step in (*outline["steps"], *outline["weights"])}
    assert (axes["logits"], axes["W_U"], axes["W_E"]) == (["position", "output"], ["dimension", "output"], ["token", "dimension"])
    assert [out["id"] for out in outline["output"]] == [0, 1, 0, 2]
    assert "outputs" not in outline["model"]["more"]


def test_json_of_a_pass_has_outputs(sheet: str) -> None:
    model = json.loads(run("trace", sheet, "--format", "json").stdout)["model"]
    assert (len(model["vocabulary"]), model["outputs"]) == (7, ["0", "1", "2", "3", "4"])


def test_an_input_that_is_no_target(sheet: str) -> None:
    """Where no targets are given, a lesson and the page take the input: here it says what to give instead."""
    trace = loads(sums()).trace()
    with pytest.raises(InputError, match=r"the input is no target.* other tokens \(0, 1, 2, 3, 4\): give one of them"):
        usual_gradient(trace)
    assert usual_gradient(trace, "0 0 0 2").targets == ("0", "0", "0", "2")
