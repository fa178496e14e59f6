"""What a proof is expected to take: from a configuration alone, from a folder, and with what an earlier run kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpt2_files import small_config, small_tensors, write_folder
from llama_files import llama_config, write_llama

from cli_runs import refused, run
from exactformer.certificates import memory
from exactformer.certificates.storage import prepared
from exactformer.certified import Outlook
from exactformer.certified.limbs import MOST
from exactformer.checkpoints import open_checkpoint, outline_checkpoint
from exactformer.model import InputError, Model
from exactformer.model.taking import owner
from exactformer.planning import Plan, plan
from exactformer.planning.typical import KINDS, kind_of, typical
from exactformer.worksheets import load

pytestmark = pytest.mark.usefixtures("made_up")
WIDE = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 6, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": ..., "vocab_size": 1000, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip


def shapes(tmp_path: Path, name: str = "c.json", **changes: Any) -> Model:
    path = tmp_path / name
    path.write_text(json.dumps(llama_config(**changes)), encoding="utf-8")
    return outline_checkpoint(path).model


def planned(
    tmp_path: Path, length: int = 8, tokens: int = 1, workers: int = 1, outlook: Outlook | None = None, **more: Any
) -> Plan:
    return plan(shapes(tmp_path, **more), "m", "F32", length, tokens, workers, outlook)


def without_machine(text: str) -> Any:
    """But for what the machine says of itself in the same second."""
    document = json.loads(text)
    del document["memory"]["free"]
    document["model"].pop("title")
    return document


def test_a_configuration_says_as_much_as_a_folder_that_nobody_has_prepared(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m")
    alone = run("certify", "--plan", str(folder / "config.json"), "--format", "json")
    whole = run("certify", str(folder), "--plan", "--format", "json")
    assert (alone.returncode, alone.stderr, whole.returncode, whole.stderr) == (0, "", 0, "")
    assert without_machine(alone.stdout) == without_machine(whole.stdout)


def test_a_folder_without_weights_is_its_configuration(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m")
    before = run("certify", "--plan", str(folder), "--format", "json").stdout
    (folder / "model.safetensors").unlink()
    assert without_machine(run("certify", "--plan", str(folder), "--format", "json").stdout) == without_machine(before)


def test_what_a_scout_saw_is_derived_and_the_preparation_is_done(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m")
    model = open_checkpoint(folder).model
    with prepared(model) as ready:
        ready.prepare()
        assert ready.outlook is not None
        schedule = ready.outlook.schedule(8, ready.outlook.lead)
    found, config = (
        json.loads(run("certify", "--plan", str(path), "--format", "json").stdout) for path in (folder, folder / "config.json")
    )
    assert (found["growth"]["basis"], found["limbs"]["basis"], found["growth"]["table"]) == ("derived", "derived", "")
    assert [half["limbs"] for half in found["halves"]] == list(schedule)
    assert found["time"]["preparation"] == 0 < config["time"]["preparation"]
    assert (config["growth"]["basis"], config["growth"]["table"]) == ("estimated", "gated")
    for same in ("model", "length", "tokens"):
        assert found[same] | {"title": ""} == config[same] | {"title": ""} if same == "model" else found[same] == config[same]


def test_the_limbs_are_those_that_certify_would_begin_with(tmp_path: Path) -> None:
    model = shapes(tmp_path, **WIDE)
    outlook = typical(model.config)
    found = plan(model, "m", "BF16", 9)
    assert [half.limbs for half in found.halves] == list(outlook.schedule(9, outlook.lead))
    assert len(found.halves) == 2 * 6 + 1


@pytest.mark.parametrize(
    "more", [{}, {"length": 16}, {"tokens": 4}, {"num_hidden_layers": 4}, {"length": 9, "num_hidden_layers": 3}]
)
def test_more_of_anything_takes_more(tmp_path: Path, more: dict[str, Any]) -> None:
    least = planned(tmp_path, 4)
    found = planned(tmp_path, **{"length": 8} | more)
    assert least.bits <= found.bits
    assert least.limbs <= found.limbs
    assert least.memory.total <= found.memory.total
    assert least.time.passes < found.time.passes
    assert least.time.total < found.time.total


def test_it_rises_with_every_token_and_every_block(tmp_path: Path) -> None:
    wide = {"hidden_size": 512, "max_position_embeddings": 4096}
    by_length = [planned(tmp_path, n, **wide) for n in (1, 2, 8, 9, 33, 64, 200, 2000)]
    by_depth = [planned(tmp_path, **wide | {"num_hidden_layers": n}) for n in (1, 2, 3, 5, 8)]
    for row in (by_length, by_depth):
        for what in (lambda p: p.bits, lambda p: p.limbs, lambda p: p.memory.total, lambda p: p.time.passes):
            values = [what(each) for each in row]
            assert values == sorted(values)
        assert row[0].time.total < row[-1].time.total


def test_memory_is_that_of_the_one_formula(tmp_path: Path) -> None:
    model = shapes(tmp_path, **WIDE)
    found = plan(model, "m", "F32", 8).memory
    most = memory.for_weights(model, 16) + max(memory.for_pass(model, 8, MOST), memory.for_scout(model))
    assert found.made + found.computed <= most + (128 << 20)
    assert found.weights == 4 * sum(int(values.size) for _, values in model.weights.named())
    assert found.each(1) == found.total > found.each(4) > found.total // 4


def test_workers_share_weights_and_work_but_not_what_each_does_alone(tmp_path: Path) -> None:
    one, four, many = (planned(tmp_path, workers=n, **WIDE) for n in (1, 4, 10_000))
    assert one.spread == one.time == four.time
    assert one.spread.passes > four.spread.passes > one.spread.passes / 4
    assert many.spread.passes > 13 * 4e-4  # two messages for every half, at least


def test_what_stands_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 10**15)
    assert planned(tmp_path).obstacles == ()
    large = WIDE | {
        "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 60, "num_attention_heads": 64,
    }  # fmt: skip
    limbs, terms, norm = planned(tmp_path, **large).obstacles
    assert limbs.endswith(" limbs are wanted, and there are at most 25: the pass would end undecided")
    assert terms == "bounds of sums of 8,192 and 57,344 terms: too many for their rounding: the pass would end undecided"
    assert norm == "an RMSNorm of 8192 entries: at most 8191 are summed exactly: the pass would end undecided"
    monkeypatch.setattr(memory, "available", lambda: 10**7)
    assert planned(tmp_path).obstacles[0].endswith(" of memory are wanted, and 10 MB are free on this machine")


def test_text_says_what_each_figure_rests_on(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m")
    done = run("certify", "--plan", str(folder), "--length", "5", "--max", "3", "--workers", "4")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "m: the proof of 3 tokens after 5, as it is expected",
        "a plan, not a proof: nothing here is proved, and no proof uses it",
    ]
    bases = {line.split()[0]: line.split()[-1] for line in lines[3:14]}
    assert bases == {
        "model": "derived", "work": "derived", "growth": "estimated", "limbs": "estimated", "memory": "estimated",
        "prepare": "calibrated", "first": "calibrated", "pass": "calibrated", "token": "calibrated", "total": "calibrated",
        "workers": "estimated",
    }  # fmt: skip
    assert any(line.split()[:3] == ["blocks.0.attn", "to", "head"] for line in lines)


def test_json_has_the_fields_that_the_page_says(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m")
    found = json.loads(run("certify", "--plan", str(folder), "--format", "json", "--max", "2").stdout)
    assert list(found) == [
        "format", "caution", "model", "length", "tokens", "growth", "limbs", "halves", "memory", "time", "workers", "in_the_way",
        "bases",
    ]  # fmt: skip
    assert (found["format"], found["length"], found["tokens"]) == ("exactformer plan 1", 8, 2)
    assert {part: found[part]["basis"] for part in ("model", "growth", "limbs", "memory", "time", "workers")} == {
        "model": "derived", "growth": "estimated", "limbs": "estimated", "memory": "estimated", "time": "calibrated",
        "workers": "estimated",
    }  # fmt: skip
    assert [half["name"] for half in found["halves"]] == [
        "blocks.0.attn", "blocks.0.mlp", "blocks.1.attn", "blocks.1.mlp", "head",
    ]  # fmt: skip
    time = found["time"]
    assert time["total"] == pytest.approx(time["preparation"] + time["first"] + time["pass"] + time["token"])
    assert sum(half["seconds"] for half in found["halves"]) == pytest.approx(time["pass"])
    assert found["memory"]["total"] == sum(found["memory"][part] for part in ("weights", "made_of_them", "computed"))


def test_the_length_is_that_of_the_input_or_of_the_source_or_eight(tmp_path: Path) -> None:
    folder = str(write_llama(tmp_path / "m"))

    def length(*args: str) -> int:
        return int(json.loads(run("certify", "--plan", *args, "--format", "json").stdout)["length"])

    assert [length(folder), length(folder, "--ids", "1,2,3"), length(folder, "--length", "5")] == [8, 3, 5]
    assert [length("capstone"), length("capstone", "--tokens", "a"), length("stories", "--prompt", "Once")] == [2, 1, 1]
    short = str(write_folder(tmp_path / "short"))  # a GPT-2 of five positions
    assert length(short) == 5
    assert length(f"{folder}/config.json", "--ids", "1,2") == 2


def test_every_built_in_example_has_a_plan() -> None:
    for name in ("capstone", "llama", "induction", "stories"):
        done = run("certify", "--plan", name)
        assert (done.returncode, done.stderr) == (0, ""), name


BAD: list[tuple[dict[str, Any], str]] = [
    ({"num_key_value_heads": 3}, "num_key_value_heads: 3 heads of keys do not divide the 4 heads of queries"),
    ({"model_type": "bloom"}, "model_type: 'bloom' is not supported; supported: gpt2, llama"),
    ({"head_dim": 3}, "head_dim: 3 is odd"),
    ({"softcap": 2}, "'softcap' is not a known key of llama: it may change the network"),
    ({"hidden_size": ...}, "hidden_size: is missing"),
    ({"vocab_size": 2**31 - 1}, "vocab_size: 2,147,483,647 is more than a plan is made for: up to 4,194,304"),
    ({"num_hidden_layers": 10**6}, "num_hidden_layers: 1,000,000 is more than a plan is made for: up to 4,096"),
    ({"hidden_size": 10**9}, "hidden_size: 1,000,000,000 is more than a plan is made for: up to 131,072"),
    ({"torch_dtype": "int4"}, "torch_dtype: 'int4' is not one of bfloat16, float16, float32, float64"),
    ({"architectures": ["LlamaModel"]}, "the model has no logits: there is no token to prove"),
]


@pytest.mark.parametrize(("changes", "problem"), BAD)
def test_a_bad_configuration_gets_a_line(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(llama_config(**changes)), encoding="utf-8")
    assert problem in refused("certify", "--plan", str(path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"model_type": 3}', "\x00", '{"a": 1, "a": 2}'])
def test_what_is_no_configuration_gets_a_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    assert "config.json" in refused("certify", "--plan", str(path))


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    folder = write_llama(tmp_path / "m")
    config = str(folder / "config.json")
    for option in (["--cap", "9"], ["--top", "2"], ["--digits", "3"], ["--audit"], ["--compare", "float32"], ["--verify", "x"]):
        assert refused("certify", config, "--plan", *option) == f"{option[0]}: does not go with --plan"
    assert refused("certify", config, "--plan", "--format", "html") == "--format html: does not go with --plan"
    assert refused("certify", str(folder), "--ids", "1", "--length", "3") == "--length: goes with --plan"
    assert (
        refused("certify", str(folder), "--ids", "1", "--workers", "3") == "--workers: goes with --prompts, --plan or --independent"
    )
    problem = "--length: does not go with an input, which has its own"
    assert refused("certify", config, "--plan", "--ids", "1", "--length", "3") == problem
    assert "has no tokenizer" in refused("certify", config, "--plan", "--prompt", "hello")
    assert refused("certify", "-", "--plan") == "-: a plan is made of an example, of a file or of a folder"
    assert refused("certify", config, "--plan", "--length", "17").endswith("take 17 positions; the model has 16")
    assert "there is no such file" in refused("certify", str(tmp_path / "none.json"), "--plan")


def test_a_folder_whose_shapes_do_not_fit_is_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "m", small_config(n_embd=8), small_tensors())
    assert "where config.json asks for" in refused("certify", "--plan", str(folder))


def test_no_weight_is_looked_at(tmp_path: Path) -> None:
    """A folder of half a gigabyte in bfloat16, none of which is there: the file is a hole."""
    sizes = {
        "hidden_size": 4096,
        "intermediate_size": 8192,
        "num_hidden_layers": 2,
        "vocab_size": 20_000,
        "tie_word_embeddings": True,
    }
    config = llama_config(**sizes, num_attention_heads=32, num_key_value_heads=8, head_dim=128)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    at, header = 0, {}
    wide = {"q": (4096, 4096), "k": (1024, 4096), "v": (1024, 4096), "o": (4096, 4096)}
    names = {"model.embed_tokens.weight": (20_000, 4096), "model.norm.weight": (4096,)}
    for n in range(2):
        layer = f"model.layers.{n}."
        names |= {f"{layer}self_attn.{name}_proj.weight": shape for name, shape in wide.items()}
        names |= {f"{layer}{norm}_layernorm.weight": (4096,) for norm in ("input", "post_attention")}
        names |= {f"{layer}mlp.{name}_proj.weight": (8192, 4096) for name in ("gate", "up")}
        names[f"{layer}mlp.down_proj.weight"] = (4096, 8192)
    for name, shape in names.items():
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + at)
    found = outline_checkpoint(tmp_path)
    assert (found.dtype, found.size) == ("BF16", at)
    large = [values for _, values in found.model.weights.named() if values.ndim > 1]
    assert not any(isinstance(owner(values), np.ndarray) for values in large)  # views of the file


def test_an_outline_is_never_computed_with_by_the_plan(tmp_path: Path) -> None:
    """What is no number in a folder does not change its plan: it is certify that refuses it."""
    tensors = small_tensors()
    tensors["wte.weight"][:] = float("nan")
    folder = write_folder(tmp_path / "m", small_config(), tensors)
    assert run("certify", "--plan", str(folder)).returncode == 0
    assert "infinite or not a number" in refused("certify", str(folder), "--ids", "1")


@pytest.mark.parametrize("name", KINDS)
def test_rows_of_the_table_are_found_by_the_wiring(name: str) -> None:
    config = load("stories").model.config
    given: dict[str, Any] = {
        "plain": {"mlp_kind": "plain"}, "parallel": {"parallel": True}, "gated": {}, "four norms": {"post_norms": True},
    }  # fmt: skip
    assert kind_of(replace(config, **given[name])) == name


def test_too_long_a_prompt_is_refused() -> None:
    with pytest.raises(InputError, match="2 tokens given and 2 to prove take 3 positions; the model has 2"):
        plan(load("capstone").model, "capstone", "exact", 2, 2)
