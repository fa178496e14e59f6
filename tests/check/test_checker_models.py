"""The checker on models of every family: what it shows is below the truth, and hardly."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.trials.forgeries import true_leads
from gpt2_files import random_library_config, small_config, small_tensors, write_folder
from llama_files import llama_tensors, write_llama

import exactformer_check
from cli_runs import run
from exactformer.arithmetics import arithmetic
from exactformer.certificates import checkable
from exactformer.certificates.checkable import foreseen_bits
from exactformer.checkpoints import CheckpointError, open_checkpoint
from exactformer.model import forward
from exactformer.model.cache import Cache
from exactformer.worksheets import load
from exactformer.worksheets.models import model_folder

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SORT, STORIES = DATA / "gpt-nano-sort" / "hf", DATA / "stories260K"
STORY = model_folder("stories")
FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi", "gpt_neox", "gpt_neo")


def files_of(folder: Path) -> dict[str, str]:
    names = (path.name for path in folder.iterdir() if path.name == "config.json" or path.name.startswith("model"))
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


OPEN = ExitStack()


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    OPEN.close()


def network(folder: Path) -> Any:
    return exactformer_check.network(
        *exactformer_check.read_model(folder, exactformer_check.named_files(folder, files_of(folder), OPEN))
    )


def shown(folder: Path, ids: list[int], tokens: list[int], reading: str = "ideal", bits: int = 300) -> list[float]:
    """The leads that the checker shows, at every position."""
    n = network(folder)
    n.work, n.witness, n.keep = exactformer_check.Work(None, 1), None, None
    n.prepare(reading, len(ids), bits)
    x = n.final_rows(ids, range(len(ids)), bits)
    quick, exact = (n.leads(x, tokens, [margin] * len(ids)) for margin in (0, 10**9))
    assert all(abs(float(one - other)) < 1e-6 for one, other in zip(quick, exact, strict=True))
    return [float(lead) for lead in exact]


def agrees(folder: Path, ids: list[int], reading: str = "ideal") -> None:
    truth = true_leads(folder, ids, reading)
    tokens = [max(range(len(row)), key=lambda token: float(row[token].mid())) for row in truth]
    for row, token, found in zip(truth, tokens, shown(folder, ids, tokens, reading), strict=True):
        assert found <= float(row[token].upper())
        assert found >= float(row[token].lower()) - 1e-9


@pytest.mark.parametrize("reading", ["ideal", "stored"])
@pytest.mark.parametrize("family", FAMILIES)
def test_families(family: str, reading: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from benchmarks.trials import families

    for seed in range(2000, 2002):
        folder = tmp_path / str(seed)
        families.written(family, seed, folder)
        model = open_checkpoint(folder).model
        if model.config.unembedding != "none":
            rng = random.Random(seed)
            agrees(folder, [rng.randrange(len(model.config.vocabulary)) for _ in range(5)], reading)


@pytest.mark.parametrize("seed", range(6))
def test_gpt2_of_the_library(seed: int, tmp_path: Path) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from benchmarks.trials.families import random_weights

    rng = random.Random(seed)
    model = transformers.GPT2LMHeadModel(random_library_config(rng)).eval()
    random_weights(model, seed)
    kind = (torch.float32, torch.float16, torch.bfloat16, torch.float64)[seed % 4]
    model.to(kind).save_pretrained(tmp_path)
    agrees(tmp_path, [rng.randrange(model.config.vocab_size) for _ in range(4)])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(("family", "name"), [("gpt2", "wpe.weight"), ("llama", "model.embed_tokens.weight")])
def test_a_row_that_is_not_read_must_be_finite_too(family: str, name: str, bad: float, tmp_path: Path) -> None:
    tensors = {key: np.array(values) for key, values in (small_tensors() if family == "gpt2" else llama_tensors()).items()}
    tensors[name][-1, 0] = bad
    if family == "gpt2":
        write_folder(tmp_path, small_config(), tensors)
    else:
        write_llama(tmp_path, tensors=tensors)
    with pytest.raises(exactformer_check.BadInput, match=name):
        shown(tmp_path, [0, 1], [0, 0])


_NANO = {"n_layer": 2, "n_head": 2, "n_embd": 4, "block_size": 5, "vocab_size": 3}
_PLAIN = small_tensors()
_TURNED = {name: w.T if w.ndim == 2 and name.startswith("h.") else w for name, w in _PLAIN.items()}
_MASK = np.tril(np.ones((5, 5)))[None, None]


@pytest.mark.parametrize(
    ("config", "tensors", "dtype"),
    [
        (_NANO | {"bias": True, "dropout": 0.0}, _TURNED, "F32"),
        (_NANO | {"bias": False, "dropout": 0.0}, {k: w for k, w in _TURNED.items() if not k.endswith(".bias")}, "F32"),
        (_NANO | {"bias": True, "dropout": 0.0}, _TURNED | {"lm_head.weight": 2 * _PLAIN["wte.weight"]}, "F32"),
        (_NANO | {"embd_pdrop": 0.1}, _TURNED | {"lm_head.weight": 3 * _PLAIN["wte.weight"]}, "F64"),
        (small_config(), {f"transformer.{k}": w for k, w in _PLAIN.items()} | {"lm_head.weight": _PLAIN["wte.weight"]}, "F32"),
        (small_config(), _PLAIN | {"h.0.attn.bias": _MASK, "h.1.attn.bias": _MASK, "h.0.attn.masked_bias": np.array(-1e4)}, "F32"),
        (small_config(scale_attn_weights=False, scale_attn_by_inverse_layer_idx=True), _PLAIN, "F16"),
        (small_config(layer_norm_epsilon=0), _PLAIN, "F32"),
    ],
)
def test_gpts(config: Any, tensors: Any, dtype: str, tmp_path: Path) -> None:
    agrees(write_folder(tmp_path, config, tensors, dtype), [0, 2, 1, 1])


@pytest.mark.parametrize("dtype", ["F32", "F16", "F64"])
def test_llamas(dtype: str, tmp_path: Path) -> None:
    inverse = np.array([1.0, 0.01])
    tensors = llama_tensors() | {f"model.layers.{n}.self_attn.rotary_emb.inv_freq": inverse for n in range(2)}
    agrees(write_llama(tmp_path, dtype, tensors), [0, 3, 4, 1])


@pytest.mark.parametrize(
    "change",
    [
        {"attention_softcap": 2}, {"auto_map": {}}, {"quantization_config": {}}, {"sliding_window": 3}, {"rope_theta": 0.5},
        {"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, {"rope_parameters": {"rope_theta": 1e4, "x": 1}},
        {"rope_scaling": {"type": "linear", "factor": 0.5}}, {"hidden_act": "tanh"}, {"rms_norm_eps": "1e-5"}, {"rms_norm_eps": -1},
        {"num_attention_heads": 3}, {"vocab_size": 6}, {"model_type": "gpt3"}, {"architectures": ["LlamaModel"]},
        {"tie_word_embeddings": True}, {"tie_word_embeddings": None}, {"mlp_bias": True}, {"head_dim": 5}, {"hidden_size": 10**9},
        {"num_hidden_layers": 4097}, {"id2label": {"0": "x" * (1 << 20)}},
    ],
)  # fmt: skip
def test_what_may_be_another_network_is_bad_input(change: dict[str, Any], tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    assert network(folder).blocks == 2
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(exactformer_check.BadInput):
        network(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [({"pretraining_tp": 2}, ""), ({"mlp_bias": True, "pretraining_tp": 2}, "pretraining_tp: is not 1"),
     ({"mlp_bias": True, "pretraining_tp": 1}, "proj.bias: is missing"), ({"mlp_bias": True}, "proj.bias: is missing")],
)  # fmt: skip
def test_matrices_in_parts_had_no_biases(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    folder = write_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(exactformer_check.BadInput, match=problem) if problem else nullcontext():
        network(folder)


def test_limits_of_a_configuration(tmp_path: Path) -> None:
    """A megabyte of JSON is read, and a byte more is not; with 4,096 layers it is the tensors that are missing."""
    folder = write_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    text = json.dumps(config)
    (folder / "config.json").write_text(text + " " * ((1 << 20) - len(text)))
    assert network(folder).blocks == 2
    (folder / "config.json").write_text(text + " " * ((1 << 20) - len(text) + 1))
    with pytest.raises(exactformer_check.BadInput, match=r"config\.json: is too large"):
        network(folder)
    for layers, said in ((4096, r"tensor layers\.2\..*: is missing"), (4097, "num_hidden_layers: is not from 0 to 4096")):
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": layers}))
        with pytest.raises(exactformer_check.BadInput, match=said):
            network(folder)


def test_rows_that_would_fill_the_memory_are_bad_input(tmp_path: Path) -> None:
    """A small file may have wide rows, and a certificate many positions of them."""
    width = 1 << 18
    tensors = {
        "model.embed_tokens.weight": np.zeros((2, width), dtype=np.float16),
        "model.norm.weight": np.ones(width, dtype=np.float16),
    }
    sizes = {"hidden_size": width, "head_dim": 2, "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": 2}
    folder = write_llama(
        tmp_path, "F16", tensors, **sizes, num_hidden_layers=0, max_position_embeddings=1 << 20, tie_word_embeddings=True
    )
    claims = [{"position": 0, "token": 0, "margin": "0"}]
    said = {"format": "exactformer check 1", "files": files_of(folder), "reading": "ideal", "claims": claims, "bits": 32}
    with pytest.raises(exactformer_check.BadInput, match="are too many for so many ids"):
        exactformer_check.check(said | {"ids": [0] * 32768}, str(folder))
    with pytest.raises(exactformer_check.Refused, match=r"is not shown to lead|may divide by 0"):
        exactformer_check.check(said | {"ids": [0] * 4}, str(folder))


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("qwen2", {"attention_bias": False}), ("phi", {"head_dim": 4}), ("gpt_neox", {"head_dim": 4}),
        ("phi", {"qk_layernorm": True}), ("mistral", {"attention_bias": True}),
        ("gpt_neo", {"attention_types": [[["global"] * 4096, 4096]]}),
        ("gemma3_text", {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 8.0}}),
        ("gemma3_text", {"attn_logit_softcapping": 30.0}), ("llama", {"qk_layernorm": False}),
        ("gpt_neo", {"attention_types": 5}), ("gpt_neo", {"attention_types": [[["global", "x"], 1]]}),
        ("gemma", {"hidden_activation": "relu6"}), ("gemma2", {"sliding_window": 0}), ("qwen3", {"layer_types": ["sliding"]}),
        ("mistral", {"sliding_window": "8"}), ("gemma2", {"use_bidirectional_attention": True}),
        ("gpt_neo", {"model_type": ["gpt_neo"]}), ("phi", {"partial_rotary_factor": 0.3}),
    ],
)  # fmt: skip
def test_settings_of_other_families_are_bad_input(family: str, change: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from benchmarks.trials import families

    seed = next(n for n in range(2000, 2100) if _with_a_head(families, family, n, tmp_path))
    folder = tmp_path / str(seed)
    assert network(folder).kind == family
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(exactformer_check.BadInput):
        network(folder)


def test_what_hides_is_a_float(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, small_config(), _PLAIN | {"h.0.attn.masked_bias": np.array(-1e4)}, "F32")
    assert network(folder).blocks == 2
    file = folder / "model.safetensors"
    raw = file.read_bytes()
    at = raw.index(b'"F32"', raw.index(b'"h.0.attn.masked_bias"'))
    file.write_bytes(raw[:at] + b'"I32"' + raw[at + 5 :])
    with pytest.raises(exactformer_check.BadInput, match=r"masked_bias: does not hide what is masked"):
        network(folder)


def _with_a_head(families: Any, family: str, seed: int, place: Path) -> bool:
    families.written(family, seed, place / str(seed))
    return open_checkpoint(place / str(seed)).model.config.unembedding != "none"


def test_entries_that_are_too_small_for_floats(tmp_path: Path) -> None:
    """Entries 1.4, 1.4 and 2.6 times 2^-1074 are the floats 1, 1 and 3 times that; the weights 2^1000 make up for it."""
    entries, large = [1.4 * 2.0**-134, 1.4 * 2.0**-134, 2.6 * 2.0**-134, 0.0], 2.0**1000
    tensors = {
        "model.embed_tokens.weight": np.array([entries, [1.0, 0.0, 0.0, 0.0]]),
        "model.norm.weight": np.full(4, 2.0**-940),
        "lm_head.weight": np.array([[large, large, 0.0, 0.0], [0.0, 0.0, large, 0.0]]),
    }
    folder = write_llama(tmp_path, "F64", tensors, hidden_size=4, vocab_size=2, num_hidden_layers=0, rms_norm_eps=1.0)
    said = {"format": "exactformer check 1", "files": files_of(folder), "reading": "ideal", "ids": [0], "bits": 1400}
    claims = [{"position": 0, "token": token, "margin": "1e-24"} for token in (0, 1)]
    assert exactformer_check.check(said | {"claims": claims[:1]}, str(folder)) == [(0, 0, "1e-24")]  # 2.8 > 2.6
    with pytest.raises(exactformer_check.Refused, match="is not shown to lead"):
        exactformer_check.check(said | {"claims": claims[1:]}, str(folder))  # 2 < 3


@pytest.mark.parametrize(
    ("dtype", "bits", "floats"), [("F32", 40, True), ("F32", 70, False), ("F64", 40, False), ("F16", 40, True)]
)
def test_where_floats_are_asked(dtype: str, bits: int, floats: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound for floats is proved where nothing overflows: for entries below 2^60 and the exponents of float32."""

    def estimated(x: Any, matrix: Any, work: Any) -> Any:
        asked.append(matrix)
        return given(x, matrix, work)

    asked: list[Any] = []
    given = exactformer_check.estimated
    monkeypatch.setattr(exactformer_check, "estimated", estimated)
    n = network(write_llama(tmp_path, dtype))
    n.work = exactformer_check.Work(None, 1)
    x = exactformer_check.Rows([[1 << bits] + [0] * (n.dim - 1)], [1], bits)
    for margins, tries in (([-99], floats), ([10**9], 2 * floats)):
        n.leads(x, [0], margins)
        assert len(asked) == tries


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    """The same products in the same order, from a witness too; what one of them refuses is refused."""
    model = open_checkpoint(STORY).model
    ids = [1, 40, 7, 300]
    rows = forward(model, ids, arithmetic("float64"))
    lead = float(np.sort(rows[-1])[-1] - np.sort(rows[-1])[-2]) * 0.99
    claims = [{"position": 3, "token": int(np.argmax(rows[-1])), "margin": f"{lead:.9f}"}]
    said = {
        "format": "exactformer check 1", "files": files_of(STORY), "reading": "ideal", "ids": ids, "claims": claims,
        "bits": foreseen_bits(model, ids, lead),
    }  # fmt: skip
    one, two = bytearray(), bytearray()
    done: list[tuple[int, int]] = []
    found = exactformer_check.check(said, str(STORY), keep=one.extend)
    assert exactformer_check.check(said, str(STORY), None, two.extend, 2, lambda *told: done.append(told)) == found
    assert one == two
    assert done == [(n + 1, len(done)) for n in range(len(done))]
    witness = tmp_path / "witness"
    witness.write_bytes(one)
    assert exactformer_check.check(said, str(STORY), str(witness), processes=2) == found
    one[len(one) // 2] ^= 1
    witness.write_bytes(one)
    with pytest.raises(exactformer_check.Refused, match="wrong product"):
        exactformer_check.check(said, str(STORY), str(witness), processes=2)


@pytest.mark.parametrize("change", ["more", "less", "shape", "mask", "frequencies"])
def test_tensors_that_do_not_fit(change: str, tmp_path: Path) -> None:
    tensors = llama_tensors()
    if change == "less":
        del tensors["model.norm.weight"]
    elif change == "shape":
        tensors["model.norm.weight"] = tensors["model.norm.weight"].reshape(2, 4)
    else:
        name = {"more": "model.x.weight", "mask": "model.layers.0.self_attn.bias"}.get(change)
        tensors[name or "model.layers.0.self_attn.rotary_emb.inv_freq"] = np.array([1.0, 0.02])
    with pytest.raises(exactformer_check.BadInput, match="tensor"):
        network(write_llama(tmp_path, tensors=tensors))


@pytest.mark.parametrize(("dtype", "off", "near"), [("F32", 2**-16, 2**-18), ("F16", 2**-8, 2**-10), ("BF16", 2**-6, 2**-8)])
def test_saved_frequencies_are_those_of_the_configuration(dtype: str, off: float, near: float, tmp_path: Path) -> None:
    """As certify has it."""
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    for n, (share, good) in enumerate(((off, False), (near, True))):
        for sign in (1, -1):
            tensors = llama_tensors() | {name: np.array([1.0 + sign * share, 0.01], dtype=np.float32)}
            if dtype == "BF16":  # the upper halves
                tensors = {key: np.float32(values).view(np.uint32) >> 16 for key, values in tensors.items()}
            folder = write_llama(tmp_path / f"{n} {sign}", dtype, tensors)
            if good:
                assert network(folder).blocks == len(open_checkpoint(folder).model.weights.blocks)
                continue
            with pytest.raises(exactformer_check.BadInput, match="other frequencies"):
                network(folder)
            with pytest.raises(CheckpointError):
                open_checkpoint(folder)


@pytest.mark.parametrize("seed", range(6))
def test_enough_bits_are_foreseen_of_large_rows(seed: int, tmp_path: Path) -> None:
    """Where norms divide by much, and activations and queries are large, roundings count."""
    rng = np.random.default_rng(seed)
    large = {"embed": 300.0, "layernorm": 9.0, "gate": 40.0, "q_proj": 30.0}
    tensors = {
        name: (values * next((size for part, size in large.items() if part in name), 1.0)).astype(np.float32)
        for name, values in {key: rng.standard_normal(old.shape) for key, old in llama_tensors().items()}.items()
    }
    folder, file = write_llama(tmp_path, tensors=tensors), tmp_path / "c.json"
    assert run("certify", str(folder), "--ids", "0 1 2 3 4", "-o", str(file)).returncode == 0
    assert exactformer_check.check(json.loads(file.read_text()), str(folder))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"{", b" {"),
        (b"{", b'{"__metadata__": 7, '),
        (b"{", b'{"__metadata__": {"a": 1}, '),
        (b"F32", b"f32"),
        (b"[0, ", b"[0.0, "),
    ],
)
def test_headers_that_are_not_as_they_should_be(old: bytes, new: bytes, tmp_path: Path) -> None:
    folder = write_llama(tmp_path, "F32")
    path = folder / "model.safetensors"
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:end])).encode()
    assert old in header
    for changed in (header, header.replace(old, new, 1)):
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + data[end:])
        if changed == header:
            assert network(folder).blocks == 2
    with pytest.raises(exactformer_check.BadInput, match=r"header|not described"):
        network(folder)


