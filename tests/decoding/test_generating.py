"""Continuations: the cache, the arithmetics, how they end, and what is said of each token."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer as xf
from ball_ends import holds
from exactformer.arithmetics import arithmetic
from exactformer.decoding import GREEDY, Chosen, DecodingError, Strategy, generate
from exactformer.decoding import generating as subject
from exactformer.model import Config, InputError, Model, Weights, forward
from exactformer.numbers import array, compare, exact
from exactformer.tokenizers import CharacterTokenizer, WordTokenizer
from exactformer.tokenizers.byte_pairs import spelled
from exactformer.tokenizers.packaged import byte_level
from random_models import random_config, random_model, random_tokens
from sorter import sorter

NANO_SORT = Path(__file__).parents[3] / "shared" / "data" / "gpt-nano-sort" / "hf"
SAMPLED = Strategy("3/2", top_k=3, top_p="0.95")


def table(*rows: list[Any], **config: Any) -> Model:
    """A model whose logits after token i are row i: no blocks, one-hot embeddings."""
    size = len(rows)
    fields = {"vocabulary": tuple("abcdef"[:size]), "dim": size, "blocks": 0, "norm": "none", "mask": "causal", "scale": "none"}
    one_hot = array([[int(i == j) for j in range(size)] for i in range(size)])
    return Model(Config(**fields | {"unembedding": "own"} | config), Weights(W_E=one_hot, blocks=(), W_U=array(list(rows))))


def tokens(chosen: Iterator[Chosen]) -> list[str | None]:
    return [each.token for each in chosen]


def models(name: str, count: int, **fixed: object) -> Iterator[tuple[Model, list[int], random.Random]]:
    rng = random.Random(name)
    for _ in range(count):
        model = random_model(rng, dims=(2, 3), length=6, **{"blocks": 1} | fixed)
        yield model, model.ids(random_tokens(rng, model)[:2]), rng


def test_greedy_tokens_are_those_of_the_trace() -> None:
    reached = 0
    for model, ids, _ in models("trace", 40):
        sequence = list(ids)
        for chosen in generate(model, ids, steps=3):
            output = xf.run(model, [model.config.vocabulary[i] for i in sequence]).output[-1]
            assert (chosen.token, chosen.proved) == (output.token, output.proved)
            if chosen.id is None:
                break
            assert chosen.runner_up == output.runner_up
            assert compare(chosen.margin, output.margin) == 0
            assert chosen.rank == 1
            sequence.append(chosen.id)
            reached += 1
    assert reached > 40


@pytest.mark.parametrize("strategy", [GREEDY, SAMPLED], ids=str)
def test_the_cache_changes_nothing(strategy: Strategy, monkeypatch: pytest.MonkeyPatch) -> None:
    for model, ids, rng in models(f"cache {strategy}", 12, mask="causal", blocks=2):
        seed = None if strategy.greedy else rng.randint(0, 10**6)
        with_cache = list(generate(model, ids, steps=4, strategy=strategy, seed=seed))
        with monkeypatch.context() as patch:
            patch.setattr(subject, "Cache", lambda: None)
            without = list(generate(model, ids, steps=4, strategy=strategy, seed=seed))
        assert len(with_cache) == len(without)
        for one, other in zip(with_cache, without, strict=True):
            assert (one.id, one.rank, one.runner_up, one.end) == (other.id, other.rank, other.runner_up, other.end)
            if one.id is not None:
                assert compare(one.probability, other.probability) == 0


@pytest.mark.parametrize("fixed", [{"mask": "none"}, {"mask": "causal", "late_mask": True}], ids=str)
def test_where_later_positions_are_seen_whole_passes_are_made(fixed: dict[str, object]) -> None:
    rng = random.Random(f"whole {fixed}")
    for _ in range(8):  # of two blocks: keys of the first one are the same in any case
        config = replace(random_config(rng, dims=(2, 3), length=6, norm="none", final_norm=False, **fixed), blocks=2)  # type: ignore[arg-type]
        model = random_model(rng, config)
        ids = model.ids(random_tokens(rng, model)[:2])
        sequence = list(ids)
        for chosen in generate(model, ids, steps=3):
            ops = arithmetic("exact")
            logits = forward(model, sequence, ops, lambda step: step.values)[-1:]
            (choice,) = ops.choose(logits)
            assert chosen.id == choice.index
            if chosen.id is None:
                break
            assert compare(chosen.probability, ops.softmax(logits)[0, chosen.id]) == 0
            sequence.append(chosen.id)


@pytest.mark.parametrize("strategy", [GREEDY, SAMPLED], ids=str)
def test_arithmetics_agree(strategy: Strategy) -> None:
    compared = 0
    for model, ids, rng in models(f"agree {strategy}", 30):
        seed = None if strategy.greedy else rng.randint(0, 10**6)
        exactly, in_balls, in_floats = (
            list(generate(model, ids, steps=3, arithmetic=name, strategy=strategy, seed=seed, cap_bits=256))
            for name in ("exact", "arb", "float64")
        )
        for one, ball, number in zip(exactly, in_balls, in_floats, strict=False):
            if one.id is None or ball.id is None:
                break  # undefined, or a tie, which no ball decides
            assert ball.proved
            assert one.proved
            assert one.id == ball.id
            assert holds(ball.probability, one.probability)
            if number.id != one.id:  # a float may take another way at a tie alone
                assert compare(one.margin, exact(0)) == 0
                break
            assert not number.proved
            assert number.probability == pytest.approx(one.probability.to_float(), rel=1e-9)
            compared += 1
    assert compared > 30


def test_arb_takes_more_bits_where_logits_are_close() -> None:
    near = exact(7) + Fraction(1, 3 * 10**80)
    model = table([exact(7), near, 0], [0, 0, 1], [1, 0, 0])
    first, second = generate(model, [0], steps=2, arithmetic="arb")
    assert (first.token, first.proved, first.bits) == ("b", True, 512)
    assert (second.token, second.bits) == ("c", 512)


def test_equal_logits_are_undecided_in_arb_and_the_lowest_in_exact() -> None:
    model = table(["1/3", "1/3", 0], [0, 1, 0], [0, 0, 1])
    (exactly,) = generate(model, [0], steps=1)
    assert (exactly.token, exactly.proved, exactly.runner_up, str(exactly.margin)) == ("a", True, "b", "0")
    (undecided,) = generate(model, [0], steps=1, arithmetic="arb", cap_bits=300)
    assert (undecided.id, undecided.proved) == (None, False)
    assert undecided.end is not None
    assert undecided.end.kind == "undecided"
    assert undecided.end.text == ("undecided: position 1: which of the tokens 1 and 0 has the larger logit (looked to 300 bits)")


def test_a_tie_behind_the_winner_leaves_rank_and_lead() -> None:
    (chosen,) = generate(table([1, "1/3", "1/3"], [0, 0, 0], [0, 0, 0]), [0], steps=1, arithmetic="arb")
    assert (chosen.token, chosen.rank, chosen.runner_up) == ("a", 1, None)
    assert holds(chosen.margin, exact("2/3"))


def test_seeds() -> None:
    model = table([0, 0, 0], [0, 0, 0], [0, 0, 0])
    whole = tokens(generate(model, [0], steps=12, strategy=Strategy(), seed=5))
    assert len(set(whole)) == 3
    assert whole == tokens(generate(model, [0], steps=12, strategy=Strategy(), seed=5, arithmetic="arb"))
    assert whole != tokens(generate(model, [0], steps=12, strategy=Strategy(), seed=6))
    ids = model.ids(("a", *whole[:7]))  # type: ignore[arg-type]
    assert tokens(generate(model, ids, steps=5, strategy=Strategy(), seed=5)) == whole[7:]
    assert len({tuple(tokens(generate(model, [0], steps=12, strategy=Strategy()))) for _ in range(4)}) > 1


def test_what_is_told_of_a_token_that_was_drawn() -> None:
    model = table([2, 1, 0], [0, 0, 0], [0, 0, 0])
    drawn = {}
    for seed in range(40):
        (chosen,) = generate(model, [0], steps=1, strategy=Strategy(temperature=2), seed=seed)
        drawn[chosen.token] = (chosen.rank, chosen.runner_up, str(chosen.margin), str(chosen.probability.written))
    assert drawn["a"] == (1, "b", "1", "e^1/(1+e^1+e^(1/2))")
    assert drawn["b"] == (2, "a", "-1", "e^(1/2)/(1+e^1+e^(1/2))")
    assert drawn["c"][:3] == (3, "a", "-2")


def test_ends() -> None:
    circle = table([0, 1, 0], [0, 0, 1], [1, 0, 0])
    told = list(generate(circle, [0], steps=5, stop=["a"]))
    assert ([each.token for each in told], [each.text for each in told]) == (["b", "c", "a"], ["b", " c", ""])
    assert [each.end for each in told[:-1]] == [None, None]
    assert told[-1].end is not None
    assert (told[-1].end.kind, told[-1].end.text) == ("stop", "the stop token a")
    *_, last = generate(circle, [0], steps=4)
    assert last.end is not None
    assert (last.position, last.end.kind, last.end.text) == (4, "maximum", "4 tokens, as asked for")
    short = replace(circle, config=replace(circle.config, length=3))
    told = list(generate(short, [0], steps=9))
    assert [each.token for each in told] == ["b", "c", "a"]  # the last is said after three positions, and has none itself
    assert told[-1].end is not None
    assert (told[-1].end.kind, told[-1].end.text) == ("length", "the model has 3 positions")


@pytest.mark.parametrize(("name", "proved"), [("exact", True), ("arb", True), ("float64", False)])
def test_undefined_logits_end_with_their_reason(name: str, proved: bool) -> None:
    model = xf.load("capstone").model
    (last,) = generate(model, model.ids(("c", "b")), steps=3, arithmetic=name)
    assert last.end is not None
    assert (last.id, last.token, last.proved, last.end.kind) == (None, None, proved, "undefined")
    assert last.end.text.startswith("undefined: position 2: ")


def test_a_continuation_streams() -> None:
    stream = generate(table([0, 1], [1, 0]), [0], steps=10**9)
    assert [next(stream).token for _ in range(3)] == ["b", "a", "b"]
    stream.close()  # type: ignore[attr-defined]


def test_characters_are_held_back_until_they_are_whole() -> None:
    data = "é€!".encode()
    names = tuple(sorted(set(data)))
    tokenizer = byte_level({spelled(bytes([byte])): byte for byte in range(256)}, [], {})
    assert len(names) == len(data)
    order = [names.index(byte) for byte in data]

    def logits(i: int) -> list[int]:
        at = order.index(i)
        return [int(j == order[(at + 1) % len(order)]) for j in range(len(order))]

    class Renumbered:
        """The tokens of the model, in the order of their bytes."""

        vocabulary = tuple(map(str, names))

        def decode_bytes(self, ids: list[int]) -> bytes:
            return tokenizer.decode_bytes([names[i] for i in ids])

    model = table(*(logits(i) for i in range(len(order))))
    told = list(generate(model, [order[0]], steps=5, tokenizer=Renumbered()))  # type: ignore[arg-type]
    assert [each.text for each in told] == ["é", "", "", "€", "!"]
    cut = list(generate(model, [order[0]], steps=3, tokenizer=Renumbered()))  # type: ignore[arg-type]
    assert [each.text for each in cut] == ["é", "", "\ufffd"]


def test_words_and_characters() -> None:
    model = table([0, 1], [1, 0])
    assert "".join(c.text for c in generate(model, [0], steps=3, tokenizer=WordTokenizer("ab"))) == "b a b"
    assert "".join(c.text for c in generate(model, [0], steps=3, tokenizer=CharacterTokenizer("ab"))) == "bab"
    assert "".join(c.text for c in generate(model, [0], steps=3, tokenizer=CharacterTokenizer("a"))) == "a"  # b is no token


@pytest.mark.parametrize(
    ("ids", "options", "problem"),
    [
        ([], {}, "the input is empty"),
        ([0, 3], {}, "position 1: no token has the id 3"),
        ([-1], {}, "position 0: no token has the id -1"),
        ([0, 1, 2, 0], {}, "position 3: the token 'a' has no position"),
        ([0], {"steps": 0}, "steps: 0"),
        ([0], {"stop": ["z"]}, "stop: the token 'z' is not in the vocabulary"),
        ([0], {"stop": [7]}, "stop: the token 7 is not in the vocabulary"),
        ([0], {"seed": 1}, "seed: a greedy choice draws nothing"),
        ([0], {"seed": "1", "strategy": Strategy()}, "seed: '1' is not a whole number"),
        ([0], {"arithmetic": "arb", "cap_bits": 64}, "cap of 64 bits"),
        ([0], {"arithmetic": "int8"}, "'int8' is not an arithmetic"),
    ],
)
def test_what_does_not_fit_is_said_at_once(ids: list[int], options: dict[str, Any], problem: str) -> None:
    model = table([0, 1, 0], [0, 0, 1], [1, 0, 0], length=3)
    with pytest.raises((InputError, DecodingError, ValueError), match=problem):
        generate(model, ids, **{"steps": 2} | options)


def test_a_model_without_logits() -> None:
    with pytest.raises(InputError, match="no logits"):
        generate(xf.load("length4").model, [0], steps=1)


def test_long_exact_rows_are_balls_that_get_more_bits() -> None:
    size = 2100
    near = exact(3) + Fraction(1, 3 * 10**60)
    one = np.full((1, size), exact(0), dtype=object)
    one[0, 5], one[0, 9], one[0, 11] = exact(3), near, exact("8/3")
    vocabulary = tuple(map(str, range(size)))
    config = Config(vocabulary=vocabulary, dim=1, blocks=0, norm="none", mask="causal", scale="none", unembedding="own")
    model = Model(config, Weights(W_E=np.full((size, 1), exact(1), dtype=object), blocks=(), W_U=one))
    (chosen,) = generate(model, [0], steps=1)
    assert (chosen.token, chosen.proved, chosen.runner_up, chosen.bits) == ("9", True, "5", 256)


@pytest.mark.skipif(not NANO_SORT.exists(), reason="the shared data with gpt-nano-sort is not here")
def test_the_trained_network_sorts() -> None:
    sorts(xf.load(NANO_SORT).model, [2, 0, 1, 2, 0, 1])


def test_a_network_that_sorts_does(tmp_path: Path) -> None:
    sorts(xf.load(sorter(tmp_path / "sorter")).model, [2, 0, 1])


def sorts(model: Model, ids: list[int]) -> None:
    told = list(generate(model, ids, steps=len(ids), arithmetic="arb"))
    assert [each.id for each in told] == sorted(ids)
    assert all(each.proved for each in told)
    assert told[-1].position == 2 * len(ids) - 1
