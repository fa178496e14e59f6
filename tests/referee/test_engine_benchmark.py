"""The parts of the engines' benchmark that need no engine: what is written for them, and what is made of the referee's records."""

import numpy as np
import pytest
from benchmarks.engines.ctranslate import _rounded
from benchmarks.engines.engine import Engine, Unable, batches
from benchmarks.engines.gguf_file import _name, _pairs_adjacent
from benchmarks.engines.table import rows, tokens_table, wrong_table

from exactformer import judge
from exactformer.worksheets import load


def test_rows_of_queries_for_adjacent_pairs():
    """To turn 2i with 2i + 1 after the change is to turn i with i + half before it."""
    heads, width, angle = 3, 8, 0.3
    rng = np.random.default_rng(1)
    rows, x = rng.normal(size=(heads * width, 5)), rng.normal(size=5)

    def turned(left, right):
        return left * np.cos(angle) - right * np.sin(angle), right * np.cos(angle) + left * np.sin(angle)

    halves = (rows @ x).reshape(heads, 2, width // 2)
    adjacent = (_pairs_adjacent(rows, heads) @ x).reshape(heads, width // 2, 2)
    for before, after in zip(turned(*halves.swapaxes(0, 1)), turned(adjacent[..., 0], adjacent[..., 1]), strict=True):
        assert np.allclose(before, after)


def test_names_in_gguf():
    assert _name("model.layers.3.mlp.down_proj.weight") == "blk.3.ffn_down.weight"
    assert _name("model.embed_tokens.weight") == "token_embd.weight"


def test_weights_of_eight_bits_have_a_scale_for_every_row():
    values = np.array([[1.0, -0.5, 0.2], [0.0, 0.0, 0.0], [10.0, 5.0, -10.0]], dtype=np.float32)
    rounded = _rounded("mlp.weight", values)
    assert np.abs(rounded - values).max() <= 10 / 127 / 2 * (1 + 1e-6)
    assert rounded[1].tolist() == [0, 0, 0]
    assert np.array_equal(_rounded("h.0.mlp.c_fc.weight", values.T), rounded.T)
    assert _rounded("transformer.wpe.weight", values) is values


def test_an_engine_that_is_not_installed_says_so():
    with pytest.raises(Unable, match="no-such-engine is not installed"):
        Engine("x", ("no-such-engine",), "", "float32", lambda folder, ids: {}).versions()


def test_texts_must_fill_batches():
    assert [len(some) for some in batches(np.zeros((40, 2)))] == [20, 20]
    with pytest.raises(ValueError, match="21 texts"):
        batches(np.zeros((21, 2)))


def test_rows_of_the_table():
    numbers = np.array([3.3, 2.2, -1.1], dtype=np.float32)
    found = rows([judge(load("capstone"), {"jax-float32": numbers, "ctranslate2-int8": numbers[::-1]}, [0, 1])])
    right, wrong = found
    assert (right["tokens"]["right"], wrong["tokens"]["right"]) == (1, 0)
    assert right["not_right"] == []
    assert wrong["not_right"][0][3] == [2]
    assert tokens_table(found).rows[0][:2] == ("jax-float32", "1")
    assert [line[0] for line in wrong_table(found).rows] == ["ctranslate2-int8"]