def sorted_case(letters: tuple[int, ...]) -> None:
    answer = sorted(letters)
    ids = [*letters, *answer[:-1]]
    claims = [{"position": 5 + n, "token": token, "margin": "2.937"} for n, token in enumerate(answer)]
    said = {"format": "exactformer check 1", "files": files_of(SORT), "reading": "ideal", "ids": ids, "claims": claims, "bits": 72}
    assert len(exactformer_check.check(said, str(SORT))) == 6
    claims[3]["token"] = (claims[3]["token"] + 1) % 3
    with pytest.raises(exactformer_check.Refused, match="is not shown to lead"):
        exactformer_check.check(said, str(SORT))


@pytest.mark.skipif(not SORT.is_dir(), reason="../shared/data/gpt-nano-sort is not there")
def test_the_network_that_sorts() -> None:
    for letters in random.Random(1).sample(list(product(range(3), repeat=6)), 12):
        sorted_case(letters)


@pytest.mark.large
@pytest.mark.skipif(not SORT.is_dir(), reason="../shared/data/gpt-nano-sort is not there")
def test_the_network_that_sorts_on_all_inputs() -> None:
    for letters in product(range(3), repeat=6):
        sorted_case(letters)


def test_the_sizes_of_weights_are_taken_once_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the bits are those that a model which nothing was asked of foresees."""
    write_llama(tmp_path)
    opened = [open_checkpoint(tmp_path).model for _ in range(2)]
    first = [foreseen_bits(opened[0], ids, 0.01) for ids in ([1, 4, 2], [3, 0])]

    def again(weights: Any) -> Any:
        raise AssertionError("a second time")

    assert foreseen_bits(opened[1], [3, 0], 0.01) == first[1]
    for name in ("_norm", "_norms", "_largest"):
        monkeypatch.setattr(checkable, name, again)
    assert [foreseen_bits(opened[1], ids, 0.01) for ids in ([1, 4, 2], [3, 0])] == first
    with pytest.raises(AssertionError, match="a second time"):
        foreseen_bits(open_checkpoint(tmp_path).model, [1], 0.01)


def story(count: int) -> None:
    """Tokens of the story, all in one pass."""
    model, cache = load(str(STORIES)).model, Cache()
    ids, leads, ops = [1, 403, 407, 261, 378], [], arithmetic("float64")
    row = forward(model, ids, ops, cache=cache)[-1]
    for n in range(count):
        second, first = np.sort(row)[-2:]
        leads.append(float(first - second) * 0.99)
        ids.append(int(np.argmax(row)))
        row = forward(model, ids[-1:], ops, cache=cache)[-1] if n < count - 1 else None
    claims = [{"position": 4 + n, "token": ids[5 + n], "margin": f"{lead:.9f}"} for n, lead in enumerate(leads)]
    bits = foreseen_bits(model, ids[:-1], min(leads) / 100)
    said = {
        "format": "exactformer check 1",
        "files": files_of(STORIES),
        "reading": "ideal",
        "ids": ids[:-1],
        "claims": claims,
        "bits": bits,
    }
    assert len(exactformer_check.check(said, str(STORIES))) == count


@pytest.mark.skipif(not STORIES.is_dir(), reason="../shared/data/stories260K is not there")
def test_the_beginning_of_a_story() -> None:
    story(3)


@pytest.mark.large
@pytest.mark.skipif(not STORIES.is_dir(), reason="../shared/data/stories260K is not there")
def test_a_story_of_40_tokens() -> None:
    story(40)
