"""Whatever is wrong with the input gets one clear line that names the file and the field."""

from __future__ import annotations

import pytest

from exactformer.checking import check_text
from exactformer.worksheets import WorksheetError, example_text

CAPSTONE = example_text("capstone")


def claim(text: str) -> str:
    return f"{CAPSTONE}\n[[claims]]\n{text}\n"


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
        (claim('step = "token"\nvalues = []'), "a token is no number"),
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
    assert line.startswith("mine.toml: ")
    assert words in line
    assert "\n" not in line


def test_markdown_names_the_line() -> None:
    with pytest.raises(WorksheetError, match=r"page.md:4: .*line 6"):
        check_text("# Page\n\ntext\n```toml\n[[claims]]\nstep = \n```\n", "page.md")
    with pytest.raises(WorksheetError, match=r"page.md:4: claims.0.step is 'x'"):
        check_text("# Page\n\ntext\n```toml\n[[claims]]\nstep = 'x'\n```\n", "page.md")
