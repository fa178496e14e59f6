"""Models without a part, and what that does to a lead."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from cli_runs import refused
from cli_runs import run as command
from exactformer.messages import Refused
from exactformer.model.ablating import ModelPart, without
from exactformer.model.fields import ConfigError
from exactformer.numbers import exact
from exactformer.render.explanations import ablation_json
from exactformer.trace import run
from exactformer.trace.ablation import ablation, mean, patch
from exactformer.web import tasks
from exactformer.worksheets import load
from random_models import random_model


@pytest.mark.parametrize("seed", range(8))
def test_without_a_head_is_as_if_it_found_nothing(seed: int) -> None:
    model = random_model(random.Random(seed), epsilon=exact("1e-5"), blocks=2)
    for part in [ModelPart(0, model.config.heads - 1), *([ModelPart(0, None)] if model.config.mlp else [])]:

        def silent(step: object, part: ModelPart = part) -> object:
            values = step.values
            if step.name == part.step:
                values = values.copy()
                values[... if part.head is None else part.head] = 0.0
            return values

        expected = run(model, ["a", "b"], "float64", patched=silent).logits
        found = run(without(model, part), ["a", "b"], "float64").logits
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_last_head_takes_away_what_it_contributes() -> None:
    """After the last block nothing reads what it wrote but the unembedding: its contribution is the change."""
    model = random_model(random.Random(5), norm="none", final_norm=False, mlp=0, residual=True, blocks=2)
    part = ModelPart(model.config.blocks - 1, 0)
    before, after = run(model, ["a", "b"]), run(without(model, part), ["a", "b"])
    found = ablation(("it",), before, after, "a", "b")
    assert found.change == -before.explain("a", "b")[part.name].value


def test_patching_with_its_own_pass_changes_nothing() -> None:
    model = random_model(random.Random(2), norm="none", final_norm=False, mlp=3, activation="relu", blocks=2)
    before = run(model, ["a", "b"])
    after = run(model, ["a", "b"], patched=patch({ModelPart(0, 0): before, ModelPart(0, None): before}))
    assert (before.logits == after.logits).all()
    other = run(model, ["b", "a"])
    whole = patch({ModelPart(0, h): other for h in range(model.config.heads)})
    assert (run(model, ["a", "b"], patched=whole)["blocks.0.attn.out"].values == other["blocks.0.attn.out"].values).all()


def test_the_mean_of_one_position_is_what_stood_there() -> None:
    model = random_model(random.Random(4), norm="none", final_norm=False, mlp=3, activation="relu", blocks=1, mask="causal")
    trace = run(model, ["a"])
    for part in (ModelPart(0, 0), ModelPart(0, None)):
        again = run(without(model, part, mean(part, [trace])), ["a"])
        assert (again.logits == trace.logits).all()


def test_parts_of_a_folder_are_left_out() -> None:
    """Its weights are views of a file, which nobody may write to."""
    model = load("stories").model
    for part in (ModelPart(1, 2), ModelPart(1, None)):
        block = without(model, part).weights.blocks[1]
        left = block.mlp.W_out if part.head is None else block.attn.W_O[part.head]
        assert not left.any()
        assert model.weights.blocks[1].attn.W_O[2].any()


def test_parts_that_are_not_there_are_refused() -> None:
    config = random_model(random.Random(1), heads=1, blocks=1, mlp=0).config
    for name in ("blocks.0.attn.head.1", "blocks.9.mlp", "blocks.0.mlp", "W_E", "blocks.0.attn"):
        with pytest.raises(ConfigError):
            ModelPart.named(name, config)


def test_the_command_tells_contributions_as_text_and_json() -> None:
    done = command("explain", "induction", "--tokens", "a b a", "--lead", "b", "a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "blocks.1.attn.head.0" in done.stdout
    assert "proved: the contributions add up to it exactly" in done.stdout
    document = json.loads(command("explain", "induction", "--tokens", "a b a", "--format", "json").stdout)
    assert (document["format"], document["token"], document["proof"]) == ("exactformer explanation 1", "b", "equal")
    assert [len(each.get("parts", ())) for each in document["contributions"]] == [0, 0, 2, 2]


def test_the_command_tells_the_lens_and_ablations(tmp_path: Path) -> None:
    lens = command("explain", "induction", "--tokens", "a b a", "--lens").stdout
    assert lens.count("proved") == 3
    assert "blocks.1.resid_post" in lens
    gone = command("explain", "induction", "--tokens", "a b a", "--ablate", "blocks.0.attn.head.0=zero")
    assert gone.returncode == 0
    assert "falls, proved" in gone.stdout
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"ids": [0, 1]}\n{"ids": [1, 2]}\n')
    asked = ("explain", "induction", "--tokens", "a b a", "--format", "json")
    mean = json.loads(command(*asked, "--ablate", "blocks.1.attn.head.0=mean", "--over", str(prompts)).stdout)
    assert mean["sign"] == -1
    patched = json.loads(command(*asked, "--ablate", 'blocks.1.attn.head.0=from "b c b"').stdout)
    assert (patched["output"][0]["token"], patched["output"][1]["token"]) == ("b", "c")


def test_bad_questions_get_one_line() -> None:
    for asked, answer in (
        (("--ablate", "blocks.0.attn.head.9=zero"), "no such head"),
        (("--ablate", "blocks.0.attn.head.0=half"), "is not an ablation"),
        (("--ablate", "blocks.0.attn.head.0=mean"), "give the prompts"),
        (("--ablate", "blocks.0.attn.head.0=from a b a b"), "tokens, the input"),
        (("--logit", "z9"), "not in the vocabulary"),
        (("--logit", "a", "--lead", "a", "b"), "does not go with"),
        (("--position", "7"), "positions 0 to 2"),
        (("--over", "x"), "goes with"),
        (("--lens", "--logit", "a"), "without"),
    ):
        assert answer in refused("explain", "induction", "--tokens", "a b a", *asked)


def test_the_page_is_told_the_same() -> None:
    source = {"example": "induction", "edits": ["tokens=a b a"]}
    found = tasks.run("explain", {"source": source, "position": 2, "token": "b", "over": "a"})
    assert (found["proof"], [each["size"] for each in found["contributions"]]) == ("equal", [0, 0, 0, pytest.approx(100)])
    lens = command("explain", "induction", "--tokens", "a b a", "--lens", "--format", "json").stdout
    assert tasks.run("lens", {"source": source, "position": 2}) == json.loads(lens)
    with pytest.raises(Refused, match="not in the vocabulary"):
        tasks.run("explain", {"source": source, "position": 2, "token": "nobody"})


def test_in_python_it_is_what_the_command_says(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "a b a"}\n{"prompt": "c b a"}\n')
    for how, arithmetic in (("zero", "exact"), ("mean", "arb"), ("from b c b", "float64"), ("zero", "certified")):
        part = f"blocks.1.attn.head.0={how}"
        said = json.loads(
            command(
                *("explain", "induction", "--tokens", "a b a", "--arithmetic", arithmetic, "--format", "json", "--ablate", part),
                *(("--over", str(prompts)) if how == "mean" else ()),
            ).stdout
        )
        found = load("induction").trace("a b a", arithmetic).ablate(part, means=["a b a", "c b a"])
        assert json.loads(ablation_json(found)) == said
        assert len(repr(found)) < 100
        assert "<table" in found._repr_html_()
    with pytest.raises(Refused, match="means="):
        load("induction").trace("a b a").ablate("blocks.1.attn.head.0=mean")
    with pytest.raises(Refused, match="no part"):
        load("induction").trace("a b a").ablate()


def test_a_lead_that_does_not_exist_is_undefined_and_not_undecided() -> None:
    part = "blocks.0.attn.head.0=zero"
    found = load("capstone").trace("a b").ablate(part)
    assert found.undefined == "after: blocks.0.ln1 at position 1: the variance is 0 and ε is 0, so it is not divided"
    assert "is undefined after: blocks.0.ln1 at position 1" in str(found)
    assert "undecided" not in str(found) + found._repr_html_()
    assert "is undefined after" in found._repr_html_()
    asked = command("explain", "capstone", "--ablate", part)
    assert (asked.returncode, "undecided" in asked.stdout) == (0, False)
    assert load("capstone").trace("a b").ablate("blocks.0.mlp=zero").undefined is None


def test_another_text_is_cut_up_as_the_first_was() -> None:
    t = load("stories").trace(prompt="Once upon a time", arithmetic="float64")
    found = t.ablate("blocks.4.mlp=from Once upon a day")
    assert found.said[0].token == ","
    assert run(t.model, t.tokens, "float64").ablate("blocks.0.mlp=from " + " ".join(t.tokens)).change == 0
