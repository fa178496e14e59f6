"""The networks that come with the package: small folders, right on all inputs, and refuted where something is damaged."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch
from benchmarks.report import RESULTS
from benchmarks.trials.trained import changed, damaged, proved, sample, theorem
from training.networks.network import logits
from training.networks.task import Task
from training.networks.train import PLANS, Plan, train, wrong

from cli_runs import refused, run
from exactformer import load
from exactformer.worksheets.models import model_folder, networks

SMALL = ("adder", "modular", "sorter")  # whose inputs are proved in seconds
ROWS = json.loads((RESULTS / "networks.json").read_text())["rows"]


def test_the_folders_are_small_and_plain() -> None:
    assert set(PLANS) <= set(networks())
    sizes = {file: file.stat().st_size for name in PLANS for file in model_folder(name).iterdir()}
    assert {file.name for file in sizes} == {"model.safetensors", "worksheet.toml"}
    assert sum(sizes.values()) <= 400_000


@pytest.mark.parametrize("name", SMALL)
def test_all_inputs_are_proved_right(name: str) -> None:
    question = theorem(name)
    report, failed = proved(question, question.domain)
    assert (report.verdict, failed, report.sequences) == ("proved", {}, question.domain.size)


@pytest.mark.parametrize("name", ["balancer", "largest"])
def test_a_sample_of_the_large_ones(name: str) -> None:
    question = theorem(name)
    inputs = sample(random.Random(18), question, 2000)
    report, failed = proved(question, inputs)
    assert (report.verdict, failed, report.sequences) == ("proved", {}, len(inputs))


@pytest.mark.large
@pytest.mark.parametrize("name", ["balancer", "largest"])
def test_all_inputs_of_the_large_ones(name: str) -> None:
    question = theorem(name)
    report, failed = proved(question, question.domain)
    assert (report.counts["undecided"], report.sequences) == (0, question.domain.size)
    assert (failed == {}) == (name == "balancer")  # of largest, a few are wrong


def test_the_documentation_says_what_was_measured() -> None:
    told = (RESULTS.parents[1] / "docs" / "theorems.md").read_text()
    for row in ROWS:
        command = row["command"].partition(" --workers")[0]
        (line,) = [line for line in told.splitlines() if line.startswith(f"| `{command}` ")]
        assert f"all {row['sequences']:,} " in line
        wrong = row["counts"]["refuted"]
        assert row["counts"] == {"proved": row["sequences"] - wrong, "refuted": wrong, "undecided": 0}
        if wrong:
            assert f"on {row['counts']['proved']:,} of all " in line
            assert f" on {wrong} |" in line


@pytest.mark.parametrize("name", PLANS)
def test_a_rule_that_is_changed_in_one_place(name: str) -> None:
    tried = changed(random.Random(name), name)
    assert tried.failed == []


@pytest.mark.parametrize("name", PLANS)
def test_a_weight_that_is_damaged(name: str) -> None:
    rng = random.Random(name)
    assert [line for _ in range(3) for line in damaged(rng, name).failed] == []


@pytest.mark.parametrize("name", PLANS)
def test_pytorch_computes_the_same_logits(name: str) -> None:
    sheet = load(name)
    ids = sheet.model.ids(sheet.tokens)
    weights = {at: torch.tensor(np.asarray(values, dtype=float)) for at, values in sheet.model.weights.named()}
    ours = sheet.trace(arithmetic="float64")["logits"].values
    assert np.allclose(np.array(ours, dtype=float), logits(weights, sheet.model.config, torch.tensor([ids]))[0], atol=1e-9)


def test_training_begins_with_the_theorem() -> None:
    task = Task(model_folder("balancer") / "worksheet.toml")
    ids, wanted = task.examples(np.array([0b0011001100110011]))
    assert [task.vocabulary[i] for i in ids[0, :4]] == ["(", "(", ")", ")"]
    assert [task.vocabulary[i] for i in wanted[0, :4]] == ["no", "no", "no", "yes"]
    adder = Task(model_folder("adder") / "worksheet.toml")
    ids, wanted = adder.examples(np.array([9902]))
    assert (ids.tolist(), wanted.tolist()) == ([[9, 9, 0, 2, 1, 0]], [[-1, -1, -1, 1, 0, 1]])
    assert adder.config == load("adder").model.config


def test_a_few_steps_of_training_learn_something() -> None:
    task = Task(model_folder("sorter") / "worksheet.toml")
    inputs, few = wrong(train(task, Plan(40, 64)), task.config, task, 256)
    assert inputs == 256
    assert few < wrong(train(task, Plan(1, 1)), task.config, task, 256)[1]


def test_they_are_listed_and_proved_by_their_names() -> None:
    listed = run("examples").stdout
    assert all(f"exactformer prove {name} --count" in listed for name in PLANS)
    done = run("prove", "sorter", "--domain", "{a b c d}^2 {a d}^2 {b}^2", "--count")
    assert done.returncode == 0
    assert "right      64 of 64" in done.stdout
    assert "is a built-in model" in refused("examples", "sorter")
