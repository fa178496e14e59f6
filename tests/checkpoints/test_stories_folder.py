"""A trained Llama from a folder as others write it: its text is cut as its authors say, and its story is the known one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactformer.arithmetics import arithmetic
from exactformer.checkpoints import open_checkpoint
from exactformer.model import forward
from exactformer.model.cache import Cache
from exactformer.worksheets import load

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "stories260K"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the trained Llama is not here (../shared/data/stories260K)")
STORY = ", there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big, red ball."


def test_its_tokenizer() -> None:
    tokenizer = load(str(FOLDER)).tokenizer
    assert tokenizer is not None
    assert tokenizer.encode("Once upon a time") == [1, 403, 407, 261, 378]
    assert tokenizer.decode([403, 407, 261, 378]) == "Once upon a time"


@pytest.mark.parametrize("reading", ["ideal", "stored"])
def test_its_story(reading: str) -> None:
    sheet = load(str(FOLDER))
    model = open_checkpoint(FOLDER, sheet.tokenizer.vocabulary, reading).model
    ops, cache = arithmetic("float64"), Cache()
    ids, leads = [1, 403, 407, 261, 378], []
    row = forward(model, ids, ops, cache=cache)[-1]
    for _ in range(40):
        second, first = np.sort(row)[-2:]
        leads.append(first - second)
        ids.append(int(np.argmax(row)))
        row = forward(model, ids[-1:], ops, cache=cache)[-1]
    assert sheet.tokenizer.decode(ids).endswith(f"Once upon a time{STORY}")
    assert min(leads) == pytest.approx(0.1327056, abs=1e-7 if reading == "ideal" else 1e-5)
    assert int(np.argmin(leads)) == 16
