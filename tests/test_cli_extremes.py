"""Weights of absurd size, over commands and arithmetics: an answer, or one line; never a traceback or a warning."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

import click
import numpy as np
import pytest

import exactformer as xf
from exactformer.cli import commands
from exactformer.model.arithmetics.floats import FloatArithmetic
from exactformer.model.changing import with_weights
from exactformer.numbers import array
from exactformer.numbers.arrays import matmul
from exactformer.numbers.budget import WORKING_BITS
from exactformer.numbers.enclosure import ball

TWO_HEADS = """
[model]
vocabulary = ["a", "b", "c"]
dim = 4
heads = 2
blocks = 1
norm = "none"
mask = "causal"
scale = "sqrt"
positions = "none"
unembedding = "tied"
[weights]
W_E = "drawn 1 by 1/4"
[[weights.blocks]]
attn.W_Q = "drawn 2 by 1/4"
attn.W_K = "drawn 3 by 1/4"
attn.W_V = "drawn 4 by 1/4"
attn.W_O = "drawn 5 by 1/4"
[input]
tokens = "a b"
"""


@pytest.fixture(scope="module")
def two_heads(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("sheets") / "two.toml"
    path.write_text(TWO_HEADS)
    return str(path)


def run(*args: str) -> None:
    """Ends as a command should: by itself, or with a status; any other exception is the test's failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(SystemExit, xf.Undecided, xf.ConfigError):  # each becomes one line
            commands.main(list(args), standalone_mode=False)


@pytest.mark.parametrize("value", ["1e4400", "-1e9999", "1e30", "1e-5000", "1e400/3"])
@pytest.mark.parametrize(
    "command",
    [
        ("trace", "length4"),
        ("trace", "length4", "--format", "latex"),
        ("trace", "length4", "--format", "json"),
        ("trace", "length4", "--arithmetic", "arb"),
        ("trace", "length4", "--arithmetic", "float64"),
        ("trace", "length4", "--arithmetic", "float32", "--format", "json"),
        ("grad", "length4", "--arithmetic", "float32"),
        ("grad", "capstone", "--target", "a c", "--step", "1/10", "--arithmetic", "float64"),
        ("grad", "capstone", "--target", "a c", "--step", "1/10"),
        ("circuits", "capstone"),
        ("prove", "context", "--length", "1", "--workers", "1"),
    ],
)
def test_a_weight_of_absurd_size(command: tuple[str, ...], value: str) -> None:
    run(*command, "--set", f"W_E[0,0]={value}")


@pytest.mark.parametrize("value", ["1e30", "-1e30"])
def test_gradients_of_two_heads(two_heads: str, value: str) -> None:
    run("grad", two_heads, "--target", "b", "--set", f"blocks.0.attn.W_O[1,0,2]={value}", "--tokens", "a")


def test_a_story_of_what_is_far_too_small_to_write() -> None:
    run("trace", "context", "--set", "blocks.0.attn.W_Q[0,9,0]=1e300")


def test_a_sum_whose_parts_were_never_looked_at_has_a_sign() -> None:
    """A matrix product gives its entries balls, but not the products that they are sums of (an AttributeError)."""
    row, column = array([[xf.exp(1), 1]]), array([[xf.exp(1)], [-xf.exp(2)]])
    for x in (row[0, 0], *column.flat):
        ball(x, WORKING_BITS)
    product = matmul(row, column)[0, 0]
    assert isinstance(product, xf.Named)
    assert product.sign() == 0


def test_what_no_float_holds_is_infinite() -> None:
    weights = array([["1e400", "-1e400", "1e39", "1e-400", "0.5"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(FloatArithmetic("float64").load(weights), [[np.inf, -np.inf, 1e39, 0, 0.5]])
        np.testing.assert_array_equal(FloatArithmetic("float32").load(weights), [[np.inf, -np.inf, np.inf, 0, 0.5]])


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("W_E[" + "9" * 5000 + ",0]=1", "is not an entry"),
        ("W_E[１,0]=1", "is not a change of a weight"),
        ("W_E[0,0]=" + "9" * 20_000, "a number of 20,000 characters is longer than 10,000"),
        ("W_E[0,0]=1e99999999999999999999", "is beyond 10,000"),
        ("W_E[0,0]=1e" + "0" * 5000 + "1" * 4000, "is beyond 10,000"),
        ("W_E[0,0]=１２", "is not a number"),
        ("x" * 90_000, "is not a change of a weight"),
        ("x" * 90_000 + "[0]=1", "is not a weight of the model"),
    ],
)
def test_changes_that_are_refused_are_not_echoed_whole(change: str, line: str) -> None:
    with pytest.raises(xf.ConfigError, match=line) as caught:
        with_weights(xf.load("capstone").model, [change])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", ["１２", "1_0", "٣", "9" * 400])
def test_number_options_take_ascii_digits(value: str) -> None:
    with pytest.raises(click.ClickException, match=r"is not a (whole )?number"):
        commands.main(["trace", "capstone", "--digits", value], standalone_mode=False)
