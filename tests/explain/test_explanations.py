"""Sums that are proved to add up, and sums that do not, which are noticed."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from flint import arb

from exactformer.arithmetics import adjoints
from exactformer.model import Model
from exactformer.model.breaking import broken
from exactformer.model.errors import InputError
from exactformer.numbers import Number, exact, exp
from exactformer.numbers.decide import prove_zero
from exactformer.numbers.enclosure import ball
from exactformer.render import explanations
from exactformer.trace import Explanation, Trace, run
from exactformer.trace.explanation import DoesNotAddUp, proof_of_sum, summed
from exactformer.worksheets import load
from random_models import random_model


@pytest.fixture(scope="module")
def induction() -> Trace:
    return load("induction").trace("a b a")


def changed(found: Explanation, n: int, by: object) -> Explanation:
    each = found.contributions[n]
    return replace(
        found,
        contributions=(
            *found.contributions[:n],
            replace(each, value=summed([each.value, by], adjoints(found.arithmetic))),
            *found.contributions[n + 1 :],
        ),
    )


def test_a_lead_is_proved_equal_to_its_sum(induction: Trace) -> None:
    found = induction.explain("b", "a")
    assert found.proof == "equal"
    assert sum((each.value for each in found), exact(0)) == induction.logits[2, 2] - induction.logits[2, 1]


@pytest.mark.parametrize("seed", range(12))
def test_random_models_with_norms_and_mlps_add_up_exactly(seed: int) -> None:
    rng = random.Random(seed)
    model = random_model(rng, dims=(2, 3), blocks=2, epsilon=exact("1e-5"))
    found = run(model, [rng.choice(model.config.vocabulary) for _ in range(2)]).explain(*model.config.vocabulary[:2])
    assert found.proof == "equal"


@pytest.mark.parametrize("by", ["1", "1e-30", "1e-300", "1e-900"])
def test_a_changed_contribution_is_noticed(induction: Trace, by: str) -> None:
    found = induction.explain("b", "a")
    for n in range(len(found.contributions)):
        with pytest.raises(DoesNotAddUp):
            changed(found, n, exact(by)).proved(adjoints("exact"))


@pytest.mark.parametrize("arithmetic", ["exact", "arb", "certified"])
@pytest.mark.parametrize(("source", "most"), [("capstone", 1), ("induction", 1), ("modular", 5), ("modular", 1)])
def test_what_is_shown_and_the_others_add_up(source: str, most: int, arithmetic: str) -> None:
    found = load(source).trace(None if source != "induction" else "a b a", arithmetic).explain()
    written = {each["name"]: each for each in explanations.document(found, most=most)["contributions"]}
    lines = [line.split("  ")[2].strip() for line in explanations.text(found, most=most).splitlines() if line.startswith("    ")]
    told = []
    for each in (each for each in found if each.parts):
        shown, others = explanations.largest_parts(each, found, most)
        assert written[each.name]["shown"] == [part.name for part in shown]
        told += [explanations.part_name(part, found) for part in shown]
        if len(each.parts) <= most:
            assert (others, len(shown)) == (None, len(each.parts))
            assert "others" not in written[each.name]
            continue
        assert others is not None
        left = len(each.parts) - most
        assert others.name.startswith(f"{left} other ")
        assert written[each.name]["others"]["name"] == others.name
        told.append(others.name)
        total = sum((part.value for part in shown), others.value)
        assert isinstance(others.value, Number if arithmetic == "exact" else arb)
        enclosed, whole = (ball(value, 1024) if arithmetic == "exact" else value for value in (total, each.value))
        assert enclosed.overlaps(whole)
        assert enclosed.rad() < (1e-290 if arithmetic == "exact" else 1e-9)
    assert lines == told


def test_the_command_shows_the_others_in_both_formats(capsys: pytest.CaptureFixture[str]) -> None:
    found = load("modular").trace().explain()
    mlp = found["blocks.0.mlp"].parts
    least = sorted(mlp, key=lambda part: abs(part.value.to_float()))[:59]
    others = sum(part.value.to_float() for part in least)
    row = next(line for line in str(found).splitlines() if "other units" in line).split()
    assert row[:4] == ["59", "other", "units", "≈"]
    assert float(row[4]) == pytest.approx(others)
    written = json.loads(explanations.json_text(found))["contributions"]
    assert next(each for each in written if each["name"] == "blocks.0.mlp")["others"]["size"] == pytest.approx(others)
    assert "other" not in explanations.text(found, most=0) + explanations.text(found, most=64)


def test_random_changes_are_noticed_and_no_others() -> None:
    rng, ops = random.Random(7), adjoints("exact")
    for _ in range(150):
        values = [exact(rng.randint(-9, 9)) * exp(exact(rng.randint(-2, 2))) + rng.randint(-3, 3) for _ in range(rng.randint(1, 6))]
        whole = sum(values, exact(0))
        assert proof_of_sum(rng.sample(values, len(values)), whole, ops) == "equal"
        with pytest.raises(DoesNotAddUp):
            proof_of_sum(values, whole + exact(f"{rng.choice((-1, 1))}e-{rng.randint(0, 200)}"), ops)


def test_a_changed_ball_is_noticed() -> None:
    found = load("capstone").trace("a b", "arb").explain()
    assert found.proof == "enclosed"
    for n in range(len(found.contributions)):
        with pytest.raises(DoesNotAddUp):
            changed(found, n, arb("1e-20")).proved(adjoints("arb"))


def test_certified_terms_hold_the_exact_ones() -> None:
    trace = load("llama").trace("a b", "certified")
    finer = load("llama").trace("a b", "arb").explain()
    found = trace.explain()
    assert (found.proof, found.norms, len(found.contributions)) == ("enclosed", ("ln_final",), len(finer.contributions))
    for each, other in zip(found, finer, strict=True):
        assert each.name == other.name
        assert each.value.overlaps(other.value)
        assert all(part.value.overlaps(theirs.value) for part, theirs in zip(each.parts, other.parts, strict=True))


def test_a_capped_logit_is_explained_before_the_cap() -> None:
    model = random_model(random.Random(3), norm="none", final_norm=False, mlp=0)
    capped = Model(replace(model.config, logit_cap=exact(2)), model.weights)
    found, plain = (run(each, ["a", "b"], "arb").explain("a") for each in (capped, model))
    assert (found.step, plain.step, found.norms) == ("uncapped", "logits", ())
    assert found.value.overlaps(plain.value)


def test_floats_are_not_called_proved() -> None:
    assert load("capstone").trace("a b", "float64").explain().proof == "rounded"


def test_what_cannot_be_explained_is_refused(induction: Trace) -> None:
    with pytest.raises(InputError, match="not in the vocabulary"):
        induction.explain("nobody")
    with pytest.raises(InputError, match="over itself"):
        induction.explain("a", "a")
    with pytest.raises(InputError, match="positions 0 to 2"):
        induction.explain("a", position=3)
    turned = broken(load("llama").model, ["rotary-after-scores"])
    with pytest.raises(InputError, match="late_rotary"):
        run(turned, "a b", "float64").explain()
    with pytest.raises(InputError, match="no logits"):
        load("length4").trace(arithmetic="float64").explain()


def test_the_lens_ends_with_what_the_model_says() -> None:
    for arithmetic in ("exact", "arb", "certified"):
        trace = load("induction").trace("a b a", arithmetic)
        last = trace.lens()[-1].output
        assert (last.token, last.proved, last.runner_up) == ("b", True, trace.output[-1].runner_up)


def test_a_lens_shows_itself(induction: Trace) -> None:
    found = induction.lens()
    assert repr(found) == "<lens at position 2: ! → ! → b>"
    assert (len(found), found[-1].step, found.proved) == (3, "blocks.1.resid_post", True)
    assert str(found).splitlines()[-3].startswith("  blocks.1.resid_post  b  ahead of a by ")
    html = found._repr_html_()
    assert html.count("<tr>") == 4  # the head, and a row each
    for look in found:
        assert f"<code>{look.step}</code>" in html


def test_small_models_are_explained_by_fractions_and_formulas() -> None:
    found = load("capstone").trace("a b").explain()
    said = {each.name: str(each.value) for each in found}
    assert (said["embed"], said["pos_embed"]) == ("(-2-2·e)/3", "(2+2·e)/3")
    head = found["blocks.0.attn.head.0"]
    assert (str(head.value), [str(part.value) for part in head.parts]) == ("2/3", ["2/3", "0"])
    shown = str(found)
    assert "(2+2·e)/3 ≈ 2.47885455231" in shown
    assert shown.count("≈") == 2  # the two that are no fractions


def test_what_algebra_proves_of_atoms_holds_for_all_numbers() -> None:
    a, b = exp(exact(1)), exp(exact(2))
    assert prove_zero((a + b) * (a - b) - a**2 + b**2, [a, b])
    assert not prove_zero(a**2 - b, [a, b])  # true of these two, and not of all
