"""Whatever is wrong with the input gets one clear line that names the file and the field."""

from __future__ import annotations

import re

import pytest

from exactformer.checking import check_text
from exactformer.worksheets import WorksheetError, example_text

CAPSTONE = example_text("capstone")
LOSS = 'step = "loss"\ntarget = "a a"\nvalue = 1'


def claim(text: str) -> str:
    return f"{CAPSTONE}\n[[claims]]\n{text}\n"


def lesson(text: str) -> str:
    """A claim of a gradient where the model has no logits."""
    return f'{example_text("length4")}\n[[claims]]\nstep = "grad.embed"\nvalues = []\n{text}\n'


def alone(text: str) -> str:
    return f"[[claims]]\n{text}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[claims]\n", "is not TOML"),
        ("claims = 7", "claims is not a list of tables"),
        ("[claims]\nstep = 'x'", "claims is not a list of tables"),
        ("[[claim]]\n", "claim is not a field"),
        ("x = " + "[" * 5000, "nested too deeply"),
        (alone("value = 1"), "claims.0.step is missing"),
        (alone('step = "embed"\nvalue = 1'), "claims.0.step is 'embed'"),
        (alone('operation = "sofmax"\nof = [1]\nvalues = [1]'), "claims.0.operation is 'sofmax', not one of matmul"),
        (alone('operation = "softmax"\nvalues = [1]'), "claims.0.of is missing"),
        (alone('operation = ["softmax"]\nvalues = [1]'), "claims.0.operation is a list of 1"),
        (alone('operation = "softmax"\nof = [1, 2]\nvalues = [1]'), "claims.0.values is 1, but softmax is 2"),
        (alone('operation = "softmax"\nof = [[1, 2], [3]]\nvalues = [1]'), "claims.0.of[1] is not as long"),
        (alone('operation = "softmax"\nof = []\nvalues = []'), "claims.0.of is a list of 0"),
        (alone('operation = "softmax"\nof = [[[1]]]\nvalues = [[[1]]]'), "claims.0.of is a list of 1"),
        (alone('operation = "softmax"\nof = [nan]\nvalues = [1]'), "claims.0.of[0]: 'nan' is not a number"),
        (alone('operation = "softmax"\nof = [1]\nvalues = [nan]'), "claims.0.values[0]: 'nan' is not a number"),
        (alone('operation = "softmax"\nof = [1]\nvalues = [inf]'), "claims.0.values[0]: 'inf' is not a number"),
        (alone('operation = "softmax"\nof = [1]\nvalues = [true]'), "claims.0.values[0] is true"),
        (alone('operation = "softmax"\nof = [1]\nvalues = ["1,5"]'), "claims.0.values[0]: '1,5' is not a number"),
        (alone('operation = "softmax"\nof = [1]\nvalues = ["1/0"]'), "divides by zero"),
        (alone('operation = "softmax"\nof = [1]\nvalues = ["1e-99999"]'), "beyond 10,000"),
        (alone('operation = "softmax"\nof = [1]\nvalues = ["1e-9999"]'), "more than 1,000"),
        (alone('operation = "softmax"\nof = [1]\nvalues = [0x1]'), "write it plainly"),
        (alone('operation = "softmax"\nof = [1]\nvalues = ["\\u0031"]'), "write it plainly"),
        (alone('operation = "softmax"\nof = [1]\nvalues = [1]\nepsilon = 1'), "claims.0.epsilon is not a field"),
        (alone('operation = "layer_norm"\nof = [1]\nvalues = [1]'), "claims.0.epsilon is missing"),
        (alone('operation = "layer_norm"\nof = [1, 2]\nepsilon = -1\nvalues = [1, 1]'), "claims.0.epsilon is -1"),
        (alone('operation = "layer_norm"\nof = [1, 2]\nepsilon = 0\ngamma = [1]\nvalues = [1, 1]'), "claims.0.gamma is 1"),
        (alone('operation = "scale"\nof = [1]\nfactor = "sqrt(-1)"\nvalues = [1]'), "claims.0.factor:"),
        (alone('operation = "scale"\nof = [1]\nfactor = "two"\nvalues = [1]'), "claims.0.factor:"),
        (alone('operation = "matmul"\nleft = [[1, 2]]\nright = [[1, 2]]\nvalues = [1]'), "claims.0.right is 1 × 2"),
        (alone('operation = "relu"\nof = ["-inf"]\nvalues = [1]'), "claims.0.of holds -inf"),
        (alone('operation = "relu"\nof = "nothing"\nvalues = [1]'), "claims.0.of is 'nothing'"),
        (claim('step = "blocks.0.attn.patern"\nvalues = []'), "did you mean blocks.0.attn.pattern?"),
        (claim('step = "token"\nvalues = []'), "claims.0.values is 0, but token is 2 × 1"),
        (claim('step = "token"\nvalues = ["a", 1]'), "claims.0.values[1] is 1, not a token (which is written in quotes)"),
        (claim('step = "token"\nrow = 0\nvalue = 0.5'), "claims.0.value is 0.5, not a token"),
        (claim('step = "token"\nvalues = ["a", ["a"]]'), "claims.0.values[1] is not as long"),
        (claim('step = "token"\nrow = 2\nvalue = "a"'), "claims.0.row is 2"),
        (claim('step = "token"\nrow = 0\nvalue = "\\u0061"'), "write it plainly"),
        (claim('step = "token"\noperation = "relu"\nof = [[1], [2]]\nvalues = ["a", "a"]'), "gives numbers, but token has tokens"),
        (claim('operation = "relu"\nof = "token"\nvalues = [1, 1]'), "claims.0.of does not hold numbers"),
        (alone('step = "token"\nvalue = "a"'), "there is no [model]"),
        (claim('step = "grad.logits"\nvalues = []'), "claims.0.step is 'grad.logits': say which tokens are wanted"),
        (claim('step = "loss"\nvalue = 1'), "claims.0.step is 'loss': say which tokens are wanted"),
        (claim('step = "loss"\nrow = 0\ntarget = "a a"\nvalue = 1'), "claims.0.row is given, but loss has 0 axes"),
        (claim('step = "grad.logit"\ntarget = "a a"\nvalues = []'), "did you mean grad.logits?"),
        (claim('step = "grad.logits"\ntarget = "a"\nvalues = []'), "claims.0.target: 1 target for 2 positions"),
        (claim('step = "grad.logits"\ntarget = "a z"\nvalues = []'), "claims.0.target: position 1: the token 'z'"),
        (claim('step = "grad.logits"\ntarget = 7\nvalues = []'), "claims.0.target is 7, not a text"),
        (claim('step = "grad.logits"\ntarget = [1, 2]\nvalues = []'), "claims.0.target is a list of 2, not a text"),
        (claim('step = "grad.logits"\nupstream = [[1]]\nvalues = []'), "claims.0.upstream is given, but the model has logits"),
        (
            claim('step = "loss"\ntarget = "a a"\nvalue = 1\n[[claims]]\nstep = "loss"\ntarget = "a a"\nvalue = 1'),
            "claims.1.target",
        ),
        (
            claim('operation = "relu"\nname = "loss"\nof = [1]\n[[claims]]\nstep = "loss"\ntarget = "a a"\nvalue = 1'),
            "is named loss",
        ),
        (alone('step = "loss"\ntarget = "a a"\nvalue = 1'), "claims.0.target is given, but there is no [model]"),
        (lesson('target = "I I I I"'), "claims.0.target is given, but the model has no logits: that takes upstream"),
        (lesson(""), "claims.0.step is 'grad.embed': say what the gradient of the last step is"),
        (lesson("upstream = [[1]]"), "claims.0.upstream: the upstream gradient has the shape 1 × 1, not 4 × 4"),
        (lesson("upstream = [1]"), "claims.0.upstream is a list of 1, not a list of rows"),
        (lesson('upstream = "1 2"'), "claims.0.upstream is '1 2', not a list of rows"),
        (lesson('upstream = [["-inf"]]'), "claims.0.upstream holds -inf"),
        (lesson('upstream = [["x"]]'), "claims.0.upstream[0][0]: 'x' is not a number"),
        (claim('step = "blocks.0.attn.pattern"\nvalues = [[1, 2]]'), "is 1 × 2, but blocks.0.attn.pattern[0] is 2 × 2"),
        (claim('step = "blocks.0.attn.pattern"\nhead = 1\nvalues = [[1, 2]]'), "claims.0.head is 1"),
        (claim('step = "blocks.0.attn.pattern"\nrow = 2\nvalues = [1, 2]'), "claims.0.row is 2"),
        (claim('step = "blocks.0.attn.pattern"\nrow = "x"\nvalues = [1, 2]'), "claims.0.row is 'x'"),
        (claim('step = "blocks.0.attn.pattern"\nindex = [0, 0, -1]\nvalue = 1'), "claims.0.index is -1"),
        (claim('step = "blocks.0.attn.pattern"\nindex = [0]\nvalue = 1'), "claims.0.index has 1 numbers"),
        (claim('step = "blocks.0.attn.pattern"\nindex = 7\nvalue = 1'), "claims.0.index is 7"),
        (claim('step = "embed"\nrow = 0\nvalues = [1, 0]\nhint = 1'), "claims.0.hint is not a field"),
        (claim('step = "embed"\noperation = "relu"\nof = "logits"\nvalues = [[1, 0], [0, 1]]'), "gives 2 × 3, but embed is 2 × 2"),
        (claim('step = "embed"\noperation = "relu"\nof = "blocks.0.mlp.out"\nvalues = []'), "computed from embed itself"),
        (claim('step = "blocks.0.mlp.post"\noperation = "gelu"\nof = "embed"\nvalues = []'), "does not lead to"),
        (claim('operation = "relu"\nname = "embed"\nof = [1]\nvalues = [1]'), "which there is already"),
        (claim('operation = "relu"\nof = "embed[7]"\nvalues = [1]'), "claims.0.of is 'embed[7]', but embed is 2 × 2"),
        (CAPSTONE.replace('"a b"', '"a z"'), "input.tokens: position 1: the token 'z'"),
        (CAPSTONE.replace("dim = 2", "dim = 3"), "weights.W_E"),
    ],
)
def test_one_line(text: str, words: str) -> None:
    with pytest.raises(WorksheetError) as problem:
        check_text(text, "mine.toml")
    line = str(problem.value)
    assert re.match(r"mine.toml:[0-9]+: ", line)
    assert words in line
    assert "\n" not in line


def test_markdown_names_the_line() -> None:
    with pytest.raises(WorksheetError, match=r"page.md:6: is not TOML"):
        check_text("# Page\n\ntext\n```toml\n[[claims]]\nstep = \n```\n", "page.md")
    with pytest.raises(WorksheetError, match=r"page.md:6: claims.0.step is 'x'"):
        check_text("# Page\n\ntext\n```toml\n[[claims]]\nstep = 'x'\n```\n", "page.md")
