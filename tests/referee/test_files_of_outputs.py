"""Files of engines' outputs: read as they are meant, or refused in one line that names the file and what is wrong in it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from exactformer.messages import Refused
from exactformer.numbers.formats import FORMATS
from exactformer.referee import read_outputs

IDS = np.array([[0, 1, 2], [2, 1, -1]])


def saved(folder: Path, **arrays: Any) -> Path:
    path = folder / "engine.npz"
    np.savez(path, **arrays)
    return path


def test_an_archive_of_arrays(tmp_path: Path) -> None:
    logits = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    engine = read_outputs(
        saved(tmp_path, ids=IDS, logits=logits, tokens=np.array([[0, 1, 2], [1, 2, 0]]), embed=np.ones((2, 3, 2))),
        dtype=FORMATS["float32"],
    )
    assert engine.name == "engine"
    assert engine.format.name == "float32"
    first, second = engine.prompts
    assert (first.ids, second.ids) == ((0, 1, 2), (2, 1))
    assert second.first == 0
    assert second.rows == 2
    assert (second.logits == logits[1, :2]).all()
    assert second.tokens == (1, 2)
    assert second.chosen(1) == (2,)
    assert second.steps["embed"].shape == (3, 2)


def test_the_last_position_alone(tmp_path: Path) -> None:
    engine = read_outputs(saved(tmp_path, ids=IDS, logprobs=-np.ones((2, 3), np.float16)))
    assert [given.first for given in engine.prompts] == [2, 1]
    assert engine.format.name == "float16"


def test_tokens_alone(tmp_path: Path) -> None:
    engine = read_outputs(saved(tmp_path, ids=IDS, tokens=np.array([2, 0])))
    assert [given.chosen(0) for given in engine.prompts] == [(2,), (0,)]


def test_one_array_of_logits(tmp_path: Path) -> None:
    path = tmp_path / "mine.npy"
    np.save(path, np.asfortranarray(np.arange(6, dtype=">f8").reshape(2, 3)))
    (given,) = read_outputs(path, ids=[0, 1]).prompts
    assert given.logits.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(Refused, match="holds no ids"):
        read_outputs(path)


@pytest.mark.parametrize(("dtype", "name"), [(torch.bfloat16, "bfloat16"), (torch.float16, "float16"), (torch.float64, "float64")])
def test_safetensors_say_their_format(dtype: torch.dtype, name: str, tmp_path: Path) -> None:
    path = tmp_path / "engine.safetensors"
    values = torch.randn(2, 3, 3).to(dtype)
    save_file({"ids": torch.tensor(IDS), "logits": values}, path)
    engine = read_outputs(path)
    assert engine.format.name == name
    assert (engine.prompts[0].logits == values[0].double().numpy()).all()


def test_bfloat16_of_numpy_has_no_name_of_its_own(tmp_path: Path) -> None:
    bits = (torch.randn(2, 3).to(torch.bfloat16)).view(torch.int16).numpy()
    path = saved(tmp_path, ids=IDS, logits=bits.view("V2"))
    with pytest.raises(Refused, match="say --dtype bfloat16"):
        read_outputs(path)
    (given, _) = read_outputs(path, dtype=FORMATS["bfloat16"]).prompts
    assert (given.logits[0] == torch.tensor(bits).view(torch.bfloat16)[0].double().numpy()).all()


def test_modules_have_the_names_of_steps(tmp_path: Path) -> None:
    path = saved(tmp_path, ids=IDS, logits=np.zeros((2, 3), np.float32), **{"model.norm": np.zeros((2, 3, 2), np.float32)})
    engine = read_outputs(path, modules={"model.norm": "ln_final.out"})
    assert list(engine.prompts[0].steps) == ["ln_final.out"]


@pytest.mark.parametrize(
    ("arrays", "line"),
    [
        ({"logits": np.zeros((2, 3))}, "has no 'ids'; there are 'logits'"),
        ({"ids": IDS.astype(float), "logits": np.zeros((2, 3))}, "'ids': is not a table of whole numbers"),
        ({"ids": np.array([[-1, -1, 2]]), "logits": np.zeros((1, 3))}, "'ids': prompt 0: is empty"),
        ({"ids": np.zeros((0, 3), dtype=int), "logits": np.zeros((0, 3))}, "'ids': holds no prompts"),
        ({"ids": np.array([[1]]), "logits": np.zeros((1, 3), dtype=int)}, "'logits': holds whole numbers"),
        ({"ids": np.array([[0, -1, 2]]), "logits": np.zeros((1, 3))}, "'ids': prompt 0: -1 stands before an id"),
        ({"ids": IDS, "logits": np.zeros((3, 3))}, "'logits': has the shape 3 × 3, where there are 2 prompts"),
        ({"ids": IDS, "logits": np.zeros((2, 1, 3))}, "'logits': has 1 × 3 for prompt 0, which has 3 tokens"),
        ({"ids": IDS, "logits": np.zeros((2, 3)), "tokens": np.zeros((2, 3), int)}, "some of the last alone"),
        ({"ids": IDS, "logits": np.zeros((2, 3), np.float32), "embed": np.zeros((2, 3, 2))}, "float32 and float64: say"),
        ({"ids": IDS, "logits": np.zeros((2, 3), complex)}, "holds complex128"),
        ({"ids": IDS, "logits": np.array([["a"]])}, "holds str"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_get_one_line(arrays: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as error:
        read_outputs(saved(tmp_path, **arrays))
    assert line in str(error.value)
    assert str(tmp_path / "engine.npz") in str(error.value)


def test_pickles_and_damaged_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "engine.npz"
    np.savez(path, ids=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(Refused, match="holds object; numbers are float16"):
        read_outputs(path)
    np.savez(path, ids=IDS, logits=np.zeros((2, 3)))
    content = path.read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(bytes(damaged[: rng.integers(1, len(content) + 1)] if rng.random() < 0.5 else damaged))
        with contextlib.suppress(Refused):  # or it is read: what was changed may be a number
            read_outputs(path)
    path = tmp_path / "engine.txt"
    path.write_text("x")
    with pytest.raises(Refused, match=r"is not one of \.npy, \.npz, \.safetensors, \.jsonl, \.ndjson"):
        read_outputs(path)


# -- completions of servers
def lines(folder: Path, *answers: Any) -> Path:
    path = folder / "server.jsonl"
    path.write_text("".join((answer if isinstance(answer, str) else json.dumps(answer)) + "\n" for answer in answers))
    return path


VLLM = {
    "prompt_token_ids": [1, 403],
    "temperature": 0,
    "choices": [
        {
            "token_ids": [407, 261],
            "logprobs": {
                "tokens": ["token_id:407", "token_id:261"],
                "token_logprobs": [-0.5, -1.25],
                "top_logprobs": [{"token_id:407": -0.5, "token_id:9": -2}, None],
            },
        }
    ],
}
LLAMA_CPP = {
    "request": {"prompt": [1, 403], "temperature": 0.8},
    "choices": [
        {
            "text": " a b",
            "logprobs": {
                "content": [
                    {"id": 407, "token": " a", "logprob": -0.5, "top_logprobs": [{"id": 9, "token": "x", "logprob": -2.0}]},
                    {"id": 261, "token": " b", "logprob": -1.25, "top_logprobs": []},
                ]
            },
        }
    ],
}


@pytest.mark.parametrize(("answer", "sampled"), [(VLLM, False), (LLAMA_CPP, True)])
def test_what_servers_write(answer: dict[str, Any], sampled: bool, tmp_path: Path) -> None:
    engine = read_outputs(lines(tmp_path, answer, answer))
    assert engine.name == "server"
    assert engine.sampled is sampled
    given, again = engine.prompts
    assert given.ids == again.ids == (1, 403, 407)
    assert given.first == 1
    assert given.tokens == (407, 261)
    assert given.picked == ({407: -0.5, 9: -2.0}, {261: -1.25})


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("{", "line 1: is not JSON"),
        ("[]", "line 1: is not a table"),
        ({k: v for k, v in VLLM.items() if k != "temperature"}, "line 1: temperature: is missing"),
        (VLLM | {"temperature": -1}, "temperature: -1 is not a number from 0"),
        ({k: v for k, v in VLLM.items() if k != "prompt_token_ids"} | {"prompt": "hi"}, "prompt_token_ids: is missing: the ids"),
        (VLLM | {"prompt_token_ids": [1, "a"]}, "prompt_token_ids: is not a list of ids"),
        (VLLM | {"choices": []}, "choices: is not a list of completions"),
        (VLLM | {"choices": [{"text": "hello"}]}, "choices[0]: token_ids: is missing: ids of tokens are needed, not their texts"),
        (VLLM | {"choices": [{"logprobs": {"tokens": [" a"], "token_logprobs": [-1]}}]}, "' a' is a text"),
        (VLLM | {"choices": [{"token_ids": [1], "logprobs": {"token_logprobs": []}}]}, "token_logprobs: are not 1 numbers"),
        (VLLM | {"choices": [{"token_ids": [1], "logprobs": {"token_logprobs": [None]}}]}, "None is not a log-probability"),
        (VLLM | {"choices": [{"logprobs": {"content": [{"token": " a", "logprob": -1}]}}]}, "id: is missing"),
    ],
)  # fmt: skip
def test_completions_that_do_not_fit_get_one_line(answer: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as error:
        read_outputs(lines(tmp_path, answer))
    assert line in str(error.value)
    assert "server.jsonl: line 1" in str(error.value)
