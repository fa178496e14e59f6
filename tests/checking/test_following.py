"""A step that is computed again from the true values of what it reads gives its true values: the two ways are one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exactformer.checking import check_text
from exactformer.checking.steps import record_of
from exactformer.numbers import compare
from exactformer.worksheets import example_text, examples, loads

VARIED = """
[model]
vocabulary = ["a", "b"]
dim = 2
heads = 2
blocks = 1
norm = "pre"
final_norm = true
epsilon = 1
mask = "{mask}"
scale = {scale}
positions = "sinusoidal"
mlp = 2
activation = "{activation}"
unembedding = "own"
[weights]
W_E = [[1, 0.5], [0, 2]]
W_U = "identity"
b_U = [1, 2]
[[weights.blocks]]
attn = {{ W_Q = [[[1], [0]], [[0], [1]]], W_K = [[[1], [0]], [[0], [1]]], W_V = [[[1], [0]], [[0], [1]]], b_O = [1, 2] }}
mlp = {{ W_in = "identity", W_out = "identity", b_in = [0.5, 1] }}
[input]
tokens = "a b"
"""
VARIANTS = [
    VARIED.format(mask=mask, scale=scale, activation=activation)
    for mask, scale, activation in (("causal", '"sqrt"', "relu"), ("strict", "0.5", "gelu"), ("none", '"none"', "gelu_tanh"))
] + [VARIED.format(mask="causal", scale=2, activation="identity")]


EXAMPLES = [name for name in examples() if name != "poster"]  # whose logits are balls, which the checker refuses


@pytest.mark.parametrize("changes", [{}, {"stable": True}, {"late_mask": True}], ids=["plain", "stable", "late_mask"])
@pytest.mark.parametrize("text", [*map(example_text, EXAMPLES), *VARIANTS])
def test_every_step_can_be_computed_again(text: str, changes: dict[str, bool]) -> None:
    worksheet = loads(text)
    model = replace(worksheet.model, config=replace(worksheet.model.config, **changes))
    record = record_of(replace(worksheet, model=model).trace())
    for node in record.nodes.values():
        if node.reads:
            again = node.compute([record.nodes[read].truth for read in node.reads])
            assert again.shape == node.truth.shape, node.name
            for index in np.ndindex(*again.shape):
                a, b = again[index], node.truth[index]
                assert a is b or compare(a, b) == 0, (node.name, index)


CHAIN = """
[[claims]]
operation = "matmul"
name = "product"
left = [[1, 2]]
right = [[3], [4]]
values = [["{product}"]]
[[claims]]
operation = "scale"
name = "half"
of = "product"
factor = "1/2"
[[claims]]
operation = "exp"
of = "half"
values = [["{power}"]]
"""


@pytest.mark.parametrize(
    ("product", "power", "carried"),
    [("10.0", "148.4", [False, True]), ("10.0", "148.5", [False, False]), ("11.0", "244.7", [False, False])],
)
def test_slips_travel_through_what_was_not_printed(product: str, power: str, carried: list[bool]) -> None:
    assert [finding.carried_on for finding in check_text(CHAIN.format(product=product, power=power)).findings] == carried


def test_a_printed_number_that_leads_nowhere() -> None:
    text = """
[[claims]]
operation = "variance"
name = "var"
of = [[1, 3]]
values = ["-1"]
[[claims]]
operation = "matmul"
left = [[1]]
right = "var"
values = ["7"]
"""
    assert [finding.carried_on for finding in check_text(text).findings] == [False, False]


def test_blocks_of_a_page_go_on_from_each_other() -> None:
    page = f"""
```toml
{example_text("capstone")}```
```toml
[[claims]]
step = "blocks.0.attn.pattern"
row = 1
values = ["0.1", "0.9"]
```
~~~ toml exactformer
[[claims]]
step = "blocks.0.attn.z"
row = 1
values = ["1.0", "0.9"]
~~~
"""
    first, second, *rest = check_text(page, "page.md").findings
    assert (first.bad, second.bad, first.carried_on) == (True, True, False)
    assert [(finding.bad, finding.carried_on) for finding in rest] == [(False, False), (True, True)]
