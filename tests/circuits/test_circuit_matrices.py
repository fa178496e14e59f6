"""QK and OV circuits against products of matrices written out with fractions."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from cli_runs import refused, run
from exactformer.circuits import CircuitError, circuits, ov, qk
from exactformer.circuits.matrices import extent
from exactformer.model import Model
from exactformer.numbers import compare, exact, sqrt
from exactformer.worksheets.worksheet import example_text
from random_models import random_model

Rows = list[list[Fraction]]


def fractions(weights: Any) -> Rows:
    return [[value.fraction for value in row] for row in weights]


def product(*matrices: Rows) -> Rows:
    first, *rest = matrices
    for other in rest:
        first = [
            [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in zip(*other, strict=True)]
            for row in first
        ]
    return first


def transposed(matrix: Rows) -> Rows:
    return [list(column) for column in zip(*matrix, strict=True)]


def parts(model: Model, block: int, head: int) -> dict[str, Rows]:
    weights = model.weights.blocks[block].attn
    unembedding = model.weights.W_U if model.weights.W_U is not None else np.transpose(model.weights.W_E)
    shared = head * model.config.key_heads // model.config.heads  # the head of keys and values that it reads
    places = {"Q": head, "K": shared, "V": shared, "O": head}
    heads = {letter: fractions(getattr(weights, f"W_{letter}")[place]) for letter, place in places.items()}
    return heads | {"E": fractions(model.weights.W_E), "U": fractions(unembedding)}


def heads_of_small_examples() -> list[tuple[str, int, int]]:
    small = [name for name in xf.examples() if "vocabulary = [" in example_text(name)]  # written out, so not of thousands
    configs = {name: xf.load(name).model.config for name in small}
    return [(name, n, h) for name, c in configs.items() for n, h in np.ndindex(c.blocks, c.heads)]


@pytest.mark.parametrize(("name", "block", "head"), heads_of_small_examples())
def test_circuits_of_every_head_of_every_example(name: str, block: int, head: int) -> None:
    model = xf.load(name).model
    w = parts(model, block, head)
    scale = model.config.scale_at(block)
    expected = np.array(product(w["E"], w["Q"], transposed(w["K"]), transposed(w["E"])))
    assert all(found == exact(value) * scale for found, value in zip(qk(model, block, head).flat, expected.flat, strict=True))
    if model.config.unembedding == "none":
        with pytest.raises(ValueError, match="no unembedding"):
            ov(model, block, head)
    else:
        assert fractions(ov(model, block, head)) == product(w["E"], w["V"], w["O"], w["U"])
    tables = list(circuits(model, block, head))
    assert tables
    assert all(table.values.shape == (len(table.rows), len(table.columns)) for table in tables)


def test_with_rotary_positions_a_score_depends_on_how_far_back_the_key_is() -> None:
    """The scores of a pass whose norms change nothing, read off the circuit at their distance."""
    sheet = xf.load("llama")
    scores = sheet.trace("a b d")["blocks.0.attn.scores"]
    ids = sheet.model.ids(("a", "b", "d"))
    for head, i, j in ((0, 1, 0), (1, 1, 0), (0, 2, 0), (1, 2, 1), (0, 2, 2)):
        assert compare(qk(sheet.model, 0, head, distance=i - j)[ids[i], ids[j]], scores[head, i, j]) == 0
    assert compare(qk(sheet.model, 0, 0, distance=1)[1, 0], qk(sheet.model, 0, 0)[1, 0]) != 0


def test_tables_that_are_too_large_are_refused_before_they_take_memory() -> None:
    vocabulary = tuple(map(str, range(1001)))
    model = random_model(random.Random(0), vocabulary=vocabulary, blocks=1, norm="none", mlp=0, unembedding="own")
    with pytest.raises(CircuitError, match=r"^a circuit of 1,001 × 1,001 entries; at most 1,000,000 are computed: choose rows .*$"):
        qk(model, 0, 0)
    with pytest.raises(CircuitError, match="1,001 × 1,001"):
        ov(model, 0, 0)
    few = model.weights.W_E[:3]
    w = parts(model, 0, 0)
    scores = product(fractions(few), w["Q"], transposed(w["K"]), transposed(fractions(few)))
    assert all(
        a == exact(b) * model.config.scale_factor
        for a, b in zip(qk(model, 0, 0, few, few).flat, np.array(scores).flat, strict=True)
    )
    assert fractions(ov(model, 0, 0, few)) == product(w["E"][:3], w["V"], w["O"], w["U"])


def test_the_circuits_of_the_induction_head_are_copies_and_matches() -> None:
    model = xf.load("induction").model
    identity = [[Fraction(100 * (i == j)) for j in range(4)] for i in range(4)]
    named = {(table.title, table.meaning): table for block in (0, 1) for table in circuits(model, block, 0)}
    brought = named["block 1, head 0: QK", "what the query's token scores with the key's token brought by block 0, head 0"]
    assert fractions(brought.values) == identity
    assert fractions(named["block 1, head 0: OV", "what attending to a token adds to the logits"].values) == identity
    positions = named["block 0, head 0: QK", "what the query's position scores with the key's position"]
    assert fractions(positions.values) == [[Fraction(100 * (i == j + 1)) for j in range(6)] for i in range(6)]
    assert named["block 0, head 0: QK", "what the query's token scores with the key's token"].is_zero


def test_similar_words_score_their_cosine() -> None:
    sheet = xf.load("similar")
    tables = {table.meaning: table for table in circuits(sheet.model, 1, 0)}
    values = fractions(tables["what the query's token scores with the key's token brought by block 0, head 0"].values)
    assert values[0][1] == values[1][0] == 80  # cat and kitten
    assert values[2][3] == values[3][2] == 60  # sat and ran
    assert [values[t][t] for t in range(5)] == [100] * 5
    assert sum(value != 0 for row in values for value in row) == 9


def test_what_earlier_heads_brought() -> None:
    sheet = xf.load("context")
    w, first = parts(sheet.model, 1, 0), [parts(sheet.model, 0, h) for h in (0, 1)]
    arrived = [product(p["E"], p["V"], p["O"]) for p in first]
    tables = {table.meaning: fractions(table.values) for table in circuits(sheet.model, 1, 0)}
    for q, query in (("token", w["E"]), ("token brought by block 0, head 0", arrived[0])):
        for n in (0, 1):
            expected = product(query, w["Q"], transposed(w["K"]), transposed(arrived[n]))
            meaning = f"what the query's {q} scores with the key's token brought by block 0, head {n}"
            if any(value for row in expected for value in row):
                assert tables[meaning] == expected
            else:
                assert meaning not in tables


def test_circuits_of_random_models() -> None:
    rng = random.Random(41)
    for _ in range(25):
        model = random_model(rng, scale=rng.choice((exact("1/3"), "none", "sqrt")))
        for block, head in np.ndindex(model.config.blocks, model.config.heads):
            w = parts(model, block, head)
            factor = {"none": exact(1), "sqrt": 1 / sqrt(model.config.head_dim)}.get(str(model.config.scale), exact("1/3"))
            expected = np.array(product(w["E"], w["Q"], transposed(w["K"]), transposed(w["E"])))
            found = qk(model, block, head)
            assert all(a == exact(b) * factor for a, b in zip(found.flat, expected.flat, strict=True))
            assert fractions(ov(model, block, head)) == product(w["E"], w["V"], w["O"], w["U"])


def test_a_score_of_the_pass_is_the_sum_of_its_circuits() -> None:
    """Of a model without norms and biases: tokens, positions, and the two with each other."""
    rng = random.Random(43)
    sheet = xf.load("induction")
    position = fractions(sheet.model.weights.W_pos)
    tokens = fractions(sheet.model.weights.W_E)
    for _ in range(5):
        words = tuple(rng.choice("!abc") for _ in range(6))
        ids = ["!abc".index(word) for word in words]
        rows = [[a + b for a, b in zip(tokens[t], position[i], strict=True)] for i, t in enumerate(ids)]
        w = parts(sheet.model, 0, 0)
        expected = product(rows, w["Q"], transposed(w["K"]), transposed(rows))
        assert fractions(xf.run(sheet.model, words)["blocks.0.attn.scores"][0]) == expected


@pytest.mark.parametrize("name", ["capstone", "induction", "llama"])
def test_chosen_tokens_are_rows_and_columns_of_the_whole(name: str) -> None:
    model, ids = xf.load(name).model, [2, 0]
    for block in range(model.config.blocks):
        whole, some = (list(circuits(model, block, 0, chosen=chosen)) for chosen in (None, ids))
        whole = {table.meaning: table for table in whole}
        size = extent(model, block, 2)
        assert len(some) <= size.tables
        assert sum(table.values.size for table in some) <= size.entries
        for table in some:
            columns = [whole[table.meaning].columns.index(each) for each in table.columns]
            rows = [whole[table.meaning].rows.index(each) for each in table.rows]
            assert (whole[table.meaning].values[np.ix_(rows, columns)] == table.values).all()


def test_circuits_that_nobody_would_wait_for_are_refused_at_once() -> None:
    line = refused("circuits", "stories")
    assert line.startswith("stories: its circuits are 2,300 tables of 2,128,832,160 numbers; ")
    assert line.endswith("give --head 0.0 and some tokens (--tokens, --prompt or --ids)")
    assert refused("circuits", "stories", "--head", "4.0").endswith("give some tokens (--tokens, --prompt or --ids)")
    assert "Once" in run("circuits", "stories", "--head", "0.0", "--prompt", "Once upon", "--decimals", "3").stdout
