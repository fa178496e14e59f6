"""exactformer judge, golden files, and assert_right for the test suites of others."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.trials.referees import drawn_llama
from safetensors.numpy import load_file
from transformers import LlamaForCausalLM

from children import PATIENCE
from cli_runs import run
from exactformer.messages import Refused
from exactformer.testing import assert_right, load_golden

IDS = [[1, 4, 2, 7, 3, 9], [5, 5, 1, 8, 0, 2]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama")
    drawn_llama(5, path)
    return path


def logits(folder: Path, dtype: str, change: Any = lambda model: None) -> Any:
    model = LlamaForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation="eager").eval()
    change(model)
    with torch.no_grad():
        out = model(torch.tensor(IDS), output_hidden_states=True)
    return out.logits.float().numpy(), {f"hidden_states.{n}": h.float().numpy() for n, h in enumerate(out.hidden_states)}


@pytest.fixture(scope="module")
def engines(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs in three formats, and of an engine with another ε."""
    place = tmp_path_factory.mktemp("engines")

    def mistaken(model: Any) -> None:
        model.model.layers[-1].post_attention_layernorm.variance_epsilon = 0.3

    for name, dtype, change in (
        ("plain", "float32", lambda model: None),
        ("narrow", "bfloat16", lambda model: None),
        ("faulty", "float32", mistaken),
    ):
        numbers, steps = logits(folder, dtype, change)
        np.savez(place / f"{name}.npz", ids=np.array(IDS), logits=numbers, **steps)
    return place


def judged(*args: str) -> Any:
    """With a journal of its own: others may judge the same now."""
    with tempfile.TemporaryDirectory() as place:
        done = run("judge", *args, "--workers", "1", "--journal", f"{place}/journal")
    return done.returncode, done.stdout, done.stderr


def test_engines_are_told_apart(folder: Path, engines: Path) -> None:
    files = [str(engines / f"{name}.npz") for name in ("plain", "narrow", "faulty")]
    status, said, _ = judged(str(folder), "--outputs", *files, "--dtype", "narrow=bfloat16", "--format", "json")
    records = json.loads(said)
    assert status in (0, 1)
    positions = [record for record in records if record["position"] is not None]
    assert len(positions) == 3 * 12
    assert {"engine", "prompt", "position", "verdict", "token", "true_token", "margin", "error", "ulps"} <= set(positions[0])
    assert all(record["verdict"] == "right" for record in positions if record["engine"] == "plain")
    first = {(record["engine"], record["prompt"]): record["first_step"] for record in records if record["position"] is None}
    assert first[("plain", 0)] is first[("plain", 1)] is None
    blocks = json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    assert first[("faulty", 0)] == first[("faulty", 1)] == "ln_final.out", blocks


