"""GPTs of lectures: a module for each head, and scores that are scaled by the width of a head or of the model."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpt2_files import write_folder

import exactformer as xf
from exactformer.checkpoints import CheckpointError, open_checkpoint

torch = pytest.importorskip("torch")


def peer(config: dict[str, Any]) -> Any:
    """The same network in PyTorch, float64, with the names that lecture code has."""
    nn, dim, heads, length = torch.nn, config["n_embd"], config["n_head"], config["block_size"]
    width = config.get("head_size", dim // heads)
    factor = (dim if config.get("scale") == "n_embd" else width) ** -0.5

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.key, self.query, self.value = (nn.Linear(dim, width, bias=False) for _ in range(3))
            self.register_buffer("tril", torch.tril(torch.ones(length, length)))

        def forward(self, x: Any) -> Any:
            seen = self.tril[: len(x), : len(x)] != 0
            scores = (self.query(x) @ self.key(x).T * factor).masked_fill(~seen, -torch.inf)
            return scores.softmax(-1) @ self.value(x)

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = nn.ModuleList(Head() for _ in range(heads))
            self.proj = nn.Linear(heads * width, dim)

        def forward(self, x: Any) -> Any:
            return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))

    class Feed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            inner = config.get("n_inner", 4 * dim)
            self.net = nn.Sequential(nn.Linear(dim, inner), nn.ReLU(), nn.Linear(inner, dim), nn.Dropout(0.2))

        def forward(self, x: Any) -> Any:
            return self.net(x)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sa, self.ffwd, self.ln1, self.ln2 = Heads(), Feed(), nn.LayerNorm(dim), nn.LayerNorm(dim)

        def forward(self, x: Any) -> Any:
            x = x + self.sa(self.ln1(x))
            return x + self.ffwd(self.ln2(x))

    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token_embedding_table = nn.Embedding(config["vocab_size"], dim)
            self.position_embedding_table = nn.Embedding(length, dim)
            self.blocks = nn.Sequential(*(Block() for _ in range(config["n_layer"])))
            self.ln_f, self.lm_head = nn.LayerNorm(dim), nn.Linear(dim, config["vocab_size"], bias=config.get("seed", 0) != 3)

        def forward(self, ids: Any) -> Any:
            x = self.token_embedding_table(ids) + self.position_embedding_table(torch.arange(len(ids)))
            return self.lm_head(self.ln_f(self.blocks(x)))

    return Whole().double().eval()


def small(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    heads = rng.randint(1, 3)
    given: dict[str, Any] = {
        "n_layer": rng.randint(1, 3), "n_head": heads, "n_embd": heads * rng.randint(1, 4), "block_size": rng.randint(2, 6),
        "vocab_size": rng.randint(2, 7), "dropout": 0.2, "seed": seed, "scale": rng.choice(("head_size", "n_embd")),
    }  # fmt: skip
    if rng.random() < 0.3:
        given["head_size"] = rng.randint(1, 3)
    if rng.random() < 0.3:
        given["n_inner"] = rng.randint(1, 5)
    return given


def saved(folder: Path, config: dict[str, Any], seed: int = 0, masks: bool = True, **changed: Any) -> tuple[Path, Any]:
    torch.manual_seed(seed)
    model = peer(config)
    for tensor in model.parameters():
        tensor.data = torch.randn(tensor.shape).double()  # float32 numbers, as the file holds them
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items() if masks or "tril" not in name}
    return write_folder(folder, config, state | changed), model


@pytest.mark.parametrize("seed", range(20))
def test_logits_are_those_of_torch(seed: int, tmp_path: Path) -> None:
    config = small(seed)
    folder, model = saved(tmp_path, config, seed, masks=seed % 2 == 0)
    ids = [random.Random(seed).randrange(config["vocab_size"]) for _ in range(config["block_size"])]
    expected = model(torch.tensor(ids)).detach().numpy()
    ours = open_checkpoint(folder).model
    np.testing.assert_allclose(xf.run(ours, [str(i) for i in ids], "float64").logits, expected, rtol=1e-9, atol=1e-9)
    if seed < 4:
        certified = xf.run(ours, [str(i) for i in ids], "certified").logits
        np.testing.assert_allclose(np.array([[float(x.mid()) for x in row] for row in certified]), expected, rtol=1e-9, atol=1e-9)


PLAIN = {"n_layer": 1, "n_head": 2, "n_embd": 4, "block_size": 3, "vocab_size": 3}


def test_what_the_weights_do_not_show_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config.json: scale: is missing, and the weights do not show it"):
        open_checkpoint(saved(tmp_path / "a", PLAIN)[0])
    with pytest.raises(CheckpointError, match=r"scale: 'sqrt' is not one of head_size and n_embd|scale: .*n_embd"):
        open_checkpoint(saved(tmp_path / "b", PLAIN | {"scale": "sqrt"})[0])
    alone = open_checkpoint(saved(tmp_path / "c", PLAIN | {"n_head": 1})[0])  # where both are the same
    assert alone.model.config.scale == "sqrt"
    with pytest.raises(CheckpointError, match=r"'softcap' is not a known key of a lecture's GPT"):
        open_checkpoint(saved(tmp_path / "d", PLAIN | {"scale": "n_embd", "softcap": 2})[0])


def test_tensors_that_do_not_fit(tmp_path: Path) -> None:
    said = PLAIN | {"scale": "n_embd"}
    mask = {"blocks.0.sa.heads.1.tril": np.ones((3, 3))}
    with pytest.raises(CheckpointError, match=r"blocks.0.sa.heads.1.tril.*is not the causal mask"):
        open_checkpoint(saved(tmp_path / "a", said, **mask)[0])
    with pytest.raises(CheckpointError, match=r"blocks.0.sa.heads.2.key.weight.*has no place"):
        open_checkpoint(saved(tmp_path / "b", said, **{"blocks.0.sa.heads.2.key.weight": np.ones((2, 4))})[0])
    with pytest.raises(CheckpointError, match=r"tensor 'blocks.0.sa.heads.2.query.weight': is missing"):
        open_checkpoint(_heads(tmp_path))


def _heads(tmp_path: Path) -> Path:
    folder, _ = saved(tmp_path / "heads", PLAIN | {"scale": "n_embd", "n_embd": 6, "n_head": 2})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"n_head": 3, "head_size": 3}))
    return folder


def test_with_its_characters_it_takes_text(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path, PLAIN | {"scale": "head_size"})
    (folder / "characters.json").write_text(json.dumps(["a", "b", "\n"]))
    assert xf.load(folder).trace(prompt="ab", arithmetic="float64").tokens == ("a", "b")
