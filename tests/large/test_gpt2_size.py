"""Models of the size of GPT-2 small, written by the transformers library: their next tokens, proved. Run by `make test-large`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import exactformer as xf
from exactformer.certificates import Prepared, prove_token, prove_tokens

pytestmark = pytest.mark.large
KINDS = ("initialised", "trained-like")


def _written(kind: str, folder: Path) -> Path:
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config())
    if kind == "trained-like":  # large gains, outlier columns, sharp logits
        with torch.no_grad():
            for block in model.transformer.h:
                block.ln_1.weight.mul_(1 + torch.rand_like(block.ln_1.weight))
                block.ln_2.weight.mul_(1 + torch.rand_like(block.ln_2.weight))
                block.mlp.c_fc.weight.mul_(2)
                block.attn.c_attn.weight.mul_(2)
                block.mlp.c_proj.weight[:, [138, 378, 447]] *= 4
            model.transformer.ln_f.weight.mul_(4)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=KINDS)
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = _written(request.param, tmp_path_factory.mktemp("gpt2") / request.param)
    return Prepared(xf.load(folder).model)


@pytest.mark.parametrize("length", [8, 32, 128])
def test_the_next_token_is_proved(prepared: Prepared, length: int) -> None:
    ids = np.random.default_rng(length).integers(0, 50257, length).tolist()
    found = prove_token(prepared.model, ids, prepared=prepared)
    assert found.proved, found.why
    assert found.margin is not None
    assert found.margin[0] > 0
    names = tuple(prepared.model.config.vocabulary[i] for i in ids)
    floats = xf.run(prepared.model, names, "float64").logits[-1]
    assert int(np.argmax(floats)) == found.token
    for entry in found.top:
        assert entry.low - 1e-9 <= float(floats[entry.token]) <= entry.high + 1e-9


def test_five_tokens_are_generated_and_proved(prepared: Prepared) -> None:
    ids = [31373, 616, 1438, 318]
    found = list(prove_tokens(prepared.model, ids, 5, prepared=prepared))
    assert [each.proved for each in found] == [True] * 5
    assert prove_token(prepared.model, [*ids, *(each.token for each in found[:4])], prepared=prepared).token == found[4].token