@pytest.mark.parametrize("form", ["text", "markdown", "html", "svg"])
def test_every_form_is_written(form: str, folder: Path, engines: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    status, said, _ = judged(str(folder), "--outputs", str(engines / "faulty.npz"), "--format", form, "-o", str(out))
    text = out.read_text(encoding="utf-8")
    assert (status in (0, 1), said) == (True, "")
    assert "script" not in text
    assert {"text": "first step beyond careful floats", "markdown": "| engine | format |", "html": "<figure>", "svg": "<svg xmlns"}[
        form
    ] in text


def test_strict_refuses_numbers_that_no_careful_program_has(folder: Path, engines: Path) -> None:
    assert judged(str(folder), str(engines / "plain.npz"), "--strict")[0] == 0
    assert judged(str(folder), str(engines / "faulty.npz"), "--strict")[0] == 1


def test_numbers_of_a_narrower_format_are_noticed(folder: Path, tmp_path: Path) -> None:
    numbers = np.linspace(-3, 3, len(IDS[0]) * 10, dtype=np.float32).reshape(len(IDS[0]), -1)
    numbers = np.resize(numbers, logits(folder, "float32")[0][0].shape)
    rounded = {"plain": numbers, "half": numbers.astype(np.float16).astype(np.float32)}
    rounded["brain"] = torch.tensor(numbers).bfloat16().float().numpy()
    rounded["narrow"] = rounded["brain"].astype(np.float16)
    for name, rows in rounded.items():
        np.save(tmp_path / name, rows)
    files = [str(tmp_path / f"{name}.npy") for name in rounded]
    asked = (str(folder), "--ids", " ".join(map(str, IDS[0])), "--outputs", *files)
    _, said, _ = judged(*asked)
    for name, format in (("half", "float16"), ("brain", "bfloat16")):
        assert f"{name}: judged as float32, but all its numbers are {format}'s: --dtype {name}={format} judges it so" in said
    assert "narrow: judged as float16, but all its numbers are bfloat16's" in said
    assert "plain: judged" not in said
    assert "half: judged" not in judged(*asked, "--dtype", "half=float16")[1]


def test_a_wrong_token_is_status_1_and_named(folder: Path, tmp_path: Path) -> None:
    numbers, _ = logits(folder, "float32")
    worst = numbers[:, -1].argmin(axis=-1)
    np.savez(tmp_path / "tokens.npz", ids=np.array(IDS), tokens=worst)
    status, said, _ = judged(str(folder), "--outputs", str(tmp_path / "tokens.npz"))
    assert status == 1
    assert (
        f"tokens, prompt 0, after position 5: wrong: it says #{worst[0]}; the true token is #{numbers[0, -1].argmax()}, ahead of"
        in said
    )


def test_log_probabilities_of_a_server(folder: Path, tmp_path: Path) -> None:
    numbers, _ = logits(folder, "float32")
    whole = torch.log_softmax(torch.tensor(numbers), -1)
    with (tmp_path / "server.jsonl").open("w") as file:
        for n, ids in enumerate(IDS):
            tokens = ids[3:]
            picked = [float(whole[n, 2 + k, token]) for k, token in enumerate(tokens)]
            choice = {"token_ids": tokens, "logprobs": {"token_logprobs": picked}}
            file.write(json.dumps({"prompt_token_ids": ids[:3], "temperature": 0.7, "choices": [choice]}) + "\n")
    status, said, _ = judged(str(folder), "--outputs", str(tmp_path / "server.jsonl"), "--format", "json")
    records = json.loads(said)
    assert status == 0
    assert [record["verdict"] for record in records] == [None] * 6
    assert all(0 <= each["error"][0] <= each["error"][1] < 1e-4 for record in records for each in record["logprob"])


def test_true_log_probabilities_are_within_half_a_unit(folder: Path, tmp_path: Path) -> None:
    """By mpmath from an Arb pass, rounded once: the proved error is what rounding is."""
    import mpmath
    from benchmarks.trials.referees import arb_logits

    from exactformer.worksheets import load

    with mpmath.workdps(60):
        rows = arb_logits(load(folder, "stored").model, IDS[0])
        true = [[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in rows]
        logs = [[x - mpmath.log(mpmath.fsum(map(mpmath.exp, row))) for x in row] for row in true]
        values = np.array([[[float(x) for x in row] for row in logs]])
    np.savez(tmp_path / "mp.npz", ids=np.array(IDS[:1]), logprobs=values)
    _, said, _ = judged(str(folder), "--outputs", str(tmp_path / "mp.npz"), "--format", "json")
    assert max(record["ulps"] for record in json.loads(said) if "ulps" in record) <= 0.5000001


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ((), "--outputs: is missing"),
        (("--outputs", "nothing.npz"), "nothing.npz: there is no such file"),
        (("--golden", "g", "--outputs", "x.npz"), "--outputs: does not go with --golden"),
        (("--steps", "x.npz"), "--steps: goes with --golden"),
        (("x.npz", "--dtype", "int8"), "--dtype: 'int8' is not one of float16"),
        (("x.npz", "--dtype", "y=float16"), "--dtype: 'y' is not one of x"),
        (("x.npz", "--quantised", "y"), "--quantised: y is not one of x"),
        (("x.npz", "--dequantised", "y"), "--dequantised: 'y' is not ENGINE="),
        (("--golden", "g", "--prompts", "no.jsonl"), "no.jsonl: there is no such file"),
    ],
)
def test_bad_usage_gets_one_line(
    args: tuple[str, ...], line: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", ids=np.array(IDS), tokens=np.zeros((2, 6), int))
    done = run("judge", str(folder), *args)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("g*"))


def test_two_processes_and_one_write_the_same_report(folder: Path, engines: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "exactformer", "judge", str(folder), str(engines / "plain.npz"), "--format", "json"]
    reports = [
        subprocess.run(
            [*command, "--workers", workers, "--journal", str(tmp_path / workers)],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
        for workers in ("1", "2")
    ]
    assert reports[0] == reports[1]


@pytest.fixture(scope="module")
def golden(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("golden") / "truth.safetensors"
    prompts = path.with_name("prompts.jsonl")
    prompts.write_text("".join(json.dumps({"ids": ids}) + "\n" for ids in IDS))
    done = run("judge", str(folder), "--golden", str(path), "--prompts", str(prompts), "--all-positions", "--steps")
    assert done.returncode == 0, done.stderr
    assert "2 prompts, 12 positions, every value proved" in done.stdout
    return path


def test_golden_values_are_read_without_this_program(golden: Path, folder: Path) -> None:
    arrays = load_file(golden)
    document = json.loads(golden.with_suffix(".json").read_text())
    assert document["format"] == "exactformer golden 1"
    assert arrays["ids"].tolist() == IDS
    near = logits(folder, "float64")[0]
    assert np.abs(arrays["logits"] - near).max() < 1e-4
    assert arrays["logits_error"].max() < 1e-14
    place = document["prompts"][1]["positions"][3]
    assert place["position"] == 3
    assert arrays["logits"][1, 3].argmax() == place["token"] == place["largest"][0][0]
    assert abs(float(place["largest"][0][1]) - arrays["logits"][1, 3].max()) < 1e-13
    assert float(place["margin"][0]) > 0


def test_assert_right(golden: Path, folder: Path) -> None:
    numbers, _ = logits(folder, "float32")
    held = load_golden(golden)
    for prompt in range(2):
        for position in range(6):
            assert_right(numbers[prompt, position], held, prompt=prompt, position=position)
    changed = numbers[0, 5].copy()
    other = int(np.argsort(changed)[0])
    changed[other] = changed.max() + 1
    with pytest.raises(AssertionError) as failed:
        assert_right(changed, golden)
    message = str(failed.value)
    assert (
        f"wrong: after position 5 of prompt 0 the engine says token {other}; the true one is {numbers[0, 5].argmax()}, ahead by"
        in message
    )
    assert "ulps of float32" in message
    with pytest.raises(AssertionError, match="others with the same logit"):
        assert_right(np.zeros_like(changed), golden)
    rows = (
        (numbers[0], 0, r": logits\[5\]"),
        (numbers[1:], 1, r": logits\[0, 5\]"),
        (numbers, 1, r": logits\[1, 5\]"),
        (numbers[0, :5], 0, "has 6 tokens"),
    )
    for given, prompt, which in rows:
        with pytest.raises(Refused, match=rf"logits: have the shape .*: give one row of \d+, after position 5 of .*{which}$"):
            assert_right(given, golden, prompt=prompt)
    with pytest.raises(Refused, match="position 6: the prompt has 6 tokens, so positions 0 to 5"):
        assert_right(numbers[0, 5], golden, position=6)


def test_the_fixture_of_the_documentation(folder: Path, tmp_path: Path) -> None:
    """Of prompts that are not of one length, with all positions and with the last one alone."""
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()

    def engine(ids: list[int]) -> Any:
        with torch.no_grad():
            return model(torch.tensor([ids])).logits[0].numpy()

    page = (Path(__file__).parents[2] / "docs" / "judge.md").read_text()
    body = page[page.index("def test_next_token(golden):") :]
    given: dict[str, Any] = {"engine": engine, "assert_right": assert_right}
    wrong = given | {"engine": lambda ids: -engine(ids)}
    for names in (given, wrong):
        exec(body[: body.index("```")], names)  # noqa: S102
    (tmp_path / "prompts.jsonl").write_text('{"ids": [1, 4, 2]}\n{"ids": [5, 5, 1, 8, 0]}\n')
    command = ("judge", str(folder), "--prompts", str(tmp_path / "prompts.jsonl"), "--golden")
    for name, more, shape in (("all", ("--all-positions",), (2, 5)), ("last", (), (2,))):
        done = run(*command, str(tmp_path / name), *more)
        assert done.returncode == 0, done.stderr
        held = load_golden(tmp_path / f"{name}.safetensors")
        assert held.arrays["logits"].shape[:-1] == held.arrays["logits_error"].shape == shape
        assert held.arrays["ids"].tolist() == [[1, 4, 2, -1, -1], [5, 5, 1, 8, 0]]
        given["test_next_token"](lambda path, held=held: held)
        assert sum(len(prompt["positions"]) for prompt in held.document["prompts"]) == (8 if more else 2)
        with pytest.raises(AssertionError, match="wrong"):
            wrong["test_next_token"](lambda path, held=held: held)
    with pytest.raises(Refused, match="position 1: the file has only the last one, 2: make it with --all-positions"):
        assert_right(engine([1, 4, 2])[1], load_golden(tmp_path / "last.safetensors"), position=1)


def test_a_failure_is_shown_where_it_was_asked_for(golden: Path, folder: Path) -> None:
    numbers, _ = logits(folder, "float32")
    with pytest.raises(AssertionError) as failure:
        assert_right(-numbers[0, 5], golden)
    assert failure.traceback.filter(failure)[-1].path == Path(__file__)


def test_assert_right_names_the_first_step_that_is_off(golden: Path, folder: Path) -> None:
    from exactformer.checkpoints.modules import module_steps
    from exactformer.worksheets import load

    names = module_steps(folder, load(folder).model.config)
    numbers, hidden = logits(folder, "float32")
    steps = {names[name]: values[0] for name, values in hidden.items()}
    assert_right(numbers[0, 5], golden, steps=steps)
    steps["ln_final.out"] = steps["ln_final.out"] * np.float32(1.001)
    with pytest.raises(AssertionError, match=r"first step that is off: ln_final\.out is off by"):
        assert_right(numbers[0, 5], golden, steps=steps)


def test_a_changed_golden_file_is_refused(golden: Path, tmp_path: Path) -> None:
    copy = tmp_path / golden.name
    content = bytearray(golden.read_bytes())
    content[-3] ^= 1
    copy.write_bytes(content)
    copy.with_suffix(".json").write_text(golden.with_suffix(".json").read_text())
    with pytest.raises(Refused, match=r"is not the file that truth\.json was written with"):
        load_golden(copy)


def test_the_fixture_works_in_somebody_elses_suite(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["exactformer.testing"]\n')
    (tmp_path / "test_theirs.py").write_text(
        "from exactformer.testing import assert_right\n"
        "def test_it(golden):\n"
        f"    truth = golden({str(golden)!r})\n"
        "    assert_right(truth.arrays['logits'][0, 5].astype('float32'), truth)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout
